"""Runs jobs on Spark in separate processes, because the process of the tests refuses connections and does not find Java."""

import importlib.util
import json
import os
import signal
import subprocess
import sys
import tempfile
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

#: A script that calls functions of riposte.spark in one session.
STEPS = """
import dataclasses, json, sys
from pyspark.sql import SparkSession
from riposte import RiposteError, spark
master, steps = json.loads(sys.stdin.read())
session = SparkSession.builder.master(master).getOrCreate()
said = []
for name, arguments in steps:
    try:
        result = dataclasses.asdict(getattr(spark, name)(session, say=said.append, **arguments))
    except RiposteError as error:
        result = {"error": str(error)}
    print(json.dumps([result, said]))
    said.clear()
session.stop()
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


def session(*steps, master=THREADS, program=PROGRAM, cwd):
    """Calls functions of riposte.spark in one session. Returns the result or the error of each, and its lines of progress."""
    steps = [(name, {key: str(value) if isinstance(value, Path) else value for key, value in arguments.items()}) for name, arguments in steps]
    given = json.dumps([master, steps])
    done = subprocess.run([sys.executable, "-c", STEPS], input=given, capture_output=True, text=True, env=environment(program), cwd=cwd, timeout=600)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]


def start(command, *args, program=PROGRAM, cwd):
    """Starts riposte-spark."""
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
