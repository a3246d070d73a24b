#!/usr/bin/env python3
"""Kills riposte, fills its disk, cuts its power and flips bits of its files, and compares the results with those of an undisturbed run.

    make -C tests torture                                  # all parts, on the release build
    python3 tests/torture.py --kills 14 --flips 40 --riposte target/release/riposte     # about a minute
    python3 tests/torture.py --only kills,flips --seed 7

Prints a table: stage, trials, byte-equal, named error, other. "Byte-equal": the run, the explanations, the report or the rows of the
evidence equal those of an undisturbed run, and no temporary files are left. "Named error": the exit code is 2 (or 1, if a flipped bit has
spoilt one document) and the message has a path; if the disturbance has ended, the repeated command is byte-equal. Every other outcome is
"other": it is described below the table, and the exit code is 1.

kills     The command gets SIGKILL at a random moment of the time that it takes undisturbed, and is then repeated.
full      The command works on a tmpfs that is too small. The tmpfs is enlarged, and the command repeated. Needs the right to mount.
readonly  The same, on a file system that becomes read-only.
power     Copies of an evidence file and its journal are taken while riposte extracts or merges, and the command is repeated on them.
          Some are taken while the process is stopped: this is the state after a power cut if all writes have reached the disk, in order.
          Some have a journal that is cut to any length beside an unchanged database: a journal that was not synced can be lost before the
          database is written. Some are copied one file after the other while riposte works: no power cut leaves them, but riposte must
          notice or repair them. Not simulated: a disk that loses or reorders writes after it has confirmed a sync.
flips     One bit is flipped in a file that riposte keeps: an index of images or of texts, the evidence, or the store of model outputs. The
          next run is byte-equal (the bit did not matter, or riposte repaired the file and says so) or an error that names the file.
"""
import argparse, collections, dataclasses, hashlib, json, os, pathlib, random, re, shutil, signal, sqlite3, subprocess, sys, tempfile, time

ROOT = pathlib.Path(__file__).resolve().parent.parent
SAMPLE = ROOT / "sample"
GOLDEN = ROOT / "tests/golden/evidence.sqlite"
PARTS = ("kills", "full", "readonly", "power", "flips")
# Seconds. No command of these stages takes a minute, even without optimisation.
TIMEOUT = 300


@dataclasses.dataclass
class Stage:
    """A command that runs in a new directory, and the files to compare afterwards."""
    name: str
    # for each name, the file or directory that is copied there before the command
    before: dict
    # the arguments, in which {} is the directory
    args: list
    # the files and directories that are compared; evidence files are compared by their rows
    results: list
    # the share of all kills that this stage gets
    kills: int


class Riposte:
    def __init__(self, program, scratch):
        self.program, self.scratch = program, scratch
        home = scratch / "home"
        home.mkdir()
        # the models of this machine are used, but no other files of its user
        self.environment = os.environ | {"XDG_CACHE_HOME": str(home), "LC_ALL": "C.UTF-8"}

    def argv(self, args, place):
        return [str(self.program)] + [arg.format(place) for arg in args]

    def run(self, args, place):
        """Runs a command. Returns its exit code, or -1 after the time limit, and its standard error."""
        try:
            done = subprocess.run(self.argv(args, place), env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.PIPE, timeout=TIMEOUT, cwd=self.scratch)
        except subprocess.TimeoutExpired as late:
            return -1, f"no end after {TIMEOUT} s\n{(late.stderr or b'').decode(errors='replace')}"
        return done.returncode, done.stderr.decode(errors="replace")

    def models(self):
        """The models of the catalogue, as `riposte models list --json` prints them."""
        listed = subprocess.run([str(self.program), "models", "list", "--json"], env=self.environment, stdout=subprocess.PIPE, check=True)
        return [json.loads(line) for line in listed.stdout.splitlines()]

    def start(self, args, place):
        return subprocess.Popen(self.argv(args, place), env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL, cwd=self.scratch)


def copy(source, target):
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, dirs_exist_ok=True)
    else:
        shutil.copy(source, target)


def is_store(path):
    return path.suffix == ".sqlite"


