"""Finding and running the program."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path


class RiposteError(Exception):
    """riposte could not do what was asked.

    Attributes:
        message: what riposte said, without its notes.
        code: its exit code: 2 where it could not, a negative number where a signal ended it.
        stderr: everything that it printed to standard error.
    """

    def __init__(self, message: str, code: int, stderr: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.stderr = stderr


class RiposteWarning(UserWarning):
    """riposte has done what was asked, but something was broken and passed over, or it has a note to make: a model is missing, for instance."""


def find_binary() -> Path:
    """The program that belongs to this installation.

    If the environment variable RIPOSTE_BINARY is set, it names the program. Otherwise the program is in the first of these places that has
    it: where this Python and its user install programs, `bin` beside the package (`pip install --target`), beside the interpreter, and the
    directories of PATH.

    Raises:
        FileNotFoundError: there is none.
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
    # a virtual environment that sees the packages of the Python that it was made from
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
    """Runs riposte, waits for its end and returns what it printed.

    Args:
        args: the arguments, such as `["verify", "out", "-i", "sample"]`.
        input: text for its standard input; without it, there is none to read.
        cwd: the directory in which it runs.
        env: variables to add to those of this process.

    Returns:
        An object with `stdout`, `stderr` (strings) and `returncode`, 0 or 1.

    Warns:
        RiposteWarning: the exit code is 1: it is done, but something was broken and passed over, or `verify` found a run that is not valid.

    Raises:
        RiposteError: any other exit code, or a signal ended it.
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
    command = f"riposte {args[0]}" if args else "riposte"
    if done.returncode == 1:
        said = done.stderr.strip() or "it is done, and something was not in order: see the output"
        warnings.warn(f"{command}: {said}", RiposteWarning, stacklevel=2)
    elif done.returncode != 0:
        raise RiposteError(_failure(command, done), done.returncode, done.stderr)
    return done


def _failure(command: str, done: subprocess.CompletedProcess[str]) -> str:
    """What riposte said of its failure: from the last line that begins as its errors do."""
    lines = done.stderr.strip().splitlines()
    for n in reversed(range(len(lines))):
        for start in ("riposte: ", "error: "):
            if lines[n].startswith(start):
                return "\n".join([lines[n].removeprefix(start), *lines[n + 1 :]])
    if done.returncode < 0:
        number = -done.returncode
        names = {member.value: member.name for member in signal.Signals}
        return f"{command} was ended by the signal {names.get(number, number)}"
    return done.stderr.strip() or f"{command} ended with exit code {done.returncode}"
