"""The image task on Spark: divides evidence into shards, indexes its words, and ranks images."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._cluster import Place, places, settings
from ._program import RiposteError
from ._shards import PARTS, Dialogue, Found, Index, Indexed, Shard, lines_of, require_none, run, whole_shards, write
from ._spark_extract import arrow_schema, table_rows
from ._stream import Stream

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

#: The name of the evidence store in a shard, and of the store from which the driver ranks (src/task/shards/images.rs).
EVIDENCE = "evidence.sqlite"


def index_images(
    spark: SparkSession,
    input: str,
    output: str,
    *,
    approaches: Sequence[str] = ("riposte",),
    shards: int | None = None,
    installed: bool = False,
    say: Callable[[str], None] = lambda line: None,
) -> Indexed:
    """Divides the evidence about images into shards, and indexes its words.

    Args:
        spark: a Spark session.
        input: the output directory of `extract`.
        output: a new directory, in any file system that Spark can write.
        approaches: the approaches that are to search the index.
        shards: the number of shards, by default one for each core of the cluster.
        installed: as for `extract`.
        say: is called with each line of progress.

    Raises:
        RiposteError: there is an index already, or the program fails.
    """
    require_none(spark, output)
    count = shards or spark.sparkContext.defaultParallelism
    _, there = places(spark, None, installed)
    # rows are large: each has all evidence about an image
    with settings(spark, spark__sql__execution__arrow__maxRecordsPerBatch=100):
        evidence = spark.read.parquet(input).repartition(count, "id")
        job = _ImageShard("images", count, list(approaches), there)
        write(spark, evidence.mapInArrow(job.build, PARTS), output)
        documents = Index(spark, output).documents
        say(f"{documents} images in {count} shards in {output}")
        return Indexed(documents, 0, count)


class _ImageShard(Shard):
    """What a task needs to know to make a shard of images."""

    def write(self, rows: Iterator[pa.RecordBatch], source: Path) -> int:
        """Writes the evidence of a partition as a Parquet file."""
        import pyarrow.parquet as pq

        images, writer = 0, None
        for batch in rows:
            if batch.num_rows:
                writer = writer or pq.ParquetWriter(source / "rows.parquet", batch.schema, compression="zstd")
                writer.write_batch(batch)
                images += batch.num_rows
        if writer is not None:
            writer.close()
        return images

    def index(self, source: Path, shard: Path) -> None:
        """Merges the evidence into a store. Its words are indexed when they are counted."""
        run(self.place.bare("merge", str(shard / EVIDENCE), str(source)))


def images(
    spark: SparkSession,
    index: str,
    output: str | os.PathLike[str],
    *,
    topics: str | os.PathLike[str],
    approach: str = "riposte",
    models: str | os.PathLike[str] | None = None,
    options: Sequence[str] = ("--numeric", "float"),
    more: Sequence[str] = (),
    installed: bool = False,
    say: Callable[[str], None] = lambda line: None,
) -> Found:
    """Ranks the images of an index for topics. The run has the same bytes as a run that one machine computes.

    Args:
        spark: a Spark session.
        index: the output directory of `index_images`.
        output: a directory on the driver, for run.txt.
        topics: the file with the topics, on the driver.
        approach: one of the approaches that the index was made for.
        models: the models directory on the driver, by default $RIPOSTE_MODELS. Shards need no models.
        options: options of `riposte images` that decide which images are candidates, such as `--use`.
        more: other options of `riposte images`, such as `--tag`.
        installed: as for `extract`.
        say: is called with each line of progress.

    Raises:
        RiposteError: the index is not finished or was made for other approaches, or the program fails.
    """
    of = Index(spark, index)
    if of.task != "images":
        raise RiposteError(f"{index} is an index of texts: rank them with riposte-spark search", 2)
    here, there = places(spark, models, installed)
    with whole_shards(spark), tempfile.TemporaryDirectory(prefix="riposte-found-") as home:
        dialogue, evidence = Dialogue(of, Path(home)), _Evidence(here, Path(home))
        wanted = ["--approach", approach, *options]
        command = here.command("images", "-q", "-i", home, "-o", str(output), "--topics", str(topics), *wanted, *more)
        ask = _Asking(Path(topics).read_bytes(), Path(topics).name, wanted, there)
        dialogue.rank(command, lambda asked: ask.shards(spark, asked, evidence.path), evidence.add, say)
        return Found(lines_of(Path(output), say), dialogue.rounds)


@dataclass(frozen=True)
class _Asking:
    """What a task needs to know to ask a shard."""

    topics: bytes
    name: str
    options: list[str]
    place: Place

    def shards(self, spark: SparkSession, asked: dict[str, Any], outputs: Path) -> Callable[[Path], Iterator[dict[str, Any]]]:
        """The function that a task calls with the directory of a shard. `outputs` is the store with the driver's model outputs for the topics."""
        # the ranking command has opened this store, so the file exists
        sent = spark.sparkContext.broadcast((json.dumps(asked), outputs.read_bytes()))

        def ask(shard: Path) -> Iterator[dict[str, Any]]:
            request, computed = sent.value
            (shard / "riposte-asked.json").write_text(request)
            (shard / "outputs.sqlite").write_bytes(computed)
            topics, models = shard.with_name(self.name), shard.with_name("models")
            topics.write_bytes(self.topics)
            models.mkdir()
            command = ["-q", "-i", str(shard), "-o", str(shard.with_name("out")), "--topics", str(topics), "--models", str(models)]
            run(self.place.bare("images", *command, *self.options))
            with (shard / "riposte-answered.jsonl").open() as answered:
                for line in answered:
                    row = json.loads(line)
                    if "request" in row:
                        yield row
                    elif "evidence" in row:
                        yield {"id": row["evidence"]["document"], "found": json.dumps(row["evidence"], ensure_ascii=False)}

        return ask


class _Evidence:
    """The evidence about the images that shards have found, in a store from which the driver ranks."""

    def __init__(self, place: Place, home: Path) -> None:
        self.path = home / EVIDENCE
        self._place = place
        self._home = home
        stream = Stream(place.bare("extract", "--stream"))
        stream.close()
        self._tables = {"tables": stream.greeting["tables"]}
        self._known: set[str] = set()

    def add(self, found: Iterator[str]) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        rows = []
        for line in found:
            answer = json.loads(line)
            if answer["document"] not in self._known:
                self._known.add(answer["document"])
                rows.append({"id": answer["document"], "run": 1, "producers": "", "files": "", **table_rows(answer, self._tables)})
        if not rows:
            return
        part = self._home / f"found-{len(self._known)}"
        part.mkdir()
        pq.write_table(pa.Table.from_pylist(rows, arrow_schema(self._tables)), part / "rows.parquet", compression="zstd")
        run(self._place.bare("merge", str(self.path), str(part)))
