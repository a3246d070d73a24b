#!/usr/bin/env python3
"""Makes system calls fail, one in each trial, and checks what riposte makes of it.

Each command of a table runs on a small collection. Once it runs undisturbed; a library that is preloaded (inject.c) lists its calls. Then the command
runs once for each call, which fails, or transfers only a part of its bytes. Calls are of one kind if they call the same function on the same file, as
the hundreds of locks of a database do: --most spoils only a few of them. Each trial must end

- with the same bytes as the undisturbed run ("same"), or
- with exit code 0, documents that are named as faults, and nothing else lost ("faults"), or
- with an error that riposte names, and exit code 1 or 2 ("error").

Everything else is "other": a panic, a signal, no end, other bytes without a word, advice to delete what is not damaged. After each trial, the command
runs again without a fault, and must give the bytes of the undisturbed run.
"""

import argparse
import collections
import hashlib
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib

# What a command runs on, and the files and directories that must have the same bytes after it. "printed" stands for what it prints.
COMMANDS = {
    "evaluate": ("evaluate qrels run/run.txt", ["printed"]),
    "verify": ("verify --task rank run", ["printed"]),
    "rank": ("rank --quiet=progress -i texts -o out --no-metadata --index new", ["out/run.txt"]),
    "rank, indexed": ("rank --quiet=progress -i texts -o out --no-metadata --index prepared", ["out/run.txt"]),
    "index": ("index --quiet=progress -i texts --index new", []),
    "ask": ("ask cats -i texts --index new", ["printed"]),
    "extract": ("extract --quiet=progress -i pictures --evidence new.sqlite", []),
    "images": ("images --quiet=progress -i pictures -o out --no-metadata --evidence new.sqlite", ["out/run.txt"]),
    "images, stored": ("images --quiet=progress -i pictures -o out --no-metadata --evidence stored.sqlite", ["out/run.txt"]),
    "controversial": ("controversial --quiet=progress -i arguments -o out --no-metadata --index new", ["out/run.txt"]),
    "inspect": ("inspect --quiet=progress -i texts -o report --index prepared run", ["report"]),
    "merge": ("merge new.sqlite stored.sqlite", []),
    "export evidence": ("export evidence -q --evidence stored.sqlite -o parquet", ["parquet"]),
    "export run": ("export run image-run -o exported", ["exported"]),
    "models add": ("models add model -q --models added", ["added/added.toml", "added/model"]),
    "cache clear": ("cache clear --yes --cache kept", []),
}

# Advice that is wrong after a temporary error.
DAMAGE = ("delete it", "delete the directory", "is damaged", "was killed")


def png(width, height, grey):
    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    rows = (b"\0" + bytes([grey]) * width) * height
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())


