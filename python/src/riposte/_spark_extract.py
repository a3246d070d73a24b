"""The evidence about a collection of images, computed on Spark.

Each task starts the program once and sends it one document after another.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any

from ._cluster import Place, has, places, settings
from ._program import RiposteError
from ._stream import Died, FileOfDocument, Stream

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

#: The names of the files that riposte reads (src/collection/images/documents.rs). Other files are listed, but not read: they show which directories exist.
READ = [
    *("image.webp", "image.png", "image.jpg", "image.jpeg"),
    *("image-url.txt", "image-phash.txt", "image-caption.txt", "image-text.txt"),
    *("page-url.txt", "rankings.jsonl", "dom.html", "image-xpath.txt", "text.txt"),
]

#: Maximum number of files in a batch of a task, and of their bytes; a larger file is a batch by itself.
BATCH_FILES, BATCH_BYTES = 128, 16 << 20

#: The number of bytes that can be read in the time of opening a file.
OPEN_BYTES = 64 << 10

#: Maximum number of documents whose rows a task writes together.
BATCH_DOCUMENTS = 16

#: Larger files are not read (docs/limits.md).
MAX_FILE_BYTES = 256 << 20

#: The path of a file: the two directories of its document, and the path below them.
LAYOUT = r"/images/(I[0-9a-f]{2})/(\1[0-9a-f]{14,})/(.+)$"

#: The columns of a row before the tables.
BESIDE = [("id", "text"), ("run", "integer"), ("producers", "text"), ("files", "text")]


@dataclass(frozen=True)
class Extracted:
    """The result of `extract`: the numbers of documents in the collection, of documents that were computed, and of faults in those."""

    documents: int
    computed: int
    faults: int


@dataclass(frozen=True)
class Job:
    """What a task needs to know to compute documents."""

    #: The greeting of the driver's program. The programs of the executors must have the same greeting.
    greeting: dict[str, Any]
    #: The options of `riposte extract --stream`.
    options: list[str]
    place: Place
    run: int = 1

    def command(self, *more: str) -> list[str]:
        return self.place.command("extract", "--stream", *self.options, *more)


class Reader:
    """Computes documents in a process, which is started when it is first needed, and again when it has died."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._stream: Stream | None = None

    def _start(self, *more: str) -> Stream:
        stream = Stream(self._job.command(*more))
        if stream.greeting != self._job.greeting:
            stream.kill()
            raise RiposteError("this executor has another program or other models than the driver", 2)
        return stream

    def compute(self, document: str, directory: str, files: list[FileOfDocument]) -> dict[str, Any]:
        if self._stream is None:
            self._stream = self._start()
        try:
            return self._stream.compute(document, directory, files)
        except Died as death:
            self.close()
            return self._suspect(document, directory, files, str(death))

    def _suspect(self, document: str, directory: str, files: list[FileOfDocument], how: str) -> dict[str, Any]:
        """Computes a document again, in a separate process, after a process died in it. If both died, the document is passed over."""
        alone = self._start()
        try:
            alone.compute(document, directory, files)
        except Died as death:
            alone.kill()
            recorder = self._start("--died", str(death))
            try:
                return recorder.compute(document, directory, files)
            finally:
                recorder.close()
        alone.close()
        # the document is not to blame: this error makes Spark start the task again, perhaps on another machine
        raise RiposteError(f"riposte died while it computed {document} ({how}), but not in a second process that computed only this document", 2)

    def close(self) -> None:
        if self._stream is not None:
            self._stream.kill()
            self._stream = None


def _compute(batches: Iterator[pa.RecordBatch], job: Job) -> Iterator[pa.RecordBatch]:
    """Computes the evidence of a partition: from files, which are sorted by document, to a row for each document."""
    import pyarrow as pa

    schema = arrow_schema(job.greeting)
    reader = Reader(job)
    done: list[dict[str, Any]] = []
    try:
        rows = (row for batch in batches for row in batch.to_pylist())
        for (document, directory, state), files in groupby(rows, lambda row: (row["id"], row["dir"], row["files"])):
            listed = [FileOfDocument(row["path"], row["length"], row["content"]) for row in files]
            answer = reader.compute(document, directory, listed)
            row = {"id": document, "run": job.run, "producers": answer["producers"], "files": state}
            done.append(row | table_rows(answer, job.greeting))
            if len(done) == BATCH_DOCUMENTS:
                yield pa.RecordBatch.from_pylist(done, schema)
                done.clear()
        if done:
            yield pa.RecordBatch.from_pylist(done, schema)
    finally:
        reader.close()


