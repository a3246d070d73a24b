"""riposte on Apache Spark, for collections that are too large for one machine. Needs pyspark and pyarrow: `pip install 'riposte-ir[spark]'`.

    riposte-spark extract hdfs:///touche/2023 hdfs:///touche/2023-evidence --models models
    riposte-spark index hdfs:///touche/passages hdfs:///touche/passages-index --task comparative
    riposte-spark search hdfs:///touche/passages-index out --topics topics.xml
    riposte-spark images hdfs:///touche/2023-evidence out --topics topics.xml

Each command computes the same as the program on one machine. docs/scale.md has the details.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

from ._program import RiposteError
from ._shards import Indexed
from ._spark_extract import Extracted, extract
from ._spark_rank import Found, images, search
from ._spark_texts import index
from ._stream import Died

__all__ = ["Extracted", "Found", "Indexed", "extract", "images", "index", "main", "search"]

#: Options that are passed on to `riposte extract`.
EXTRACTION = [("--ocr", "NAME"), ("--clip", "NAME"), ("--image-text", "NAME"), ("--clip-precision", "NUMBERS"), ("--script", "SCRIPT"), ("--require", "CHANNEL")]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="riposte-spark", description="Runs riposte on Apache Spark.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND", dest="command")

    def add(name: str, what: str) -> argparse.ArgumentParser:
        command = commands.add_parser(name, help=what[0].lower() + what[1:-1], description=what)
        command.add_argument("--models", metavar="DIR", help="models directory, by default $RIPOSTE_MODELS")
        command.add_argument("--numeric", choices=["auto", "float"], default="float", help="numbers in which models are computed (default: float)")
        command.add_argument("--strict", action="store_true", help="exit with 1, and not with 0, if there are faults")
        command.add_argument("--master", metavar="URL", help="Spark's master, by default that of spark-submit or the configuration")
        return command

    def add_job(name: str, what: str) -> argparse.ArgumentParser:
        command = add(name, what)
        command.add_argument(
            "--installed", action="store_true", help="do not ship the program and the models: they have the same paths on all machines"
        )
        return command

    command = add_job("extract", "Compute the evidence about images that is not in OUTPUT yet.")
    command.add_argument("input", metavar="INPUT", help="directory of the collection with images/, or of Parquet files with its documents")
    command.add_argument("output", metavar="OUTPUT", help="directory of Parquet files, which `riposte merge` reads")
    command.add_argument("--partitions", metavar="N", type=_positive, help="number of tasks, by default three for each core")
    for option, metavar in EXTRACTION:
        command.add_argument(option, metavar=metavar, help=f"as for riposte extract {option}")

    command = add_job("index", "Index a text collection in shards.")
    command.add_argument("input", metavar="INPUT", help="directory or files of the collection")
    command.add_argument("output", metavar="OUTPUT", help="new directory for the index, which `riposte merge` reads")
    command.add_argument("--task", choices=["controversial", "comparative", "rank"], required=True, help="task of the collection")
    command.add_argument(
        "--approach", action="append", metavar="NAME", help="approach that is to search the index; can be repeated (default: riposte)"
    )
    command.add_argument("--shards", metavar="N", type=_positive, help="number of shards, by default one for each core")

    for name, what, maker, task in [("search", "texts", "index", "the task's command"), ("images", "images", "extract", "riposte images")]:
        command = add(name, f"Rank {what} for topics. Further options are passed on to {task}.")
        command.add_argument("input", metavar="INPUT", help=f"OUTPUT of `riposte-spark {maker}`, which is merged on this machine")
        command.add_argument("output", metavar="OUTPUT", help="directory for run.txt")
        command.add_argument("--topics", metavar="FILE", required=True, help="file with the topics")
        command.add_argument("--approach", metavar="NAME", help="approach; an index must have been made for it (default: that of the task's command)")
    return parser


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs `riposte-spark`. Returns the exit code: 0, or 1 with --strict if there are faults, or 2 after an error."""
    parser = _parser()
    typed, more = parser.parse_known_args(arguments)
    if more and typed.command not in ("search", "images"):
        parser.error(f"unknown arguments: {' '.join(more)}")
    try:
        from py4j.protocol import Py4JJavaError
        from pyspark.errors import PySparkException
        from pyspark.sql import SparkSession
    except ImportError:
        print("riposte-spark: pyspark is not installed: pip install 'riposte-ir[spark]'", file=sys.stderr)
        return 2
    if (typed.master or "local").startswith("local"):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # otherwise the tasks run in the first python3 of PATH
    builder = SparkSession.builder.appName(f"riposte {typed.command}")
    spark = None
    try:
        spark = (builder.master(typed.master) if typed.master else builder).getOrCreate()
        faults = _run(spark, typed, more, lambda line: print(line, file=sys.stderr))
    except (RiposteError, FileNotFoundError) as error:
        print(f"riposte-spark: {error}", file=sys.stderr)
        return 2
    except Died as death:
        print(f"riposte-spark: the program died before its first document: {death}", file=sys.stderr)
        return 2
    except (PySparkException, Py4JJavaError) as error:
        print(f"riposte-spark: Spark failed: {error}", file=sys.stderr)
        return 2
    finally:
        if spark is not None:
            spark.stop()
    return int(typed.strict and faults > 0)


def _run(spark: Any, typed: argparse.Namespace, more: list[str], say: Callable[[str], None]) -> int:
    """Runs the command that was typed. Returns the number of faults."""
    options = ["--numeric", typed.numeric]
    for option, _ in EXTRACTION if typed.command == "extract" else []:
        if value := getattr(typed, option[2:].replace("-", "_")):
            options += [option, value]
    common = {"models": typed.models, "options": options + more, "say": say}
    if typed.command == "extract":
        return extract(spark, typed.input, typed.output, partitions=typed.partitions, installed=typed.installed, **common).faults
    if typed.command == "index":
        common |= {"approaches": typed.approach or ["riposte"], "shards": typed.shards, "installed": typed.installed}
        return index(spark, typed.input, typed.output, task=typed.task, **common).faults
    common |= {"topics": typed.topics, "approach": typed.approach}
    if typed.command == "search":
        search(spark, typed.input, typed.output, **common)
    else:
        images(spark, typed.input, typed.output, **common)
    return 0


if __name__ == "__main__":
    sys.exit(main())
