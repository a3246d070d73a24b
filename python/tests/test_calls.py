"""The process that goes on: interrupts, ends, forks, threads, variables and directories."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import riposte
from riposte import _calls
from riposte._calls import Calls

RUN = {"1": {"d1": 2.0, "d2": 1.0}}
QRELS = {"1": {"d2": 1}}


@pytest.fixture
def calls():
    calls = Calls()
    yield calls
    calls.close()


@pytest.fixture
def files(tmp_path) -> list[str]:
    """The words of an evaluation."""
    (tmp_path / "run.json").write_text(json.dumps(RUN))
    (tmp_path / "qrels.json").write_text(json.dumps(QRELS))
    return ["evaluate", "--json", "--qrels", str(tmp_path / "qrels.json"), str(tmp_path / "run.json"), "RR"]


def process_of(calls: Calls) -> subprocess.Popen:
    assert calls._process is not None
    return calls._process


def test_calls_print_what_the_program_prints_and_one_process_answers_all(calls, files):
    expected = riposte.run(files)
    first = calls(files)
    process = process_of(calls)
    again = [calls(files) for _ in range(20)]
    assert process_of(calls) is process
    for done in [first, *again]:
        assert (done.stdout, done.stderr, done.returncode) == (expected.stdout, expected.stderr, 0)


@pytest.mark.parametrize(
    "words",
    [
        ["evaluate", "--json", "--qrels", "no-such-file", "no-such-run"],
        ["evaluate", "--nonsense"],
        ["verify"],
        ["stance", "--topic", "T"],
    ],
)
def test_an_error_is_that_of_the_program_and_the_next_call_works(calls, files, words):
    errors = []
    for runs in (riposte.run, calls):
        with pytest.raises(riposte.RiposteError) as error:
            runs(words)
        errors.append((error.value.message, error.value.code, error.value.stderr))
    assert errors[0] == errors[1]
    process = process_of(calls)
    assert calls(files).returncode == 0 and process_of(calls) is process


def test_only_small_commands_are_calls_and_none_reads_the_calls_as_its_input(calls, files):
    with pytest.raises(riposte.RiposteError, match="a process of its own"):
        calls(["rank", "-i", "x", "-o", "y"])
    with pytest.raises(riposte.RiposteError, match="no standard input"):
        calls([*files[:-2], "-"])
    with pytest.raises(riposte.RiposteError, match="no standard input"):
        calls([*files[:-2], "name=-"])
    assert calls(files).returncode == 0


def test_faults_are_a_warning(calls):
    lines = '{"topic": "Should cars be banned?", "text": "Yes."}\n{"topic": "", "text": "x"}\n'
    with pytest.warns(riposte.RiposteWarning, match="-:2: the topic is empty") as warned:
        done = calls(["stance", "--jsonl", "-"], input=lines)
    assert done.stdout.splitlines()[1] == "null" and warned[0].filename == __file__
    assert done.stdout == riposte_run_quietly(["stance", "--jsonl", "-"], lines)


def riposte_run_quietly(words: list[str], input: str) -> str:
    with pytest.warns(riposte.RiposteWarning):
        return riposte.run(words, input=input).stdout


def test_a_call_runs_in_the_directory_of_python(calls, files, tmp_path, monkeypatch):
    words = [*files[:3], "qrels.json", "run.json", "RR"]
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        Path("qrels.json").write_text(json.dumps(QRELS))
        Path("run.json").write_text(json.dumps(RUN if name == "a" else {"1": {"d2": 1.0}}))
        values = [json.loads(line)["value"] for line in calls(words).stdout.splitlines()]
        assert values == [0.5 if name == "a" else 1.0]


def test_a_changed_variable_reaches_the_next_call(calls, tmp_path, monkeypatch):
    line = '{"topic": "Should cars be banned?", "text": "Yes."}\n'
    monkeypatch.setenv("RIPOSTE_MODELS", str(tmp_path / "none"))
    assert "no sentence model is installed" in calls(["stance", "--jsonl", "-"], input=line).stderr
    process = process_of(calls)
    monkeypatch.setenv("RIPOSTE_MODELS", str(tmp_path / "others"))
    calls(["stance", "--jsonl", "-"], input=line)
    assert process_of(calls) is not process and process.poll() == 0


def test_a_broken_configuration_hinders_no_call(calls, files, tmp_path, monkeypatch):
    (tmp_path / "riposte.toml").write_text("nonsense")
    monkeypatch.chdir(tmp_path)
    assert json.loads(calls(files).stdout)["value"] == 0.5


def test_a_process_that_was_killed_is_an_error_and_the_next_call_starts_another(calls, files):
    calls(files)
    # stopped, so that it is killed while a call waits for it
    process = process_of(calls)
    process.send_signal(signal.SIGSTOP)
    threading.Timer(0.3, process.kill).start()
    with pytest.raises(riposte.RiposteError, match="riposte evaluate was ended by the signal SIGKILL") as error:
        calls(files)
    assert error.value.code == -signal.SIGKILL
    assert calls(files).returncode == 0


def test_ctrl_c_ends_the_call_and_the_next_gets_its_own_answer(files):
    code = f"""
