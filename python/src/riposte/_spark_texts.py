"""Indexes of text collections on Spark, and searches in them.

A shard is indexed by one task, as a collection of its own. Counts of terms are added up over all shards. A ranking is made by the driver from what
the shards find; docs/scale.md says why it is that of one machine.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._cluster import Place, has, places, settings
from ._program import RiposteError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

#: The files of a text collection that have one text on each line, by task.
FILES = {"comparative": "*passages*.jsonl*", "rank": "{corpus,documents}*.jsonl*"}

#: Bytes of a file in one row.
PART_BYTES = 1 << 20

#: Rows of this size that are in memory at once.
ROWS = 16

#: No task of a file is divided, and no two files share one.
WHOLE_FILES = 1 << 40

#: More rounds than any approach needs.
MAX_ROUNDS = 20

#: A text that was read, or a fault. `path`, `block` and `line` order them as one machine reads them.
TEXTS = "path string, block long, line long, id string, words string, text string, fault string"

#: A part of a file of a shard (kind `file`), counts of a term (`term`), or of a shard (`counts`, as JSON in `about`).
PARTS = (
    "kind string, shard int, path string, offset long, content binary, analyzer string, fields string, term string, df long, cf long, about string"
)

#: A document that a shard has found for a request, or the text of one.
ANSWERS = "request string, k int, id string, passage long, score double, text string"


@dataclass(frozen=True)
class Indexed:
    """What was indexed: the number of documents that can be found, of faults, and of shards."""

    documents: int
    faults: int
    shards: int


@dataclass(frozen=True)
class Found:
    """A run that was made: the number of its lines, and how often the shards were asked."""

    lines: int
    rounds: int


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

    if has(spark, f"{output}/terms"):
        raise RiposteError(f"{output} has an index already", 2)
    count = shards or spark.sparkContext.defaultParallelism
    with places(spark, models, installed) as (here, there), settings(spark, spark__sql__execution__arrow__maxRecordsPerBatch=1000):
        texts = _read_lines(spark, input, task, there) if task in FILES else _read_here(spark, input, task, here)
        texts = texts.persist()
        try:
            found = texts.agg(F.count("id"), F.count("fault")).first()
            if not found[0]:
                raise RiposteError(f"no text can be read in {input}", 2)
            say(f"{found[0]} texts, {found[1]} faults")
            divided = _with_first(texts).repartition(count, "id").sortWithinPartitions("path", "block", "line")
            job = _Shard(task, count, list(approaches), list(options), there)
            parts = divided.mapInArrow(lambda batches: job.build(batches), PARTS)
            with settings(spark, parquet__block__size=ROWS * PART_BYTES):
                parts.write.mode("overwrite").partitionBy("kind").option("compression", "zstd").parquet(f"{output}/parts")
        finally:
            texts.unpersist()
        terms = spark.read.schema(PARTS).parquet(f"{output}/parts").where("kind = 'term'")
        terms = terms.groupBy("analyzer", "fields", "term").agg(F.sum("df").alias("df"), F.sum("cf").alias("cf"))
        # written last: an index without it is not finished
        terms.write.mode("overwrite").option("compression", "zstd").parquet(f"{output}/terms")
        documents = _Index(spark, output).documents
        say(f"{documents} documents in {count} shards in {output}")
        return Indexed(documents, found[1], count)


def _read_lines(spark: SparkSession, input: str, task: str, place: Place) -> DataFrame:
    """Texts on the lines of files, each read where its part of a file is."""
    from pyspark.sql import functions as F
    from pyspark.sql import Window

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
        for some in _chunks(({"path": path, "block": block, **row} for row in read), 1000):
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


def _chunks(rows: Iterator[Any], size: int) -> Iterator[list[Any]]:
    some = []
    for row in rows:
        some.append(row)
        if len(some) == size:
            yield some
            some = []
    if some:
        yield some


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
    with _Process(command, lines) as process:
        for line in process.output():
            read = json.loads(line)
            row = {"line": read["line"]}
            if "fault" in read:
                yield row | {"fault": json.dumps(read["fault"], ensure_ascii=False)}
            else:
                yield row | {"id": read["text"]["id"], "words": read["words"], "text": json.dumps(read["text"], ensure_ascii=False)}


class _Process:
    """A process of the program, with its input from another thread. An exit code above 1 is an error."""

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
            pass  # it has ended: its exit code says how
        except BaseException as error:
            self._error = error

    def output(self) -> Iterator[bytes]:
        yield from self._process.stdout
        self._feeder.join()
        if self._error is not None:
            raise self._error
        code = self._process.wait()
        if code not in (0, 1):
            self._said.seek(0)
            raise RiposteError(f"riposte: {self._said.read().decode(errors='replace').strip() or f'exit code {code}'}", code)

    def __enter__(self) -> _Process:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        self._process.stdout.close()
        self._said.close()


def _run(command: list[str]) -> None:
    with _Process(command) as process:
        for _ in process.output():
            pass


def _with_first(texts: DataFrame) -> DataFrame:
    """The texts, each with the first one in the collection that has the same words. Those whose id is not new stay: their shard counts them."""
    from pyspark.sql import functions as F
    from pyspark.sql import Window

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

    def build(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Indexes the texts of a partition; the rows are `PARTS`."""
        from pyspark import TaskContext

        number = TaskContext.get().partitionId()
        with tempfile.TemporaryDirectory(prefix="riposte-shard-") as home:
            source, shard = Path(home, "source"), Path(home, "shard")
            source.mkdir()
            shard.mkdir()
            texts = self._write(batches, source / "riposte-texts.jsonl")
            about = {"task": self.task, "shards": self.shards, "texts": texts, "approaches": self.approaches}
            (shard / "shard.json").write_text(json.dumps(about))
            rows = [{"kind": "counts", "about": json.dumps(about)}]
            if texts:
                counted: set[tuple[str, str]] = set()
                for approach in self.approaches:
                    _run(self.place.command("index", "-q", "-i", str(source), "--index", str(shard), "--approach", approach, *self.options))
                    yield from _batches(self._count(approach, shard, counted), number)
            yield from _batches(iter(rows), number)
            yield from _batches(_files(shard), number)

    def _write(self, batches: Iterator[pa.RecordBatch], path: Path) -> int:
        """Writes the texts as a collection. Returns how many there are."""
        texts = 0
        with path.open("w") as file:
            file.write(json.dumps({"format": 1, "task": self.task}) + "\n")
            for batch in batches:
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

    def _count(self, approach: str, shard: Path, counted: set[tuple[str, str]]) -> Iterator[dict[str, Any]]:
        """The counts of the terms that an approach searches and no earlier one does."""
        known = set(counted)
        with _Process(self.place.bare("shard", "count", "--task", self.task, "--approach", approach, str(shard))) as process:
            for line in process.output():
                row = json.loads(line)
                if "counts" in row:
                    counted.update((row["analyzer"], fields) for fields in row["covered"])
                    yield {"kind": "counts", "about": line.decode()}
                elif (row["analyzer"], row["fields"]) not in known:
                    yield {"kind": "term", **row}


