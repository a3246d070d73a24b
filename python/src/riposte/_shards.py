"""How Spark's tasks store an index in shards.

A shard is a directory that one task makes. Spark stores it as rows, each with a part of a file. `riposte merge` joins the shards.
"""

from __future__ import annotations

import subprocess
import tempfile
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._cluster import has, settings
from ._program import RiposteError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

#: Maximum number of bytes of a file in one row.
PART_BYTES = 1 << 20

#: Maximum number of rows that a task has in memory.
ROWS = 16

#: The columns of an index: a part of a file of a shard (src/ingest/shards/packed.rs).
PARTS = "shard int, path string, offset long, content binary"


def write(spark: SparkSession, rows: DataFrame, output: str) -> None:
    """Writes the rows of all shards. A task writes one file, in row groups that fit into memory."""
    with settings(spark, parquet__block__size=ROWS * PART_BYTES):
        rows.write.mode("overwrite").option("compression", "zstd").parquet(f"{output}/parts")


def is_finished(spark: SparkSession, output: str) -> bool:
    """Whether a directory has an index whose shards are all written."""
    return has(spark, f"{output}/parts/_SUCCESS")


@dataclass(frozen=True)
class Indexed:
    """The result of `index`: the numbers of documents that can be found, of faults, and of shards."""

    documents: int
    faults: int
    shards: int


def chunks(rows: Iterator[Any], size: int) -> Iterator[list[Any]]:
    """Divides rows into lists of this length; the last list can be shorter."""
    some = []
    for row in rows:
        some.append(row)
        if len(some) == size:
            yield some
            some = []
    if some:
        yield some


class Process:
    """A process of the program. A thread writes its input. An exit code other than 0 and 1 is an error."""

    def __init__(self, command: list[str], lines: Iterable[bytes] = ()) -> None:
        self._said = tempfile.TemporaryFile()
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._said)
        self._error: BaseException | None = None
        self._feeder = threading.Thread(target=self._feed, args=(lines,), daemon=True)
        self._feeder.start()

    def _feed(self, lines: Iterable[bytes]) -> None:
        try:
            with self._process.stdin as pipe:
                for line in lines:
                    pipe.write(line)
        except BrokenPipeError:
            pass  # the process has ended; `output` raises the error that its exit code stands for
        except BaseException as error:
            self._error = error

    def output(self) -> Iterator[bytes]:
        """The lines of its standard output."""
        yield from self._process.stdout
        self._feeder.join()
        if self._error is not None:
            raise self._error
        code = self._process.wait()
        if code not in (0, 1):
            self._said.seek(0)
            # notes can precede the error
            error = self._said.read().decode(errors="replace").strip().rpartition("riposte: ")[2]
            raise RiposteError(f"riposte: {error or f'exit code {code}'}", code)

    def __enter__(self) -> Process:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        self._process.stdout.close()
        self._said.close()


def run(command: list[str]) -> None:
    """Runs a command whose output is not needed."""
    with Process(command) as process:
        for _ in process.output():
            pass


def row_batches(shard: int, directory: Path) -> Iterator[pa.RecordBatch]:
    """The files of a shard as rows, in batches that fit into memory."""
    import pyarrow as pa

    schema = schema_of(PARTS)
    for some in chunks(_parts(directory), ROWS):
        yield pa.RecordBatch.from_pylist([{"shard": shard, **row} for row in some], schema)


def _parts(directory: Path) -> Iterator[dict[str, Any]]:
    for path in sorted(directory.rglob("*")):
        name = str(path.relative_to(directory))
        # left out: locks and temporary files
        if not path.is_file() or name.startswith(".") or path.name.startswith(".tantivy-") or name.endswith(".lock"):
            continue
        with path.open("rb") as file:
            offset = 0
            while True:
                content = file.read(PART_BYTES)
                if content or offset == 0:
                    yield {"path": name, "offset": offset, "content": content}
                offset += len(content)
                if len(content) < PART_BYTES:
                    break


def schema_of(columns: str) -> pa.Schema:
    """The Arrow schema for columns in Spark's notation, such as `PARTS`."""
    import pyarrow as pa

    types = {"string": pa.string(), "int": pa.int32(), "long": pa.int64(), "binary": pa.binary()}
    return pa.schema([(name, types[kind]) for name, kind in (column.split() for column in columns.split(", "))])