def spread(numbers, most):
    """At most so many of the numbers, from the first to the last."""
    if most is None or len(numbers) <= most:
        return numbers
    return [numbers[n * (len(numbers) - 1) // max(most - 1, 1)] for n in range(most)]


class Trials:
    def __init__(self, riposte, home, every, most, ways):
        self.riposte, self.every, self.most, self.ways = riposte, every, most, ways
        self.home = home
        self.injector = home / "inject.so"
        self.calls = home / "calls"
        self.spoiled = home / "spoiled"
        self.prepared = home / "prepared-input"
        source = pathlib.Path(__file__).with_name("inject.c")
        compiler = os.environ.get("CC", "cc")
        build = [compiler, "-O1", "-shared", "-fPIC", "-o", self.injector, source, "-ldl"]
        subprocess.run(build, check=True)
        self.prepare()

    def prepare(self):
        home = self.prepared
        texts = [{"_id": f"d{n}", "text": f"cats number {n} and dogs"} for n in range(30)]
        write(home / "texts/corpus.jsonl", "".join(json.dumps(text) + "\n" for text in texts))
        write(home / "texts/queries.jsonl", '{"_id": "1", "text": "cats"}\n{"_id": "2", "text": "dogs and cats"}\n')
        write(home / "qrels", "1 0 d1 1\n1 0 d2 0\n2 0 d3 1\n")
        topics = "<topics><topic><number>1</number><title>Are cats good?</title></topic></topics>"
        words = " ".join(f"word{n}" for n in range(25))
        premise = [{"text": f"Cats are good for people who live alone {words}", "stance": "PRO"}]
        arguments = [{"id": f"a{n}", "conclusion": f"Cats {n}", "premises": premise, "context": {}} for n in range(5)]
        write(home / "arguments/args-me.json", json.dumps({"arguments": arguments}))
        write(home / "arguments/topics.xml", topics)
        for n in range(3):
            document = home / f"pictures/images/I00/I{n:016x}"
            page = document / f"pages/P{n:016x}"
            write(document / "image.png", png(40 + 7 * n, 30, 60 * n))
            write(document / "image-url.txt", "http://example.org/i.png\n")
            write(page / "page-url.txt", "http://example.org/\n")
            html = "<html><title>Good cats</title><body><p>Cats are good animals</p><img src=i.png></body></html>"
            write(page / "snapshot/dom.html", html)
            write(page / "snapshot/text.txt", "Cats are good animals")
            write(page / "snapshot/image-xpath.txt", "/html[1]/body[1]/img[1]\n")
            write(page / "rankings.jsonl", '{"query": "cats", "topic": 1, "rank": 1}\n')
        write(home / "pictures/topics.xml", topics)
        shutil.copytree(pathlib.Path(__file__).parents[1] / "reference/tiny-sentence", home / "model")
        (home / "tmp").mkdir()
        for line in (
            "rank --quiet=progress -i texts -o run --no-metadata --explain run/explain.jsonl --index prepared",
            "extract --quiet=progress -i pictures --evidence stored.sqlite",
            "images --quiet=progress -i pictures -o image-run --no-metadata --evidence stored.sqlite",
            "rank --quiet=progress -i texts -o other --no-metadata --cache kept",
        ):
            code, _, said = self.run(home, line)
            if code != 0:
                sys.exit(f"{line}: {code} {said}")

    def run(self, home, line, **inject):
        environment = {
            **os.environ,
            "HOME": str(home),
            "XDG_CACHE_HOME": str(home / "cache"),
            "XDG_CONFIG_HOME": str(home / "config"),
            "RIPOSTE_MODELS": str(home / "no-models"),
            "WNSEARCHDIR": str(home / "no-wordnet"),
            # the calls of one thread come in the same order each time
            "RIPOSTE_THREADS": "1",
            "RAYON_NUM_THREADS": "1",
            "TMPDIR": str(home / "tmp"),
        }
        if inject:
            environment |= {f"INJECT_{key.upper()}": str(value) for key, value in inject.items()}
            environment |= {"INJECT_UNDER": str(home), "LD_PRELOAD": str(self.injector)}
        command = [self.riposte, *line.split()]
        try:
            ended = subprocess.run(command, cwd=home, env=environment, capture_output=True, timeout=60)
        except subprocess.TimeoutExpired:
            return "no end", b"", ""
        return ended.returncode, ended.stdout, ended.stderr.decode(errors="replace")

    def fresh(self):
        home = self.home / "trial"
        shutil.rmtree(home, ignore_errors=True)
        shutil.copytree(self.prepared, home)
        return home

    @staticmethod
    def content(home, outputs, printed, leftover=False):
        """The hashes of the outputs; with `leftover`, without temporary directories, which the next run removes."""
        found = {}
        for output in outputs:
            path = home / output
            files = sorted(path.rglob("*")) if path.is_dir() else [path]
            for file in files:
                is_temporary = any(part.startswith(".riposte-") for part in file.parts)
                if file.is_file() and not (leftover and is_temporary):
                    found[str(file.relative_to(home))] = hashlib.sha256(file.read_bytes()).hexdigest()
        if "printed" in outputs:
            found["printed"] = printed
        return found

    def command(self, line, outputs):
        """Returns the numbers of trials by result, and the trials with the result "other"."""
        home = self.fresh()
        code, printed, said = self.run(home, line)
        if code != 0:
            sys.exit(f"{line}: {code} {said}")
        expected = self.content(home, outputs, printed)
        counts, others = collections.Counter(), []
        for how in self.ways:
            for at in self.chosen(line, how):
                home = self.fresh()
                self.spoiled.unlink(missing_ok=True)
                code, printed, said = self.run(home, line, at=at, how=how, spoiled=self.spoiled)
                if not self.spoiled.exists():
                    continue
                spoiled = self.spoiled.read_text().splitlines()[0]
                same = self.content(home, outputs, printed, leftover=True) == expected
                result = self.judge(code, said, same)
                again, printed, said_again = self.run(home, line)
                if again != 0 or self.content(home, outputs, printed) != expected:
                    result = f"other: the run after it: {again} {said_again[-300:]}"
                counts[result.split(":")[0]] += 1
                if result.startswith("other"):
                    others.append(f"{line}: call {at}, {spoiled} ({how}): {result}: {said[-400:]}")
        return counts, others

    def chosen(self, line, how):
        """The numbers of the calls that are spoiled, one in each trial."""
        self.calls.unlink(missing_ok=True)
        self.run(self.fresh(), line, at=0, how=how, calls=self.calls)
        calls = self.calls.read_text().splitlines() if self.calls.exists() else []
        if how == "threads":
            # commands start few threads, so each start is spoiled
            return range(1, len(calls) + 1)
        kinds = collections.defaultdict(list)
        for at in range(1, len(calls) + 1, self.every):
            # names of temporary files and of parts of an index have digits by chance
            kinds[re.sub(r"\w*\d\w*", "*", calls[at - 1])].append(at)
        return sorted(at for numbers in kinds.values() for at in spread(numbers, self.most))

    @staticmethod
    def judge(code, said, same):
        if "panicked" in said:
            return "other: a panic"
        if code == 0 and same:
            return "same"
        if code == 0 and " fault" in said:
            return "faults"
        if code == 0:
            return "other: other bytes without a word"
        # `cache clear` names what it could not remove, and exits with 1
        if code == 2 and "riposte: " in said or code == 1 and said.strip():
            last = said.strip().splitlines()[-1]
            return "other: wrong advice" if any(words in last for words in DAMAGE) else "error"
        return f"other: {code}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--riposte", required=True, type=pathlib.Path)
    parser.add_argument("--every", type=int, default=1, help="spoil every n-th call")
    parser.add_argument("--most", type=int, help="spoil at most so many calls of a kind (default: all)")
    parser.add_argument("--only", help="names of commands, separated by semicolons")
    ways = ["fail", "short", "threads"]
    parser.add_argument("--how", choices=ways, action="append", help="how calls are spoiled (default: in each way)")
    args = parser.parse_args()
    names = args.only.split(";") if args.only else list(COMMANDS)
    columns = ["same", "faults", "error", "other"]
    print(f"{'command':16}" + "".join(f"{column:>8}" for column in ["trials", *columns]))
    total, all_others = collections.Counter(), []
    with tempfile.TemporaryDirectory() as home:
        trials = Trials(args.riposte.resolve(), pathlib.Path(home).resolve(), args.every, args.most, args.how or ways)
        for name in names:
            counts, others = trials.command(*COMMANDS[name])
            total += counts
            all_others += others
            row = [counts.total(), *(counts[column] for column in columns)]
            print(f"{name:16}" + "".join(f"{number:8}" for number in row), flush=True)
    print(f"{'all':16}" + "".join(f"{number:8}" for number in [total.total(), *(total[column] for column in columns)]))
    for other in all_others:
        print(other)
    sys.exit(1 if all_others else 0)


if __name__ == "__main__":
    main()
