#!/usr/bin/env python3
"""Measures what Spark costs in addition to the computation: Spark with two cores against the program with two threads.

    spark.py RIPOSTE COLLECTION_TOOLS [--images 1000] [--passages 100000] [--rounds 2]

Needs pyspark, pyarrow and Java 17, and the models that RIPOSTE_MODELS names. The two programs are measured in turn. For images, start-up is left
out: a tenth of the images is computed separately, and its time is subtracted. Prints one JSON object for each measurement.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def timed(do):
    start = time.perf_counter()
    do()
    return time.perf_counter() - start


def size(path):
    return sum(file.stat().st_size for file in Path(path).rglob("*") if file.is_file())


class Bench:
    def __init__(self, riposte, tools, home):
        self.riposte, self.tools, self.home = riposte, tools, home
        os.environ["RIPOSTE_BINARY"] = str(riposte)
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        sys.path.insert(0, str(ROOT / "python/src"))
        from pyspark.sql import SparkSession

        from riposte import spark

        self.spark = spark
        self.session = SparkSession.builder.master("local[2,4]").appName("bench").getOrCreate()
        self.session.sparkContext.setLogLevel("ERROR")

    def run(self, *args):
        subprocess.run([self.riposte, "--no-config", *map(str, args)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def fresh(self, name):
        path = self.home / name
        shutil.rmtree(path, ignore_errors=True)
        path.unlink(missing_ok=True)
        return path

    def images(self, count, rounds):
        """Seconds per image: with two threads, and on Spark with two cores."""
        small = count // 10
        for number in (small, count):
            subprocess.run([self.tools, "generate", "--topics", "10", "--images", str(number), self.home / f"images-{number}"], check=True, stdout=sys.stderr)
        threads, cores = [], []
        for _ in range(rounds):
            alone, on_spark = {}, {}
            for number in (small, count):
                source = self.home / f"images-{number}"
                store, output = self.fresh("evidence.sqlite"), self.fresh("evidence")
                alone[number] = timed(lambda: self.run("extract", "-i", source, "--evidence", store, "--numeric", "float", "--threads", 2))
                on_spark[number] = timed(lambda: self.spark.extract(self.session, str(source), str(output), partitions=8))
                stored, shuffled, merged = size(output) / number, size(source) / number, store.stat().st_size / number
            threads.append((alone[count] - alone[small]) / (count - small))
            cores.append((on_spark[count] - on_spark[small]) / (count - small))
        self.say("images", images=count, threads_s=threads, spark_s=cores, ratio=statistics.median(c / t for c, t in zip(cores, threads)))
        self.say("storage", parquet_bytes_an_image=round(stored), store_bytes_an_image=round(merged), input_bytes_an_image=round(shuffled))

    def texts(self, count, rounds):
        """Seconds for an index and for a search of 50 topics."""
        source = self.home / "passages"
        subprocess.run([self.tools, "generate-passages", "--count", str(count), "--seed", "1", source], check=True, stdout=sys.stderr)
        subprocess.run(["gunzip", source / "passages.jsonl.gz"], check=True)
        topics = source / "topics.xml"
        for _ in range(rounds):
            kept, index = self.fresh("kept"), self.fresh("index")
            out = self.fresh("out")
            build = timed(lambda: self.run("index", "-i", source, "--index", kept, "--approach", "bm25", "--threads", 2))
            rank = timed(lambda: self.run("comparative", "-i", source, "--index", kept, "--approach", "bm25", "-o", out, "--no-stance"))
            shards = {"task": "comparative", "approaches": ["bm25"], "shards": 8}
            spark_build = timed(lambda: self.spark.index(self.session, str(source), str(index), **shards))
            ask = {"topics": topics, "approach": "bm25", "options": ["--no-stance"]}
            spark_rank = timed(lambda: self.spark.search(self.session, str(index), self.home / "spark-out", **ask))
            merged = self.fresh("merged")
            merge = timed(lambda: self.run("merge", merged, index))
            ask = ["--topics", topics, "--index", self.fresh("outputs"), "--approach", "bm25", "--no-stance"]
            rank_merged = timed(lambda: self.run("comparative", "-i", merged, "-o", self.home / "merged-out", *ask))
            same = (out / "run.txt").read_bytes() == (self.home / "spark-out/run.txt").read_bytes()
            self.say(
                "passages",
                passages=count,
                index_s=build,
                spark_index_s=spark_build,
                search_s=rank,
                spark_search_s=spark_rank,
                merge_s=merge,
                merged_search_s=rank_merged,
                index_bytes=size(kept),
                parts_bytes=size(index / "parts"),
                merged_bytes=size(merged),
                input_bytes=size(source),
                same=same,
            )

    def say(self, what, **values):
        print(json.dumps({"what": what, **{k: round(v, 4) if isinstance(v, float) else v for k, v in values.items()}}), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("riposte", type=Path)
    parser.add_argument("tools", type=Path)
    parser.add_argument("--images", type=int, default=1000)
    parser.add_argument("--passages", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=2)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="riposte-bench-") as home:
        bench = Bench(given.riposte.resolve(), given.tools.resolve(), Path(home))
        if given.images:
            bench.images(given.images, given.rounds)
        if given.passages:
            bench.texts(given.passages, given.rounds)


if __name__ == "__main__":
    main()
