"""Runs jobs on Spark in separate processes, because the process of the tests refuses connections and does not find Java."""

import importlib.util
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from functools import cache
from pathlib import Path

from conftest import JAVA_HOME, REPOSITORY

PROGRAM = os.environ["RIPOSTE_BINARY"]
#: Masters that try a task up to four times: with threads of one process, and with executors to which all files must be shipped.
THREADS, PROCESSES = "local[2,4]", "local-cluster[2,1,1024]"

#: Each job lives for seconds, in which Java would use more time for optimising itself than for the job, and nobody looks at its web page.
SETTINGS = """
spark.driver.extraJavaOptions -XX:TieredStopAtLevel=1 -XX:+UseSerialGC
spark.executor.extraJavaOptions -XX:TieredStopAtLevel=1 -XX:+UseSerialGC
spark.ui.enabled false
"""

#: A script that does what each line of its input asks for, and then prints the result: it calls functions of riposte.spark in one session, or runs
#: riposte-spark. Java stays when a session ends. A start of Java takes about 20 s, because it loads all classes of Spark again.
SCRIPT = """
import dataclasses, json, os, sys
from pyspark.sql import SparkSession
from riposte import RiposteError, spark
def steps(steps):
    session = SparkSession.builder.master("{threads}").getOrCreate()
    results = []
    for name, arguments in steps:
        said = []
        try:
            result = dataclasses.asdict(getattr(spark, name)(session, say=said.append, **arguments))
        except RiposteError as error:
            result = {{"error": str(error)}}
        results.append([result, said])
    session.stop()
    return results
for line in sys.stdin:
    program, do, arguments = json.loads(line)
    os.environ["RIPOSTE_BINARY"] = program
    print(json.dumps({{"done": steps(arguments) if do == "steps" else spark.main(arguments)}}), flush=True)
"""


@cache
def spark_home():
    """A home of Spark for the tests of this process: a directory of links to the installed files. Executors leave their working directories, with all
    files that were shipped to them, in the directory `work` of Spark's home. In a home that several processes share, none of them could remove it."""
    home = tempfile.TemporaryDirectory(prefix="riposte-tests-")
    for entry in Path(importlib.util.find_spec("pyspark").origin).parent.iterdir():
        Path(home.name, entry.name).symlink_to(entry)
    conf = Path(home.name, "conf")
    conf.mkdir()
    (conf / "spark-defaults.conf").write_text(SETTINGS)
    return home


def environment(program=PROGRAM):
    env = {**os.environ, "PYTHONPATH": str(REPOSITORY / "python/src"), "RIPOSTE_BINARY": program, "PYSPARK_PYTHON": sys.executable}
    env["SPARK_HOME"] = spark_home().name
    env.pop("JAVA_HOME")
    if JAVA_HOME:
        env["JAVA_HOME"] = JAVA_HOME
    return env


class Driver:
    """A process that runs one job on THREADS after another."""

    def __init__(self):
        self._said = tempfile.TemporaryFile(mode="w+")
        self._home = tempfile.TemporaryDirectory(prefix="riposte-tests-")  # Spark leaves directories there
        command = [sys.executable, "-c", SCRIPT.format(threads=THREADS)]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=self._said, text=True, env=environment(), cwd=self._home.name)

    def __call__(self, do, arguments, program):
        """Returns the result, and what was written to standard error, by Java too."""
        self._said.seek(0, os.SEEK_END)
        begin = self._said.tell()
        # only a test that will fail waits so long
        watch = threading.Timer(900, self._process.kill)
        watch.start()
        try:
            self._process.stdin.write(json.dumps([str(program), do, arguments]) + "\n")
            self._process.stdin.flush()
            lines = iter(self._process.stdout.readline, "")
            done = next((line for line in lines if line.startswith('{"done": ')), None)
        finally:
            watch.cancel()
        self._said.seek(begin)
        said = self._said.read()
        assert done is not None, said
        return json.loads(done)["done"], said


@cache
def driver():
    """The driver of this process of tests. It ends when the tests end, because its input ends then."""
    return Driver()


def session(*steps, program=PROGRAM, own=False):
    """Calls functions of riposte.spark in one session, whose Java is its `own` if it must read the environment again. Returns the result or the error
    of each, and its lines of progress."""
    steps = [(name, {key: str(value) if isinstance(value, Path) else value for key, value in arguments.items()}) for name, arguments in steps]
    return (Driver() if own else driver())("steps", steps, program)[0]


def run(command, *args, program=PROGRAM):
    """Runs riposte-spark on THREADS, or on the master that the arguments name. Returns its exit code and its messages."""
    return driver()("run", [command, "--master", THREADS, *map(str, args)], program)


def start(command, *args, program=PROGRAM, cwd):
    """Starts riposte-spark in a process of its own, which a test may kill parts of."""
    command = [sys.executable, "-m", "riposte.spark", command, *map(str, args)]
    return subprocess.Popen(command, env=environment(program), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, cwd=cwd)


def descendants(pid):
    """The children of a process, and in turn their children, with their command lines."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            if parent == pid:
                yield int(entry.name), command
                yield from descendants(int(entry.name))


def executors(process):
    """The process ids of the executors of a job on PROCESSES."""
    return [pid for pid, command in descendants(process.pid) if "CoarseGrainedExecutorBackend" in command]


#: Part of a script between Spark and the program: `hold_once` says that this process is at work, and waits until its executor has been killed. Of all
#: processes, only the first one does so.
HOLD = """
def hold_once():
    try:
        held = open("{state}/held", "x")
    except FileExistsError:
        return
    with held:
        held.write(str(os.getpid()) + "\\n")
    parent, until = os.getppid(), time.monotonic() + 600
    while os.getppid() == parent and time.monotonic() < until:
        time.sleep(0.02)
"""


def kill_executor_at_work(process, state):
    """Waits until a process holds, and kills the executor that has started it. An executor without a task would lose nothing."""
    # only a test that will fail waits so long; a busy machine needs minutes to start Spark
    held, until = state / "held", time.monotonic() + 600
    while not held.exists() or not held.read_text().endswith("\n"):
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < until
        time.sleep(0.02)
    running = executors(process)
    assert len(running) == 2
    (at_work,) = [executor for executor in running if int(held.read_text()) in dict(descendants(executor))]
    os.kill(at_work, signal.SIGKILL)
