"""Indexes in shards: how tasks make them, how Spark stores them, and how the driver ranks with them.

A shard is a directory that one task makes. Spark stores it as rows, each with a part of a file. A task that searches a shard unpacks it first.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._cluster import Place, has, settings
from ._program import RiposteError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

#: Maximum number of bytes of a file in one row.
PART_BYTES = 1 << 20

#: Maximum number of rows with parts of files that a task has in memory.
ROWS = 16

#: More bytes than any file has. As Spark's limit for a partition, it keeps a file in one task; as the cost of opening a file, it keeps two
#: files in different tasks.
WHOLE_FILES = 1 << 40

#: Maximum number of rounds of a ranking; no approach needs so many.
MAX_ROUNDS = 20

#: The columns of an index. The kind of a row is `file` (a part of a file of a shard), `term` (the counts of a term in a shard), or `counts`
#: (the description of a shard, or the counts of its fields; both are JSON in `about`).
PARTS = (
    "kind string, shard int, path string, offset long, content binary, analyzer string, fields string, term string, df long, cf long, about string"
)

#: The columns of answers. A row has a document that a shard has found for a request (`request`, `k`, `id`, `passage`, `score`), the text or the
#: evidence of a found document as JSON (`id`, `found`), or the number of a shard that has answered (only `k`).
ANSWERS = "request string, k long, id string, passage long, score double, found string"


def counts(command: list[str], counted: set[tuple[str, str]]) -> Iterator[dict[str, Any]]:
    """The rows with the output of `riposte shard count`.

    `counted` has the pairs of an analyzer and fields whose terms are counted already: their terms are left out. New pairs are added to it.
    """
    known = set(counted)
    with Process(command) as process:
        for line in process.output():
            row = json.loads(line)
            if "counts" in row:
                counted.update((row["analyzer"], fields) for fields in row["covered"])
                yield {"kind": "counts", "about": line.decode()}
            elif (row["analyzer"], row["fields"]) not in known:
                yield {"kind": "term", **row}


def write(spark: SparkSession, rows: DataFrame, output: str) -> None:
    """Writes the rows of all shards, and the counts of each term, added up over all shards."""
    from pyspark.sql import functions as F

    # a task writes one file of each kind, in row groups that fit into memory; all are open at once, so that Spark need not sort the rows
    with settings(spark, parquet__block__size=ROWS * PART_BYTES, spark__sql__maxConcurrentOutputFileWriters=4):
        rows.write.mode("overwrite").partitionBy("kind").option("compression", "zstd").parquet(f"{output}/parts")
    terms = spark.read.schema(PARTS).parquet(f"{output}/parts").where("kind = 'term'")
    terms = terms.groupBy("analyzer", "fields", "term").agg(F.sum("df").alias("df"), F.sum("cf").alias("cf"))
    # written last: an index without these files is not finished
    terms.write.mode("overwrite").option("compression", "zstd").parquet(f"{output}/terms")


def require_none(spark: SparkSession, output: str) -> None:
    """Raises RiposteError if there is a finished index already."""
    if has(spark, f"{output}/terms/_SUCCESS"):
        raise RiposteError(f"{output} has an index already", 2)


@dataclass(frozen=True)
class Indexed:
    """The result of `index` and `index_images`: the numbers of documents that can be found, of faults, and of shards."""

    documents: int
    faults: int
    shards: int


@dataclass(frozen=True)
class Found:
    """The result of `search` and `images`: the number of lines of the run, and the number of rounds in which shards were searched."""

    lines: int
    rounds: int


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
            raise RiposteError(f"riposte: {self._said.read().decode(errors='replace').strip() or f'exit code {code}'}", code)

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


def files(directory: Path) -> Iterator[dict[str, Any]]:
    """The rows with the files of a shard, in parts."""
    for path in sorted(directory.rglob("*")):
        name = str(path.relative_to(directory))
        # left out: locks, and the hidden files with the hashes of the source files
        if not path.is_file() or name.startswith(".") or path.name.startswith(".tantivy-") or name.endswith(".lock"):
            continue
        with path.open("rb") as file:
            offset = 0
            while True:
                content = file.read(PART_BYTES)
                if content or offset == 0:
                    yield {"kind": "file", "path": name, "offset": offset, "content": content}
                offset += len(content)
                if len(content) < PART_BYTES:
                    break


def row_batches(rows: Iterator[dict[str, Any]], shard: int, size: int = 10_000) -> Iterator[pa.RecordBatch]:
    """The rows of a shard with its number, in batches of `size` rows. Rows with parts of files are large: their `size` is `ROWS`."""
    import pyarrow as pa

    schema = schema_of(PARTS)
    for some in chunks(rows, size):
        yield pa.RecordBatch.from_pylist([{"shard": shard, **row} for row in some], schema)


@dataclass(frozen=True)
class Shard:
    """What a task needs to know to make a shard. Subclasses say how documents are written and indexed."""

    task: str
    shards: int
    approaches: list[str]
    place: Place

    def build(self, rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Makes a shard of the documents of a partition. The output has the columns `PARTS`."""
        from pyspark import TaskContext

        number = TaskContext.get().partitionId()
        with tempfile.TemporaryDirectory(prefix="riposte-shard-") as home:
            source, shard = Path(home, "source"), Path(home, "shard")
            source.mkdir()
            shard.mkdir()
            documents = self.write(rows, source)
            about = {"task": self.task, "shards": self.shards, "texts": documents, "approaches": self.approaches}
            (shard / "shard.json").write_text(json.dumps(about))
            if documents:
                self.index(source, shard)
                counted: set[tuple[str, str]] = set()
                for approach in self.approaches:
                    count = self.place.bare("shard", "count", "--task", self.task, "--approach", approach, str(shard))
                    yield from row_batches(counts(count, counted), number)
            yield from row_batches(iter([{"kind": "counts", "about": json.dumps(about)}]), number)
            yield from row_batches(files(shard), number, ROWS)

    def write(self, rows: Iterator[pa.RecordBatch], source: Path) -> int:
        """Writes the documents into the directory `source`. Returns their number."""
        raise NotImplementedError

    def index(self, source: Path, shard: Path) -> None:
        """Fills the directory `shard` with what all approaches need."""
        raise NotImplementedError


