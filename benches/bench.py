#!/usr/bin/env python3
"""Compares riposte with the usual Python programs on the same images and texts, and writes a table of medians, ratios and goals.

    make -C benches bench [COLLECTION=DIR] [WORDS=truth.json] [ONLY=decode,ocr] [ROUNDS=5]
    .venv/bin/python benches/bench.py --collection DIR          # what `make -C benches bench` runs, after building

Each round runs every contestant of a part once, in turn (A B C A B C), so that other work of the machine affects all of them equally. A
ratio is the median over the rounds of peer / riposte. Contestants are processes that stay alive, each limited to the number of cores
that the part states. In the stages, loading and starting are not timed (except for tesseract, which starts for each image; the table
says how long that takes). In whole extraction and in ranking they are timed. A peer that is not installed is listed as missing, with
the reason.

Parts: decode, resize, page, vader, ocr, clip-image, clip-text, sentences (the stages); extract (whole extraction compared with
python_road.py, memory, busy cores); ranking (24,000 images, 50 topics); and index (bench_text.py). With --before DIR, the programs of
another commit take part in all parts. The table is written to benches/results/DATE-COMMIT.md, and the times of every round to the .json file beside it.
"""

import argparse
import contextlib
import dataclasses
import datetime
import hashlib
import importlib.metadata
import json
import os
import platform
import re
import resource
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import peers
import python_road

ROOT = Path(__file__).resolve().parent.parent
RIPOSTE, BENCH, TOOLS = (ROOT / "target/release" / name for name in ("riposte", "riposte-bench", "collection-tools"))
PACKAGES = ("pillow", "lxml", "beautifulsoup4", "vaderSentiment", "rapidocr-onnxruntime", "onnxruntime", "torch", "transformers",
            "sentence-transformers", "bm25s", "numba", "numpy")
INSTRUCTIONS = ("avx2", "fma", "avx512f", "avx512_vnni", "avx512_bf16", "amx_int8", "amx_bf16", "asimd", "asimddp", "i8mm")
CLIP = "clip-vit-base-patch32"
# the name of the contestant that runs the programs of --before
BEFORE = "riposte before"
# the table warns if other programs took more than this share of the cores
QUIET = 0.03


@dataclasses.dataclass
class Row:
    """A line of the table. Smaller values are better; `ours` and `theirs` have one value for each round."""

    part: str
    what: str
    unit: str
    ours: list[float]
    peer: str = ""
    theirs: list[float] = dataclasses.field(default_factory=list)
    goal: str = ""
    met: bool | None = None
    note: str = ""

    def ratio(self) -> float | None:
        rounds = [theirs / ours for ours, theirs in zip(self.ours, self.theirs) if ours]
        return statistics.median(rounds) if rounds else None

    def at_least(self, times: float | None) -> "Row":
        """Sets the goal that the peer takes this many times as long as riposte."""
        if times is not None and (ratio := self.ratio()) is not None:
            self.goal, self.met = f"≥ {times:g} ×", ratio >= times
        return self

    def under(self, bound: float) -> "Row":
        self.goal, self.met = f"< {bound:g} {self.unit}", statistics.median(self.ours) < bound
        return self

    def over(self, bound: float) -> "Row":
        self.goal, self.met = f"> {bound:g} {self.unit}", statistics.median(self.ours) > bound
        return self


@dataclasses.dataclass
class Stage:
    what: str
    unit: str
    threads: int
    # the peers, each with its goal: at least how many times as long as riposte it should take
    peers: dict[str, float | None]


STAGES = {
    "decode": Stage("decode an image", "image", 1, {"pillow": 1.0}),
    "resize": Stage("resize to CLIP's input", "image", 1, {"pillow": 1.0}),
    "page": Stage("dom.html to title and words around the image", "page", 1, {"lxml": 1.0, "beautifulsoup4": 1.0}),
    "vader": Stage("VADER over a page's text", "text", 1, {"vaderSentiment": 1.0}),
    "ocr": Stage("text in a whole image", "image", 1, {"rapidocr-onnxruntime": 1.0, "tesseract": 1.5}),
    "clip-image": Stage("CLIP ViT-B/32 image tower, batch 8", "image", 2, {"onnxruntime": 1.0, "torch": None}),
    "clip-text": Stage("CLIP ViT-B/32 text tower", "text", 2, {"onnxruntime": None, "torch": None}),
    "sentences": Stage("all-MiniLM-L6-v2", "text", 2, {"sentence-transformers": 1.5}),
}
PARTS = (*STAGES, "extract", "ranking", "index")


