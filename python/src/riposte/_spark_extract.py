"""The evidence about a collection of images, computed on Spark.

Each task starts the program once and hands it one document after the other.
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

#: The names of the files that riposte reads (src/collection/images.rs). Others are only listed, because a directory of a page counts without them.
READ = [
    *("image.webp", "image.png", "image.jpg", "image.jpeg"),
    *("image-url.txt", "image-phash.txt", "image-caption.txt", "image-text.txt"),
    *("page-url.txt", "rankings.jsonl", "dom.html", "image-xpath.txt", "text.txt"),
]

#: Files that a task gets at once, and their bytes, unless one alone has more.
BATCH_FILES, BATCH_BYTES = 128, 16 << 20

#: Opening a file takes as long as reading this.
OPEN_BYTES = 64 << 10

#: Documents whose rows a task writes at once.
BATCH_DOCUMENTS = 16

#: Larger files are not read (docs/limits.md).
MAX_FILE_BYTES = 256 << 20

#: The directory of a document, and a path in it.
LAYOUT = r"/images/(I[0-9a-f]{2})/(\1[0-9a-f]{14,})/(.+)$"

#: The columns of a row beside the tables.
BESIDE = [("id", "text"), ("run", "integer"), ("producers", "text"), ("files", "text")]


@dataclass(frozen=True)
class Extracted:
    """What a run has done: the number of documents of the collection, of those that it has computed, and of faults in these."""

    documents: int
    computed: int
    faults: int


@dataclass(frozen=True)
class Job:
    """What a task needs to know."""

    #: What the driver's program says of itself. Those of the executors must say the same.
    greeting: dict[str, Any]
    #: The options of `riposte extract --stream`.
    options: list[str]
    place: Place
    run: int = 1

    def command(self, *more: str) -> list[str]:
        return self.place.command("extract", "--stream", *self.options, *more)


class Reader:
    """Computes documents with a process that is started when it is first needed, and anew after a death."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._stream: Stream | None = None

    def _start(self, *more: str) -> Stream:
        stream = Stream(self._job.command(*more))
        if stream.greeting != self._job.greeting:
            stream.kill()
            raise RiposteError("the program or the models of this executor are not those of the driver", 2)
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
        """Tries a document, in which a process died, in a process of its own. If that dies too, the document is passed over."""
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
        # the machine or its owner is to blame, so Spark is to try it again, perhaps elsewhere
        raise RiposteError(f"riposte died in {document} ({how}), and not when it was tried alone", 2)

    def close(self) -> None:
        if self._stream is not None:
            self._stream.kill()
            self._stream = None


def _compute(batches: Iterator[pa.RecordBatch], job: Job) -> Iterator[pa.RecordBatch]:
    """The evidence of a partition: its files, which are sorted by document, to a row for each document."""
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
    """The rows of a document in each table, which `greeting` describes."""
    tables = {}
    for table, columns in greeting["tables"].items():
        rows = [dict(zip([column["name"] for column in columns], row, strict=True)) for row in answer["tables"][table]]
        for name in [column["name"] for column in columns if column["type"] == "vector"]:
            for row in rows:
                row[name] = base64.b64decode(row[name])
        tables[table] = rows
    return tables