def _files(directory: Path) -> Iterator[dict[str, Any]]:
    """The files of a shard, in parts."""
    for path in sorted(directory.rglob("*")):
        name = str(path.relative_to(directory))
        # locks and what is known of the source stay behind
        if not path.is_file() or name.startswith(".") or path.name.startswith(".tantivy-"):
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


def _batches(rows: Iterator[dict[str, Any]], shard: int) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    names = {name: kind for name, kind in (column.split() for column in PARTS.split(", "))}
    types = {"string": pa.string(), "int": pa.int32(), "long": pa.int64(), "binary": pa.binary()}
    schema = pa.schema([(name, types[kind]) for name, kind in names.items()])
    for some in _chunks(rows, ROWS):
        yield pa.RecordBatch.from_pylist([{"shard": shard, **row} for row in some], schema)


class _Index:
    """An index in shards, as the driver knows it."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        if not has(spark, f"{path}/terms/_SUCCESS"):
            raise RiposteError(f"{path} has no index, or one that was not finished: riposte-spark index makes it", 2)
        self._spark = spark
        self._path = path.rstrip("/")
        #: The sum of the counts of each field, by analyzer.
        self.counts: dict[str, list[dict[str, int]]] = {}
        #: The fields whose terms are counted, with their analyzers.
        self.covered: set[tuple[str, str]] = set()
        self.task = ""
        self.approaches: list[str] = []
        seen = set()
        for row in self._parts("counts").select("shard", "about").collect():
            about = json.loads(row["about"])
            if "counts" not in about:
                self.task, self.approaches = about["task"], about["approaches"]
                continue
            analyzer = about["analyzer"]
            self.covered.update((analyzer, fields) for fields in about["covered"])
            # two approaches may search the same index
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
        """The counts of terms in the whole collection."""
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

    def answers(self, asked: dict[str, Any], place: Place) -> DataFrame:
        """What all shards answer. Each is read by one task, because its rows are in one file."""
        sent = self._spark.sparkContext.broadcast(json.dumps(asked))
        return self._parts("file").select("shard", "path", "offset", "content").mapInArrow(lambda rows: _answer(rows, sent, place), ANSWERS)


def _answer(batches: Iterator[pa.RecordBatch], asked: Any, place: Place) -> Iterator[pa.RecordBatch]:
    """Unpacks the shards of a partition, and asks each."""
    import pyarrow as pa

    names = [("request", pa.string()), ("k", pa.int32()), ("id", pa.string()), ("passage", pa.int64()), ("score", pa.float64()), ("text", pa.string())]
    schema = pa.schema(names)
    rows = (row for batch in batches for row in batch.to_pylist())
    for _, own in groupby(rows, lambda row: row["shard"]):
        with tempfile.TemporaryDirectory(prefix="riposte-shard-") as home:
            shard, request = Path(home, "shard"), Path(home, "asked.json")
            _unpack(own, shard)
            request.write_text(asked.value)
            if not json.loads((shard / "shard.json").read_text())["texts"]:
                continue
            with _Process(place.bare("shard", "answer", "--asked", str(request), str(shard))) as process:
                for some in _chunks((_row(line) for line in process.output()), 1000):
                    yield pa.RecordBatch.from_pylist(some, schema)


def _row(line: bytes) -> dict[str, Any]:
    row = json.loads(line)
    return {"id": row["text"]["id"], "text": json.dumps(row["text"], ensure_ascii=False)} if "text" in row else row


def _unpack(rows: Iterable[dict[str, Any]], directory: Path) -> None:
    for row in rows:
        path = directory / row["path"]
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("r+b" if path.exists() else "wb") as file:
            file.seek(row["offset"])
            file.write(row["content"])


@dataclass
class _Dialogue:
    """What the shards have found so far, as a collection from which the driver ranks."""

    index: _Index
    place: Place
    home: Path
    counted: list[dict[str, Any]] = field(default_factory=list)
    vectors: dict[str, Any] = field(default_factory=dict)
    answered: list[str] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)
    rounds: int = 0

    def write(self) -> None:
        with (self.home / "riposte-texts.jsonl").open("w") as file:
            file.write(json.dumps({"format": 1, "task": self.index.task}) + "\n")
            file.writelines(f"{self.texts[name]}\n" for name in sorted(self.texts))
        answers = {"counts": self._counts(), "vectors": list(self.vectors.values()), "answered": self.answered}
        (self.home / "answers.json").write_text(json.dumps(answers))

    def _counts(self) -> list[dict[str, Any]]:
        def of(analyzer: str) -> list[dict[str, Any]]:
            own = (term for term in self.counted if term["analyzer"] == analyzer)
            return [{name: term[name] for name in ("fields", "term", "df", "cf")} for term in own]

        return [{"analyzer": analyzer, "fields": fields, "terms": of(analyzer)} for analyzer, fields in self.index.counts.items()]

    def ask(self, needs: dict[str, Any]) -> None:
        """Lets the shards answer what a ranking needs."""
        from pyspark.sql import functions as F
        from pyspark.sql import Window

        self.rounds += 1
        if self.rounds > MAX_ROUNDS:
            raise RiposteError(f"the ranking is not made after {MAX_ROUNDS} rounds", 2)
        self.counted += self.index.terms(needs["terms"])
        self.vectors |= needs["vectors"]
        asked = {"task": self.index.task, "counts": self._counts(), "vectors": list(self.vectors.values()), "requests": needs["requests"]}
        answers = self.index.answers(asked, self.place).persist()
        try:
            best = Window.partitionBy("request").orderBy(F.desc("score"), "id", "passage")
            hits = answers.where("request IS NOT NULL").withColumn("rank", F.row_number().over(best)).where("rank <= k")
            texts = answers.where("text IS NOT NULL").select("id", "text").join(hits.select("id").distinct(), "id")
            for row in texts.toLocalIterator():
                self.texts[row["id"]] = row["text"]
        finally:
            answers.unpersist()
        self.answered += needs["requests"]
        self.write()


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
    of = _Index(spark, index)
    # the rows of a shard are large, and in one file
    wanted = settings(
        spark,
        spark__sql__execution__arrow__maxRecordsPerBatch=ROWS,
        spark__sql__parquet__columnarReaderBatchSize=ROWS,
        spark__sql__files__maxPartitionBytes=WHOLE_FILES,
        spark__sql__files__openCostInBytes=WHOLE_FILES,
    )
    with places(spark, models, installed) as (here, there), wanted, tempfile.TemporaryDirectory(prefix="riposte-found-") as home:
        dialogue = _Dialogue(of, there, Path(home))
        dialogue.write()
        command = ["-q", "-i", home, "-o", str(output), "--index", f"{home}/kept", "--topics", str(topics), "--approach", approach, *options]
        while True:
            done = subprocess.run(here.command(of.task, *command), capture_output=True, text=True)
            needs = Path(home, "needs.json")
            if not needs.is_file():
                break
            asked = json.loads(needs.read_text())
            say(f"round {dialogue.rounds + 1}: {len(asked['requests'])} searches, {len(asked['terms'])} terms")
            dialogue.ask(asked)
        if done.returncode not in (0, 1):
            raise RiposteError(f"riposte {of.task}: {done.stderr.strip()}", done.returncode)
        lines = Path(output, "run.txt").read_text().count("\n")
        say(f"{lines} lines in {Path(output, 'run.txt')}")
        return Found(lines, dialogue.rounds)
