#!/usr/bin/env python3
"""Measures how time and memory grow with a collection, fits the exponents, and plots them.

    benches/growth.py RIPOSTE RIPOSTE-BENCH COLLECTION-TOOLS OUT [--only index,ask,dense,extract] [--sizes 1000,10000,…] [--images 500,1000,…]
                      [--work DIR]

For each size, collections are generated, and these are measured, each in a process of its own that starts with a warm disk:

    index     riposte controversial --approach bm25, the first time: the index of the arguments is built, and fifty topics are searched
    search    the same again
    ask       riposte ask, the first time: the index is built, and the models read what the question needs
    again     riposte ask with another question: the index is there
    dense     the best 1,000 of each of fifty topics among the sentence vectors, all topics at once (riposte-bench dense)
    load      reading these vectors
    extract   riposte extract over generated images, with the models that are installed

The exponent b of time = a · size^b is the slope of a line through the logarithms. Where a start or the reading of models costs more than the
collection, it is near 0. It is given over all sizes, and between the last two, where the size counts most. Times are processor seconds, so other work of the
machine counts little; dense search and the reading of vectors are timed by the clock, the fastest of several runs. Written are OUT.md, OUT.json and, with matplotlib, OUT.svg. What OUT.json has of
the same commit is not measured again, so a run that was stopped goes on.

The sentence vectors come from an encoder of one layer with random weights over eight words of each argument: MiniLM would take an hour for
100,000, and the time of a search does not depend on the numbers.
"""

import argparse
import dataclasses
import json
import math
import shutil
import subprocess
import sys
from pathlib import Path

import bench
import bench_dense

ROOT = Path(__file__).resolve().parent.parent
# more than linear growth, which has to be explained
STEEP = 1.05


@dataclasses.dataclass
class Point:
    """What one piece of work took at one size."""

    work: str
    size: int
    seconds: float
    peak_mb: float


class Growth:
    def __init__(self, args: argparse.Namespace):
        self.args, self.work = args, args.work.resolve()
        self.threads = args.threads
        self.kept = args.out.with_suffix(".json")
        self.about = {"machine": bench.machine(), "commit": bench.commit()}
        self.points: list[Point] = []
        if self.kept.is_file():
            found = json.loads(self.kept.read_text(encoding="utf-8"))
            if found["commit"] == self.about["commit"]:
                self.points = [Point(**point) for point in found["points"]]

    def lacks(self, size: int, *works: str) -> bool:
        """Whether the named parts ask for one of these pieces of work that has not been measured at this size."""
        return works[0] in self.args.only and any((work, size) not in {(p.work, p.size) for p in self.points} for work in works)

    def say(self, point: Point) -> None:
        self.points = [p for p in self.points if (p.work, p.size) != (point.work, point.size)] + [point]
        report = {**self.about, "points": [dataclasses.asdict(point) for point in self.points]}
        self.kept.parent.mkdir(parents=True, exist_ok=True)
        self.kept.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
        print(f"{point.work}, {point.size:,}: {point.seconds:.3g} s, {point.peak_mb:,.0f} MB", file=sys.stderr, flush=True)

    def run(self, work: str, size: int, *command: object, fine: tuple[int, ...] = (0,)) -> None:
        """Measures a program as it is started by a user."""
        usage = bench.measured(list(command), self.threads, self.work, fine)
        self.say(Point(work, size, usage.cpu_s, usage.peak_mb))

    def texts(self, size: int) -> None:
        to_do = {works[0]: self.lacks(size, *works) for works in (("index", "search"), ("ask", "again"), ("dense", "load"))}
        if not any(to_do.values()):
            return
        folder, cache = self.work / f"arguments-{size}", self.work / "cache"
        if not (folder / "args-me.json").is_file():
            shutil.rmtree(folder, ignore_errors=True)
            subprocess.run([self.args.tools, "generate-arguments", "--count", str(size), folder], check=True, stdout=sys.stderr)
        riposte, where = self.args.riposte, ("-i", folder, "--cache", cache)
        topics = (folder / "topics.xml").read_text(encoding="utf-8")
        titles = [part.split("</title>")[0].strip() for part in topics.split("<title>")[1:]]
        shutil.rmtree(self.work / "run", ignore_errors=True)
        if to_do["index"]:
            shutil.rmtree(cache, ignore_errors=True)
            for work in ("index", "search"):
                self.run(work, size, riposte, "controversial", "--approach", "bm25", *where, "-o", self.work / "run")
        if to_do["ask"]:
            shutil.rmtree(cache, ignore_errors=True)
            for work, title in zip(("ask", "again"), titles):
                # exit code 1: nothing fits the question, which can be so among generated texts
                self.run(work, size, riposte, "ask", *where, title, fine=(0, 1))
        if to_do["dense"]:
            self.dense(size, folder)
        shutil.rmtree(cache, ignore_errors=True)
        shutil.rmtree(folder)

    def dense(self, size: int, folder: Path) -> None:
        encoder, index = self.work / "random-encoder", self.work / "index"
        if not encoder.is_dir():
            bench_dense.random_encoder(encoder, ROOT / "tests/reference/tiny-sentence")
        shutil.rmtree(index, ignore_errors=True)
        index.mkdir()
        command = [self.args.bench, "dense", "-i", folder, "--topics", folder / "topics.xml", "--index", index, "--encoder", encoder,
                   "--words", 8, "--rounds", 5]
        # the first run encodes; the later ones show the time and the memory of a search
        bench.measured(command, self.threads, self.work)
        later = [bench.measured(command, self.threads, self.work) for _ in range(3)]
        said = [json.loads(usage.out) for usage in later]
        peak = max(usage.peak_mb for usage in later)
        self.say(Point("dense", size, min(min(run["all_s"]) for run in said), peak))
        self.say(Point("load", size, min(run["load_s"] for run in said), peak))
        shutil.rmtree(index)

    def images(self, size: int) -> None:
        if not self.lacks(size, "extract"):
            return
        folder = self.work / f"images-{size}"
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.run([self.args.tools, "generate", "--topics", "10", "--images", str(size), folder], check=True, stdout=sys.stderr)
        evidence = self.work / "fresh.sqlite"
        for file in self.work.glob("fresh.sqlite*"):
            file.unlink()
        # exit code 1: broken parts of the collection were skipped
        self.run("extract", size, self.args.riposte, "extract", "-i", folder, "--evidence", evidence, fine=(0, 1))
        shutil.rmtree(folder)


