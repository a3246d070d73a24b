"""Indexes text collections on Spark, ranks the merged shards, and compares the runs with those of one machine."""

import json
import random
import shutil
import stat
import subprocess
import sys

import pytest
import sessions
from generated import SUBJECTS, WORDS, text, write_arguments
from sessions import PROCESSES, PROGRAM, session

#: The numbers of two lines that are not passages, from 1. The second one is not in the first part of the file that Spark reads.
BROKEN = 17, 19_003

#: A script between Spark and the program. It dies once in a chosen command, and holds before it indexes once others have indexed.
BETWEEN = (
    """#!{python}
import os, signal, sys, time
"""
    + sessions.HOLD
    + """
real = ["{program}", *sys.argv[1:]]
command = " ".join(sys.argv[2:4])
with open("{state}/begun", "a") as begun:
    begun.write(command + "\\n")
if "{unlucky}" in command and not os.path.exists("{state}/died"):
    open("{state}/died", "w").close()
    os.kill(os.getpid(), signal.SIGKILL)
if sys.argv[2] == "index" and open("{state}/begun").read().count("index --quiet") > {hold}:
    hold_once()
os.execv(real[0], real)
"""
)


def between(state, unlucky="none", hold=1_000_000):
    state.mkdir()
    program = state / "between"
    program.write_text(BETWEEN.format(python=sys.executable, program=PROGRAM, state=state, unlucky=unlucky, hold=hold))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return str(program)


@pytest.fixture(scope="module")
def passages(tmp_path_factory):
    """20,000 passages and two broken lines. Some passages have the words or the id of another one."""
    directory = tmp_path_factory.mktemp("passages")
    chance = random.Random(4)
    rare = [f"{a}{b}{c}" for a in "bdgklmn" for b in "aeiou" for c in ("ran", "tel", "mon", "dis", "ver")]
    lines, texts = [], []
    for n in range(20_000):
        words = text(chance, SUBJECTS[n % len(SUBJECTS)], chance.random() / 2) + " " + " ".join(chance.choices(rare, k=chance.randrange(5, 40)))
        if n % 50 == 49:
            words = texts[chance.randrange(len(texts))].upper()
        texts.append(words)
        name = f"page-{n}___1" if n % 400 != 399 else f"page-{chance.randrange(n)}___1"
        lines.append(json.dumps({"id": name, "contents": words, "chatNoirUrl": f"https://example.org/{n}"}))
    for line in sorted(BROKEN):
        lines.insert(line - 1, '{"id": "broken"')
    (directory / "passages.jsonl").write_text("\n".join(lines) + "\n")
    titles = [f"Which is better, {chance.choice(rare)} or {chance.choice(WORDS)} for {subject}?" for subject in SUBJECTS]
    topics = "".join(f"<topic><number>{n}</number><title>{title}</title></topic>" for n, title in enumerate(titles, 1))
    (directory / "topics.xml").write_text(f"<topics>{topics}</topics>")
    return directory


