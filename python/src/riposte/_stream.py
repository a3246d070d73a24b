"""`riposte extract --stream`, as a process that computes one document after the other. Needs nothing but Python."""

from __future__ import annotations

import json
import os
import select
import signal
import struct
import subprocess
import tempfile
import time
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ._program import RiposteError

#: Seconds that one document may take, models included, as in the program itself (cli/probe.rs).
PATIENCE = 600

#: Signals that a user, a terminal or a cluster sends: no document is to blame for them.
REQUESTS = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT}


class Died(Exception):
    """The process died; the text says how."""


class FileOfDocument(NamedTuple):
    """A file of a document: its path in the document's directory, its size, and its bytes. None stands for bytes that riposte does not read."""

    path: str
    size: int
    content: bytes | None


class Stream:
    """A process that is fed with documents.

    It reads a document when it is asked to, and answers before it reads the next one: so nothing is queued, and the document that a process
    dies of is known.
    """

    def __init__(self, command: Sequence[str], patience: float = PATIENCE) -> None:
        self._patience = patience
        self._said = tempfile.TemporaryFile()
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._said, bufsize=0)
        #: What the process says of itself: its version, its producers, the columns of the tables.
        self.greeting: dict[str, Any] = self._receive()

    def compute(self, document: str, directory: str, files: Iterable[FileOfDocument]) -> dict[str, Any]:
        """Everything that a store would hold of a document.

        Raises:
            Died: the process died, or took too long.
            RiposteError: it ended with an error that is not due to a document, or somebody ended it.
        """
        files = list(files)
        listed = [{"path": f.path, "size": f.size, "omitted": f.content is None} for f in files]
        header = json.dumps({"document": document, "dir": directory, "files": listed}).encode()
        try:
            for part in [struct.pack("<Q", len(header)), header, *(f.content for f in files if f.content is not None)]:
                self._write(part)
        except BrokenPipeError:
            pass  # it has ended: what follows says how
        answer = self._receive()
        if answer["document"] != document:
            raise RiposteError(f"riposte answered with {answer['document']} to {document}", 2)
        return answer

    def _write(self, part: bytes) -> None:
        view = memoryview(part)
        while view:
            view = view[self._process.stdin.write(view) :]

    def _receive(self) -> dict[str, Any]:
        until = time.monotonic() + self._patience
        (length,) = struct.unpack("<Q", self._read(8, until))
        return json.loads(self._read(length, until))

    def _read(self, length: int, until: float) -> bytes:
        read = bytearray()
        output = self._process.stdout.fileno()
        while len(read) < length:
            left = until - time.monotonic()
            if left <= 0 or not select.select([output], [], [], left)[0]:
                self._process.kill()
                self._process.wait()
                raise Died(f"no end within {self._patience / 60:g} minutes")
            more = os.read(output, min(length - len(read), 1 << 20))
            if not more:
                raise self._end()
            read += more
        return bytes(read)

    def _end(self) -> Exception:
        """Why the process has ended."""
        code = self._process.wait()
        if code < 0:
            how = f"signal: {-code} ({_name(-code)})"
            return RiposteError(f"riposte extract --stream was ended: {how}", code) if -code in REQUESTS else Died(how)
        if code > 2:
            return Died(f"exit status: {code}")
        self._said.seek(0)
        said = self._said.read().decode(errors="replace").strip()
        return RiposteError(f"riposte extract --stream: {said or f'exit code {code}'}", code, said)

    def close(self) -> None:
        """Ends the process, after the document that it computes."""
        for pipe in (self._process.stdin, self._process.stdout):
            pipe.close()
        self._process.wait()
        self._said.close()

    def kill(self) -> None:
        self._process.kill()
        self.close()


def _name(number: int) -> str:
    return next((member.name for member in signal.Signals if member.value == number), "unknown")