def environment(threads: int) -> dict[str, str]:
    names = ("OMP_NUM_THREADS", "OMP_THREAD_LIMIT", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS", "RTEN_NUM_THREADS")
    return {**os.environ, **dict.fromkeys(names, str(threads)), "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": str(threads > 1).lower()}


def cores(count: int) -> str:
    return "1 core" if count == 1 else f"{count} cores"


def on_cores(count: int) -> Callable[[], None] | None:
    """A function that limits a child process to the last `count` cores; none where the system cannot do that."""
    if not hasattr(os, "sched_setaffinity"):
        return None
    chosen = sorted(os.sched_getaffinity(0))[-count:]
    return lambda: os.sched_setaffinity(0, chosen)


class Contestant:
    """A process that answers `go` and `show` (peers.py, riposte-bench stage)."""

    def __init__(self, name: str, command: list, threads: int, log: Path):
        self.name, self.log, self.rounds = name, log, []
        with open(log, "w") as errors:
            self.process = subprocess.Popen([str(part) for part in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                            stderr=errors, env=environment(threads), preexec_fn=on_cores(threads))
        self.ready = self.answer()

    def answer(self) -> dict:
        line = self.process.stdout.readline()
        if line:
            return json.loads(line)
        said = self.log.read_text(errors="replace").strip().splitlines()
        return {"missing": said[-1][:200] if said else f"ended with {self.process.wait()}"}

    def ask(self, word: str) -> dict:
        self.process.stdin.write(word + "\n")
        self.process.stdin.flush()
        answer = self.answer()
        if "missing" in answer:
            raise RuntimeError(f"{self.name}: {answer['missing']}")
        return answer

    def end(self) -> None:
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.terminate()
        self.process.wait()


@dataclasses.dataclass
class Usage:
    """The resources that a program and its child processes used from start to end."""

    wall_s: float
    cpu_s: float
    peak_mb: float
    out: str
    said: str

    def numbers(self) -> dict:
        return {"wall_s": self.wall_s, "cpu_s": self.cpu_s, "peak_mb": self.peak_mb, "thread_seconds": stage_seconds(self.said)}


def measured(command: list, threads: int, work: Path, fine: tuple[int, ...] = (0,)) -> Usage:
    out, said = work / "stdout", work / "stderr"
    with open(out, "w") as stdout, open(said, "w") as stderr:
        start = time.perf_counter()
        process = subprocess.Popen([str(part) for part in command], stdout=stdout, stderr=stderr, env=environment(threads),
                                   preexec_fn=on_cores(threads))
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in fine:
        raise RuntimeError(f"{command[0]} ended with {process.returncode}: {said.read_text(errors='replace').strip()[-400:]}")
    # ru_maxrss is in kilobytes, on macOS in bytes
    scale = 1e6 if sys.platform == "darwin" else 1e3
    return Usage(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / scale, out.read_text(), said.read_text(errors="replace"))


class Bench:
    def __init__(self, args: argparse.Namespace):
        self.args = args
        self.work = args.work.resolve()
        self.work.mkdir(parents=True, exist_ok=True)
        self.rows: list[Row] = []
        self.missing: list[tuple[str, str]] = []
        self.details: dict[str, object] = {}
        # the share of the cores that other programs took, by part
        self.others: dict[str, float] = {}
        self.made: dict[str, list] = {}
        self.documents = python_road.documents(args.collection, args.limit)
        if not self.documents:
            sys.exit(f"{args.collection} has no images")

    def say(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    def lack(self, who: str, why: object) -> None:
        # paths of this machine do not belong in the results
        why = str(why).replace(str(ROOT), ".").replace(str(Path.home()), "~")
        self.missing.append((who, re.sub(r"\s+", " ", why)))
        self.say(f"  missing: {who}: {self.missing[-1][1]}")

    # the items that contestants work on

    def items(self, stage: str) -> list:
        if stage not in self.made:
            self.made[stage] = self.make_items(stage)
        return self.made[stage]

    def images(self) -> dict[str, Path]:
        """The image file of each document, by the document's name."""
        return {document.name: file for document in self.documents if (file := python_road.image_file(document))}

    def make_items(self, stage: str) -> list:
        match stage:
            case "decode" | "resize":
                return [str(file) for file in self.images().values()]
            case "page":
                return [item for document in self.documents for item in python_road.pages(document)]
            case "vader":
                return [page["main"] for page in self.page_texts() if page["main"]]
            case "sentences":
                return self.sentences()
            case "ocr":
                return [str(picture) for picture in self.pictures("ocr", self.ocr_sources(), peers.rgb)]
            case "clip-image":
                # whole batches, as in extraction
                files = list(self.images().values())
                count = max(8, len(files) // 8 * 8)
                chosen = {f"{at:05}": files[at % len(files)] for at in range(count)}
                return [str(picture) for picture in self.pictures("squares", chosen, lambda image: peers.square(peers.rgb(image)))]
            case "clip-text":
                topics = (self.args.collection / "topics.xml").read_text(encoding="utf-8")
                titles = [*re.findall(r"<title>\s*(.*?)\s*</title>", topics, re.S), *(page["title"] for page in self.page_texts())]
                titles = [title for title in dict.fromkeys(titles) if title]
                return [f"A photo about {title}" for title in titles][:64]
        raise KeyError(stage)

    def pictures(self, name: str, sources: dict[str, Path], change: Callable) -> list[Path]:
        """PNG files, so that every contestant gets the same pixels."""
        from PIL import Image

        folder = self.work / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        made = []
        for key, source in sources.items():
            made.append(folder / f"{key}.png")
            change(Image.open(source)).save(made[-1])
        return made

    def ocr_sources(self) -> dict[str, Path]:
        import ocr_peers

        sources = self.images()
        if self.args.pairs:
            sources |= {name: file for name, file, _ in ocr_peers.pairs(self.args.pairs)}
        return sources

    def truth(self) -> dict[str, str]:
        """The words in each image whose words are known, by the image's name."""
        import ocr_peers

        truth = json.loads(self.args.words.read_text(encoding="utf-8")) if self.args.words else {}
        if self.args.pairs:
            truth |= {name: text for name, _, text in ocr_peers.pairs(self.args.pairs)}
        return truth

    def page_texts(self) -> list[dict]:
        """The texts that riposte extracts from the pages."""
        if "texts" not in self.made:
            with self.contestant("page", "riposte") as reader:
                if "missing" in reader.ready:
                    raise RuntimeError(f"riposte: {reader.ready['missing']}")
                reader.ask("go")
                self.made["texts"] = reader.ask("show")["shown"]
        return self.made["texts"]

    def sentences(self) -> list[str]:
        """Titles, words around images, and sentences of pages: texts of mixed length, as in extraction and the text tasks."""
        if self.args.texts:
            return [line.strip() for line in self.args.texts.read_text(encoding="utf-8").splitlines() if line.strip()]
        found = []
        for page in self.page_texts():
            found += [page["title"], page["near"], *re.split(r"(?<=[.!?])\s+|\n", page["main"])[:12]]
        return [text for text in dict.fromkeys(found) if len(text.split()) > 2][:256]

    # models

    def models(self) -> Path:
        """A directory with links to the user's models, except CLIP: `models_with_clip` adds one with random weights."""
        place = self.work / "models"
        place.mkdir(exist_ok=True)
        for model in self.args.models.glob("*"):
            link = place / model.name
            if model.is_dir() and model.name != CLIP and not link.exists():
                link.symlink_to(model.resolve())
        return place

    def models_with_clip(self) -> Path:
        place = self.models()
        if not (place / CLIP).exists():
            self.say("  making a CLIP with random weights")
            texts = self.work / "texts.json"
            texts.write_text(json.dumps([text for page in self.page_texts() for text in page.values()]))
            command = [sys.executable, ROOT / "benches/clip_checkpoint.py", texts, place / CLIP]
            made = subprocess.run(command, capture_output=True, text=True, env=environment(os.cpu_count() or 1))
            if made.returncode:
                raise RuntimeError(f"cannot make a CLIP with random weights: {made.stderr.strip()[-200:]}")
        return place

    # programs

    def commits(self) -> list[str]:
        """This riposte and, with --before, that of the other commit."""
        return ["riposte", BEFORE] if self.args.before else ["riposte"]

    def program(self, who: str, program: Path) -> Path:
        return self.args.before.resolve() / program.name if who == BEFORE else program

    # stages

    @contextlib.contextmanager
    def contestant(self, stage: str, name: str) -> Iterator[Contestant]:
        items = self.work / f"{stage}.json"
        items.write_text(json.dumps(self.items(stage)), encoding="utf-8")
        clip = stage.startswith("clip") or stage == "resize"
        models = self.models_with_clip() if clip else self.models()
        threads = STAGES[stage].threads
        if name in ("riposte", BEFORE):
            command = [self.program(name, BENCH), "stage", stage, items, "--models", models]
        else:
            command = [sys.executable, ROOT / "benches/peers.py", stage, name, items, "--models", models, "--threads", str(threads)]
        contestant = Contestant(name, command, threads, self.work / f"{stage}-{name}.log")
        try:
            yield contestant
        finally:
            contestant.end()

    def stage(self, name: str) -> None:
        stage = STAGES[name]
        items = len(self.items(name))
        if not items:
            return self.lack(name, "the collection has no items for it")
        with contextlib.ExitStack() as stack:
            contestants = []
            for who in (*self.commits(), *stage.peers):
                contestant = stack.enter_context(self.contestant(name, who))
                if "missing" in contestant.ready:
                    self.lack(f"{who} ({name})", contestant.ready["missing"])
                else:
                    contestants.append(contestant)
            if not contestants or contestants[0].name != "riposte":
                return
            for _ in range(self.args.rounds):
                for contestant in contestants:
                    contestant.rounds.append(contestant.ask("go"))
            shown = {contestant.name: contestant.ask("show")["shown"] for contestant in contestants}
        if name == "ocr":
            said = self.read_words(shown)
        else:
            said = {who: agreement(name, shown["riposte"], theirs) for who, theirs in shown.items() if who != "riposte"}
        ms = {c.name: [1e3 * r["seconds"] / items for r in c.rounds] for c in contestants}
        self.details[name] = {c.name: {"each_s": [r["each"] for r in c.rounds]} for c in contestants}
        what = f"{stage.what}, {cores(stage.threads)} ({items} {stage.unit}s)"
        unit = f"ms/{stage.unit}"
        for who in ms:
            if who != "riposte":
                self.rows.append(Row(name, what, unit, ms["riposte"], who, ms[who], note=said.get(who, "")).at_least(stage.peers.get(who)))
        if len(ms) == 1:
            self.rows.append(Row(name, what, unit, ms["riposte"], note=said.get("riposte", "")))

    def read_words(self, shown: dict[str, list[str]]) -> dict[str, str]:
        """A note on each contestant with recall and precision of words, for the images whose words are known."""
        import ocr_peers

        truth = self.truth()
        names = [Path(item).stem for item in self.items("ocr")]
        judged = {}
        for who, texts in shown.items():
            read = dict(zip(names, texts))
            known = [name for name in names if name in truth]
            hits = wanted = got = 0
            for name in known:
                want, have = ocr_peers.words(truth[name]), ocr_peers.words(read[name])
                hits, wanted, got = hits + (want & have).total(), wanted + want.total(), got + have.total()
            found = sum(ocr_peers.words(text).total() for text in texts)
            judged[who] = {"words": found, "images judged": len(known), "recall": hits / wanted if wanted else None,
                           "precision": hits / got if got else None}
        self.details["ocr words"] = judged
        ours = judged["riposte"]
        said = {}
        for who, theirs in judged.items():
            if not ours["images judged"]:
                said[who] = f"words found: {ours['words']}, {who} {theirs['words']}"
                continue
            said[who] = (f"word recall {ours['recall']:.3f}, {who} {theirs['recall'] or 0:.3f}; precision {ours['precision']:.3f}, "
                         f"{who} {theirs['precision'] or 0:.3f} ({ours['images judged']} images)")
            for measure in ("recall", "precision"):
                if who != "riposte":
                    lost = 1 - ours[measure], 1 - (theirs[measure] or 0)
                    row = Row("ocr", f"words in images: {measure} lost", "%", [100 * lost[0]], who, [100 * lost[1]])
                    row.goal, row.met = f"≤ {who}'s", lost[0] <= lost[1]
                    self.rows.append(row)
        if "tesseract" in said:
            white = lambda image: image.convert("RGB").resize((32, 32)).point(lambda _: 255)
            blank = self.pictures("blank", {"blank": Path(self.items("ocr")[0])}, white)
            times = []
            for _ in range(5):
                start = time.perf_counter()
                peers.tesseract(str(blank[0]))
                times.append(time.perf_counter() - start)
            said["tesseract"] += f"; its start, in its time, {1e3 * statistics.median(times):.0f} ms"
        return said

    # whole extraction

    def extract(self) -> None:
        args, models, count = self.args, self.models_with_clip(), len(self.documents)
        # on one core, where no thread waits for another, and on all cores
        ours: dict[int, list[Usage]] = {threads: [] for threads in sorted({1, args.threads})}
        before: dict[int, list[Usage]] = {threads: [] for threads in ours}
        roads: dict[tuple[int, str], list[dict]] = {(threads, ocr): [] for threads in ours for ocr in ("tesseract", "rapidocr")}
        for _ in range(args.whole_rounds):
            for threads in ours:
                for who in self.commits():
                    usage = self.extracted(args.collection, models, threads, count, who)
                    (before if who == BEFORE else ours)[threads].append(usage)
                for ocr in [ocr for at, ocr in roads if at == threads]:
                    command = [sys.executable, ROOT / "benches/python_road.py", args.collection, "--models", models, "--ocr", ocr,
                               "--threads", threads, "--limit", count]
                    try:
                        usage = measured(command, threads, self.work)
                        roads[threads, ocr].append({**json.loads(usage.out), "peak_mb": usage.peak_mb})
                    except (RuntimeError, OSError) as error:
                        self.lack(f"extraction in Python with {ocr}, {cores(threads)}", error)
                        del roads[threads, ocr]
        for threads, usages in ours.items():
            what = f"whole extraction, {cores(threads)} ({count} images)"
            mine = [usage.wall_s / count for usage in usages]
            here = {ocr: rounds for (at, ocr), rounds in roads.items() if at == threads}
            for ocr, rounds in here.items():
                start = statistics.median(r["start"]["wall_s"] for r in rounds)
                spent = ", ".join(f"{stage} {seconds / count:.2f}" for stage, seconds in rounds[-1]["stages"].items())
                note = (f"riposte's start counted, Python's {start:.1f} s not; Python read {rounds[0]['words']} words, its peak is "
                        f"{rounds[0]['peak_mb']:,.0f} MB, its seconds an image: {spent}")
                theirs = [r["work"]["wall_s"] / r["images"] for r in rounds]
                row = Row("extract", what, "s/image", mine, f"Python, {ocr}", theirs, note=note)
                self.rows.append(row.at_least(2.5 if threads == 1 else 3.0))
            if args.before:
                self.rows.append(Row("extract", what, "s/image", mine, BEFORE, [usage.wall_s / count for usage in before[threads]]))
            if not here and not args.before:
                self.rows.append(Row("extract", what, "s/image", mine))
        threads, usages = args.threads, ours[args.threads]
        row = Row("extract", f"extraction, peak memory, {cores(threads)}", "MB", [usage.peak_mb for usage in usages],
                  BEFORE if args.before else "", [usage.peak_mb for usage in before[threads]])
        self.rows.append(row.under(1500))
        busy = [100 * usage.cpu_s / usage.wall_s / threads for usage in usages]
        self.rows.append(Row("extract", f"extraction: cores busy, {cores(threads)}", "%", busy, note="start and end counted"))
        if all(stages := [stage_seconds(usage.said) for usage in usages]):
            slowest = max(stages[-1], key=stages[-1].get)
            share = [100 * s[slowest] / usage.wall_s / threads for s, usage in zip(stages, usages)]
            note = "start and end counted; thread-seconds: " + ", ".join(f"{name} {seconds:.1f}" for name, seconds in stages[-1].items())
            self.rows.append(Row("extract", f"extraction: slowest stage ({slowest}) busy, {cores(threads)}", "%", share, note=note).over(90))
        self.details["extract"] = {"riposte": {n: [usage.numbers() for usage in usages] for n, usages in ours.items()},
                                   "python": {f"{ocr}, {cores(n)}": rounds for (n, ocr), rounds in roads.items()}}

    def extracted(self, collection: Path, models: Path, threads: int, limit: int, who: str = "riposte") -> Usage:
        for file in self.work.glob("fresh.sqlite*"):
            file.unlink()
        command = [self.program(who, RIPOSTE), "extract", "-i", collection, "--evidence", self.work / "fresh.sqlite", "--models", models,
                   "--threads", threads, "--limit", limit]
        # exit code 1: broken parts of the collection were skipped
        return measured(command, threads, self.work, fine=(0, 1))

    # ranking

    def ranking(self) -> None:
        import replicate

        args, models = self.args, self.models_with_clip()
        base, grown = self.work / f"generated-{args.ranking_base}", self.work / f"grown-{args.ranking_images}"
        if not (base / "qrels.txt").exists():
            shutil.rmtree(base, ignore_errors=True)
            subprocess.run([TOOLS, "generate", "--topics", "10", "--images", str(args.ranking_base), base], check=True, stdout=sys.stderr)
        topics = args.topics
        if topics is None:
            topics = self.work / "topics.xml"
            topics.write_text(fifty_topics((base / "topics.xml").read_text(encoding="utf-8")), encoding="utf-8")
        binaries = {who: self.program(who, RIPOSTE) for who in self.commits()}

        def run_by(who: str, command: list, threads: int) -> Usage:
            try:
                return measured([binaries[who], *command, "--models", models], threads, self.work, fine=(0, 1))
            except RuntimeError as error:
                raise RuntimeError(str(error).replace(str(binaries[who]), who)) from None

        # each binary makes a separate store, which is kept: later benches compute only what has changed
        stores = {}
        for who, binary in binaries.items():
            mark = "" if who == "riposte" else "-" + hashlib.sha256(binary.read_bytes()).hexdigest()[:12]
            evidence = self.work / f"{base.name}{mark}.sqlite"
            self.say(f"  evidence of generated images ({who})")
            run_by(who, ["extract", "-q", "-i", base, "--evidence", evidence], os.cpu_count() or 1)
            place = grown if who == "riposte" else self.work / f"{grown.name}-before"
            shutil.rmtree(place, ignore_errors=True)
            self.say(f"  {args.ranking_images} copies of these images")
            replicate.main(base, evidence, args.ranking_images, place)
            stores[who] = place / "evidence.sqlite"
            # as an extraction leaves it: with checksums, and with the times of the files
            run_by(who, ["extract", "-q", "-i", grown / "collection", "--evidence", stores[who]], os.cpu_count() or 1)
            if who != "riposte":
                # both use the same images
                shutil.rmtree(place / "collection")
        # riposte keeps the index beside the evidence, so each store needs a separate directory
        asked, before = "topics asked for the first time", "topics asked before"
        anew = f"{before}, first run on a copy of the evidence"
        usages: dict[str, dict[str, list[Usage]]] = {when: {who: [] for who in binaries} for when in (asked, anew, before)}
        places = {who: self.work / f"asked-{who.replace(' ', '-')}" for who in binaries}

        def copied(source: Path, store: Path) -> None:
            store.parent.mkdir(parents=True)
            for end in ("", "-wal"):
                if Path(f"{source}{end}").exists():
                    shutil.copy(f"{source}{end}", f"{store}{end}")

        for _ in range(args.whole_rounds):
            for place in places.values():
                shutil.rmtree(place, ignore_errors=True)
            for when, found in usages.items():
                for who in binaries:
                    first, second = places[who] / "first/evidence.sqlite", places[who] / "second/evidence.sqlite"
                    if when == asked:
                        copied(stores[who], first)
                    elif when == anew:
                        copied(first, second)
                    command = ["images", "-i", grown / "collection", "--topics", topics, "--evidence", first if when == asked else second,
                               "-o", places[who] / "ranked"]
                    found[who].append(run_by(who, command, args.threads))
        said = ""
        if args.before:
            ranked = [set(re.findall(r"^(?:\S+\s+){3}", (place / "ranked/run.txt").read_text(encoding="utf-8"), re.M)) for place in places.values()]
            said = f"; {len(ranked[0] & ranked[1]):,} of {len(ranked[0]):,} images of its run are in the other's"
        count = topics.read_text(encoding="utf-8").count("<topic>")
        seconds = {when: {who: [u.wall_s for u in these] for who, these in found.items()} for when, found in usages.items()}
        for when, found in usages.items():
            mine = found["riposte"]
            stages = re.findall(r"thread-seconds: (.*)", mine[-1].said)
            note = f"start counted; peak {max(u.peak_mb for u in mine):,.0f} MB" + (f"; {stages[0]}" if stages else "")
            what = f"rank {args.ranking_images:,} images for {count} topics from stored evidence, {when}"
            row = Row("ranking", what, "s", seconds[when]["riposte"], note=note)
            self.rows.append(row if when == anew else row.under(5))
            if args.before:
                row = Row("ranking", what, "s", seconds[when]["riposte"], BEFORE, seconds[when][BEFORE], note=f"start counted{said}")
                self.rows.append(row)
        peaks = {who: [max(peak) for peak in zip(*([u.peak_mb for u in found[who]] for found in usages.values()))] for who in binaries}
        row = Row("ranking", "ranking, peak memory", "MB", peaks["riposte"], BEFORE if args.before else "", peaks.get(BEFORE, []))
        self.rows.append(row.under(800))
        self.details["ranking"] = {when: [u.numbers() for u in found["riposte"]] for when, found in usages.items()}
        if args.before:
            self.details["ranking before"] = {when: [u.numbers() for u in found[BEFORE]] for when, found in usages.items()}

    # the text index

    def index(self) -> None:
        for kind, count in zip(("arguments", "passages"), self.args.counts):
            folder = self.work / f"{kind}-{count}"
            if not (folder / "topics.xml").exists():
                shutil.rmtree(folder, ignore_errors=True)
                subprocess.run([TOOLS, f"generate-{kind}", "--count", str(count), folder], check=True, stdout=sys.stderr)
            report = self.work / f"index-{kind}.json"
            report.unlink(missing_ok=True)
            command = [sys.executable, ROOT / "benches/bench_text.py", BENCH, kind, folder, self.work / "index", "--json", report]
            command += ["--lucene", self.args.anserini] if self.args.anserini else []
            command += ["--before", self.program(BEFORE, BENCH)] if self.args.before else []
            subprocess.run([str(part) for part in command], check=True, stdout=sys.stderr)
            found = json.loads(report.read_text(encoding="utf-8"))
            self.details[f"index of {count:,} generated {kind}"] = found
            self.rows += self.index_rows(found, f"{count:,} generated {kind}")

    def index_rows(self, found: dict, of: str) -> list[Row]:
        """The rows of a report of bench_text.py, which has one number for each measurement; times of queries are medians."""
        ours, rows = found["riposte"], []
        peers_here = {}
        for peer in ("before", "bm25s", "tantivy", "lucene"):
            if peer == "before" and not self.args.before:
                continue
            if isinstance(found[peer], dict):
                peers_here[peer] = found[peer]
            else:
                self.lack(f"{peer} (index of {of})", found[peer])
        names = {"before": BEFORE, "bm25s": "bm25s", "tantivy": "tantivy alone", "lucene": "Lucene, 2 threads"}
        asked = {"before": BEFORE, "bm25s": "bm25s with numba, BM25", "lucene": "Lucene"}
        for key, what, unit in (("build_s", "file to index", "s"), ("build_cpu_s", "file to index, processor", "s"),
                                ("peak_mb", "building, peak memory", "MB"), ("index_mb", "index", "MB")):
            for peer, theirs in peers_here.items():
                if theirs.get(key) is not None and ours[key] is not None:
                    row = Row("index", f"{what}, {of}", unit, [ours[key]], names[peer], [theirs[key]])
                    rows.append(row.at_least(1.5 if (key, peer) == ("build_s", "lucene") else None))
        for key in [key for key in ours if re.fullmatch(r"\w+ \d+", key)]:
            name, top = key.split()
            what = f"{name}, top {int(top):,}, {of}"
            for peer, theirs in peers_here.items():
                # bm25s has no Dirichlet: both similarities are compared with its BM25
                if (their_ms := theirs.get(f"bm25 {top} numba" if peer == "bm25s" else key)) is not None:
                    row = Row("index", what, "ms/query", [ours[key]], asked[peer], [their_ms])
                    rows.append(row.at_least({"bm25 10": 2.0, "dirichlet 10": 1.5}.get(key, 1.0) if peer == "bm25s" else None))
        return rows

    def run(self) -> None:
        for part in self.args.only:
            self.say(part)
            start, busy, own = time.perf_counter(), busy_seconds(), own_seconds()
            try:
                self.stage(part) if part in STAGES else getattr(self, part)()
            except (RuntimeError, ImportError, OSError, ValueError, subprocess.CalledProcessError) as error:
                self.lack(part, error)
            others = busy_seconds() - busy - (own_seconds() - own)
            self.others[part] = max(0.0, others) / (time.perf_counter() - start) / (os.cpu_count() or 1)


def busy_seconds() -> float:
    """CPU seconds of the whole machine, including those that a hypervisor took."""
    if not Path("/proc/stat").exists():
        return 0.0
    user, nice, system, _, _, irq, softirq, steal = map(int, Path("/proc/stat").read_text().split()[1:9])
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def own_seconds() -> float:
    """CPU seconds of this process and of its child processes that have ended."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def agreement(stage: str, ours: list, theirs: list) -> str:
    """A note on how far the outputs of two contestants agree."""
    match stage:
        case "page":
            same = sum(" ".join(a["title"].split()) == b["title"] for a, b in zip(ours, theirs))
            return f"{same} of {len(ours)} titles the same"
        case "decode" | "resize":
            return f"means of pixels differ by {max(abs(a - b) for a, b in zip(ours, theirs)):.2g} at most"
        case "vader":
            apart = sum(abs(a - b) > 5e-5 for a, b in zip(ours, theirs))
            return f"{apart} of {len(ours)} differ in the fourth decimal"
        case _:
            # the vectors have unit length; int8 and floats give a cosine of .999 or more if both compute the same
            least = min(sum(x * y for x, y in zip(a, b)) for a, b in zip(ours, theirs))
            return f"cosine {least:.6f} at least" + ("" if least > 0.999 else ": NOT THE SAME")


def stage_seconds(said: str) -> dict[str, float]:
    """The thread-seconds of each stage that `riposte extract` prints."""
    line = re.search(r"thread-seconds: (.*)", said)
    return {name: float(seconds) for name, seconds in re.findall(r"([\w-]+) ([\d.]+)", line[1])} if line else {}


def fifty_topics(xml: str) -> str:
    """Fifty topics from ten, each worded in five ways, so that model outputs stored for one wording do not serve another."""
    titles = re.findall(r"<title>\s*(.*?)\s*</title>", xml, re.S)
    ways = ("{}", "In the long run, {}", "In poor countries, {}", "For the sake of children, {}", "By law, {}")
    asked = [way.format(title if way == "{}" else title[0].lower() + title[1:]) for way in ways for title in titles]
    topics = "".join(f"<topic><number>{n}</number><title>{title}</title></topic>\n" for n, title in enumerate(asked, 1))
    return f"<topics>\n{topics}</topics>\n"


def machine() -> dict[str, str]:
    info = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    field = lambda name: (re.findall(rf"^{name}\s*: (.*)", info, re.M) or [""])[0]
    memory = re.findall(r"MemTotal:\s*(\d+)", Path("/proc/meminfo").read_text()) if Path("/proc/meminfo").exists() else []
    flags = (field("flags") or field("Features")).split()
    return {
        "processor": field("model name") or platform.processor() or platform.machine(),
        "cores": str(os.cpu_count()),
        "memory": f"{int(memory[0]) / 1024 ** 2:.0f} GiB" if memory else "unknown",
        "instructions": " ".join(name for name in INSTRUCTIONS if name in flags),
        "system": f"{platform.system()} {platform.machine()}",
    }


def first_line(*command: str) -> str:
    with contextlib.suppress(OSError):
        run = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
        return (run.stdout or run.stderr).strip().split("\n")[0] if run.returncode == 0 else ""
    return ""


def versions() -> dict[str, str]:
    found = {"rustc": first_line("rustc", "--version").removeprefix("rustc "), "Python": platform.python_version()}
    for package in PACKAGES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[package] = importlib.metadata.version(package)
    if tesseract := first_line("tesseract", "--version"):
        found["tesseract"] = tesseract.removeprefix("tesseract ")
    return found


def commit() -> str:
    changed = first_line("git", "status", "--porcelain", "--untracked-files=no")
    return (first_line("git", "rev-parse", "--short", "HEAD") or "unknown") + ("-changed" if changed else "")


def spread(values: list[float]) -> str:
    if not values:
        return ""
    digits = lambda x: f"{x:,.0f}" if x >= 1000 else f"{x:.3g}"
    middle = digits(statistics.median(values))
    return middle if len(values) == 1 else f"{middle} ({digits(min(values))}–{digits(max(values))})"


def markdown(report: dict, rows: list[Row], missing: list[tuple[str, str]], details: dict) -> str:
    lines = [f"# {report['date']}, {report['commit']}", ""]
    lines += [f"{report['collection']}; rounds: {report['rounds']}, of whole extraction and ranking {report['whole rounds']}. Median (lowest–highest); "
              "the ratio is the median over rounds of peer / riposte.", ""]
    lines += ["Machine: " + ", ".join(f"{k} {v}" for k, v in report["machine"].items() if v) + ".", ""]
    lines += ["Versions: " + ", ".join(f"{k} {v}" for k, v in report["versions"].items()) + ".", ""]
    if others := ", ".join(f"{part} {100 * share:.0f} %" for part, share in report["others"].items() if share > QUIET):
        lines += [f"**Not a quiet machine**: other programs took a share of its cores during {others}. Programs whose threads wait for each other by "
                  "spinning (OpenMP) lose most.", ""]
    lines += ["| what | unit | riposte | peer | its | ratio | goal | met | |", "|---|---|---|---|---|---|---|---|---|"]
    for row in rows:
        ratio = row.ratio()
        met = {None: "", True: "yes", False: "**no**"}[row.met]
        cells = (row.what, row.unit, spread(row.ours), row.peer, spread(row.theirs), f"{ratio:.2f}" if ratio else "", row.goal, met, row.note)
        lines.append("| " + " | ".join(cell.replace("|", "/") for cell in cells) + " |")
    if missing:
        lines += ["", "Missing:", "", *(f"- {who}: {why}" for who, why in missing)]
    if each := details.get("ocr"):
        names = [Path(item).stem for item in report["ocr images"]]
        lines += ["", "## Text in images, ms an image (medians)", "", "| image | " + " | ".join(each) + " |", "|---" * (len(each) + 1) + "|"]
        for at, name in enumerate(names):
            medians = (1e3 * statistics.median(r[at] for r in found["each_s"]) for found in each.values())
            lines.append(f"| {name} | " + " | ".join(f"{ms:,.0f}" for ms in medians) + " |")
    return "\n".join(lines) + "\n"


def default_models() -> Path:
    if named := os.environ.get("RIPOSTE_MODELS"):
        return Path(named)
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local/share") / "riposte/models"


def main() -> None:
    numbers = lambda text: [int(number) for number in text.split(",")]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--collection", type=Path, default=ROOT / "sample", help="images and pages (default: sample/)")
    parser.add_argument("--only", type=lambda text: text.split(","), default=PARTS, help="parts, separated by commas")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--whole-rounds", type=int, help="rounds of whole extraction and ranking (default: --rounds, 3 at most)")
    parser.add_argument("--limit", type=int, default=100, help="use only the first N images of the collection (default: 100)")
    parser.add_argument("--texts", type=Path, help="sentences for MiniLM, one per line (default: those of the pages)")
    parser.add_argument("--words", type=Path, help="file of the words in images, as for ocr_peers.py")
    parser.add_argument("--pairs", type=Path, help="directory of images with their text beside them, as for ocr_peers.py")
    parser.add_argument("--topics", type=Path, help="topics of the ranking (default: fifty made from the generated ones)")
    parser.add_argument("--ranking-base", type=int, default=200, help="generated images whose evidence is computed (default: 200)")
    parser.add_argument("--ranking-images", type=int, default=24000, help="number of images after copying them (default: 24000)")
    parser.add_argument("--before", type=Path, metavar="DIR", help="directory of the programs riposte and riposte-bench of another commit, which are measured too")
    parser.add_argument("--counts", type=numbers, default=[400000, 870000], help="numbers of generated arguments and passages")
    parser.add_argument("--anserini", type=Path, help="a jar with Lucene 9 and Jackson: Anserini's fat jar")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1, help="threads of whole extraction and ranking (default: one for each core)")
    parser.add_argument("--models", type=Path, default=default_models(), help="directory of the models")
    parser.add_argument("--work", type=Path, default=ROOT / "out/bench", help="directory of intermediate files, which are kept")
    parser.add_argument("--results", type=Path, default=ROOT / "benches/results")
    args = parser.parse_args()
    if unknown := set(args.only) - set(PARTS):
        parser.error(f"unknown parts: {', '.join(sorted(unknown))}")
    if args.before and (lacks := [program.name for program in (RIPOSTE, BENCH) if not (args.before / program.name).is_file()]):
        parser.error(f"--before: {args.before} has no {' and no '.join(lacks)}")
    args.whole_rounds = args.whole_rounds or min(args.rounds, 3)

    bench = Bench(args)
    here = {"machine": machine(), "versions": versions(), "commit": commit(), "date": datetime.date.today().isoformat()}
    bench.run()
    report = {**here, "others": bench.others, "rounds": args.rounds, "whole rounds": args.whole_rounds, "ocr images": bench.made.get("ocr", []),
              "collection": f"{len(bench.documents)} images of {'the sample' if args.collection.resolve() == ROOT / 'sample' else 'a collection'}"}
    text = markdown(report, bench.rows, bench.missing, bench.details)
    args.results.mkdir(parents=True, exist_ok=True)
    name = f"{here['date']}-{here['commit']}" + ("" if set(args.only) == set(PARTS) else "-" + "-".join(args.only))
    raw = {**report, "rows": [{**dataclasses.asdict(row), "ratio": row.ratio()} for row in bench.rows], "missing": bench.missing,
           "details": bench.details}
    del raw["ocr images"]
    (args.results / f"{name}.json").write_text(json.dumps(raw, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    (args.results / f"{name}.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
