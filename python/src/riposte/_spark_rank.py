"""Ranks what Spark has computed: fetches it to the driver, joins it with `riposte merge`, and ranks with the ordinary commands."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ._cluster import Place, has, local_place
from ._program import RiposteError
from ._shards import is_finished, run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: The list of the shards in a directory that `riposte merge` has made (src/collection/shards.rs).
SHARDS = "riposte-shards.json"

#: The names of the files of a run.
RUNS = "run.txt", "results.jsonl"


@dataclass(frozen=True)
class Found:
    """The result of `search` and `images`: the number of lines of the run."""

    lines: int


def search(
    spark: SparkSession,
    index: str,
    output: str | os.PathLike[str],
    *,
    topics: str | os.PathLike[str],
    approach: str | None = None,
    models: str | os.PathLike[str] | None = None,
    options: Sequence[str] = ("--numeric", "float"),
    say: Callable[[str], None] = lambda line: None,
) -> Found:
    """Ranks the documents of an index for topics. The run has the same bytes as a run from the collection itself.

    Args:
        spark: a Spark session.
        index: the output directory of `index`, which is merged on the driver, or a directory that `riposte merge` has made of it.
        output: a directory on the driver, for run.txt.
        topics: the file with the topics, on the driver.
        approach: one of the approaches that the index was made for, by default that of the task's command.
        models: the models directory, by default $RIPOSTE_MODELS.
        options: options of the task's command, such as `--tag`.
        say: is called with each line of progress.

    Raises:
        RiposteError: the index is not finished or was made for other approaches, or the program fails.
    """
    here = local_place(models)
    with tempfile.TemporaryDirectory(prefix="riposte-found-") as home:
        merged = Path(index)
        if not (merged / SHARDS).is_file():
            if not is_finished(spark, index):
                raise RiposteError(f"{index} has no finished index: make one with riposte-spark index", 2)
            merged = _merged(spark, index, Path(home, "merged"), here, say)
        task = json.loads((merged / SHARDS).read_text())["task"]
        return _rank(here.command(task, "-i", str(merged), "--index", f"{home}/kept", *options), output, topics, approach, say)


def images(
    spark: SparkSession,
    evidence: str,
    output: str | os.PathLike[str],
    *,
    topics: str | os.PathLike[str],
    approach: str | None = None,
    models: str | os.PathLike[str] | None = None,
    options: Sequence[str] = ("--numeric", "float"),
    say: Callable[[str], None] = lambda line: None,
) -> Found:
    """Ranks images for topics. The run has the same bytes as a run from the collection itself.

    Args:
        spark: a Spark session.
        evidence: the output directory of `extract`, which is merged on the driver.
        output: a directory on the driver, for the run.
        topics: the file with the topics, on the driver.
        approach: the approach, by default that of `riposte images`.
        models: the models directory on the driver, by default $RIPOSTE_MODELS.
        options: options of `riposte images`, such as `--use`.
        say: is called with each line of progress.

    Raises:
        RiposteError: there is no evidence, or the program fails.
    """
    if has(spark, f"{evidence}/parts"):
        raise RiposteError(f"{evidence} is an index of texts: rank them with riposte-spark search", 2)
    here = local_place(models)
    with tempfile.TemporaryDirectory(prefix="riposte-found-") as home:
        store = _merged(spark, evidence, Path(home, "evidence.sqlite"), here, say)
        return _rank(here.command("images", "-i", str(store), *options), output, topics, approach, say)


def _merged(spark: SparkSession, computed: str, into: Path, here: Place, say: Callable[[str], None]) -> Path:
    """Joins the results of Spark's tasks in a new file or directory."""
    with _fetched(spark, computed, say) as directory:
        run(here.bare("merge", str(into), directory))
    size = sum(file.stat().st_size for file in [into, *into.rglob("*")] if file.is_file())
    say(f"merged {computed} ({size / 1e6:.1f} MB)")
    return into


@contextmanager
def _fetched(spark: SparkSession, path: str, say: Callable[[str], None]) -> Iterator[str]:
    """A directory on this machine with the files of `path`: `path` itself if it is in a mounted file system, otherwise a copy."""
    hadoop = spark._jvm.org.apache.hadoop.fs
    source = hadoop.Path(path)
    system = source.getFileSystem(spark._jsc.hadoopConfiguration())
    if system.getUri().getScheme() == "file":
        yield system.makeQualified(source).toUri().getPath()
        return
    with tempfile.TemporaryDirectory(prefix="riposte-fetched-") as home:
        say(f"fetching {path}")
        copy = f"{home}/fetched"
        system.copyToLocalFile(False, source, hadoop.Path(f"file://{copy}"), True)
        yield copy


def _rank(
    command: list[str],
    output: str | os.PathLike[str],
    topics: str | os.PathLike[str],
    approach: str | None,
    say: Callable[[str], None],
) -> Found:
    named = [] if approach is None else ["--approach", approach]
    run([*command, "--quiet=progress", "-o", str(output), "--topics", str(topics), *named])
    file = max((file for name in RUNS if (file := Path(output, name)).is_file()), key=lambda file: file.stat().st_mtime_ns)
    lines = file.read_bytes().count(b"\n")
    say(f"{lines} lines in {file}")
    return Found(lines)
