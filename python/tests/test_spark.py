"""Compares evidence that Spark computes with evidence that one machine computes. Spark runs in processes of its own."""

import json
import random
import re
import shutil
import sqlite3
import stat
import subprocess
import sys
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sessions
from conftest import REPOSITORY
from generated import write_arguments
from sessions import PROCESSES, PROGRAM

from riposte import _spark_extract
from riposte._stream import FileOfDocument, Stream

SAMPLE = REPOSITORY / "sample"

#: A script between Spark and the program. It records each document that it passes on, and dies in chosen documents. When a chosen number of documents
#: has been begun, it holds in the tenth document of its part.
BETWEEN = (
    """#!{python}
import os, signal, struct, subprocess, sys, time
"""
    + sessions.HOLD
    + """
real = ["{program}", *sys.argv[1:]]
if "--died" in real:
    os.execv(real[0], real)
child = subprocess.Popen(real, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
def pass_on(source, target):
    head = source.read(8)
    if len(head) < 8:
        sys.exit(child.wait() if source is child.stdout else 0)
    text = source.read(struct.unpack("<Q", head)[0])
    target.write(head + text)
    target.flush()
    return text
import json
pass_on(child.stdout, sys.stdout.buffer)
passed_on = 0
while True:
    header = json.loads(pass_on(sys.stdin.buffer, child.stdin))
    document = header["document"]
    with open("{state}/begun", "a") as begun:
        begun.write(document + "\\n")
    passed_on += 1
    if passed_on == 10 and len(open("{state}/begun").readlines()) >= {hold}:
        hold_once()
    if document in {poisoned}:
        os.kill(os.getpid(), signal.SIGSEGV)
    if document == "{unlucky}" and not os.path.exists("{state}/died"):
        open("{state}/died", "w").close()
        os.kill(os.getpid(), signal.SIGKILL)
    for file in header["files"]:
        if not file["omitted"]:
            child.stdin.write(sys.stdin.buffer.read(file["size"]))
    child.stdin.flush()
    pass_on(child.stdout, sys.stdout.buffer)
"""
)


def between(state, poisoned=(), unlucky="", hold=1_000_000):
    state.mkdir()
    program = state / "between"
    poisoned = set(poisoned) or "()"
    program.write_text(BETWEEN.format(python=sys.executable, program=PROGRAM, state=state, poisoned=poisoned, unlucky=unlucky, hold=hold))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return str(program)


@pytest.fixture(scope="module")
def collection(tmp_path_factory):
    """The sample, and copies of its documents under other ids: 200 images."""
    directory = tmp_path_factory.mktemp("collection")
    shutil.copy(SAMPLE / "topics.xml", directory)
    documents = sorted((SAMPLE / "images").glob("*/*"))
    for number in range(200):
        source = documents[number % len(documents)]
        name = source.name if number < len(documents) else f"{source.name[:15]}{10 + number // len(documents)}"
        shutil.copytree(source, directory / "images" / name[:3] / name)
    assert len(list(directory.glob("images/*/*"))) == 200
    return directory


@pytest.fixture(scope="module")
def alone(collection, tmp_path_factory):
    """The rows and the run that one machine computes."""
    home = tmp_path_factory.mktemp("alone")
    return contents(riposte("extract", "-i", collection, home / "evidence.sqlite")), run_of(collection, home / "evidence.sqlite")


@pytest.fixture(scope="module")
def computed(collection, tmp_path_factory):
    """The evidence that Spark computes, and the messages of riposte-spark."""
    output = tmp_path_factory.mktemp("computed") / "evidence"
    return output, extract(collection, output)


