"""Indexes of text collections on Spark, and searches in them.

A shard is indexed by one task, as a collection of its own. Counts of terms are added up over all shards. A ranking is made by the driver from what
the shards find; docs/scale.md says why it is that of one machine.
"""

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
from ._shards import (
    PARTS,
    ROWS,
    Dialogue,
    Found,
    Index,
    Indexed,
    Process,
    chunks,
    counts,
    files,
    lines_of,
    require_none,
    row_batches,
    run,
    whole_shards,
    write,
)

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

#: The files of a text collection that have one text on each line, by task.
FILES = {"comparative": "*passages*.jsonl*", "rank": "{corpus,documents}*.jsonl*"}

#: A text that was read, or a fault. `path`, `block` and `line` order them as one machine reads them.
TEXTS = "path string, block long, line long, id string, words string, text string, fault string"


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
        spark: a session.
        input: the collection. Passages and documents are on the lines of files that Spark reads; arguments are read by the driver.
        output: a new directory, of any file system that Spark writes.
        task: `controversial`, `comparative` or `rank`.
        approaches: the shards get the indexes, the counts and the sentence vectors that these need.
        models: the models directory, by default $RIPOSTE_MODELS.
        options: options of `riposte index`.
        shards: their number, by default one for each core of the cluster.
        installed: as for `extract`.
        say: is called with what is being done.

    Raises:
        RiposteError: there is an index already, no text can be read, or the program fails.
    """
    from pyspark.sql import functions as F

    require_none(spark, output)
    count = shards or spark.sparkContext.defaultParallelism
    here, there = places(spark, models, installed)
    with settings(spark, spark__sql__execution__arrow__maxRecordsPerBatch=1000):
        texts = _read_lines(spark, input, task, there) if task in FILES else _read_here(spark, input, task, here)
        texts = texts.persist()
        try:
            found = texts.agg(F.count("id"), F.count("fault")).first()
            if not found[0]:
                raise RiposteError(f"no text can be read in {input}", 2)
            say(f"{found[0]} texts, {found[1]} faults")
            divided = _with_first(texts).repartition(count, "id").sortWithinPartitions("path", "block", "line")
            job = _Shard(task, count, list(approaches), list(options), there)
            write(spark, divided.mapInArrow(job.build, PARTS), output)
        finally:
            texts.unpersist()
        documents = Index(spark, output).documents
        say(f"{documents} documents in {count} shards in {output}")
        return Indexed(documents, found[1], count)


def _read_lines(spark: SparkSession, input: str, task: str, place: Place) -> DataFrame:
    """Texts on the lines of files, each read where its part of a file is."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    reader = spark.read.option("lineSep", "\n")
    if not input.rstrip("/").endswith((".jsonl", ".jsonl.gz")):
        reader = reader.option("pathGlobFilter", FILES[task])
    lines = reader.text(input).select("value", F.col("_metadata.file_path").alias("path"), F.col("_metadata.file_block_start").alias("block"))
    texts = lines.mapInArrow(lambda batches: _read_part(batches, task, place), TEXTS + ", lines long").persist()
    # how many lines are in the parts of a file before each: so a fault has its line
    before = Window.partitionBy("path").orderBy("block").rowsBetween(Window.unboundedPreceding, -1)
    blocks = texts.where("lines IS NOT NULL").select("path", "block", F.coalesce(F.sum("lines").over(before), F.lit(0)).alias("before"))
    texts = texts.where("lines IS NULL").drop("lines").join(F.broadcast(blocks), ["path", "block"])
    return texts.withColumn("line", F.col("line") + F.col("before")).drop("before")


def _read_part(batches: Iterator[pa.RecordBatch], task: str, place: Place) -> Iterator[pa.RecordBatch]:
    """Reads the lines of a partition, and counts those of each part of a file."""
    import pyarrow as pa

    schema = pa.schema(
        [("path", pa.string()), ("block", pa.int64()), ("line", pa.int64())]
        + [(name, pa.string()) for name in ("id", "words", "text", "fault")]
        + [("lines", pa.int64())]
    )
    rows = (row for batch in batches for row in batch.to_pylist())
    for (path, block), own in groupby(rows, lambda row: (row["path"], row["block"])):
        counted = _Counted(row["value"] for row in own)
        read = _read(place.bare("shard", "read", "--task", task), counted)
        for some in chunks(({"path": path, "block": block, **row} for row in read), 1000):
            yield pa.RecordBatch.from_pylist(some, schema)
        yield pa.RecordBatch.from_pylist([{"path": path, "block": block, "lines": counted.count}], schema)


