"""Runs, and the explanations of their scores."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from . import _frames, _layout, _show
from ._explanation import Explanation, explanation_in, stances_of_images

if TYPE_CHECKING:
    import pandas as pd

#: The second field of a line that names no stance.
_NO_STANCE = ("Q0", "0")


class Source(Protocol):
    """What a run needs of the `Collection` that was ranked: a protocol, because the file of that class imports this one."""

    path: Path
    task: str

    def _options(self, *, with_models: bool = True) -> list[str]: ...


@dataclass(frozen=True)
class Ranked:
    """A line of a run.

    Attributes:
        topic: the id of the topic.
        stance: the second field of the line: "PRO" or "CON" for images, the stance towards two objects for passages; None if it names none.
        document: the id of the document.
        rank: from 1.
        score: higher is better.
    """

    topic: str
    stance: str | None
    document: str
    rank: int
    score: float


@dataclass
class Run:
    """A ranking of documents for each topic.

    In a notebook, a run is a table; a run of images that a `Collection` has ranked shows them beside bars of their stances.

    Attributes:
        lines: the documents, in the order of the file.
        tag: the last field of each line.
        collection: the `Collection` that was ranked, if this process has ranked it.

    Example:
        >>> run = riposte.Run.from_dict({"1": {"d1": 2.0, "d2": 1.0}}, tag="mine")
        >>> print(run.text(), end="")
        1 Q0 d1 1 2.000000 mine
        1 Q0 d2 2 1.000000 mine
        >>> riposte.Run.read(run.write("out/run.txt")).to_frame().shape
        (2, 5)
    """

    lines: list[Ranked]
    tag: str = "riposte"
    collection: Source | None = field(default=None, repr=False, compare=False)
    _explanations: list[dict[str, Any]] | None = field(default=None, repr=False, compare=False)
    #: The file of the topics, or its text, if they are not those of the collection.
    _topics: Path | str | None = field(default=None, repr=False, compare=False)

    @classmethod
    def read(cls, path: str | os.PathLike[str], *, collection: Source | None = None) -> Run:
        """Reads a run: lines of topic, stance (or Q0), document, rank, score and tag.

        Args:
            path: a file, plain or with `.gz`, or a directory with a `run.txt`. `explain.jsonl` beside it, if there is one, has the explanations.
            collection: the collection that was ranked.

        Raises:
            FileNotFoundError: there is no such file.
            ValueError: a line has other fields; the message names it.
        """
        path = Path(path)
        file = path / "run.txt" if path.is_dir() else path
        opened = gzip.open if file.suffix == ".gz" else open
        with opened(file, "rt", encoding="utf-8-sig", newline="\n") as lines:
            run = cls._parse(lines.read(), str(file))
        run.collection = collection
        explained = file.with_name("explain.jsonl")
        if explained.is_file():
            run._explanations = _frames.objects_in(explained.read_text("utf-8"))
        return run

    @classmethod
    def _parse(cls, text: str, name: str) -> Run:
        lines, tag = [], "riposte"
        for number, line in enumerate(text.split("\n"), 1):
            fields = line.split()
            if not fields:
                continue
            try:
                topic, stance, document, rank, score, tag = fields
                lines.append(Ranked(topic, None if stance in _NO_STANCE else stance, document, int(rank), float(score)))
            except ValueError:
                raise ValueError(f"{name}:{number}: a line of a run has a topic, a stance or Q0, a document, a rank, a score and a tag") from None
        return cls(lines, tag)

    @classmethod
    def from_dict(cls, run: Mapping[str, Mapping[str, float]], *, tag: str = "riposte") -> Run:
        """A run of `{topic: {document: score}}`, as ranx and pytrec_eval have it. The documents of a topic are ordered by their scores, then by their
        ids, descending, as trec_eval orders them."""
        lines = []
        for topic, documents in run.items():
            ordered = sorted(documents.items(), key=lambda item: (item[1], item[0]), reverse=True)
            lines += [Ranked(str(topic), None, document, rank, float(score)) for rank, (document, score) in enumerate(ordered, 1)]
        return cls(lines, tag)

    @classmethod
    def from_frame(cls, frame: pd.DataFrame, *, tag: str = "riposte") -> Run:
        """A run of a data frame with the columns `qid` (or `topic`), `docno` (or `document`) and `score`, and if present `stance`. The rows of a topic
        and stance are ordered by their scores.

        Raises:
            ValueError: the frame lacks a column.
        """
        topic, document = _frames.column(frame, "qid", "query_id", "topic"), _frames.column(frame, "docno", "doc_id", "document")
        stances = frame["stance"].tolist() if "stance" in frame.columns else [None] * len(frame)
        # those of the lab; a frame can have other stances
        known = ("PRO", "CON", "FIRST", "SECOND", "NEUTRAL", "NO")
        rows = zip(frame[topic].astype(str), stances, frame[document].astype(str), frame[_frames.column(frame, "score")].tolist())
        lists: dict[tuple[str, str | None], list[tuple[float, str, str | None]]] = {}
        for qid, stance, docno, score in rows:
            stance = stance if stance in known else None
            # the stance of an image names its list; that of a passage is a property
            key = (qid, stance if stance in ("PRO", "CON") else None)
            lists.setdefault(key, []).append((score, docno, stance))
        lines = []
        for (qid, _), documents in lists.items():
            ordered = sorted(documents, key=lambda of: of[0], reverse=True)
            lines += [Ranked(qid, stance, docno, rank, float(score)) for rank, (score, docno, stance) in enumerate(ordered, 1)]
        return cls(lines, tag)

    def __len__(self) -> int:
        """The number of lines."""
        return len(self.lines)

    def __iter__(self) -> Iterator[Ranked]:
        return iter(self.lines)

    def text(self) -> str:
        """The run as riposte writes it: scores with six decimals.

        Raises:
            ValueError: an id, a stance or the tag is empty or has blanks.
        """
        for value in {self.tag, *(word for line in self.lines for word in (line.topic, line.document, line.stance or "Q0"))}:
            if why := _layout.unfit_id(value):
                raise ValueError(f"a field of a run {why}")
        lines = (f"{of.topic} {of.stance or 'Q0'} {of.document} {of.rank} {of.score:.6f} {self.tag}\n" for of in self.lines)
        return "".join(lines)

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Writes the run to a file, whole or not at all. Its directory is made if necessary. Returns the path."""
        path, text = Path(path), self.text()
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_name(f".riposte-{os.getpid()}-{path.name}")
        try:
            with open(new, "w", encoding="utf-8", newline="\n") as file:
                file.write(text)
            os.replace(new, path)
        finally:
            new.unlink(missing_ok=True)
        return path

    def to_frame(self) -> pd.DataFrame:
        """A row for each line, in their order: `topic`, `stance` (or None), `document` (strings), `rank` (int, from 1) and `score` (float)."""
        return _frames.new_frame(self._rows(), columns=["topic", "stance", "document", "rank", "score"])

    def _rows(self) -> list[tuple[str, str | None, str, int, float]]:
        return [(of.topic, of.stance, of.document, of.rank, of.score) for of in self.lines]

    def explain(self, topic: str, document: str, stance: str | None = None) -> Explanation:
        """The same as `riposte.explain`."""
        return explain(self, topic, document, stance)

    def _repr_html_(self) -> str:
        if self.collection is not None and self.collection.task == "images":
            return _show.images(self._rows(), stances_of_images(self._explanations or ()), self.collection.path)
        rows = [[of.topic, of.stance or "", of.document, str(of.rank), f"{of.score:.6f}"] for of in self.lines[: _show.ROWS]]
        topics = len({of.topic for of in self.lines})
        return _show.table(
            ["topic", "stance", "document", "rank", "score"], rows, f"{self.tag}: {len(self)} documents for {topics} topics", len(self)
        )


