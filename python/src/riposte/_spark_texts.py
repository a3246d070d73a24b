"""Text collections on Spark: indexes them in shards. One task indexes each shard as if it were a collection."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._cluster import Place, places, settings
from ._program import RiposteError
from ._shards import PARTS, Indexed, Process, chunks, is_finished, row_batches, run, schema_of, write

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

#: The names of the files that have a text on each line, by task.
FILES = {"comparative": "*passages*.jsonl*", "rank": "{corpus,documents}*.jsonl*"}

#: The columns of rows that were read: a text, a fault, or the number of lines in a part of a file (`lines`). Spark divides a file into parts, which
#: begin at the byte `block`; `line` is counted from the beginning of the part.
READ = "path string, block long, line long, id string, words string, text string, fault string, lines long"


def index(
    spark: SparkSession,
    input: str,
    output: str,
    *,
    task: str,
    approaches: Sequence[str] = ("riposte",),
    models: str | os.PathLike[str] | None = None,
    options: Sequence[str] = ("--numeric", "float"),
    shards: int | None = None,
    installed: bool = False,
    say: Callable[[str], None] = lambda line: None,
) -> Indexed:
    """Indexes a text collection in shards.

    Args:
        spark: a Spark session.
        input: the collection. The executors read passages and documents from files with a text on each line; the driver reads arguments.
        output: a new directory, in any file system that Spark can write.
        task: `controversial`, `comparative` or `rank`.
        approaches: the approaches that are to search the index: shards get the indexes and sentence vectors that these need.
        models: the models directory, by default $RIPOSTE_MODELS.
        options: options of `riposte index`.
        shards: the number of shards, by default one for each core of the cluster.
        installed: as for `extract`.
        say: is called with each line of progress.

    Raises:
        RiposteError: there is an index already, no text can be read, or the program fails.
    """
    from pyspark.sql import functions as F

    if is_finished(spark, output):
        raise RiposteError(f"{output} has an index already", 2)
    count = shards or spark.sparkContext.defaultParallelism
    here, there = places(spark, models, installed)
    with settings(spark, spark__sql__execution__arrow__maxRecordsPerBatch=1000):
        rows = _read_lines(spark, input, task, there) if task in FILES else _read_here(spark, input, task, here)
        rows = rows.persist()
        try:
            texts, documents, faults = rows.agg(F.count("id"), F.count_distinct("id"), F.count("fault")).first()
            if not texts:
                raise RiposteError(f"no text can be read in {input}", 2)
            say(f"{texts} texts, {faults} faults")
            divided = _with_first(_with_lines(rows)).repartition(count, "id").sortWithinPartitions("path", "block", "line")
            job = _Shard(task, count, list(approaches), there, list(options))
            write(spark, divided.mapInArrow(job.build, PARTS), output)
        finally:
            rows.unpersist()
        say(f"{documents} documents in {count} shards in {output}")
        return Indexed(documents, faults, count)


def _read_lines(spark: SparkSession, input: str, task: str, place: Place) -> DataFrame:
    """Texts on the lines of files, which the executors read. The rows have the columns `READ`."""
    from pyspark.sql import functions as F

    reader = spark.read.option("lineSep", "\n")
    if not input.rstrip("/").endswith((".jsonl", ".jsonl.gz")):
        reader = reader.option("pathGlobFilter", FILES[task])
    lines = reader.text(input).select("value", F.col("_metadata.file_path").alias("path"), F.col("_metadata.file_block_start").alias("block"))
    return lines.mapInArrow(lambda batches: _read_part(batches, task, place), READ)


def _read_part(batches: Iterator[pa.RecordBatch], task: str, place: Place) -> Iterator[pa.RecordBatch]:
    """Reads the texts of a partition, and counts the lines of each part of a file."""
    import pyarrow as pa

    schema = schema_of(READ)
    rows = (row for batch in batches for row in batch.to_pylist())
    for (path, block), own in groupby(rows, lambda row: (row["path"], row["block"])):
        counted = _Counted(row["value"] for row in own)
        read = _read(place.bare("shard", "read", "--task", task), counted)
        for some in chunks(({"path": path, "block": block, **row} for row in read), 1000):
            yield pa.RecordBatch.from_pylist(some, schema)
        yield pa.RecordBatch.from_pylist([{"path": path, "block": block, "lines": counted.count}], schema)


class _Counted:
    """Yields lines, and counts them."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines = lines
        self.count = 0

    def __iter__(self) -> Iterator[bytes]:
        for line in self._lines:
            self.count += 1
            yield line.encode(errors="surrogatepass") + b"\n"