def exponent(points: list[Point]) -> float:
    """The slope of the line of least squares through the logarithms of sizes and times."""
    x, y = ([math.log(value) for value in values] for values in ([p.size for p in points], [p.seconds for p in points]))
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    across = sum((a - mean_x) ** 2 for a in x)
    return sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y)) / across if across else math.nan


def by_work(points: list[Point]) -> dict[str, list[Point]]:
    found: dict[str, list[Point]] = {}
    for point in points:
        found.setdefault(point.work, []).append(point)
    return {work: sorted(of, key=lambda point: point.size) for work, of in found.items()}


def table(points: list[Point]) -> str:
    digits = lambda x: f"{x:,.0f}" if x >= 100 else f"{x:.3g}"
    lines = ["| work | documents: seconds, MB | exponent | of the last two |", "|---|---|---|---|"]
    for work, of in by_work(points).items():
        each = ", ".join(f"{p.size:,}: {digits(p.seconds)} s {p.peak_mb:,.0f} MB" for p in of)
        slopes = [exponent(of), exponent(of[-2:])]
        shown = ["" if math.isnan(b) else f"**{b:.2f}**" if b > STEEP else f"{b:.2f}" for b in slopes]
        lines.append(f"| {work} | {each} | {shown[0]} | {shown[1]} |")
    return "\n".join(lines) + "\n"


def plot(points: list[Point], path: Path) -> bool:
    try:
        import matplotlib
    except ImportError:
        return False
    matplotlib.use("Agg")
    matplotlib.rcParams |= {"svg.fonttype": "none", "svg.hashsalt": "riposte", "font.family": "sans-serif"}
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
    values = (("seconds", lambda p: p.seconds), ("peak memory, MB", lambda p: p.peak_mb))
    for axes, (title, value) in zip(panels, values):
        for (work, of), marker in zip(by_work(points).items(), "osv^D*P"):
            axes.plot([p.size for p in of], [value(p) for p in of], "-", marker=marker, markersize=5, label=work)
        axes.set(title=title, xlabel="documents", xscale="log", yscale="log")
        axes.grid(which="major", color="#dddddd", linewidth=0.6)
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].legend(frameon=False, fontsize=9)
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)
    return True


def main() -> None:
    numbers = lambda text: [int(number) for number in text.split(",")]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("riposte", "bench", "tools", "out"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--only", type=lambda text: text.split(","), default=["index", "ask", "dense", "extract"])
    parser.add_argument("--sizes", type=numbers, default=[1000, 10_000, 100_000, 1_000_000], help="numbers of generated arguments")
    parser.add_argument("--images", type=numbers, default=[500, 1000, 2000, 4000], help="numbers of generated images")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--work", type=Path, default=ROOT / "out/growth", help="directory of intermediate files, which are removed")
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    growth = Growth(args)
    for size in args.sizes:
        growth.texts(size)
    for size in args.images:
        growth.images(size)
    text = table(growth.points)
    args.out.with_suffix(".md").write_text(text, encoding="utf-8")
    print(text, end="")
    if not plot(growth.points, args.out.with_suffix(".svg")):
        print("no plot: matplotlib is not installed", file=sys.stderr)


if __name__ == "__main__":
    main()