def arrow_schema(greeting: dict[str, Any]) -> pa.Schema:
    """The columns of a row with what is known of a document."""
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
    """Computes the evidence about a collection of images that `output` lacks, and adds it there.

    Args:
        spark: a session.
        input: the directory of the collection, or a directory of Parquet files with its documents; any path that Spark reads.
        output: a directory of Parquet files, made if there is none. A row has everything that is known of a document.
        models: the models directory, by default $RIPOSTE_MODELS. If neither is there, executors use what is installed on them.
        options: options of `riposte extract` that name models and numbers.
        partitions: the number of tasks, by default three for each core of the cluster.
        installed: the program and the models have the same paths on all machines, so they are not shipped. So it always is with `local[…]`.
        say: is called with what is being done.

    Raises:
        RiposteError: the program cannot be used, or nothing is there to be read.
    """
    from pyspark.sql import functions as F

    count = partitions or 3 * spark.sparkContext.defaultParallelism
    # each row that a task gets is a file, which may have 256 MB; versions before 4.1 do not count the bytes of a batch
    rows = BATCH_FILES if _version(spark) >= (4, 1) else 1
    wanted = settings(
        spark,
        spark__sql__shuffle__partitions=count,
        spark__sql__execution__arrow__maxRecordsPerBatch=rows,
        spark__sql__execution__arrow__maxBytesPerBatch=BATCH_BYTES,
        # a document has many small files: otherwise a task would list or read thirty of them
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
        todo = state
        if before is not None:
            done = before.where(F.col("producers").isin(greeting["producers"], greeting["signature"])).select("id", "files")
            todo = todo.join(done, ["id", "files"], "left_anti")
        todo = todo.persist()
        try:
            documents, missing = state.count(), todo.count()
            if documents == 0:
                raise RiposteError(f"there is no image in {input}", 2)
            say(f"{documents} documents, {missing} of them new or changed")
            if missing == 0:
                return Extracted(documents, 0, 0)
            sorted_files = files.join(todo, "id").repartition(count, "id").sortWithinPartitions("id", "path")
            evidence = sorted_files.mapInArrow(lambda batches: _compute(batches, job), schema)
            evidence.write.mode("append").option("compression", "zstd").parquet(output)
        finally:
            todo.unpersist()
        added = spark.read.schema(schema).parquet(output).where(F.col("run") == job.run)
        computed, faults = added.agg(F.count("id"), F.sum(F.size("fault") + F.size("passed_over"))).first()
        say(f"{computed} documents computed, with {faults} faults, into {output}")
        return Extracted(documents, computed, faults)


def _version(spark: SparkSession) -> tuple[int, ...]:
    return tuple(int(number) for number in spark.version.split(".")[:2])


def _greeting(job: Job) -> dict[str, Any]:
    """What the driver's program says of itself."""
    stream = Stream(job.command())
    stream.close()
    return stream.greeting


def _stored(spark: SparkSession, output: str, schema: StructType) -> DataFrame | None:
    """What earlier runs have written; None if there was none."""
    return spark.read.schema(schema).parquet(output) if has(spark, output) else None


def _is_parquet(spark: SparkSession, input: str) -> bool:
    """Whether the input has no directory of images."""
    return not has(spark, f"{input.rstrip('/')}/images")


def _collection(spark: SparkSession, input: str) -> tuple[DataFrame, DataFrame]:
    """The documents of a collection with a hash over names, sizes and times of their files, and all files."""
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
    # listing takes long, so it is done twice, and not three times: Spark reads the bytes of those files alone that pass filters on names and sizes
    everything = listed()
    others = placed(everything.where(~is_read), F.lit(None).cast("binary"))
    read = placed(listed("{" + ",".join(READ) + "}").where(F.col("length") <= MAX_FILE_BYTES), F.col("content"))
    line = F.concat_ws(":", "path", "length", "time")
    return _states(placed(everything, F.lit(None)), line), read.unionByName(others).drop("time")


def _parquet(spark: SparkSession, input: str) -> tuple[DataFrame, DataFrame]:
    """The same of Parquet files with the columns `document` and `files`, a list of `path` and `content`; `dir` can be there."""
    from pyspark.sql import functions as F

    found = spark.read.parquet(input)
    if not {"document", "files"} <= set(found.columns):
        raise RiposteError(f"{input} has neither images/ nor the columns document and files, but {', '.join(found.columns)}", 2)
    default = F.concat(F.lit("images/"), F.substring("document", 1, 3), F.lit("/"), "document")
    directory = F.col("dir") if "dir" in found.columns else default
    files = found.select(F.col("document").alias("id"), directory.alias("dir"), F.explode("files").alias("file"))
    files = files.select("id", "dir", "file.path", F.length("file.content").cast("long").alias("length"), "file.content")
    return _states(files, F.concat_ws(":", "path", F.sha2("content", 256))), files


def _states(files: DataFrame, line: Any) -> DataFrame:
    from pyspark.sql import functions as F

    lines = F.array_sort(F.collect_list(line))
    return files.groupBy("id").agg(F.sha2(F.concat_ws("\n", lines), 256).alias("files"))
