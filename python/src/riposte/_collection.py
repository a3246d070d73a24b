"""Collections: what ranks them, answers questions from them, and reports on runs."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, Union

from . import _frames, _layout, _show
from ._frames import options, toml
from ._program import RiposteError
from ._program import run as program
from ._run import Run

if TYPE_CHECKING:
    import pandas as pd

#: Topics: a file, a question, several questions, `{id: question}`, or a data frame.
Topics: TypeAlias = Union["os.PathLike[str]", str, Iterable[str], Mapping[str, str], "pd.DataFrame"]


class Collection:
    """A collection of images, arguments, passages or other documents.

    What is computed for it (evidence, indexes, outputs of models) is stored, as by the command line, and used by both.

    Args:
        directory: the directory of the collection, an evidence store of images, or the name of a data set that is here (`riposte datasets list`). Or any
            folder of pictures, saved pages and texts (.txt, .md), of which riposte makes a collection in the cache.
        task: "images", "controversial", "comparative" or "rank"; by default inferred. Of a folder with texts only, `rank` reads documents, and each
            question of `ask` decides as what they are read.
        models: the directory of models, by default $RIPOSTE_MODELS or riposte/models in the user's data directory.
        evidence: the evidence store of images, by default one in the cache directory.
        index: the directory for text indexes and outputs of models, by default one in the cache directory.
        threads: number of threads, by default one for each core.

    Attributes:
        path: the directory.
        task: the command that ranks it.

    Raises:
        FileNotFoundError: there is no such directory, file or data set.
        NotADirectoryError, ValueError: it holds no collection. If it has images and texts, it is one of images, unless `task` says otherwise.

    Example:
        >>> pets = riposte.Collection("pets")
        >>> pets.task
        'rank'
        >>> run = pets.rank({"1": "Which pets guard a house?"}, approach="bm25")
        >>> run.to_frame()["document"].tolist()
        ['d2']
    """

    path: Path
    task: str
    models: str | os.PathLike[str] | None
    evidence: str | os.PathLike[str] | None
    index: str | os.PathLike[str] | None
    threads: int | None

    def __init__(
        self,
        directory: str | os.PathLike[str],
        *,
        task: str | None = None,
        models: str | os.PathLike[str] | None = None,
        evidence: str | os.PathLike[str] | None = None,
        index: str | os.PathLike[str] | None = None,
        threads: int | None = None,
    ) -> None:
        self.path = _directory(directory)
        self.task = task or _task_of(self.path)
        self._is_inferred = task is None
        if self.task not in ("images", "controversial", "comparative", "rank"):
            raise ValueError(f"task is {task!r}, but must be 'images', 'controversial', 'comparative' or 'rank'")
        self.models, self.evidence, self.index, self.threads = models, evidence, index, threads

    def __repr__(self) -> str:
        return f"riposte.Collection({str(self.path)!r}, task={self.task!r})"

    def _options(self, *, with_models: bool = True) -> list[str]:
        places = {"evidence": self.evidence} if self.task == "images" else {"index": self.index}
        models = self.models if with_models else None
        return ["-i", str(self.path), *options(models=models, threads=self.threads, **places)]

    def rank(
        self,
        topics: Topics | None = None,
        *,
        approach: str | os.PathLike[str] = "riposte",
        hits: int | None = None,
        settings: Mapping[str, Any] | None = None,
        explain: bool = False,
        tag: str | None = None,
        edition: int | None = None,
        output: str | os.PathLike[str] | None = None,
    ) -> Run:
        """Ranks the documents of the collection for topics: the lines are those that the command line writes.

        Args:
            topics: by default those of the collection. A `Path` to a file of topics; a question, or a list of questions, whose ids are "1", "2", …;
                `{id: question}`; or a data frame with `qid` and `query` and, if present, `description`, `narrative` and `objects`.
            approach: the name of an approach (`riposte approaches`), or a file that ends in `.toml`.
            hits: number of documents for each topic, up to 100,000; the lab takes runs of up to 1,000. Not for images, whose number the lab sets.
            settings: keys of the approach's recipe and their values, such as `{"retrieval.similarity.k1": 0.9}`.
            explain: keep the explanations (`riposte.explain`).
            tag: the tag of the run.
            edition: year of the image task.
            output: a directory that also gets `run.txt`, `ir-metadata.yml` and, with `explain`, `explain.jsonl`.

        Returns:
            A `Run`. For images it has two lists for each topic, "PRO" and "CON".

        Warns:
            RiposteWarning: notes, for instance about a missing model.

        Raises:
            ValueError: topics cannot be written.
            RiposteError: riposte cannot rank.
        """
        if self.task == "images" and hits is not None:
            raise ValueError("the number of images in a list is that of the lab's edition: leave out hits")
        with tempfile.TemporaryDirectory(prefix="riposte-") as work:
            out = Path(work, "out") if output is None else Path(output)
            command = [self.task, "--quiet=progress", *self._options(), "-o", str(out), "--approach", os.fspath(approach)]
            given = None if topics is None else _topics(topics)
            if given is not None:
                file = Path(work, "queries.jsonl")
                if isinstance(given, str):
                    file.write_text(given, "utf-8")
                command += ["--topics", str(file if isinstance(given, str) else given)]
            if output is None:
                command.append("--no-metadata")
            command += [word for key, value in (settings or {}).items() for word in ("--set", f"{key}={toml(value)}")]
            explained = out / "explain.jsonl"
            command += options(hits=hits, tag=tag, edition=edition, explain=explained if explain else None)
            _frames.with_notes(program(command), 2)
            ranked = Run.read(out / "run.txt", collection=self)
            if not explain:
                # those beside the run are of an older one
                ranked._explanations = None
            ranked._topics = given
        return ranked

    def images(self, topics: Topics | None = None, **rank_options: Any) -> Run:
        """Ranks the images of the collection for and against each topic; in a notebook they are shown, with bars of their stances.

        Args:
            topics: as in `rank`.
            rank_options: the options of `rank`. `explain` is true by default, for the bars.

        Raises:
            ValueError: the collection has no images.
        """
        if self.task != "images" and not (self.path / "images").is_dir():
            raise ValueError(f"{self.path} has no images")
        collection = self
        if self.task != "images":
            collection = Collection(self.path, task="images", models=self.models, evidence=self.evidence, threads=self.threads)
        return collection.rank(topics, **{"explain": True, **rank_options})

    def ask(self, question: str, *, approach: str | os.PathLike[str] = "riposte", number: int = 5) -> Answer:
        """Answers a question with what speaks for and against its claim, or with the best texts, as `riposte ask` does.

        Args:
            question: such as "Should the voting age be lowered?"
            approach: as in `rank`.
            number: of arguments on each side (at most 5), of images in each list (at most 10), or of texts (at most 100).

        Example:
            >>> riposte.Collection("pets").ask("Which pets guard a house?", approach="bm25").texts["id"].tolist()
            ['d2']
        """
        if why := _layout.unfit_text(question):
            raise ValueError(f"the question {why}")
        places = [*options(evidence=self.evidence, index=self.index, models=self.models, threads=self.threads)]
        # the task only where it was not inferred: a collection of images and arguments answers with both
        task = [] if self._is_inferred else ["--task", self.task]
        command = [
            "ask",
            "--quiet=progress",
            "--json",
            "-i",
            str(self.path),
            *task,
            *places,
            "--approach",
            os.fspath(approach),
            "-n",
            str(number),
            "--",
            question,
        ]
        return Answer(question, json.loads(_frames.with_notes(program(command), 2)))


@dataclass(frozen=True)
class Answer:
    """The answer to a question.

    Attributes:
        question: what was asked.
        data: the answer as `riposte ask --json` prints it.
    """

    question: str
    data: dict[str, Any] = field(repr=False)

    @property
    def nothing_about_it(self) -> bool:
        """Whether the collection seems to have nothing about the question."""
        return bool(self.data.get("nothing_about_it"))

    @property
    def arguments(self) -> pd.DataFrame:
        """The arguments: `side` ("PRO", "CON" or "UNDECIDED"), `rank`, `id`, `score`, `stance` (P(pro) - P(con), from -1 to 1), `conclusion`, `text`,
        `repeats` (the ids of others that say nearly the same), `about` (the probability that it is about the question) and `padding` (whether it is
        less likely to be)."""
        return self._rows("arguments", ["rank", "id", "score", "stance", "conclusion", "text", "repeats", "about", "padding"])

    @property
    def images(self) -> pd.DataFrame:
        """The images: `side`, `list` and `rank` (in the run), `id`, `score`, `pro` and `con` (probabilities), `words` (the sentence about it), `place` (of
        the sentence), `file`, `page` (its address), `argument` (the id of the argument that it illustrates, or None), `about` and `padding`."""
        return self._rows("images", ["list", "rank", "id", "score", "pro", "con", "words", "place", "file", "page", "argument", "about", "padding"])

    @property
    def texts(self) -> pd.DataFrame:
        """Passages and other documents: `rank`, `id`, `score`, `stance` (towards two objects, or None), `text`, `url`, `about` and `padding`."""
        names = ["rank", "id", "score", "stance", "text", "url", "about", "padding"]
        return _frames.new_frame([[of.get(name) for name in names] for of in self.data.get("texts") or ()], columns=names)

    def _rows(self, part: str, names: list[str]) -> pd.DataFrame:
        sides = [*((side["side"], side) for side in self.data.get("sides") or ()), ("UNDECIDED", self.data.get("undecided") or {})]
        rows = [[side, *(of.get(name) for name in names)] for side, found in sides for of in found.get(part) or ()]
        return _frames.new_frame(rows, columns=["side", *names])

    def _repr_html_(self) -> str:
        shown = []
        if self.nothing_about_it:
            shown.append("<p>This collection seems to have nothing about it. These are only the nearest that it has.</p>")
        for side in [*(self.data.get("sides") or ()), {"side": "UNDECIDED", **(self.data.get("undecided") or {})}]:
            arguments, images = side.get("arguments") or (), side.get("images") or ()
            rows = _divided(arguments, lambda of: [str(of["rank"]), f"{of['stance']:+.2f}", of["text"]])
            rows += _divided(
                images, lambda of: [f"{of['list']} {of['rank']}", f"{of['pro'] or 0:.2f}/{of['con'] or 0:.2f}", f"{of['id']}: {of['words']}"]
            )
            if rows:
                shown.append(_show.table(["rank", "stance", "words"], rows, f"{side['side']} {side.get('claim', '')}"))
        texts = _divided(self.data.get("texts") or (), lambda of: [str(of["rank"]), of.get("stance") or "", of["text"]])
        if texts:
            shown.append(_show.table(["rank", "stance", "text"], texts, self.question))
        return "".join(shown) or "<p>nothing was found</p>"


def _divided(results: Iterable[dict[str, Any]], row: Callable[[dict[str, Any]], list[str]]) -> list[list[str]]:
    """The rows of a list, with a line above the first result that is less likely to be about the question."""
    rows, is_divided = [], False
    for of in results:
        if of.get("padding") and not is_divided:
            rows.append(["", "", "less likely to be about it"])
            is_divided = True
        rows.append(row(of))
    return rows


def report(
    run: Run | str | os.PathLike[str],
    collection: Collection | str | os.PathLike[str] | None = None,
    *,
    output: str | os.PathLike[str],
    qrels: str | os.PathLike[str] | None = None,
    against: Run | str | os.PathLike[str] | None = None,
    depth: int | None = None,
) -> Path:
    """Writes the report of a run as a single HTML file, which needs no other file and no network, as `riposte inspect --single-file` does.

    Args:
        run: a `Run`, a file, or a directory with a `run.txt`. A run with explanations shows them.
        collection: what was ranked; by default that of the `Run`.
        output: the file.
        qrels: a file of judgements, or the name of a data set.
        against: another run to compare with.
        depth: number of documents of each list, by default 10 images or 20 texts.

    Returns:
        The path of the file.

    Raises:
        ValueError: the collection is not known.
        RiposteError: riposte cannot write the report.

    Example:
        >>> pets = riposte.Collection("pets")
        >>> run = pets.rank({"1": "Which pets guard a house?"}, approach="bm25", explain=True)
        >>> riposte.report(run, output="pets.html").name
        'pets.html'
    """
    source = run.collection if collection is None and isinstance(run, Run) else collection
    if source is None:
        raise ValueError("the report of a run shows its documents: give its collection")
    if isinstance(source, (str, os.PathLike)):
        source = Collection(source)
    with tempfile.TemporaryDirectory(prefix="riposte-") as work:
        given = _run_file(run, Path(work, "run"))
        command = ["inspect", "--quiet=progress", str(given), *source._options(with_models=False), "-o", os.fspath(output), "--single-file"]
        topics = run._topics if isinstance(run, Run) else None
        if isinstance(topics, str):
            topics = Path(work, "queries.jsonl")
            topics.write_text(run._topics, "utf-8")  # type: ignore[union-attr, arg-type]
        other = None if against is None else _run_file(against, Path(work, "against"))
        command += options(task=source.task, topics=topics, qrels=qrels, depth=depth, against=other)
        _frames.with_notes(program(command), 2)
    return Path(output)


def _run_file(run: Run | str | os.PathLike[str], directory: Path) -> Path:
    """The file of a run; a `Run` is written to the directory with its explanations."""
    if not isinstance(run, Run):
        return Path(run)
    written = run.write(directory / "run.txt")
    if run._explanations is not None:
        lines = "".join(json.dumps(of, ensure_ascii=False) + "\n" for of in run._explanations)
        (directory / "explain.jsonl").write_text(lines, "utf-8")
    return written


def _directory(word: str | os.PathLike[str]) -> Path:
    """The directory that a word means: a path, or that of a data set that is here."""
    path = Path(word).absolute()
    if path.exists() or not isinstance(word, str):
        if not path.exists():
            raise FileNotFoundError(f"there is no file or directory {path}")
        return path
    try:
        known = _frames.objects_in(program(["datasets", "list", "--json"]).stdout)
    except RiposteError as error:
        raise FileNotFoundError(f"there is no file or directory {path}, and data sets cannot be listed: {error}") from error
    for of in known:
        if word == of["name"] or word in of["aliases"]:
            if not of["complete"]:
                raise FileNotFoundError(f"the data set {word} is not here: `riposte datasets get {of['name']}` gets it")
            return Path(of["directory"])
    raise FileNotFoundError(f"there is no file or directory {path}, and no data set {word!r} (`riposte datasets list` lists them)")


def _task_of(path: Path) -> str:
    """The task of a collection: images if it has any, otherwise that of its texts. Of any other folder, riposte makes a collection."""
    if path.is_file() or (path / "images").is_dir():
        return "images"
    return _layout.task_of_folder(path) or _layout.task_of(path)


def _topics(topics: Topics) -> Path | str:
    """The file of topics, or the text of one."""
    if isinstance(topics, os.PathLike):
        return Path(topics)
    rows: list[dict[str, Any]]
    if _frames.is_frame(topics):
        columns = [name for name in ("qid", "query", "description", "narrative", "objects") if name in topics.columns]
        for needed in ("qid", "query"):
            _frames.column(topics, needed)
        frame = topics[columns]
        rows = [{name: value for name, value in zip(columns, row) if name in ("qid", "query") or _is_given(value)} for row in frame.values.tolist()]
    elif isinstance(topics, Mapping):
        rows = [{"qid": qid, "query": query} for qid, query in topics.items()]
    else:
        questions = [topics] if isinstance(topics, str) else list(topics)
        rows = [{"qid": str(number), "query": question} for number, question in enumerate(questions, 1)]
    seen = set()
    for row in rows:
        row["qid"] = str(row["qid"])
        if why := _layout.unfit_id(row["qid"]):
            raise ValueError(f"the id of a topic {why}")
        if row["qid"] in seen:
            raise ValueError(f"two topics have the id {row['qid']!r}")
        seen.add(row["qid"])
        if (why := _layout.unfit_text(row["query"])) or not row["query"].strip():
            raise ValueError(f"the topic {row['qid']!r} {why or 'is empty'}")
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _is_given(value: object) -> bool:
    return isinstance(value, (str, list, tuple)) and bool(value)
