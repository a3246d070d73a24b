"""Small commands in a process that goes on, instead of one that is started for each.

The process runs `riposte calls`: it reads a call from each line, and answers each with a line. It is started by the first call, keeps the models that
calls have loaded, and ends with Python. There is one for each Python process, so a fork starts its own, and calls of several threads wait for each other.
"""

from __future__ import annotations

import json
import os
import subprocess
import threading
import weakref
from collections.abc import Sequence
from subprocess import CompletedProcess
from typing import Any

from ._program import RiposteError, checked, ended_by, find_binary

#: Seconds that the process has to end when its input ends.
_PATIENCE = 5


class Calls:
    """A process that runs small commands: evaluate, verify, stance, quality and read."""

    def __init__(self) -> None:
        self._forget()
        all_calls.add(self)

    def _forget(self) -> None:
        """Leaves the process to the Python process that this one was forked from; a thread of that one could have the lock."""
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._environment: dict[str, str] = {}

    def __call__(self, args: Sequence[str | os.PathLike[str]], *, input: str = "", stacklevel: int = 2) -> CompletedProcess[str]:
        """Runs a command, as `riposte.run` does: with the same results, warnings and errors.

        Raises:
            RiposteError: the command failed, or the process ended. The next call starts another one.
        """
        done = self.raw(args, input=input)
        return checked(done, f"riposte {done.args[0]}", stacklevel + 1)

    def raw(self, args: Sequence[str | os.PathLike[str]], *, input: str = "") -> CompletedProcess[str]:
        """Runs a command, and leaves its exit code to the caller."""
        words = [os.fspath(arg) for arg in args]
        frame = json.dumps({"directory": os.getcwd(), "args": words, "input": input}).encode() + b"\n"
        with self._lock:
            answer = self._exchange(frame, f"riposte {words[0]}")
        return CompletedProcess(words, answer["code"], answer["output"], answer["error"])

    def _exchange(self, frame: bytes, command: str) -> dict[str, Any]:
        process = self._started()
        assert process.stdin is not None and process.stdout is not None
        try:
            try:
                process.stdin.write(frame)
                process.stdin.flush()
                line = process.stdout.readline()
            except BrokenPipeError:
                line = b""
            if line.endswith(b"\n"):
                answer: dict[str, Any] = json.loads(line)
                return answer
        except BaseException:
            # after Ctrl-C, the answer to this call would be taken for that to the next
            self._end(kill=True)
            raise
        code = self._end()
        raise RiposteError(ended_by(command, code), code)

    def _started(self) -> subprocess.Popen[bytes]:
        """The process; a new one if it has ended, or if this process has other environment variables than at its start."""
        environment = dict(os.environ)
        if self._process is not None and (self._process.poll() is not None or environment != self._environment):
            self._end()
        if self._process is None:
            # in a session of its own: Ctrl-C in a terminal reaches only Python, which decides
            self._process = subprocess.Popen(
                [str(find_binary()), "calls"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=os.name == "posix"
            )
            self._environment = environment
        return self._process

    def _end(self, *, kill: bool = False) -> int:
        """Ends the process, and returns its exit code."""
        process, self._process = self._process, None
        if process is None:
            return 0
        assert process.stdin is not None and process.stdout is not None
        if kill:
            process.kill()
        try:
            process.stdin.close()
        except BrokenPipeError:
            pass
        try:
            code = process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            code = process.wait()
        process.stdout.close()
        return code

    def close(self) -> None:
        """Ends the process. The next call starts another one."""
        with self._lock:
            self._end()


#: What a forked process forgets.
all_calls: weakref.WeakSet[Calls] = weakref.WeakSet()


def _forget_all() -> None:
    for calls in list(all_calls):
        calls._forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)

#: The process of this package.
call = Calls()