def riposte(command, *args, code=0):
    """Runs a command of the program; the last argument is the evidence store, which is returned."""
    *args, store = map(str, args)
    more = [store, *args] if command == "merge" else [*args, "--evidence", store, "--numeric", "float"]
    done = subprocess.run([PROGRAM, "--no-config", command, *more], capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    return Path(store)


def refused(directory, store):
    """The error message of the program when it refuses to merge a directory."""
    done = subprocess.run([PROGRAM, "--no-config", "merge", store, directory], capture_output=True, text=True)
    assert done.returncode == 2, done.stderr
    return done.stderr


def run_of(collection, store):
    out = store.parent / "out"
    riposte("images", "-i", collection, "-o", out, store)
    return (out / "run.txt").read_bytes()


def contents(store):
    """All rows of all tables, but without the hash of the files' times: Spark does not send times to the program."""
    rows = []
    with sqlite3.connect(store) as database:
        for (table,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name <> 'text_hash' ORDER BY name").fetchall():
            columns = [row[1] for row in database.execute(f"PRAGMA table_info({table})") if (table, row[1]) != ("file_state", "state")]
            names = ", ".join(f'"{column}"' for column in columns)
            rows += [(table, *row) for row in database.execute(f"SELECT {names} FROM {table} ORDER BY {names}")]
    return rows


def extract(source, output, *args, code=0, program=PROGRAM):
    """Runs riposte-spark. Returns its messages."""
    returned, said = sessions.run("extract", source, output, "--partitions", "8", *args, program=program)
    assert returned == code, said
    return said


def extract_on_processes(source, output, *args, program=PROGRAM, meanwhile=lambda process: None):
    """Runs riposte-spark on executors that are processes of their own."""
    master = ["--partitions", "8", "--master", PROCESSES]
    process = sessions.start("extract", source, output, *master, *args, program=program, cwd=Path(output).parent)
    meanwhile(process)
    _, said = process.communicate(timeout=900)
    assert process.returncode == 0, said


def merged(output, store, code=0):
    return contents(riposte("merge", output, store, code=code))


def test_evidence_and_run_are_those_of_one_machine_and_a_second_run_computes_nothing(collection, alone, computed, tmp_path):
    evidence, said = computed
    assert "200 documents, 200 of them new or changed" in said
    output = tmp_path / "evidence"
    shutil.copytree(evidence, output)
    assert merged(output, tmp_path / "evidence.sqlite") == alone[0]
    assert run_of(collection, tmp_path / "evidence.sqlite") == alone[1]
    files = sorted(output.iterdir())
    assert len([file for file in files if file.suffix == ".parquet" and file.name.startswith("part-")]) == 8

    assert "200 documents, 0 of them new or changed" in extract(collection, output)
    assert sorted(output.iterdir()) == files

    # a changed document is computed again, and its latest evidence is merged
    changed = tmp_path / "changed"
    shutil.copytree(collection, changed, copy_function=shutil.copy2)
    document = sorted(changed.glob("images/*/*"))[7]
    (document / "image-url.txt").write_text("https://example.org/elsewhere.png")
    said = extract(changed, output)
    assert "200 documents, 1 of them new or changed" in said and "1 documents computed, with 0 faults" in said
    rows = merged(output, tmp_path / "again.sqlite")
    assert rows == contents(riposte("extract", "-i", changed, tmp_path / "alone.sqlite")) != alone[0]


#: Approaches that choose their candidates differently: the best images, the best of each sentiment, or all that the crawl found for the topic; and
#: one that divides all pictures into clusters.
APPROACHES = ["riposte", "aramis", "jester", "jean-luc-picard", "minsc", "boromir-clusters"]


def test_runs_from_merged_evidence_are_those_of_one_machine(collection, computed, tmp_path):
    store = riposte("merge", computed[0], tmp_path / "evidence.sqlite")
    write_arguments(tmp_path / "arguments", 60)
    documents = sorted(path.name for path in collection.glob("images/*/*"))
    topics = re.findall("<number>(.*?)</number>", (collection / "topics.xml").read_text())
    pairs = [{"qid": topic, "docno": document} for topic in topics for document in documents[::3]]
    (tmp_path / "rerank.jsonl").write_text("".join(json.dumps(pair) + "\n" for pair in pairs))
    rankings = {name: ["--approach", name] for name in APPROACHES}
    rankings["arguments"] = ["--arguments", str(tmp_path / "arguments")]
    rankings["candidates"] = ["--candidates", str(tmp_path / "rerank.jsonl")]
    rankings["limit"] = ["--limit", "90"]
    ranked = {"evidence": computed[0], "topics": collection / "topics.xml"}
    numbers = ["--numeric", "float"]
    steps = [("images", {**ranked, "output": tmp_path / name, "options": [*numbers, *more]}) for name, more in rankings.items()]
    done = sessions.session(*steps, ("search", {"index": str(computed[0]), "topics": "", "output": ""}))
    runs = set()
    for (name, more), (found, _) in zip(rankings.items(), done, strict=False):
        riposte("images", "-i", collection, "-o", tmp_path / f"{name}-alone", *more, store)
        run = (tmp_path / name / "run.txt").read_bytes()
        assert run == (tmp_path / f"{name}-alone/run.txt").read_bytes() and found["lines"] == run.count(b"\n") > 0, name
        # without a sentence model, arguments change nothing, so this run equals another one
        if name != "arguments":
            runs.add(run)
    assert len(runs) == len(rankings) - 1
    assert "has no finished index" in done[-1][0]["error"]


def test_processes_that_are_killed_change_nothing(collection, alone, tmp_path):
    program = between(tmp_path / "state", hold=60)
    kill = partial(sessions.kill_executor_at_work, state=tmp_path / "state")
    extract_on_processes(collection, tmp_path / "evidence", program=program, meanwhile=kill)
    # parts that the killed executor had begun, or finished without a commit, are computed again
    assert len((tmp_path / "state/begun").read_text().splitlines()) >= 210
    assert merged(tmp_path / "evidence", tmp_path / "evidence.sqlite") == alone[0]
    assert run_of(collection, tmp_path / "evidence.sqlite") == alone[1]


def test_a_document_that_ends_the_program_is_a_fault(collection, alone, tmp_path):
    poisoned = [path.name for path in sorted(collection.glob("images/*/*"))[20:200:90]]
    program = between(tmp_path / "state", poisoned=poisoned)
    said = extract(collection, tmp_path / "evidence", "--strict", program=program, code=1)
    assert "200 documents computed, with 2 faults" in said
    rows = merged(tmp_path / "evidence", tmp_path / "evidence.sqlite")
    assert [row for row in rows if row[0] != "passed_over"] == [row for row in alone[0] if row[1] not in poisoned]
    passed_over = [row for row in rows if row[0] == "passed_over"]
    assert [row[1] for row in passed_over] == poisoned
    assert all("riposte died in it: passed over" in row[-1] and "signal: 11 (SIGSEGV)" in row[-1] for row in passed_over)
    # each of the two was tried twice: among other documents, and in a separate process
    begun = (tmp_path / "state/begun").read_text().splitlines()
    assert [begun.count(document) for document in poisoned] == [2, 2] and len(begun) == 202
    # on one machine, the program reads these records and passes the documents over, too
    done = riposte("extract", "-i", collection, tmp_path / "evidence.sqlite")
    assert contents(done) == rows
    # and so does the next run on Spark
    assert "0 of them new" in extract(collection, tmp_path / "evidence", program=program)


def test_a_program_that_is_killed_is_started_again(collection, alone, tmp_path):
    unlucky = sorted(collection.glob("images/*/*"))[50].name
    program = between(tmp_path / "state", unlucky=unlucky)
    said = extract(collection, tmp_path / "evidence", program=program)
    assert f"riposte died while it computed {unlucky} (signal: 9 (SIGKILL)), but not in a second process" in said
    # in the task that failed, in the separate process, and in the task's second attempt
    assert (tmp_path / "state/begun").read_text().splitlines().count(unlucky) == 3
    assert merged(tmp_path / "evidence", tmp_path / "evidence.sqlite") == alone[0]


def test_documents_in_parquet_files_have_the_same_evidence(collection, alone, tmp_path):
    documents = []
    for directory in sorted(collection.glob("images/*/*")):
        files = [{"path": str(file.relative_to(directory)), "content": file.read_bytes()} for file in directory.rglob("*") if file.is_file()]
        documents.append({"document": directory.name, "dir": str(directory), "files": files})
    (tmp_path / "documents").mkdir()
    pq.write_table(pa.Table.from_pylist(documents), tmp_path / "documents/part-0.parquet")
    extract(tmp_path / "documents", tmp_path / "evidence")
    assert merged(tmp_path / "evidence", tmp_path / "evidence.sqlite") == alone[0]


def test_what_cannot_be_read_is_an_error_that_says_so(tmp_path):
    (tmp_path / "images").mkdir()
    assert f"there is no image in {tmp_path}" in extract(tmp_path, tmp_path / "evidence", code=2)
    assert not (tmp_path / "evidence").exists()
    (tmp_path / "notes").write_text("no Parquet file")
    assert "riposte-spark: Spark failed: " in extract(SAMPLE, tmp_path / "notes", code=2)
    # here the job fails, and not a step of the driver before it
    program = between(tmp_path / "state", unlucky=sorted((SAMPLE / "images").glob("*/*"))[9].name)
    said = extract(SAMPLE, tmp_path / "evidence", "--master", "local[2]", program=program, code=2)
    assert "riposte-spark: Spark failed: " in said and "but not in a second process" in said
    with pytest.raises(AssertionError, match="there is no Parquet file in"):
        merged(tmp_path / "evidence", tmp_path / "evidence.sqlite")


@pytest.fixture(scope="module")
def evidence():
    """Rows of the first documents of the sample, as tasks write them, and their schema."""
    stream = Stream([PROGRAM, "--no-config", "extract", "--stream", "--numeric", "float"])
    rows = []
    for directory in sorted((SAMPLE / "images").glob("*/*"))[:6]:
        files = [FileOfDocument(str(f.relative_to(directory)), f.stat().st_size, f.read_bytes()) for f in directory.rglob("*") if f.is_file()]
        answer = stream.compute(directory.name, str(directory), files)
        row = {"id": directory.name, "run": 1, "producers": answer["producers"], "files": ""}
        rows.append(row | _spark_extract.table_rows(answer, stream.greeting))
    schema = _spark_extract.arrow_schema(stream.greeting)
    stream.close()
    return rows, schema


def write(directory, rows, schema, name="part-0.parquet", **options):
    directory.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows, schema), directory / name, **{"compression": "zstd", **options})