def rows(path):
    """A hash of all rows of an SQLite file. Their order in the file depends on when they were written."""
    digest = hashlib.sha256()
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").fetchall()
        for (table,) in tables:
            digest.update(table.encode())
            found = connection.execute(f'SELECT * FROM "{table}"').fetchall()
            if table == "output":
                # hashes of files are stored only if the files are old enough, and their keys contain times
                found = [row for row in found if not row[0].startswith("machine/")]
            for row in sorted(map(repr, found)):
                digest.update(row.encode())
    finally:
        connection.close()
    return digest.hexdigest()


def result(stage, place):
    """A hash of each file that the stage has written, by name."""
    found = {}
    for name in stage.results:
        path = place / name
        files = sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]
        for file in files:
            key = str(file.relative_to(place))
            if not file.exists():
                found[key] = "missing"
            elif is_store(file):
                found[key] = rows(file)
            else:
                found[key] = hashlib.sha256(file.read_bytes()).hexdigest()
    return found


def left_behind(stage, place):
    """Temporary files, which only an interrupted run leaves."""
    left = []
    for path in place.rglob("*"):
        name = path.name
        if ".building-" in name or name.endswith("-journal") or name.startswith((".riposte-", ".tmp")) or name.endswith(".tmp"):
            left.append(str(path.relative_to(place)))
    return left


def entries(stage, place):
    """The names of all files, except those in indexes: segments have random names, and their number depends on the updates."""
    names = set()
    for path in place.rglob("*"):
        name = str(path.relative_to(place))
        if ".index" + os.sep not in name:
            names.add(re.sub(r"[0-9a-f]{32}", "*", name))
    return names


class Table:
    def __init__(self):
        self.counts = collections.OrderedDict()
        self.others, self.notes = [], []

    def add(self, stage, outcome, what=""):
        count = self.counts.setdefault(stage, collections.Counter())
        count[outcome] += 1
        if outcome == "other":
            self.others.append(f"{stage}: {what.strip()}")

    def not_run(self, stage, why):
        self.counts[stage] = why

    def print(self):
        print(f"\n{'stage':<46}{'trials':>8}{'byte-equal':>12}{'named error':>13}{'other':>7}")
        total = collections.Counter()
        for stage, count in self.counts.items():
            if isinstance(count, str):
                print(f"{stage:<46}  not run: {count}")
                continue
            total.update(count)
            self.row(stage, count)
        self.row("all", total)
        for note in self.notes:
            print(note)
        for other in self.others[:40]:
            print(f"\nOTHER {other}")
        if len(self.others) > 40:
            print(f"\nand {len(self.others) - 40} more")

    def row(self, stage, count):
        values = [sum(count.values()), count["equal"], count["named"], count["other"]]
        print("{:<46}{:>8}{:>12}{:>13}{:>7}".format(stage, *values))