def alone(task, source, approach, home, code=0):
    """The run of one machine, and its list of faults."""
    out = home / f"{task}-{approach}-alone"
    command = [PROGRAM, "--no-config", task, "-i", source, "-o", out, "--approach", approach, "--index", home / "kept", "--numeric", "float"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    faults = out / "faults.jsonl"
    return (out / "run.txt").read_bytes(), faults.read_text() if faults.exists() else ""


def test_runs_are_those_of_one_machine_and_so_are_those_of_merged_shards(passages, tmp_path):
    approaches = ["bm25", "dirichlet"]
    index = {"input": passages, "output": tmp_path / "index", "task": "comparative", "approaches": approaches, "shards": 8}
    search = {"index": tmp_path / "index", "topics": passages / "topics.xml"}
    searches = [("search", {**search, "output": tmp_path / name, "approach": name}) for name in approaches]
    other = ("search", {**search, "output": tmp_path / "x", "approach": "captain-tempesta"})
    done = session(("index", index), *searches, other, ("index", index))
    assert done[0][0]["faults"] == 2 and done[0][0]["shards"] == 8
    shards = tmp_path / "index/parts"
    assert len(list(shards.glob("*.parquet"))) == 8
    merged = subprocess.run([PROGRAM, "merge", tmp_path / "merged", tmp_path / "index"], capture_output=True, text=True)
    assert "8 shards for comparative" in merged.stdout, merged.stderr
    shutil.copy(passages / "topics.xml", tmp_path / "merged")
    for name, (found, _) in zip(approaches, done[1:], strict=False):
        run, said = alone("comparative", passages, name, tmp_path)
        assert (tmp_path / name / "run.txt").read_bytes() == run and found["lines"] == run.count(b"\n") > 1000, name
        # the merged shards have the same documents and the same faults
        again, said_again = alone("comparative", tmp_path / "merged", name, tmp_path / "merged")
        assert again == run, name
        for line in BROKEN:
            place = f'passages.jsonl","line":{line},'
            assert place in said and place in said_again
        report = json.loads(described(passages, name))
        assert report["documents"] == done[0][0]["documents"] == json.loads(described(tmp_path / "merged", name))["documents"]
    assert "the shards were not indexed for the approach captain-tempesta" in done[-2][0]["error"]
    assert "has an index already" in done[-1][0]["error"]

    # a missing shard, a damaged part, and a directory that exists already are errors
    first, *_ = sorted(shards.glob("*.parquet"))
    damaged = bytearray(first.read_bytes())
    first.unlink()
    [missing, _], [none, _], [kept, _] = session(
        ("search", {**search, "output": tmp_path / "x", "approach": "bm25"}),
        ("search", {**search, "index": tmp_path, "output": tmp_path / "x"}),
        # a merged directory is neither merged nor copied again
        ("search", {**search, "index": tmp_path / "merged", "output": tmp_path / "again", "approach": "bm25"}),
    )
    assert "1 of 8 are missing" in missing["error"] and "has no finished index" in none["error"]
    assert kept["lines"] > 1000 and (tmp_path / "again/run.txt").read_bytes() == (tmp_path / "bm25/run.txt").read_bytes()
    assert "1 of 8 are missing" in refused(tmp_path / "index", tmp_path / "new")
    damaged[len(damaged) // 2] ^= 1
    first.write_bytes(damaged)
    said = refused(tmp_path / "index", tmp_path / "new")
    assert first.name in said or "parts is damaged: shard 0000" in said
    assert not (tmp_path / "new").exists()
    assert "already exists" in refused(tmp_path / "index", tmp_path / "merged")


def described(source, approach):
    command = [PROGRAM, "--no-config", "index", "-q", "-i", source, "--task", "comparative", "--approach", approach, "--json"]
    return subprocess.run(command, capture_output=True, text=True).stdout.splitlines()[0]


def refused(directory, into):
    done = subprocess.run([PROGRAM, "--no-config", "merge", into, directory], capture_output=True, text=True)
    assert done.returncode == 2, done.stderr
    return done.stderr


def test_processes_that_are_killed_change_nothing(passages, tmp_path):
    program = between(tmp_path / "state", hold=3)
    where = ["--master", PROCESSES, "--approach", "bm25"]
    index = ["--task", "comparative", "--shards", 8, *where]
    process = sessions.start("index", passages, tmp_path / "index", *index, program=program, cwd=tmp_path)
    sessions.kill_executor_at_work(process, tmp_path / "state")
    _, said = process.communicate(timeout=900)
    assert process.returncode == 0, said
    # shards that the killed executor had begun, or finished without a commit, are made again
    assert (tmp_path / "state/begun").read_text().count("index --quiet") > 8
    topics = ["--topics", passages / "topics.xml"]
    process = sessions.start("search", tmp_path / "index", tmp_path / "out", *topics, *where, "--tag", "ours", program=program, cwd=tmp_path)
    _, said = process.communicate(timeout=900)
    assert process.returncode == 0, said
    run, _ = alone("comparative", passages, "bm25", tmp_path)
    ours = [line.split(b" ")[:-1] + [b"ours"] for line in run.splitlines()]
    assert [line.split(b" ") for line in (tmp_path / "out/run.txt").read_bytes().splitlines()] == ours


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    """A collection in one file, the same collection in three files, two of which are compressed, and a collection of arguments."""
    home = tmp_path_factory.mktemp("texts")
    chance = random.Random(5)
    (home / "parts").mkdir()
    (home / "whole").mkdir()
    lines = [json.dumps({"_id": f"d{n:04}", "title": f"Part {n}", "text": text(chance, chance.choice(SUBJECTS), 0.3)}) + "\n" for n in range(600)]
    (home / "whole/corpus.jsonl").write_text("".join(lines))
    for number in range(3):
        (home / f"parts/corpus-{number}.jsonl").write_text("".join(lines[200 * number : 200 * number + 200]))
    subprocess.run(["gzip", home / "parts/corpus-0.jsonl", home / "parts/corpus-2.jsonl"], check=True)
    topics = "".join(f"<topic><number>{n}</number><title>Are {subject} good?</title></topic>" for n, subject in enumerate(SUBJECTS, 1))
    write_arguments(home / "arguments", 300)
    for directory in ["whole", "arguments"]:
        (home / directory / "topics.xml").write_text(f"<topics>{topics}</topics>")
    return home


def test_a_program_that_dies_is_started_again_and_an_index_in_another_file_system_is_fetched(texts, tmp_path, monkeypatch):
    # viewfs shows a local directory under another scheme, so it counts as another file system
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", f"--conf spark.hadoop.fs.viewfs.mounttable.far.link./home=file://{tmp_path} pyspark-shell")
    index = {"input": texts / "parts", "output": "viewfs://far/home/rank", "task": "rank", "approaches": ["bm25-rm3"], "shards": 3}
    search = {"index": "viewfs://far/home/rank", "output": tmp_path / "out", "topics": texts / "whole/topics.xml", "approach": "bm25-rm3"}
    arguments = {"input": texts / "arguments", "output": tmp_path / "args", "task": "controversial", "shards": 3}
    about = {"index": tmp_path / "args", "output": tmp_path / "args-out", "topics": texts / "arguments/topics.xml"}
    program = between(tmp_path / "state", unlucky="index --quiet")
    steps = ("index", index), ("search", search), ("index", arguments), ("search", about)
    done = session(*steps, program=program, own=True)
    assert [result for result, _ in done[::2]] == [{"documents": 600, "faults": 0, "shards": 3}, {"documents": 300, "faults": 0, "shards": 3}]
    assert (tmp_path / "state/died").exists()
    assert "fetching viewfs://far/home/rank" in done[1][1] and not any(line.startswith("fetching") for line in done[3][1])
    assert (tmp_path / "out/run.txt").read_bytes() == alone("rank", texts / "whole", "bm25-rm3", tmp_path)[0]
    assert (tmp_path / "args-out/run.txt").read_bytes() == alone("controversial", texts / "arguments", "riposte", tmp_path)[0]