class Index:
    """An index in shards, as the driver sees it."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        if not has(spark, f"{path}/terms/_SUCCESS"):
            raise RiposteError(f"{path} has no finished index: make one with riposte-spark index", 2)
        self._spark = spark
        self._path = path.rstrip("/")
        #: For each analyzer, the counts of each field, added up over all shards.
        self.counts: dict[str, list[dict[str, int]]] = {}
        #: Pairs of an analyzer and the fields whose terms are counted.
        self.covered: set[tuple[str, str]] = set()
        self.task = ""
        self.approaches: list[str] = []
        self.shards = 0
        seen = set()
        for row in self._parts("counts").select("shard", "about").collect():
            about = json.loads(row["about"])
            if "counts" not in about:
                self.task, self.approaches, self.shards = about["task"], about["approaches"], about["shards"]
                continue
            analyzer = about["analyzer"]
            self.covered.update((analyzer, fields) for fields in about["covered"])
            # two approaches can search the same index, whose counts are added only once
            if (row["shard"], analyzer) in seen:
                continue
            seen.add((row["shard"], analyzer))
            sums = self.counts.setdefault(analyzer, [{"documents": 0, "tokens": 0} for _ in about["counts"]])
            for total, own in zip(sums, about["counts"], strict=True):
                for name in total:
                    total[name] += own[name]

    def _parts(self, kind: str) -> DataFrame:
        return self._spark.read.schema(PARTS).parquet(f"{self._path}/parts").where(f"kind = '{kind}'")

    @property
    def documents(self) -> int:
        return max((counts[0]["documents"] for counts in self.counts.values()), default=0)

    def terms(self, wanted: list[dict[str, str]]) -> Iterator[dict[str, Any]]:
        """Each term with its counts in the whole collection."""
        from pyspark.sql import functions as F

        if not wanted:
            return
        for term in wanted:
            if (term["analyzer"], term["fields"]) not in self.covered:
                what = f"{term['fields']} with the analyzer {term['analyzer']}"
                raise RiposteError(f"the index has no counts of {what}: it was made for {', '.join(self.approaches)}", 2)
        asked = self._spark.createDataFrame(wanted, "analyzer string, fields string, term string")
        known = self._spark.read.parquet(f"{self._path}/terms").join(F.broadcast(asked), ["analyzer", "fields", "term"])
        found = {(row["analyzer"], row["fields"], row["term"]): row for row in known.collect()}
        for term in wanted:
            row = found.get((term["analyzer"], term["fields"], term["term"]))
            yield term | {"df": row["df"] if row else 0, "cf": row["cf"] if row else 0}

    def answers(self, ask: Callable[[Path], Iterator[dict[str, Any]]]) -> DataFrame:
        """The answers of all shards. A task calls `ask` with the directory of each shard that it has unpacked."""
        return self._parts("file").select("shard", "path", "offset", "content").mapInArrow(lambda rows: _answers(rows, ask), ANSWERS)


def _answers(batches: Iterator[pa.RecordBatch], ask: Callable[[Path], Iterator[dict[str, Any]]]) -> Iterator[pa.RecordBatch]:
    """Unpacks the shards of a partition, and asks each."""
    import pyarrow as pa

    schema = schema_of(ANSWERS)
    rows = (row for batch in batches for row in batch.to_pylist())
    for number, own in groupby(rows, lambda row: row["shard"]):
        with tempfile.TemporaryDirectory(prefix="riposte-shard-") as home:
            shard = Path(home, "shard")
            _unpack(own, shard)
            yield pa.RecordBatch.from_pylist([{"k": number}], schema)
            if not json.loads((shard / "shard.json").read_text())["texts"]:
                continue
            for some in chunks(ask(shard), 1000):
                yield pa.RecordBatch.from_pylist(some, schema)


def schema_of(columns: str) -> pa.Schema:
    """The Arrow schema for columns in Spark's notation, such as `PARTS`."""
    import pyarrow as pa

    types = {"string": pa.string(), "int": pa.int32(), "long": pa.int64(), "double": pa.float64(), "binary": pa.binary()}
    return pa.schema([(name, types[kind]) for name, kind in (column.split() for column in columns.split(", "))])