def test_files_are_merged_whatever_their_order_and_directories(evidence, tmp_path):
    rows, schema = evidence
    write(tmp_path / "one", rows, schema)
    expected = merged(tmp_path / "one", tmp_path / "one.sqlite")
    assert {row[1] for row in expected} == {row["id"] for row in rows}
    # in two directories, which share a document with the same rows, beside files that Spark ignores, too
    write(tmp_path / "many/part=1", rows[3:], schema, row_group_size=1)
    write(tmp_path / "many/part=2", rows[:4], schema, compression="none")
    write(tmp_path / "many/_temporary/0", [rows[0] | {"run": 9}], schema)
    for name in ["_SUCCESS", ".part-0.parquet.crc"]:
        (tmp_path / "many" / name).write_text("x")
    assert merged(tmp_path / "many", tmp_path / "many.sqlite") == expected
    # merging again adds nothing, and only the rows of the latest run are merged
    assert merged(tmp_path / "many", tmp_path / "many.sqlite") == expected
    old = rows[0] | {"page": [], "files": "of an earlier run"}
    write(tmp_path / "many/part=1", [old | {"run": 0}], schema, "part-1.parquet")
    assert merged(tmp_path / "many", tmp_path / "later.sqlite") == expected


def test_evidence_that_is_damaged_is_refused_and_none_of_it_merged(evidence, tmp_path):
    rows, schema = evidence
    title = [rows[5]["page"][0] | {"title": "another"}, *rows[5]["page"][1:]]
    other = [row | {"document": rows[0]["id"]} for row in rows[5]["vader"]]
    damaged = {
        "the record of .* in the table page is damaged": rows[:5] + [rows[5] | {"page": title}],
        "the table .* has no checksum": rows[:5] + [rows[5] | {"checksum": []}],
        "a row belongs to another document": rows[:5] + [rows[5] | {"vader": other}],
        "there is neither evidence nor a record that riposte died in it": rows[:5] + [rows[5] | {"document": []}],
        "the same run has two rows of it, which differ": [*rows, rows[5] | {"page": title}],
    }
    for number, (what, changed) in enumerate(damaged.items()):
        write(tmp_path / f"{number}", changed, schema)
        said = refused(tmp_path / f"{number}", tmp_path / "evidence.sqlite")
        assert re.search(what, said) and "part-0.parquet" in said, said
    write(tmp_path / "columns", rows, pa.schema([field for field in schema if field.name != "vader"]))
    assert "no list of rows in the column vader" in refused(tmp_path / "columns", tmp_path / "evidence.sqlite")
    write(tmp_path / "other", [{"a": 1}], pa.schema([("a", pa.int64())]))
    assert "it has no column id" in refused(tmp_path / "other", tmp_path / "evidence.sqlite")
    write(tmp_path / "whole", rows, schema)
    whole = (tmp_path / "whole/part-0.parquet").read_bytes()
    expected = merged(tmp_path / "whole", tmp_path / "whole.sqlite")
    chance = random.Random(1)
    for number in range(60):
        cut = bytearray(whole[: chance.randrange(len(whole))] if number < 20 else whole)
        for _ in range(number % 20):
            cut[chance.randrange(len(cut))] ^= 1 << chance.randrange(8)
        (tmp_path / "bits").mkdir(exist_ok=True)
        (tmp_path / "bits/part-0.parquet").write_bytes(cut)
        store = tmp_path / f"bits{number}.sqlite"
        done = subprocess.run([PROGRAM, "--no-config", "merge", store, tmp_path / "bits"], capture_output=True, text=True, timeout=20)
        # a flipped bit can be in bytes that are not read, such as statistics, or that have no checksum: the hash of all files
        assert done.returncode in (0, 2), done.stderr
        if done.returncode == 0:
            assert without_files(contents(store)) == without_files(expected), number
        else:
            assert contents(store) == [] and "part-0.parquet" in done.stderr, done.stderr
    (tmp_path / "empty").mkdir()
    assert "there is no Parquet file in" in refused(tmp_path / "empty", tmp_path / "evidence.sqlite")
    assert contents(tmp_path / "evidence.sqlite") == []


def without_files(rows):
    return [row for row in rows if row[0] not in ("file_state", "passed_over")]
