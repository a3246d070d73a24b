"""Finds and runs the program."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path


class RiposteError(Exception):
    """riposte failed.

    Attributes:
        message: the error message of riposte, without its notes.
        code: the exit code, which is 2 for most errors; a negative number if a signal ended riposte.
        stderr: everything that riposte printed to standard error.
    """

    def __init__(self, message: str, code: int, stderr: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.stderr = stderr


class RiposteWarning(UserWarning):
    """riposte succeeded, but it passed over something that is broken, or printed a note, for instance that a model is missing."""


def find_binary() -> Path:
    """The program that belongs to this installation.

    If the environment variable RIPOSTE_BINARY is set, it names the program. Otherwise these places are searched in order: where this Python and its
    user install programs, `bin` beside the package (`pip install --target`), the directory of the interpreter, and the directories of PATH.

    Raises:
        FileNotFoundError: there is no such program.
    """
    named = os.environ.get("RIPOSTE_BINARY")
    if named:
        if not _is_program(Path(named)):
            raise FileNotFoundError(f"RIPOSTE_BINARY names {named}, which is not a program")
        return Path(named).absolute()
    places = list(_places())
    for place in places:
        program = place / f"riposte{sysconfig.get_config_var('EXE') or ''}"
        if _is_program(program):
            return program
    found = shutil.which("riposte")
    if found is None:
        searched = ", ".join(dict.fromkeys(map(str, places)))
        raise FileNotFoundError(
            f"the program riposte is neither on PATH nor in {searched}: install the wheel again, or name the program in RIPOSTE_BINARY"
        )
    return Path(found).absolute()


def _places() -> Iterator[Path]:
    yield Path(sysconfig.get_path("scripts"))
    # a virtual environment can see the packages of its base Python
    yield Path(sysconfig.get_path("scripts", vars={"base": sys.base_prefix}))
    yield Path(sysconfig.get_path("scripts", sysconfig.get_preferred_scheme("user")))
    yield Path(__file__).absolute().parent.parent / "bin"
    yield Path(sys.executable).absolute().parent


def _is_program(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


def run(
    args: Sequence[str | os.PathLike[str]],
    *,
    input: str | None = None,
    cwd: str | os.PathLike[str] | None = None,
    env: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Runs riposte, waits until it ends, and returns what it printed.

    Args:
        args: the arguments, such as `["verify", "out", "-i", "sample"]`.
        input: text for standard input, which is empty by default.
        cwd: the directory in which riposte runs.
        env: environment variables to add to those of this process.

    Returns:
        An object with `stdout`, `stderr` (strings) and `returncode` (0 or 1).

    Warns:
        RiposteWarning: riposte finished, but it passed over something that is broken and counted the faults, or the exit code is 1: `verify` found an
            invalid run, for instance.

    Raises:
        RiposteError: the exit code is neither 0 nor 1, or a signal ended riposte.
        FileNotFoundError: the program is not installed.
    """
    done = subprocess.run(
        [str(find_binary()), *(os.fspath(arg) for arg in args)],
        input=input,
        stdin=subprocess.DEVNULL if input is None else None,
        capture_output=True,
        cwd=cwd,
        env=None if env is None else {**os.environ, **env},
        encoding="utf-8",
        errors="replace",
    )
    return checked(done, f"riposte {args[0]}" if args else "riposte", 3)


def checked(done: subprocess.CompletedProcess[str], command: str, stacklevel: int) -> subprocess.CompletedProcess[str]:
    """What a command has printed, with the warnings and errors of `run`."""
    if done.returncode == 1 or (done.returncode == 0 and counts_faults(done.stderr)):
        said = done.stderr.strip() or "it finished, but found a problem: see the output"
        warnings.warn(f"{command}: {said}", RiposteWarning, stacklevel=stacklevel)
    elif done.returncode != 0:
        raise RiposteError(_failure(command, done), done.returncode, done.stderr)
    return done


def counts_faults(said: str) -> bool:
    """Whether riposte has counted faults that it has passed over."""
    return re.search(r"^\d+ faults?: ", said, re.MULTILINE) is not None


def _failure(command: str, done: subprocess.CompletedProcess[str]) -> str:
    """The error message of riposte: standard error from the last line that begins like an error."""
    lines = done.stderr.strip().splitlines()
    for n in reversed(range(len(lines))):
        for start in ("riposte: ", "error: "):
            if lines[n].startswith(start):
                return "\n".join([lines[n].removeprefix(start), *lines[n + 1 :]])
    if done.returncode < 0:
        return ended_by(command, done.returncode)
    return done.stderr.strip() or ended_by(command, done.returncode)


def ended_by(command: str, code: int) -> str:
    """A sentence about an exit code."""
    if code >= 0:
        return f"{command} ended with exit code {code}"
    names = {member.value: member.name for member in signal.Signals}
    return f"{command} was ended by the signal {names.get(-code, -code)}"
