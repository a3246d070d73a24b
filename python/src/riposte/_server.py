"""Asks a server of riposte, and starts one if there is none."""

from __future__ import annotations

import json
import os
import re
import subprocess
import threading
import urllib.error
import urllib.parse
import urllib.request
import weakref
from collections.abc import Sequence
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any

from . import _frames
from ._collection import Answer
from ._explanation import Explanation, explanation_in
from ._frames import options
from ._program import RiposteError, find_binary

if TYPE_CHECKING:
    import pandas as pd

#: Seconds that a server has to end.
_PATIENCE = 15


class Server:
    """A server whose collections and models stay open, so that each question takes only the time of its answer.

    Nothing else in this package uses a server. It answers the requests of this machine only, and ends with `close`, at the end of a `with` block, or with Python.

    Args:
        collections: the directories of the collections, or names of data sets. They are opened before the server answers, which computes missing evidence and builds
            missing indexes.
        url: instead of collections, the address of a server that runs already, such as "http://127.0.0.1:8080". It is not ended.
        token: the token that this server asks for.
        models, index, threads: as for `Collection`.
        timeout: seconds that an answer may take.

    Attributes:
        url: the address, which a browser can open, too.

    Raises:
        ValueError: neither collections nor a url are given, or both.
        RiposteError: the server cannot be started; the message is its own.

    Example:
        >>> with riposte.Server(["pets"]) as server:
        ...     server.search("Which pets guard a house?", approach="bm25")["id"].tolist()
        ['d2']
    """

    url: str

    def __init__(
        self,
        collections: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = (),
        *,
        url: str | None = None,
        token: str | None = None,
        models: str | os.PathLike[str] | None = None,
        index: str | os.PathLike[str] | None = None,
        threads: int | None = None,
        timeout: float = 600,
    ) -> None:
        given = [collections] if isinstance(collections, (str, os.PathLike)) else list(collections)
        if bool(given) == (url is not None):
            raise ValueError("give the collections of a server to start, or the url of one that runs")
        self.timeout = timeout
        self._token = token
        self._process: subprocess.Popen[str] | None = None
        if url is not None:
            self.url = url.rstrip("/")
            return
        inputs = [word for one in given for word in ("-i", os.fspath(one))]
        command = [str(find_binary()), "serve", "--quiet", "--until-eof", "--listen", "127.0.0.1:0", *inputs, *options(models=models, index=index, threads=threads)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", errors="replace", start_new_session=os.name == "posix"
        )
        # also when Python ends, or nothing refers to this object any more; if Python is killed, the end of the pipe ends the server
        self._end = weakref.finalize(self, _ended, self._process, os.getpid())
        self.url = self._wait(self._process)

    def _wait(self, process: subprocess.Popen[str]) -> str:
        """Waits until the server listens. Returns its address."""
        assert process.stderr is not None
        heard: list[str] = []
        try:
            for line in process.stderr:
                heard.append(line)
                if found := re.match(r"listening on (http://\S+?)/? ", line):
                    # what the server says later is read, so that it never waits for a reader
                    threading.Thread(target=_drain, args=(process.stderr,), daemon=True).start()
                    return found[1]
        except BaseException:
            self.close()
            raise
        process.stderr.close()
        code, said = process.wait(), "".join(heard)
        last = said.strip().splitlines()[-1:] or [f"the server ended with exit code {code}"]
        raise RiposteError(last[0].removeprefix("riposte: "), code, said)

    def search(
        self,
        question: str,
        *,
        collection: str | None = None,
        kind: str | None = None,
        approach: str | None = None,
        hits: int | None = None,
        **filters: str | float,
    ) -> pd.DataFrame:
        """The ranking of a question, as `GET /api/search` answers it.

        Args:
            question: what is searched for.
            collection: the name of its directory; by default the first.
            kind: "images", "arguments", "passages" or "documents", if the collection has several kinds.
            approach: by default "riposte".
            hits: number of results; for a list of images, their number in each list.
            filters: `side`, `portal`, `minimum` and `claim` (docs/serve.md).

        Returns:
            A row for each result, with the fields of the server's description (`/api/openapi.json`): for all kinds `rank`, `id` and `score`.

        Raises:
            RiposteError: the server refuses the question; the message says why.
        """
        asked = {"q": question, "collection": collection, "kind": kind, "approach": approach, "hits": hits, **filters}
        found = self._get("/api/search", asked)
        return _frames.new_frame(found["results"])

    def ask(self, question: str, *, collection: str | None = None, approach: str | None = None, number: int | None = None) -> Answer:
        """What speaks for and against the claim of a question; see `Collection.ask`."""
        found = self._get("/api/debate", {"q": question, "collection": collection, "approach": approach, "number": number})
        return Answer(question, found)

    def explain(
        self, question: str, document: str, *, stance: str | None = None, collection: str | None = None, approach: str | None = None
    ) -> Explanation:
        """Why a document has its score for a question; `stance` names the list of an image, as in `riposte.explain`."""
        found = self._get("/api/explain", {"q": question, "id": document, "collection": collection, "approach": approach})
        tree = explanation_in(found["explanation"], stance)
        if tree is None:
            raise ValueError(f"there is no explanation of {document!r} for {stance}")
        return tree

    def stance(self, topic: str | tuple[str, str], texts: Sequence[str]) -> pd.DataFrame:
        """The stances of texts towards a topic or two objects: a row for each text, with the columns of `riposte.stance`."""
        towards = {"topic": topic} if isinstance(topic, str) else {"objects": list(topic)}
        return _frames.new_frame(self._post("/api/stance", {**towards, "texts": list(texts)}))

    def quality(self, topic: str, texts: Sequence[str]) -> pd.DataFrame:
        """How good texts are as arguments on a topic: a row for each text, with the column `quality`."""
        return _frames.new_frame(self._post("/api/quality", {"topic": topic, "texts": list(texts)}))

    def collections(self) -> list[dict[str, Any]]:
        """What can be asked."""
        found: list[dict[str, Any]] = self._get("/api/collections", {})
        return found

    def _get(self, path: str, query: dict[str, Any]) -> Any:
        given = {name: value for name, value in query.items() if value is not None}
        return self._sent(urllib.request.Request(f"{self.url}{path}?{urllib.parse.urlencode(given)}"))

    def _post(self, path: str, body: dict[str, Any]) -> Any:
        data = json.dumps(body).encode()
        return self._sent(urllib.request.Request(f"{self.url}{path}", data, {"content-type": "application/json"}))

    def _sent(self, request: urllib.request.Request) -> Any:
        if self._token is not None:
            request.add_header("authorization", f"Bearer {self._token}")
        # a proxy of the environment does not reach a server of this machine
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({})) if self._process is not None else urllib.request.build_opener()
        try:
            with opener.open(request, timeout=self.timeout) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            with error:
                said = error.read().decode("utf-8", "replace")
            raise RiposteError(_reason(said), error.code, said) from None
        except OSError as error:
            raise RiposteError(f"the server at {self.url} does not answer: {error}", 2) from error

    def close(self) -> None:
        """Ends the server, if this object has started it."""
        if self._process is not None:
            self._end()

    def __enter__(self) -> Server:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"riposte.Server(url={self.url!r})"


def _drain(stream: IO[str]) -> None:
    """Reads what a server says until it ends."""
    with stream:
        for _ in stream:
            pass


def _ended(process: subprocess.Popen[str], starter: int) -> None:
    """Ends a server. A process that was forked leaves it to the one that has started it."""
    if os.getpid() != starter:
        return
    assert process.stdin is not None
    process.stdin.close()
    process.terminate()
    try:
        process.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _reason(said: str) -> str:
    """The sentence of a refusal."""
    try:
        found = json.loads(said)
    except ValueError:
        return said.strip()
    return str(found.get("message") or found.get("error") or said) if isinstance(found, dict) else said