class Torture:
    def __init__(self, args, scratch):
        self.args, self.scratch = args, scratch
        self.riposte = Riposte(args.riposte.resolve(), scratch)
        self.random = random.Random(args.seed)
        self.table = Table()
        self.prepared = scratch / "prepared"
        self.prepared.mkdir()
        self.expected = {}
        self.stages = self.prepare()

    # -- preparation

    def prepare(self):
        texts = self.prepared / "texts"
        make_arguments(texts, 400)
        warm = self.prepared / "warm"
        warm.mkdir()
        # What a flip has damaged is computed again if its model is installed. The golden evidence is that of a machine with int8, so another machine
        # would compute other numbers: with models, this machine computes the evidence.
        if any(model["installed"] for model in self.riposte.models()):
            self.must(["extract", "-q", "-i", str(SAMPLE), "--evidence", "{}/e.sqlite"], warm)
        else:
            copy(GOLDEN, warm / "e.sqlite")
        # --no-metadata, because the metadata of a run have the name of its directory, which differs in each trial
        image_args = ["images", "-q", "-i", str(SAMPLE), "-o", "{}/out", "--evidence", "{}/e.sqlite", "--explain", "{}/out/explain.jsonl", "--no-metadata"]
        self.must(image_args, warm)
        text_warm = self.prepared / "warm-texts"
        text_warm.mkdir()
        text_args = ["controversial", "-q", "-i", str(texts), "-o", "{}/out", "--index", "{}/index", "--explain", "{}/out/explain.jsonl", "--no-metadata"]
        self.must(text_args, text_warm)
        for path in [*warm.rglob("*.lock"), *text_warm.rglob("*.lock")]:
            path.unlink()
        indexes = [path.name for path in warm.glob("*.index")]
        evidence, index = warm / "e.sqlite", {name: warm / name for name in indexes}
        for number in (0, 1):
            split(evidence, self.prepared / f"shard{number}.sqlite", number)
        other_topics = self.prepared / "other-topics.xml"
        questions = ["Should fireworks be left to the town?", "Are zoos good for animals?", "Should children vote?"]
        topic = "<topic><number>{}</number><title>{}</title></topic>"
        other_topics.write_text("<topics>" + "".join(topic.format(n + 1, q) for n, q in enumerate(questions)) + "</topics>")
        self.warm, self.text_warm, self.image_args, self.text_args = warm, text_warm, image_args, text_args
        run = ["out"]
        shards = {f"shard{n}.sqlite": self.prepared / f"shard{n}.sqlite" for n in (0, 1)}
        return [
            Stage("extract", {}, ["extract", "-q", "-i", str(SAMPLE), "--limit", "8", "--evidence", "{}/e.sqlite"], ["e.sqlite"], 20),
            Stage("images: index and rank", {"e.sqlite": evidence}, image_args, run + ["e.sqlite"], 20),
            Stage("images: rank", {"e.sqlite": evidence, **index}, image_args, run + ["e.sqlite"], 10),
            Stage("images: stance cache", {"e.sqlite": evidence, **index}, image_args + ["--topics", str(other_topics)],
                  run + ["e.sqlite"], 12),
            Stage("merge", shards, ["merge", "{}/all.sqlite", "{}/shard0.sqlite", "{}/shard1.sqlite"], ["all.sqlite"], 12),
            Stage("inspect", {"out": warm / "out"}, ["inspect", "{}/out", "-i", str(SAMPLE), "--qrels", str(SAMPLE / "qrels.txt"),
                                                     "-o", "{}/report", "--evidence", str(evidence)], ["report"], 10),
            Stage("controversial: index, outputs", {}, text_args, run + ["index"], 16),
        ]

    def must(self, args, place):
        code, said = self.riposte.run(args, place)
        if code != 0:
            sys.exit(f"torture: undisturbed, `riposte {' '.join(args)}` ends with {code}:\n{said}")

    def fresh(self, stage, place):
        if place.exists():
            shutil.rmtree(place)
        place.mkdir(parents=True)
        for name, source in stage.before.items():
            copy(source, place / name)

    def undisturbed(self, stage):
        """The results, names, seconds, exit code and bytes of a stage that is not disturbed."""
        if stage.name not in self.expected:
            place = self.scratch / "undisturbed"
            self.fresh(stage, place)
            start = time.monotonic()
            code, said = self.riposte.run(stage.args, place)
            takes = time.monotonic() - start
            if code not in (0, 1):
                sys.exit(f"torture: {stage.name} ends with {code} undisturbed:\n{said}")
            self.expected[stage.name] = (results_of(stage, place), entries(stage, place), takes, code, used(place))
        return self.expected[stage.name]

    def judge_repeat(self, row, stage, place, how):
        """Runs the command again, and enters the outcome into the table."""
        expected, names, _, expected_code, _ = self.undisturbed(stage)
        code, said = self.riposte.run(stage.args, place)
        if "panicked" in said:
            return self.table.add(row, "other", f"{how}: {said}")
        if code == 2 and str(place) in said:
            return self.table.add(row, "named")
        if code != expected_code:
            return self.table.add(row, "other", f"{how}: exit code {code}\n{said}")
        found = results_of(stage, place)
        if found != expected:
            differ = sorted(name for name in found.keys() | expected.keys() if found.get(name) != expected.get(name))
            return self.table.add(row, "other", f"{how}: another result: {', '.join(differ[:5])}")
        left = left_behind(stage, place) + sorted(entries(stage, place) - names)
        if left:
            return self.table.add(row, "other", f"{how}: left behind: {', '.join(left[:5])}")
        self.table.add(row, "equal")

    # -- kills

    def kills(self):
        place = self.scratch / "killed"
        shares = sum(stage.kills for stage in self.stages)
        for stage in self.stages:
            count = max(1, round(self.args.kills * stage.kills / shares))
            takes = self.undisturbed(stage)[2]
            row, done, attempts = f"kill: {stage.name}", 0, 0
            while done < count and attempts < 4 * count:
                attempts += 1
                self.fresh(stage, place)
                after = self.random.uniform(0, takes)
                child = self.riposte.start(stage.args, place)
                try:
                    child.wait(after)
                    # the command has ended earlier than expected: the machine was slower when the time was taken
                    takes *= 0.9
                    continue
                except subprocess.TimeoutExpired:
                    child.kill()
                    child.wait()
                done += 1
                self.judge_repeat(row, stage, place, f"killed after {after:.3f} of {takes:.3f} s")

    # -- disks

    def full(self):
        self.on_tmpfs("full", self.fill)

    def readonly(self):
        self.on_tmpfs("read-only", self.make_readonly)

    def on_tmpfs(self, what, disturb):
        for stage in self.stages:
            mounted = self.scratch / "mounted"
            mounted.mkdir(exist_ok=True)
            if not mount(mounted, 256 << 20):
                self.table.not_run(f"{what}: {stage.name}", "no permission to mount")
                continue
            try:
                disturb(stage, mounted)
            finally:
                subprocess.run(["umount", "-l", str(mounted)], check=False)

    def fill(self, stage, mounted):
        *_, needs = self.undisturbed(stage)
        for share in (0.0, 0.3, 0.7, 0.95):
            place = mounted / "work"
            mount(mounted, 256 << 20, remount=True)
            self.fresh(stage, place)
            before = used(place)
            room = before + int(max(needs - before, 0) * share)
            if not mount(mounted, max(room, 4096), remount=True):
                room = before
                mount(mounted, max(before + 65536, 65536), remount=True)
            how = f"with {room} of {needs} bytes"
            code, said = self.riposte.run(stage.args, place)
            self.after_disturbance("full", stage, place, how, code, said, lambda: mount(mounted, 256 << 20, remount=True))

    def make_readonly(self, stage, mounted):
        place = mounted / "work"
        self.fresh(stage, place)
        subprocess.run(["mount", "-o", "remount,ro", str(mounted)], check=True)
        code, said = self.riposte.run(stage.args, place)
        again = lambda: subprocess.run(["mount", "-o", "remount,rw", str(mounted)], check=True)
        self.after_disturbance("read-only", stage, place, "read-only", code, said, again)

    def after_disturbance(self, what, stage, place, how, code, said, mend):
        expected, names, _, expected_code, _ = self.undisturbed(stage)
        row = f"{what}: {stage.name}"
        mend()
        if "panicked" in said or code not in (2, expected_code):
            return self.table.add(row, "other", f"{how}: exit code {code}\n{said}")
        if code == expected_code:
            # the room was sufficient, or the files that could not be written are not needed for the result
            found = results_of(stage, place)
            kept = {name for name in expected if name.startswith(("out", "report"))} or set(expected)
            if any(found.get(name) != expected[name] for name in kept):
                return self.table.add(row, "other", f"{how}: exit code {code}, and another result\n{said}")
        elif str(place) not in said:
            return self.table.add(row, "other", f"{how}: the error names no path\n{said}")
        counted = dict(self.table.counts.get(row, {}))
        self.judge_repeat(row, stage, place, f"repeated after {how}")
        if code == 2 and self.table.counts[row]["equal"] > counted.get("equal", 0):
            self.table.counts[row].subtract(["equal"])
            self.table.counts[row].update(["named"])

    # -- power

    def power(self):
        extract = Stage("power: extract", {}, ["extract", "-q", "-i", str(SAMPLE), "--limit", "24", "--evidence", "{}/e.sqlite"],
                        ["e.sqlite"], 0)
        merge = dataclasses.replace(next(s for s in self.stages if s.name == "merge"), name="power: merge")
        for stage, file, trials in ((extract, "e.sqlite", self.args.power), (merge, "all.sqlite", self.args.power)):
            takes = self.undisturbed(stage)[2]
            place, taken = self.scratch / "cut", self.scratch / "snapshots"
            if taken.exists():
                shutil.rmtree(taken)
            snapshots, runs = [], 0
            while len(snapshots) < trials and runs < 12:
                runs += 1
                snapshots += self.snapshots(stage, place, file, taken / str(runs), takes, trials)
            for how, snapshot in snapshots[:trials]:
                self.fresh(stage, place)
                for path in snapshot.iterdir():
                    copy(path, place / path.name)
                self.judge_repeat(f"{stage.name}, {how}", stage, place, str(snapshot))

    def snapshots(self, stage, place, file, taken, takes, most):
        """Copies of the store at moments of one run: (how, directory)."""
        self.fresh(stage, place)
        database, journal = place / file, place / f"{file}-journal"
        found, unchanged = [], None
        child = self.riposte.start(stage.args, place)
        next_moment = time.monotonic() + self.random.uniform(0, takes / 4)
        while child.poll() is None and len(found) < most:
            # copies are taken at random moments, and whenever a transaction is open
            if not (journal.exists() or time.monotonic() >= next_moment):
                continue
            next_moment = time.monotonic() + self.random.uniform(0, takes / 4)
            at = taken / str(len(found))
            kind = self.random.choice(["stopped", "stopped", "database first", "journal first"])
            if kind == "stopped":
                child.send_signal(signal.SIGSTOP)
                ok = snapshot(at, [database, journal])
                child.send_signal(signal.SIGCONT)
                with_journal = (at / journal.name).exists()
                bytes_now = (at / file).read_bytes() if ok else b""
                if ok and with_journal and bytes_now == unchanged:
                    # the database is not written yet, so any part of the journal can be lost without harm
                    cut = taken / f"{len(found)}-cut"
                    snapshot(cut, [at / file, at / journal.name])
                    length = (cut / journal.name).stat().st_size
                    os.truncate(cut / journal.name, self.random.randrange(length + 1))
                    found.append(("journal cut", cut))
                elif ok and not with_journal:
                    unchanged = bytes_now
            else:
                files = [database, journal] if kind == "database first" else [journal, database]
                ok = snapshot(at, files)
            if ok:
                found.append((kind, at))
        child.wait()
        return found

    # -- bits

    def flips(self):
        place = self.scratch / "flipped"
        store = [("images", self.image_args, path, "evidence") for path in [self.warm / "e.sqlite"]]
        index = [("images", self.image_args, path, "index of images")
                 for path in sorted(self.warm.glob("*.index/*")) if path.stat().st_size]
        kept = sorted(path for path in (self.text_warm / "index").rglob("*") if path.is_file() and path.stat().st_size)
        texts = [("texts", self.text_args, path, "model outputs" if is_store(path) else "index of texts") for path in kept]
        groups = collections.defaultdict(list)
        for flip in store + index + texts:
            groups[flip[3]].append(flip)
        kinds = {
            "images": Stage("images", {"e.sqlite": self.warm / "e.sqlite", **{p.name: p for p in self.warm.glob("*.index")}},
                            self.image_args, ["out"], 0),
            "texts": Stage("texts", {"index": self.text_warm / "index"}, self.text_args, ["out"], 0),
        }
        share, rest = divmod(self.args.flips, max(len(groups), 1))
        for number, (group, files) in enumerate(sorted(groups.items())):
            for trial in range(share + (number < rest)):
                kind, args, file, _ = files[trial % len(files)] if trial < len(files) else self.random.choice(files)
                self.flip(kinds[kind], file, place, f"flip: {group}")

    def flip(self, stage, file, place, row):
        expected, *_, expected_code, _ = self.undisturbed(stage)
        self.fresh(stage, place)
        base = self.warm if file.is_relative_to(self.warm) else self.text_warm
        target = place / file.relative_to(base)
        bit = self.random.randrange(target.stat().st_size * 8)
        with open(target, "r+b") as opened:
            opened.seek(bit // 8)
            byte = opened.read(1)[0]
            opened.seek(bit // 8)
            opened.write(bytes([byte ^ 1 << bit % 8]))
        how = f"bit {bit % 8} of byte {bit // 8} of {target.relative_to(place)}"
        code, said = self.riposte.run(stage.args, place)
        names_it = target.name in said or str(target.parent) in said
        if "panicked" in said or code not in (0, 1, 2):
            self.table.add(row, "other", f"{how}: exit code {code}\n{said}")
        elif code == 2 or code == 1 and expected_code == 0:
            self.table.add(row, "named" if names_it else "other", f"{how}: exit code {code}, and the file is not named\n{said}")
        elif results_of(stage, place) == expected:
            self.table.add(row, "equal")
        else:
            self.table.add(row, "other", f"{how}: SILENT: another result with exit code {code}\n{said}")


def results_of(stage, place):
    """`result` without the files of indexes, except the stores in them."""
    found = {}
    for name, digest in result(stage, place).items():
        path = pathlib.PurePath(name)
        if name.startswith("index") and not is_store(path):
            continue
        found[name] = digest
    return found


def used(place):
    return sum(4096 + (path.stat().st_size + 4095) // 4096 * 4096 for path in place.rglob("*"))


def mount(path, size, remount=False):
    options = f"{'remount,' if remount else ''}size={size}"
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(path)]
    try:
        return subprocess.run(command, stderr=subprocess.DEVNULL, check=False).returncode == 0
    except OSError:
        return False


def snapshot(to, files):
    """Copies files in this order, if they exist. Returns False if none of them is a database, but only journals."""
    to.mkdir(parents=True, exist_ok=True)
    whole = False
    for file in files:
        try:
            shutil.copyfile(file, to / file.name)
            whole |= not file.name.endswith("-journal")
        except FileNotFoundError:
            pass
    return whole


def split(evidence, shard, number):
    """Copies the evidence, with every second document."""
    shutil.copy(evidence, shard)
    connection = sqlite3.connect(shard)
    keyed = [table for (table,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
             if any(row[1] == "document" for row in connection.execute(f'PRAGMA table_info("{table}")'))]
    documents = [row[0] for row in connection.execute("SELECT document FROM document ORDER BY document")]
    for document in documents[1 - number::2]:
        for table in keyed:
            connection.execute(f'DELETE FROM "{table}" WHERE document = ?', (document,))
    connection.commit()
    connection.execute("VACUUM")
    connection.close()


def make_arguments(place, count):
    """Writes a collection of random arguments with a fixed seed."""
    place.mkdir()
    chance = random.Random(11)
    nouns = "zoo car vote school tax law city animal child teacher phone river energy fish bridge".split()
    rest = "should must could ban allow help harm more less because people public money safe free never always often good bad".split()
    sentence = lambda: " ".join(chance.choice(nouns if n % 3 == 0 else rest) for n in range(12)).capitalize() + "."
    arguments = [{"id": f"a{n:04}", "conclusion": sentence(), "context": {},
                  "premises": [{"text": " ".join(sentence() for _ in range(chance.randrange(2, 8))), "stance": chance.choice(["PRO", "CON"])}]}
                 for n in range(count)]
    (place / "args-me.json").write_text(json.dumps({"arguments": arguments}))
    titles = ["Should zoos be banned?", "Should children vote?"]
    topics = "".join(f"<topic><number>{n + 1}</number><title>{title}</title></topic>" for n, title in enumerate(titles))
    (place / "topics.xml").write_text(f"<topics>{topics}</topics>")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--riposte", type=pathlib.Path, default=ROOT / "target/release/riposte")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kills", type=int, default=100, metavar="N")
    parser.add_argument("--power", type=int, default=30, metavar="N", help="snapshots of each stage")
    parser.add_argument("--flips", type=int, default=1000, metavar="N")
    parser.add_argument("--only", default=",".join(PARTS), metavar="PARTS", help=f"parts to run, of {','.join(PARTS)}")
    args = parser.parse_args()
    parts = args.only.split(",")
    if unknown := set(parts) - set(PARTS):
        sys.exit(f"torture: no part is named {', '.join(sorted(unknown))}")
    if not args.riposte.is_file():
        sys.exit(f"torture: {args.riposte} is missing: run `cargo build --release`, or name another program with --riposte")
    with tempfile.TemporaryDirectory(prefix="riposte-torture-") as scratch:
        torture = Torture(args, pathlib.Path(scratch).resolve())
        for part in parts:
            start = time.monotonic()
            getattr(torture, part)()
            torture.table.notes.append(f"{part}: {time.monotonic() - start:.0f} s")
        torture.table.print()
    sys.exit(1 if torture.table.others else 0)


if __name__ == "__main__":
    main()
