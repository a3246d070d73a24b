"""A process of `riposte extract --stream`, which computes one document after another. Needs no other packages."""

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

#: Maximum number of seconds for a document, including the loading of models; the program has the same limit (cli/probe.rs).
PATIENCE = 600

#: Signals from a user, a terminal or a cluster: no document is to blame for them.
REQUESTS = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT}


class Died(Exception):
    """The process died; the text says how."""


class FileOfDocument(NamedTuple):
    """A file of a document: its path in the document's directory, its size, and its bytes, or None if riposte does not read this file."""

    path: str
    size: int
    content: bytes | None


class Stream:
    """A process that computes documents.

    It is sent one document at a time and answers before it is sent the next one, so if it dies, the document to blame is known.
    """

    def __init__(self, command: Sequence[str], patience: float = PATIENCE) -> None:
        self._patience = patience
        self._said = tempfile.TemporaryFile()
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._said, bufsize=0)
        #: The first message of the process: its version, its producers, and the columns of its tables.
        self.greeting: dict[str, Any] = self._receive()

    def compute(self, document: str, directory: str, files: Iterable[FileOfDocument]) -> dict[str, Any]:
        """Computes a document. Returns all rows that a store would have for it.

        Raises:
            Died: the process died, or took too long.
            RiposteError: the process ended with an error that no document causes, or a user or the cluster ended it.
        """
        files = list(files)
        listed = [{"path": f.path, "size": f.size, "omitted": f.content is None} for f in files]
        header = json.dumps({"document": document, "dir": directory, "files": listed}).encode()
        try:
            for part in [struct.pack("<Q", len(header)), header, *(f.content for f in files if f.content is not None)]:
                self._write(part)
        except BrokenPipeError:
            pass  # the process has ended; `_receive` raises the reason
        answer = self._receive()
        if answer["document"] != document:
            raise RiposteError(f"riposte was sent {document} and answered with {answer['document']}", 2)
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
        """The reason why the process has ended."""
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
        """Closes the input and waits until the process has ended."""
        for pipe in (self._process.stdin, self._process.stdout):
            pipe.close()
        self._process.wait()
        self._said.close()

    def kill(self) -> None:
        self._process.kill()
        self.close()


def _name(number: int) -> str:
    return next((member.name for member in signal.Signals if member.value == number), "unknown")