def explain(run: Run | str | os.PathLike[str], topic: str, document: str, stance: str | None = None) -> Explanation:
    """Why a document has its score in a run.

    Args:
        run: a run that was ranked with `explain=True`, or a directory that has `explain.jsonl` beside its run.
        topic: the id of the topic.
        document: the id of the document, or of the image.
        stance: for an image, the list: "PRO" or "CON". By default the one that has it, or "PRO".

    Returns:
        The numbers of the computation that ranked, as a tree. The score in the run is the value of its root, or an offset below it where another
        document has nearly the same score.

    Raises:
        ValueError: the run has no explanations, or none of this document: only those at the top of a ranking, and candidates for lists of images, have one.

    Example:
        >>> run = riposte.Collection("pets").rank("Which pets guard a house?", approach="bm25", explain=True)
        >>> explanation = riposte.explain(run, "1", "d2")
        >>> (explanation.name, explanation.parts[0].name)
        ('score', 'text: pet')
    """
    if not isinstance(run, Run):
        run = Run.read(run)
    if run._explanations is None:
        raise ValueError("the run has no explanations: rank with explain=True, or with --explain FILE, which is then explain.jsonl beside the run")
    for found in run._explanations:
        if found["topic"] != topic or document not in (found.get("document"), found.get("image")):
            continue
        if (tree := explanation_in(found, stance)) is not None:
            return tree
    raise ValueError(f"there is no explanation of the document {document!r} for the topic {topic!r}")