def _unpack(rows: Iterable[dict[str, Any]], directory: Path) -> None:
    for row in rows:
        path = directory / row["path"]
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("r+b" if path.exists() else "wb") as file:
            file.seek(row["offset"])
            file.write(row["content"])


@dataclass
class Dialogue:
    """A ranking in rounds: the driver ranks what the shards have found so far, which is in the directory `home`."""

    index: Index
    home: Path
    counted: list[dict[str, Any]] = field(default_factory=list)
    vectors: dict[str, Any] = field(default_factory=dict)
    answered: list[str] = field(default_factory=list)
    rounds: int = 0

    def rank(
        self,
        command: list[str],
        ask: Callable[[dict[str, Any]], Callable[[Path], Iterator[dict[str, Any]]]],
        keep: Callable[[Iterator[str]], None],
        say: Callable[[str], None],
    ) -> None:
        """Runs a ranking command, has the shards answer the requests that it leaves, and repeats both until it leaves none.

        Args:
            command: the ranking command.
            ask: gets the requests, and returns the function that a task calls with the directory of a shard.
            keep: stores the documents that were found, each as JSON.
            say: is called with each line of progress.
        """
        self._write()
        while True:
            done = subprocess.run(command, capture_output=True, text=True)
            needs = self.home / "riposte-needs.json"
            if not needs.is_file():
                break
            wanted = json.loads(needs.read_text())
            self.rounds += 1
            if self.rounds > MAX_ROUNDS:
                raise RiposteError(f"the ranking is not finished after {MAX_ROUNDS} rounds", 2)
            say(f"round {self.rounds}: {len(wanted['requests'])} requests, {len(wanted['terms'])} terms")
            self.counted += self.index.terms(wanted["terms"])
            self.vectors |= wanted["vectors"]
            asked = {"task": self.index.task, "counts": self._counts(), "vectors": list(self.vectors.values()), "requests": wanted["requests"]}
            keep(self._best(self.index.answers(ask(asked))))
            self.answered += wanted["requests"]
            self._write()
        if done.returncode not in (0, 1):
            # standard error has notes, and then the error
            error = done.stderr.strip().rpartition("riposte: ")[2]
            raise RiposteError(f"{error} (the index was made for {', '.join(self.index.approaches)})", done.returncode)

    def _write(self) -> None:
        answers = {"counts": self._counts(), "vectors": list(self.vectors.values()), "answered": self.answered}
        (self.home / "riposte-answers.json").write_text(json.dumps(answers))

    def _counts(self) -> list[dict[str, Any]]:
        def of(analyzer: str) -> list[dict[str, Any]]:
            own = (term for term in self.counted if term["analyzer"] == analyzer)
            return [{name: term[name] for name in ("fields", "term", "df", "cf")} for term in own]

        return [{"analyzer": analyzer, "fields": fields, "terms": of(analyzer)} for analyzer, fields in self.index.counts.items()]

    def _best(self, answers: DataFrame) -> Iterator[str]:
        """The best k documents of all shards for each request, each document once."""
        from pyspark.sql import Window
        from pyspark.sql import functions as F

        answers = answers.persist()
        try:
            missing = self.index.shards - answers.where("id IS NULL").count()
            if missing:
                raise RiposteError(f"{missing} of {self.index.shards} shards are missing: make the index again, in a new directory", 2)
            best = Window.partitionBy("request").orderBy(F.desc("score"), "id", "passage")
            hits = answers.where("request IS NOT NULL").withColumn("rank", F.row_number().over(best)).where("rank <= k")
            found = answers.where("found IS NOT NULL").select("id", "found").join(hits.select("id").distinct(), "id").orderBy("id")
            for row in found.toLocalIterator():
                yield row["found"]
        finally:
            answers.unpersist()


@contextmanager
def whole_shards(spark: SparkSession) -> Iterator[None]:
    """Settings with which one task reads all rows of a shard, a few at a time."""
    with settings(
        spark,
        spark__sql__execution__arrow__maxRecordsPerBatch=ROWS,
        spark__sql__parquet__columnarReaderBatchSize=ROWS,
        spark__sql__files__maxPartitionBytes=WHOLE_FILES,
        spark__sql__files__openCostInBytes=WHOLE_FILES,
    ):
        yield


def lines_of(output: Path, say: Callable[[str], None]) -> int:
    """The number of lines of a run, which is also reported to `say`."""
    lines = (output / "run.txt").read_text().count("\n")
    say(f"{lines} lines in {output / 'run.txt'}")
    return lines