def table_rows(answer: dict[str, Any], greeting: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """The rows of a document in each table; `greeting` describes the tables."""
    tables = {}
    for table, columns in greeting["tables"].items():
        rows = [dict(zip([column["name"] for column in columns], row, strict=True)) for row in answer["tables"][table]]
        for name in [column["name"] for column in columns if column["type"] == "vector"]:
            for row in rows:
                row[name] = base64.b64decode(row[name])
        tables[table] = rows
    return tables


def arrow_schema(greeting: dict[str, Any]) -> pa.Schema:
    """The Arrow schema of the output, in which each row has all evidence about one document."""
    import pyarrow as pa

    types = {"text": pa.string(), "integer": pa.int64(), "real": pa.float64(), "vector": pa.binary()}
    tables = [(table, pa.list_(pa.struct([(c["name"], types[c["type"]]) for c in columns]))) for table, columns in greeting["tables"].items()]
    return pa.schema([(name, types[kind]) for name, kind in BESIDE] + tables)


def _spark_schema(greeting: dict[str, Any]) -> StructType:
    from pyspark.sql import types as t

    types = {"text": t.StringType(), "integer": t.LongType(), "real": t.DoubleType(), "vector": t.BinaryType()}
    schema = t.StructType([t.StructField(name, types[kind]) for name, kind in BESIDE])
    for table, columns in greeting["tables"].items():
        row = t.StructType([t.StructField(c["name"], types[c["type"]]) for c in columns])
        schema = schema.add(table, t.ArrayType(row))
    return schema


def extract(
    spark: SparkSession,
    input: str,
    output: str,
    *,
    models: str | os.PathLike[str] | None = None,
    options: Sequence[str] = ("--numeric", "float"),
    partitions: int | None = None,
    installed: bool = False,
    say: Callable[[str], None] = lambda line: None,
) -> Extracted:
    """Computes the evidence about a collection of images, as far as `output` does not have it yet, and adds it to `output`.

    Args:
        spark: a Spark session.
        input: the directory of the collection, or a directory of Parquet files with its documents; any path that Spark can read.
        output: a directory of Parquet files, made if necessary. Each row has all evidence about one document.
        models: the models directory, by default $RIPOSTE_MODELS. Without either, each executor uses the models that are installed on its machine.
        options: options of `riposte extract` that choose models and their numbers.
        partitions: the number of tasks, by default three for each core of the cluster.
        installed: whether the program and the models have the same paths on all machines, so that they need not be shipped. They are never shipped if
            the master is `local[…]`.
        say: is called with each line of progress.

    Raises:
        RiposteError: the program cannot be used, or there is nothing to read.
    """
    from pyspark.sql import functions as F

    count = partitions or 3 * spark.sparkContext.defaultParallelism
    # a row is a file of up to 256 MB; Spark before 4.1 does not limit the bytes of a batch, so each batch gets one row there
    rows = BATCH_FILES if _version(spark) >= (4, 1) else 1
    wanted = settings(
        spark,
        spark__sql__shuffle__partitions=count,
        spark__sql__execution__arrow__maxRecordsPerBatch=rows,
        spark__sql__execution__arrow__maxBytesPerBatch=BATCH_BYTES,
        # a document has many small files: with Spark's own value, a task would get only about thirty of them
        spark__sql__files__openCostInBytes=OPEN_BYTES,
    )
    here, there = places(spark, models, installed)
    with wanted:
        job = Job(_greeting(Job({}, list(options), here)), list(options), there)
        greeting = job.greeting
        schema = _spark_schema(greeting)
        before = _stored(spark, output, schema)
        if before is not None:
            job = replace(job, run=1 + (before.agg(F.max("run")).first()[0] or 0))
        state, files = _parquet(spark, input) if _is_parquet(spark, input) else _collection(spark, input)
        changed = state
        if before is not None:
            done = before.where(F.col("producers").isin(greeting["producers"], greeting["signature"])).select("id", "files")
            changed = changed.join(done, ["id", "files"], "left_anti")
        changed = changed.persist()
        try:
            documents, to_compute = state.count(), changed.count()
            if documents == 0:
                raise RiposteError(f"there is no image in {input}", 2)
            say(f"{documents} documents, {to_compute} of them new or changed")
            if to_compute == 0:
                return Extracted(documents, 0, 0)
            sorted_files = files.join(changed, "id").repartition(count, "id").sortWithinPartitions("id", "path")
            evidence = sorted_files.mapInArrow(lambda batches: _compute(batches, job), schema)
            evidence.write.mode("append").option("compression", "zstd").parquet(output)
        finally:
            changed.unpersist()
        added = spark.read.schema(schema).parquet(output).where(F.col("run") == job.run)
        computed, faults = added.agg(F.count("id"), F.sum(F.size("fault") + F.size("passed_over"))).first()
        say(f"{computed} documents computed, with {faults} faults; their evidence is in {output}")
        return Extracted(documents, computed, faults)


def _version(spark: SparkSession) -> tuple[int, ...]:
    return tuple(int(number) for number in spark.version.split(".")[:2])


def _greeting(job: Job) -> dict[str, Any]:
    """The greeting of the driver's program."""
    stream = Stream(job.command())
    stream.close()
    return stream.greeting


def _stored(spark: SparkSession, output: str, schema: StructType) -> DataFrame | None:
    """The rows that earlier runs have written; None if there are none."""
    return spark.read.schema(schema).parquet(output) if has(spark, output) else None


def _is_parquet(spark: SparkSession, input: str) -> bool:
    """Whether the input consists of Parquet files: it has no directory of images."""
    return not has(spark, f"{input.rstrip('/')}/images")


def _collection(spark: SparkSession, input: str) -> tuple[DataFrame, DataFrame]:
    """Two frames: the documents of a collection, each with a hash over the names, sizes and times of its files, and all files."""
    from pyspark.sql import functions as F

    root = input.rstrip("/")

    def listed(name_filter: str | None = None) -> DataFrame:
        reader = spark.read.format("binaryFile").option("recursiveFileLookup", "true")
        if name_filter is not None:
            reader = reader.option("pathGlobFilter", name_filter)
        return reader.load(f"{root}/images")

    def placed(files: DataFrame, content: Any) -> DataFrame:
        part = [F.regexp_extract("path", LAYOUT, group) for group in (1, 2, 3)]
        placed = files.select(
            part[1].alias("id"),
            F.concat(F.lit(f"{root}/images/"), part[0], F.lit("/"), part[1]).alias("dir"),
            part[2].alias("path"),
            "length",
            F.unix_micros("modificationTime").alias("time"),
            content.alias("content"),
        )
        return placed.where("id <> ''")

    is_read = F.element_at(F.split("path", "/"), -1).isin(READ) & (F.col("length") <= MAX_FILE_BYTES)
    # there are two listings, and not a third one for files that are not read, because listing is slow. The second has filters on names and sizes,
    # because Spark then reads the bytes of only the files that pass them
    everything = listed()
    others = placed(everything.where(~is_read), F.lit(None).cast("binary"))
    read = placed(listed("{" + ",".join(READ) + "}").where(F.col("length") <= MAX_FILE_BYTES), F.col("content"))
    line = F.concat_ws(":", "path", "length", "time")
    return _states(placed(everything, F.lit(None)), line), read.unionByName(others).drop("time")


def _parquet(spark: SparkSession, input: str) -> tuple[DataFrame, DataFrame]:
    """The frames of `_collection`, but with a hash over names and contents, from Parquet files.

    Their columns are `document`, `files` (a list of structs of `path` and `content`) and, if present, `dir`.
    """
    from pyspark.sql import functions as F

    found = spark.read.parquet(input)
    if not {"document", "files"} <= set(found.columns):
        raise RiposteError(f"{input} has neither images/ nor the columns document and files; its columns are {', '.join(found.columns)}", 2)
    default = F.concat(F.lit("images/"), F.substring("document", 1, 3), F.lit("/"), "document")
    directory = F.col("dir") if "dir" in found.columns else default
    files = found.select(F.col("document").alias("id"), directory.alias("dir"), F.explode("files").alias("file"))
    files = files.select("id", "dir", "file.path", F.length("file.content").cast("long").alias("length"), "file.content")
    return _states(files, F.concat_ws(":", "path", F.sha2("content", 256))), files


def _states(files: DataFrame, line: Any) -> DataFrame:
    """The documents, each with a hash over the lines of its files."""
    from pyspark.sql import functions as F

    lines = F.array_sort(F.collect_list(line))
    return files.groupBy("id").agg(F.sha2(F.concat_ws("\n", lines), 256).alias("files"))