class _Counted:
    """Lines, counted as they go by."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines = lines
        self.count = 0

    def __iter__(self) -> Iterator[bytes]:
        for line in self._lines:
            self.count += 1
            yield line.encode(errors="surrogatepass") + b"\n"


def _read_here(spark: SparkSession, input: str, task: str, place: Place) -> DataFrame:
    """The texts of a collection that the driver reads: that of args.me is one JSON object."""
    import pyarrow as pa

    rows = [
        {"path": "", "block": 0, **{name: row.get(name) for name in ("line", "id", "words", "text", "fault")}}
        for row in _read(place.bare("shard", "read", "--task", task, "--input", input), ())
    ]
    schema = pa.schema(
        [("path", pa.string()), ("block", pa.int64()), ("line", pa.int64())] + [(name, pa.string()) for name in ("id", "words", "text", "fault")]
    )
    return spark.createDataFrame(pa.Table.from_pylist(rows, schema), TEXTS)


def _read(command: list[str], lines: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    """The texts and faults that `riposte shard read` makes of lines."""
    with Process(command, lines) as process:
        for line in process.output():
            read = json.loads(line)
            row = {"line": read["line"]}
            if "fault" in read:
                yield row | {"fault": json.dumps(read["fault"], ensure_ascii=False)}
            else:
                yield row | {"id": read["text"]["id"], "words": read["words"], "text": json.dumps(read["text"], ensure_ascii=False)}


def _with_first(texts: DataFrame) -> DataFrame:
    """The texts, each with the first one in the collection that has the same words. Those whose id is not new stay: their shard counts them."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    order = ["path", "block", "line"]
    # only what is compared goes through these shuffles, and not the texts
    keys = texts.where("id IS NOT NULL").select("id", "words", *order)
    new = keys.withColumn("number", F.row_number().over(Window.partitionBy("id").orderBy(*order))).where("number = 1")
    compared = new.where("words IS NOT NULL")
    compared = compared.withColumn("first", F.first("id").over(Window.partitionBy("words").orderBy(*order)))
    repeated = compared.where("first <> id").select("id", "first")
    return texts.drop("words").join(repeated, "id", "left")


@dataclass(frozen=True)
class _Shard:
    """What a task needs to know to index a shard."""

    task: str
    shards: int
    approaches: list[str]
    options: list[str]
    place: Place

    def build(self, rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Indexes the texts of a partition; the rows are `PARTS`."""
        from pyspark import TaskContext

        number = TaskContext.get().partitionId()
        with tempfile.TemporaryDirectory(prefix="riposte-shard-") as home:
            source, shard = Path(home, "source"), Path(home, "shard")
            source.mkdir()
            shard.mkdir()
            texts = self._write(rows, source / "riposte-texts.jsonl")
            about = {"task": self.task, "shards": self.shards, "texts": texts, "approaches": self.approaches}
            (shard / "shard.json").write_text(json.dumps(about))
            if texts:
                counted: set[tuple[str, str]] = set()
                for approach in self.approaches:
                    count = self.place.bare("shard", "count", "--task", self.task, "--approach", approach, str(shard))
                    run(self.place.command("index", "-q", "-i", str(source), "--index", str(shard), "--approach", approach, *self.options))
                    yield from row_batches(counts(count, counted), number)
            yield from row_batches(iter([{"kind": "counts", "about": json.dumps(about)}]), number)
            yield from row_batches(files(shard), number, ROWS)

    def _write(self, rows: Iterator[pa.RecordBatch], path: Path) -> int:
        """Writes the texts as a collection. Returns how many there are."""
        texts = 0
        with path.open("w") as file:
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


def search(
    spark: SparkSession,
    index: str,
    output: str | os.PathLike[str],
    *,
    topics: str | os.PathLike[str],
    approach: str = "riposte",
    models: str | os.PathLike[str] | None = None,
    options: Sequence[str] = ("--numeric", "float"),
    installed: bool = False,
    say: Callable[[str], None] = lambda line: None,
) -> Found:
    """Ranks the documents of an index for topics. The run has the same bytes as that of one machine.

    Args:
        spark: a session.
        index: what `index` has written.
        output: a directory of the driver, for run.txt.
        topics: the file with the topics, for the driver.
        approach: one that the index was made for.
        models: the models directory, by default $RIPOSTE_MODELS.
        options: options of the task's command, such as `--tag`.
        installed: as for `extract`.
        say: is called with what is being done.

    Raises:
        RiposteError: the index is not finished or was made for other approaches, or the program fails.
    """
    of = Index(spark, index)
    if of.task == "images":
        raise RiposteError(f"{index} has images: riposte-spark images ranks them", 2)
    here, there = places(spark, models, installed)
    with whole_shards(spark), tempfile.TemporaryDirectory(prefix="riposte-found-") as home:
        dialogue, texts = Dialogue(of, Path(home)), _Texts(Path(home, "riposte-texts.jsonl"), of.task)
        where = ["-q", "-i", home, "-o", str(output), "--index", f"{home}/kept", "--topics", str(topics), "--approach", approach]
        dialogue.rank(here.command(of.task, *where, *options), lambda asked: _asking(spark, asked, there), texts.add, say)
        return Found(lines_of(Path(output), say), dialogue.rounds)


def _asking(spark: SparkSession, asked: dict[str, Any], place: Place) -> Callable[[Path], Iterator[dict[str, Any]]]:
    sent = spark.sparkContext.broadcast(json.dumps(asked))

    def ask(shard: Path) -> Iterator[dict[str, Any]]:
        request = shard.with_name("asked.json")
        request.write_text(sent.value)
        with Process(place.bare("shard", "answer", "--asked", str(request), str(shard))) as process:
            for line in process.output():
                row = json.loads(line)
                yield {"id": row["text"]["id"], "found": json.dumps(row["text"], ensure_ascii=False)} if "text" in row else row

    return ask


class _Texts:
    """The texts that shards have found, in a file from which the program ranks."""

    def __init__(self, path: Path, task: str) -> None:
        self._path = path
        self._known: set[str] = set()
        path.write_text(json.dumps({"format": 1, "task": task}) + "\n")

    def add(self, texts: Iterator[str]) -> None:
        with self._path.open("a") as file:
            for text in texts:
                name = json.loads(text)["id"]
                if name not in self._known:
                    self._known.add(name)
                    file.write(text + "\n")
