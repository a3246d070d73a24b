"""Finds and runs the program."""

import os
import re
import signal
import subprocess
import sys
import sysconfig
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from conftest import REPOSITORY

import riposte
import riposte.__main__
from riposte import _program

VERSION = re.search(r'^version = "(.*)"', (REPOSITORY / "Cargo.toml").read_text(), re.MULTILINE)[1]


def program(path: Path, script: str = "exit 0") -> Path:
    """Makes a program that is a shell script."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def python(*args: str, **options) -> subprocess.Popen:
    path = {"PYTHONPATH": str(Path(riposte.__file__).parents[1])}
    return subprocess.Popen([sys.executable, "-m", "riposte", *args], env={**os.environ, **path, **options}, stdout=-1, stderr=-1, text=True)


def test_run_returns_what_riposte_prints():
    done = riposte.run(["-V"])
    assert (done.stdout, done.stderr, done.returncode) == (f"riposte {VERSION}\n", "", 0)


def test_arguments_input_directory_and_variables_reach_it(tmp_path, monkeypatch):
    monkeypatch.setenv("RIPOSTE_BINARY", str(program(tmp_path / "echo", 'echo "$1|$2|$WORD|$(pwd)|$(cat)"')))
    done = riposte.run([tmp_path / "a b", "*'\"é\n"], input="in ü", cwd=tmp_path, env={"WORD": "set"})
    assert done.stdout == f"{tmp_path}/a b|*'\"é\n|set|{tmp_path.resolve()}|in ü\n"
    assert riposte.run(["a"]).stdout.endswith("|\n")  # without `input`, standard input is empty


def test_faults_are_a_warning():
    lines = '{"topic": "Should cars be banned?", "text": "Yes."}\n{"topic": "", "text": "x"}\n'
    with pytest.warns(riposte.RiposteWarning, match="-:2: the topic is empty") as warned:
        done = riposte.run(["stance", "--jsonl", "-"], input=lines)
    assert done.returncode == 0 and done.stdout.splitlines()[1] == "null"
    assert warned[0].filename == __file__


def test_a_failure_is_an_error_with_the_message_and_the_code(tmp_path):
    with pytest.raises(riposte.RiposteError) as error:
        riposte.run(["rank", "-i", tmp_path, "-o", tmp_path / "out", "--approach", "bm52"])
    assert error.value.code == 2
    assert error.value.message == str(error.value)
    assert not error.value.message.startswith("riposte:") and "bm25" in error.value.message
    assert error.value.message in error.value.stderr
    with pytest.raises(riposte.RiposteError, match="--input"):
        riposte.run(["rank"])


@pytest.mark.parametrize(
    ("script", "code", "message"),
    [
        ("echo 'note: x' >&2; echo 'riposte: no\n  more' >&2; exit 2", 2, "no\n  more"),
        ("echo words >&2; exit 130", 130, "words"),
        ("exit 3", 3, "riposte index ended with exit code 3"),
        ("kill -9 $$", -9, "riposte index was ended by the signal SIGKILL"),
        ("kill -40 $$", -40, "riposte index was ended by the signal 40"),
    ],
)
def test_what_ended_it_is_said(tmp_path, monkeypatch, script, code, message):
    monkeypatch.setenv("RIPOSTE_BINARY", str(program(tmp_path / "p", script)))
    with pytest.raises(riposte.RiposteError) as error:
        riposte.run(["index"])
    assert (error.value.code, error.value.message) == (code, message)


def test_the_program_is_found_where_python_installs_programs(tmp_path, monkeypatch):
    monkeypatch.delenv("RIPOSTE_BINARY")
    first, second, path = (tmp_path / name for name in ("first", "second", "path"))
    monkeypatch.setattr(_program, "_places", lambda: iter([first, second]))
    monkeypatch.setenv("PATH", f"{path}:/nowhere")
    with pytest.raises(FileNotFoundError, match=f"neither on PATH nor in {first}, {second}: .*RIPOSTE_BINARY"):
        riposte.find_binary()
    for place in (path, second, first):
        expected = program(place / "riposte")
        assert riposte.find_binary() == expected
    (first / "riposte").chmod(0o644)
    assert riposte.find_binary() == second / "riposte"
    named = program(tmp_path / "named")
    monkeypatch.setenv("RIPOSTE_BINARY", str(named))
    assert riposte.find_binary() == named
    monkeypatch.setenv("RIPOSTE_BINARY", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="is not a program"):
        riposte.find_binary()


def test_the_usual_places_are_searched():
    places = list(_program._places())
    assert places[0] == Path(sysconfig.get_path("scripts"))
    assert Path(sys.executable).parent in places
    assert Path(sysconfig.get_path("scripts", sysconfig.get_preferred_scheme("user"))) in places


def test_python_m_riposte_is_the_program(tmp_path):
    out, err = (version := python("-V")).communicate()
    assert (out, err, version.returncode) == (f"riposte {VERSION}\n", "", 0)
    out, err = (wrong := python("frobnicate")).communicate()
    assert wrong.returncode == 2 and "frobnicate" in err
    out, err = (missing := python("--version", RIPOSTE_BINARY="/nowhere")).communicate()
    assert missing.returncode == 2 and err.startswith("riposte: RIPOSTE_BINARY names /nowhere") and "Traceback" not in err


def test_a_signal_to_python_m_riposte_reaches_the_program(tmp_path):
    started = tmp_path / "started"
    waiting = program(tmp_path / "p", f"echo $$ > {started}.part; mv {started}.part {started}; exec sleep 100")
    running = python("x", RIPOSTE_BINARY=str(waiting))
    deadline = time.monotonic() + 60
    while not started.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert int(started.read_text()) == running.pid
    running.send_signal(signal.SIGTERM)
    running.communicate()
    assert running.returncode == -signal.SIGTERM


def test_without_exec_the_exit_code_is_passed_on(tmp_path, monkeypatch):
    monkeypatch.setenv("RIPOSTE_BINARY", str(program(tmp_path / "p", '[ "$*" = "a b" ] && exit 3')))
    monkeypatch.setattr(riposte.__main__, "os", SimpleNamespace(name="other"))
    monkeypatch.setattr(sys, "argv", ["riposte", "a", "b"])
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    assert riposte.__main__.main() == 3


def test_importing_riposte_imports_nothing_else():
    code = "import sys, riposte; print({'pandas', 'numpy', 'pyterrier', 'ir_datasets'} & set(sys.modules)); riposte.nothing"
    path = {**os.environ, "PYTHONPATH": str(Path(riposte.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-c", code], env=path, capture_output=True, text=True)
    assert done.stdout == "set()\n"
    assert "AttributeError: module 'riposte' has no attribute 'nothing'" in done.stderr
