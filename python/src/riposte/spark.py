"""The evidence about a collection of images, computed on Spark. Needs pyspark and pyarrow: `pip install riposte[spark]`.

    riposte-spark extract hdfs:///touche/2023 hdfs:///touche/2023-evidence --models models
    riposte merge evidence.sqlite evidence-as-parquet/

Each task starts the program once and hands it one document after the other. docs/scale.md has the details.
"""

from __future__ import annotations

import argparse
import base64
import os
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._program import RiposteError, find_binary
from ._stream import Died, FileOfDocument, Stream

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

__all__ = ["Extracted", "extract", "main"]

#: The names of the files that riposte reads (src/collection/images.rs). Others are only listed, because a directory of a page counts without them.
READ = [
    *("image.webp", "image.png", "image.jpg", "image.jpeg"),
    *("image-url.txt", "image-phash.txt", "image-caption.txt", "image-text.txt"),
    *("page-url.txt", "rankings.jsonl", "dom.html", "image-xpath.txt", "text.txt"),
]

#: Larger files are not read (docs/limits.md).
MAX_FILE_BYTES = 256 << 20

#: The directory of a document, and a path in it.
LAYOUT = r"/images/(I[0-9a-f]{2})/(\1[0-9a-f]{14,})/(.+)$"

#: The columns of a row beside the tables.
BESIDE = [("id", "text"), ("run", "integer"), ("producers", "text"), ("files", "text")]

#: The name under which executors find the models that are shipped to them.
MODELS = "riposte-models"


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
    program: str
    #: The models directory; None for that of each machine.
    models: str | None
    #: Whether program and models are names of what was shipped, and not paths.
    shipped: bool = False
    run: int = 1

    def command(self, *more: str) -> list[str]:
        from pyspark import SparkFiles

        place = SparkFiles.get if self.shipped else str
        models = [] if self.models is None else ["--models", place(self.models)]
        return [place(self.program), "--no-config", "extract", "--stream", *self.options, *models, *more]


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

    schema = _arrow_schema(job.greeting)
    reader = Reader(job)
    try:
        rows = (row for batch in batches for row in batch.to_pylist())
        for (document, directory, state), files in groupby(rows, lambda row: (row["id"], row["dir"], row["files"])):
            listed = [FileOfDocument(row["path"], row["length"], row["content"]) for row in files]
            answer = reader.compute(document, directory, listed)
            row = {"id": document, "run": job.run, "producers": answer["producers"], "files": state}
            yield pa.RecordBatch.from_pylist([row | _tables(answer, job.greeting)], schema)
    finally:
        reader.close()


def _tables(answer: dict[str, Any], greeting: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    tables = {}
    for table, columns in greeting["tables"].items():
        rows = [dict(zip([column["name"] for column in columns], row, strict=True)) for row in answer["tables"][table]]
        for name in [column["name"] for column in columns if column["type"] == "vector"]:
            for row in rows:
                row[name] = base64.b64decode(row[name])
        tables[table] = rows
    return tables


def _arrow_schema(greeting: dict[str, Any]) -> pa.Schema:
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

    context = spark.sparkContext
    models = models or os.environ.get("RIPOSTE_MODELS") or None
    with tempfile.TemporaryDirectory(prefix="riposte-spark-") as shipped, ExitStack() as settings:
        job = _prepare(context, models, list(options), installed or (context.master or "").startswith("local["), Path(shipped))
        context.addPyFile(_package(Path(shipped)))
        count = partitions or 3 * context.defaultParallelism
        settings.enter_context(_setting(spark, "spark.sql.shuffle.partitions", str(count)))
        # each row that a task gets is a file, which may have 256 MB
        settings.enter_context(_setting(spark, "spark.sql.execution.arrow.maxRecordsPerBatch", "1"))
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


def _prepare(context: Any, models: str | os.PathLike[str] | None, options: list[str], installed: bool, shipped: Path) -> Job:
    """Asks the driver's program what it will compute, and ships it and its models."""
    program = find_binary().resolve()
    here = Job({}, options, str(program), None if models is None else os.path.abspath(models))
    stream = Stream(here.command())
    stream.close()
    here = replace(here, greeting=stream.greeting)
    if installed:
        return here
    context.addFile(str(program))
    if models is not None:
        archive = shipped / f"{MODELS}.zip"
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_STORED) as file:
            for path in sorted(Path(models).rglob("*")):
                if path.is_file():
                    file.write(path, path.relative_to(models))
        context.addArchive(f"{archive}#{MODELS}")
    return replace(here, program=program.name, models=None if models is None else MODELS, shipped=True)