def _read_here(spark: SparkSession, input: str, task: str, place: Place) -> DataFrame:
    """The texts of a collection, which the driver reads as one part, because args.me is a single JSON object. The rows have the columns `READ`."""
    import pyarrow as pa

    part = {"path": "", "block": 0}
    rows = [part | row for row in _read(place.bare("shard", "read", "--task", task, "--input", input), ())]
    rows.append(part | {"lines": len(rows)})
    return spark.createDataFrame(pa.Table.from_pylist(rows, schema_of(READ)), READ)


def _read(command: list[str], lines: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    """The texts and faults that a `riposte shard read` reads from these lines."""
    with Process(command, lines) as process:
        for line in process.output():
            read = json.loads(line)
            row = {"line": read["line"]}
            if "fault" in read:
                yield row | {"fault": json.dumps(read["fault"], ensure_ascii=False)}
            else:
                yield row | {"id": read["text"]["id"], "words": read["words"], "text": json.dumps(read["text"], ensure_ascii=False)}


def _with_lines(rows: DataFrame) -> DataFrame:
    """The texts and faults of rows that were read, with `line` counted from the beginning of the file, so that a fault names its line."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    earlier = Window.partitionBy("path").orderBy("block").rowsBetween(Window.unboundedPreceding, -1)
    parts = rows.where("lines IS NOT NULL").select("path", "block", F.coalesce(F.sum("lines").over(earlier), F.lit(0)).alias("before"))
    texts = rows.where("lines IS NULL").drop("lines").join(F.broadcast(parts), ["path", "block"])
    return texts.withColumn("line", F.col("line") + F.col("before")).drop("before")


def _with_first(texts: DataFrame) -> DataFrame:
    """The texts, with the id of the first text in the collection that has the same words, if that is another text (`first`).

    A text whose id occurred before is kept, because its shard counts repeated ids.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    order = ["path", "block", "line"]
    # the shuffles below move only the columns that are compared, and not the texts
    keys = texts.where("id IS NOT NULL").select("id", "words", *order)
    new = keys.withColumn("number", F.row_number().over(Window.partitionBy("id").orderBy(*order))).where("number = 1")
    compared = new.where("words IS NOT NULL")
    compared = compared.withColumn("first", F.first("id").over(Window.partitionBy("words").orderBy(*order)))
    repeated = compared.where("first <> id").select("id", "first")
    return texts.drop("words").join(repeated, "id", "left")


@dataclass(frozen=True)
class _Shard:
    """What a task needs to know to make a shard."""

    task: str
    shards: int
    approaches: list[str]
    place: Place
    #: Options of `riposte index`.
    options: list[str]

    def build(self, rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Makes a shard of the texts of a partition, with the indexes and vectors that each approach needs. The output has the columns `PARTS`."""
        from pyspark import TaskContext

        with tempfile.TemporaryDirectory(prefix="riposte-shard-") as home:
            source, shard = Path(home, "source"), Path(home, "shard")
            source.mkdir()
            shard.mkdir()
            texts = self._write(rows, source)
            (shard / "shard.json").write_text(json.dumps({"task": self.task, "shards": self.shards, "texts": texts}))
            for approach in self.approaches if texts else []:
                run(self.place.command("index", "--quiet=progress", "-i", str(source), "--index", str(shard), "--approach", approach, *self.options))
            yield from row_batches(TaskContext.get().partitionId(), shard)

    def _write(self, rows: Iterator[pa.RecordBatch], source: Path) -> int:
        """Writes the texts of a partition as a collection."""
        texts = 0
        with (source / "riposte-texts.jsonl").open("w") as file:
            file.write(json.dumps({"format": 1, "task": self.task}) + "\n")
            for batch in rows:
                for row in batch.to_pylist():
                    if row["text"] is None:
                        fault = json.loads(row["fault"])
                        if not fault["path"]:
                            fault |= {"path": row["path"], "line": row["line"]}
                        file.write(json.dumps({"fault": fault}) + "\n")
                        continue
                    texts += 1
                    text = row["text"]
                    if row["first"] is not None:
                        text = f'{text[:-1]}, "duplicate_of": {json.dumps(row["first"])}}}'
                    file.write(text + "\n")
        return texts