import os, signal, threading
from riposte._calls import call
files = {files!r}
# a shell starts what runs in the background without this
signal.signal(signal.SIGINT, signal.default_int_handler)
call(files)
call._process.send_signal(signal.SIGSTOP)  # a call that takes long
threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    call(["verify", files[4]])
except KeyboardInterrupt:
    print("interrupted")
print(call(files).stdout == call(files).stdout, '"measure":"RR"' in call(files).stdout)
"""
    done = subprocess.run([sys.executable, "-c", code], env=environment(), capture_output=True, text=True, timeout=60)
    assert done.stdout == "interrupted\nTrue True\n", done.stderr


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(Path(riposte.__file__).parents[1])}


def test_ctrl_c_in_a_terminal_leaves_an_idle_process_alone(calls, files):
    calls(files)
    # a terminal sends the signal to all processes of its group
    assert os.getpgid(process_of(calls).pid) != os.getpgid(0)


def test_threads_get_their_own_answers(calls, files, tmp_path):
    (tmp_path / "good.json").write_text(json.dumps({"1": {"d2": 1.0}}))
    wrong = []

    def work(name: str, value: float) -> None:
        for _ in range(25):
            done = calls([*files[:4], str(tmp_path / name), "RR"])
            if json.loads(done.stdout)["value"] != value:
                wrong.append(done.stdout)

    threads = [threading.Thread(target=work, args=of) for of in [("run.json", 0.5), ("good.json", 1.0)] * 3]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_fork_starts_a_process_of_its_own_even_if_a_thread_was_in_a_call(calls, files):
    calls(files)
    process = process_of(calls)
    calls._lock.acquire()  # as a thread would that is not in the child
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            done = calls(files)
            os.write(write, f"{json.loads(done.stdout)['value']} {calls._process.pid}".encode())
            calls.close()
            code = 0
        finally:
            os._exit(code)
    os.close(write)
    calls._lock.release()
    value, pid = os.read(read, 100).decode().split()
    os.close(read)
    assert os.waitpid(child, 0)[1] == 0
    assert float(value) == 0.5 and int(pid) != process.pid
    assert calls(files).returncode == 0 and process_of(calls) is process


def test_the_process_ends_with_python(files):
    code = f"from riposte._calls import call; call({files!r}); print(call._process.pid)"
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], env=environment(), capture_output=True, text=True)
    assert done.stderr == ""
    pid = int(done.stdout)
    deadline = time.monotonic() + 20
    while Path(f"/proc/{pid}").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not Path(f"/proc/{pid}").exists()


def test_a_call_costs_less_than_a_quarter_of_starting_the_program(files):
    def seconds(run, times: int) -> float:
        start = time.perf_counter()
        for _ in range(times):
            run(files)
        return (time.perf_counter() - start) / times

    _calls.call(files)
    # the best of three: other programs run on the machine
    called = min(seconds(_calls.call, 50) for _ in range(3))
    started = min(seconds(riposte.run, 5) for _ in range(3))
    assert called < started / 4, (called, started)