def _package(shipped: Path) -> str:
    """This package as an archive from which executors import it."""
    archive = shipped / "riposte-package.zip"
    source = Path(__file__).parent
    with zipfile.ZipFile(archive, "w") as file:
        for path in sorted(source.glob("*.py")):
            file.write(path, f"riposte/{path.name}")
    return str(archive)


def _stored(spark: SparkSession, output: str, schema: StructType) -> DataFrame | None:
    """What earlier runs have written; None if there was none."""
    return spark.read.schema(schema).parquet(output) if _has(spark, output) else None


def _has(spark: SparkSession, path: str) -> bool:
    found = spark._jvm.org.apache.hadoop.fs.Path(path)
    return found.getFileSystem(spark._jsc.hadoopConfiguration()).exists(found)


def _is_parquet(spark: SparkSession, input: str) -> bool:
    """Whether the input has no directory of images."""
    return not _has(spark, f"{input.rstrip('/')}/images")


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
    # Spark reads the bytes of those files alone that pass filters on names and sizes
    others = placed(listed().where(~is_read), F.lit(None).cast("binary"))
    read = placed(listed("{" + ",".join(READ) + "}").where(F.col("length") <= MAX_FILE_BYTES), F.col("content"))
    line = F.concat_ws(":", "path", "length", "time")
    return _states(placed(listed(), F.lit(None)), line), read.unionByName(others).drop("time")


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


@contextmanager
def _setting(spark: SparkSession, name: str, value: str) -> Iterator[None]:
    """A setting of the session, for as long as something is done."""
    before = spark.conf.get(name, None)
    spark.conf.set(name, value)
    try:
        yield
    finally:
        if before is None:
            spark.conf.unset(name)
        else:
            spark.conf.set(name, before)


def main(arguments: Sequence[str] | None = None) -> int:
    """`riposte-spark`. Returns the exit code: 0, or 1 if there are faults, or 2 after an error."""
    parser = argparse.ArgumentParser(prog="riposte-spark", description="Computes the evidence about a collection of images on Spark.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    command = commands.add_parser("extract", help="compute the evidence that OUTPUT lacks", description="Computes the evidence that OUTPUT lacks.")
    command.add_argument("input", metavar="INPUT", help="directory of the collection with images/, or of Parquet files with its documents")
    command.add_argument("output", metavar="OUTPUT", help="directory of Parquet files, which `riposte merge` reads")
    command.add_argument("--models", metavar="DIR", help="models directory, by default $RIPOSTE_MODELS")
    command.add_argument("--numeric", choices=["auto", "float"], default="float", help="numbers in which models are computed (default: float)")
    for option, metavar in [("--ocr", "NAME"), ("--clip", "NAME"), ("--clip-precision", "NUMBERS"), ("--script", "SCRIPT"), ("--require", "CHANNEL")]:
        command.add_argument(option, metavar=metavar, help=f"as for riposte extract {option}")
    command.add_argument("--partitions", metavar="N", type=int, help="number of tasks, by default three for each core")
    command.add_argument("--installed", action="store_true", help="program and models have the same paths on all machines: ship nothing")
    command.add_argument("--master", metavar="URL", help="Spark's master, by default that of spark-submit or the configuration")
    typed = parser.parse_args(arguments)
    if typed.partitions is not None and typed.partitions < 1:
        parser.error("--partitions must be at least 1")
    try:
        from py4j.protocol import Py4JJavaError
        from pyspark.errors import PySparkException
        from pyspark.sql import SparkSession
    except ImportError:
        print("riposte-spark: pyspark is not installed: pip install 'riposte[spark]'", file=sys.stderr)
        return 2
    if (typed.master or "local").startswith("local"):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # otherwise the tasks run in the first python3 of PATH
    builder = SparkSession.builder.appName("riposte extract")
    options = ["--numeric", typed.numeric]
    for option in ["ocr", "clip", "clip_precision", "script", "require"]:
        if value := getattr(typed, option):
            options += ["--" + option.replace("_", "-"), value]
    spark = None
    try:
        spark = (builder.master(typed.master) if typed.master else builder).getOrCreate()
        extracted = extract(
            spark,
            typed.input,
            typed.output,
            models=typed.models,
            options=options,
            partitions=typed.partitions,
            installed=typed.installed,
            say=lambda line: print(line, file=sys.stderr),
        )
    except (RiposteError, FileNotFoundError) as error:
        print(f"riposte-spark: {error}", file=sys.stderr)
        return 2
    except Died as death:
        print(f"riposte-spark: the program died before it had a document: {death}", file=sys.stderr)
        return 2
    except (PySparkException, Py4JJavaError) as error:
        print(f"riposte-spark: Spark could not do it: {error}", file=sys.stderr)
        return 2
    finally:
        if spark is not None:
            spark.stop()
    return int(extracted.faults > 0)


if __name__ == "__main__":
    sys.exit(main())
