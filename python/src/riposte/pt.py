"""riposte in PyTerrier pipelines: an indexer, retrievers of texts and images, a loader of texts, annotators of stance and quality, and a cross-encoder.

    import riposte
    index = riposte.pt.Indexer("my-collection").index([{"docno": "d1", "text": "Cats are cleaner than dogs."}])
    index.bm25().search("clean cats")

Each retriever writes its input to a temporary directory, runs the program once for the whole frame, and reads the program's output; annotators send
theirs to a process that goes on (`_calls`). Java is never started. Needs the packages pyterrier and pandas.
"""

from __future__ import annotations

import itertools
import json
import os
import tempfile
import warnings
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

try:
    import pandas as pd
    import pyterrier as pt
except ImportError as error:
    raise ImportError(f"riposte.pt needs PyTerrier and pandas ({error}): pip install pyterrier") from error

from . import _layout
from ._documents import documents_in
from ._frames import options, toml, with_notes
from ._program import RiposteWarning, run
from ._pt_base import Transformer, objects_of
from ._pt_read import CrossEncoder, ImageRetriever, QualityAnnotator, StanceAnnotator

__all__ = ["CrossEncoder", "ImageRetriever", "Index", "Indexer", "QualityAnnotator", "Retriever", "StanceAnnotator", "TextLoader"]

#: How PyTerrier recognises the directory of an index (`pt_meta.json`).
_METADATA = {"type": "sparse_index", "format": "riposte", "package_hint": "riposte-ir[pyterrier]"}
#: The number of documents that riposte ranks for a query by default. Touché's tasks take no more in a run.
DEFAULT_RESULTS = 1000
#: Maximum number of documents that riposte ranks for a query.
MOST_RESULTS = 100_000


class Index(pt.Artifact):
    """A directory with a collection of texts. Its methods return transformers that search the collection.

    It is an artifact of PyTerrier: `pt.Artifact.load("energy")` opens the directory that an `Indexer` has written, and `to_zip` and `from_zip` share it as one
    file. What is shared is the collection; its index is built where it is searched.

    riposte builds an index of the collection at the first search, keeps it, and builds it again when the files change.

    Args:
        path: the directory, which has `documents.jsonl` or `corpus.jsonl` (ranked by `riposte rank`), `args-me.json` or the files of debate
            portals (`riposte controversial`), or `passages.jsonl` (`riposte comparative`), each plain or with `.gz`.
        index: the directory for indexes and model outputs, by default one in the user's cache directory.
        models: the directory of models, by default $RIPOSTE_MODELS or riposte/models in the user's data directory.

    Attributes:
        task: the command that ranks the collection: "rank", "controversial" or "comparative".

    Raises:
        NotADirectoryError: there is no such directory.
        ValueError: the directory holds no collection of texts.
    """

    ARTIFACT_TYPE = "sparse_index"
    ARTIFACT_FORMAT = "riposte"
    ARTIFACT_PACKAGE_HINT = "riposte-ir[pyterrier]"

    path: Path  # pyright: ignore[reportIncompatibleVariableOverride]  # an artifact of PyTerrier can lack one, an index cannot
    index: Path | None
    models: Path | None
    task: str

    def __init__(
        self, path: str | os.PathLike[str], *, index: str | os.PathLike[str] | None = None, models: str | os.PathLike[str] | None = None
    ) -> None:
        super().__init__(Path(path).absolute())
        self.index = None if index is None else Path(index).absolute()
        self.models = None if models is None else Path(models).absolute()
        self.task = _layout.task_of(self.path)

    def __repr__(self) -> str:
        more = [f", {name}={str(value)!r}" for name in ("index", "models") if (value := getattr(self, name)) is not None]
        return f"riposte.pt.Index({str(self.path)!r}{''.join(more)})"

    def to_zip(self, path: str | os.PathLike[str]) -> Path:
        """Writes the files of the collection to a zip file, whole or not at all. Returns its path."""
        path = Path(path)
        with tempfile.TemporaryDirectory(prefix=".riposte-", dir=path.absolute().parent) as work:
            written = Path(work, "collection.zip")
            with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
                for name, file in self._package_files():
                    if isinstance(file, str):
                        archive.write(file, name)
                    else:
                        archive.writestr(name, file.getvalue())
            os.replace(written, path)
        return path

    @classmethod
    def from_zip(cls, path: str | os.PathLike[str], directory: str | os.PathLike[str], *, most_bytes: int = 64 << 30, **options: Any) -> Index:
        """Unpacks what `to_zip` has written, and opens it.

        Args:
            path: the zip file.
            directory: the directory that receives the collection. It must not exist.
            most_bytes: more are refused.
            options: those of `Index`.

        Raises:
            FileExistsError: the directory exists.
            ValueError: the file is no zip file, a name in it leads out of the directory, or it has too many bytes.
        """
        directory = Path(directory).absolute()
        if directory.exists():
            raise FileExistsError(f"{directory} exists: choose another directory")
        with tempfile.TemporaryDirectory(prefix=".riposte-", dir=directory.parent) as work:
            unpacked = Path(work, "collection")
            try:
                with zipfile.ZipFile(path) as archive:
                    members = [member for member in archive.infolist() if not member.is_dir()]
                    if sum(member.file_size for member in members) > most_bytes:
                        raise ValueError(f"{path} has more than {most_bytes} bytes")
                    for member in members:
                        parts = Path(member.filename).parts
                        if Path(member.filename).is_absolute() or ".." in parts or "\\" in member.filename:
                            raise ValueError(f"{path} names a file outside of its directory: {member.filename!r}")
                        archive.extract(member, unpacked)
            except zipfile.BadZipFile as error:
                raise ValueError(f"{path} is not a zip file that can be read: {error}") from error
            _layout.task_of(unpacked)
            os.replace(unpacked, directory)
        return cls(directory, **options)

    def retriever(self, approach: str | os.PathLike[str] = "riposte", **options: Any) -> Retriever:
        """A transformer that ranks by an approach; `options` are those of `Retriever`."""
        return Retriever(self, approach, **options)

    def approach(self, name: str | os.PathLike[str], **options: Any) -> Retriever:
        """The same as `retriever`, for instance `index.approach("elrond", num_results=100)`.

        `riposte approaches --task TASK` lists the names of approaches. The name of a file ends in `.toml`.
        """
        return self.retriever(name, **options)

    def bm25(self, **options: Any) -> Retriever:
        """A transformer that ranks by BM25."""
        return self.retriever("bm25", **options)

    def text_loader(self, fields: Sequence[str] | str = "*", *, verbose: bool = False) -> TextLoader:
        """A transformer that adds the texts of documents; see `TextLoader`. `pt.text.get_text(index)` calls this method."""
        return TextLoader(self, fields)


class Retriever(Transformer):
    """Ranks the documents of a collection for each query.

    In: a frame with the columns `qid` and `query`, and a query in each row. Other columns are kept. The columns `description`, `narrative` and
    `objects`, if present, are parts of the topic. `description` and `narrative` are searched for only with `use`; `objects` has the two objects of
    a comparative question, as a list or a tuple.

    Out: a row for each document found, with the additional columns `docno` (string), `score` (float, higher is better) and `rank` (integer, from
    0). For a collection of passages (Task 2) there is also `stance`: the object that the passage prefers ("FIRST" or "SECOND"), "NEUTRAL" or "NO",
    or None if the query does not compare two objects.

    If the input has a column `docno`, its documents are ranked again: those that this approach finds for their query (among its first 1,000, or
    its first `num_results` if these are more) get its scores, and the others are left out.

    Args:
        index: the collection.
        approach: the name of an approach, or a file that ends in `.toml` (docs/approaches.md).
        num_results: maximum number of documents for a query: 1 to 100,000. More than 1,000 arguments or passages are a `RiposteWarning`: Touché takes no such run.
        settings: keys of the approach's recipe and their values, such as `{"retrieval.similarity.k1": 0.9}`, as the option `--set` of the program
            takes them. A value is a number, a string, a truth value, a list, or a dict.
        threads: number of threads that build the index, by default one for each core.
        use: parts of the topic to search for besides the query: "description", "narrative".
        stances: whether the stances of passages are detected (Task 2), which takes most of the time of a search.
        numeric: "float" computes models in floats on every machine, "auto" in 8-bit integers if the machine can.

    A query without words finds nothing, and a `RiposteWarning` names it.

    Raises (when it transforms):
        ValueError: a `qid` or `query` is missing or cannot be written, or a `qid` occurs twice; the message names it.
        RiposteError: riposte cannot rank, for instance because the approach is unknown.
    """

    def __init__(
        self,
        index: Index,
        approach: str | os.PathLike[str] = "riposte",
        *,
        num_results: int = DEFAULT_RESULTS,
        settings: Mapping[str, Any] | None = None,
        threads: int | None = None,
        use: Sequence[str] = (),
        stances: bool = True,
        numeric: str = "auto",
    ) -> None:
        if not 1 <= num_results <= MOST_RESULTS:
            raise ValueError(f"num_results is {num_results}, but must be from 1 to {MOST_RESULTS}")
        self.index = index
        self.approach = os.fspath(approach)
        self.num_results = num_results
        self.settings = None if settings is None else dict(settings)
        self.threads = threads
        self.use = tuple(use)
        self.stances = stances
        self.numeric = numeric
        self.label = Path(self.approach).stem[:20]

    def fuse_rank_cutoff(self, k: int) -> Retriever | None:
        """PyTerrier calls this method to compile `retriever % k`."""
        if k < 1:
            return None
        options = {name: getattr(self, name) for name in ("settings", "threads", "use", "stances", "numeric")}
        return Retriever(self.index, self.approach, num_results=min(k, self.num_results), **options)

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        pt.validate.columns(inp, includes=["qid", "query"], context=self)
        inp = inp.assign(qid=_ids(inp["qid"]))
        is_anew = "docno" in inp.columns
        added = ["docno", "score", "rank", *(["stance"] if self._has_stance() else [])]
        # an earlier transformer can have added the same columns: its values are dropped
        kept = inp.drop(columns=[column for column in added if column != "docno" or not is_anew], errors="ignore")
        found = self._found(_topics(inp, is_anew))
        # for each row of the output: the number of its row in the input, docno, score and stance
        if is_anew:
            by_key = {(qid, docno): (score, stance) for qid, documents in found.items() for docno, score, stance in documents}
            keys = zip(inp["qid"], inp["docno"].astype(str))
            rows = [(n, key[1], *by_key[key]) for n, key in enumerate(keys) if key in by_key]
        else:
            rows = [(n, *document) for n, qid in enumerate(inp["qid"]) for document in found.get(qid, [])[: self.num_results]]
        out = kept.iloc[[row[0] for row in rows]].reset_index(drop=True)
        out["docno"] = pd.Series([row[1] for row in rows], dtype=str, index=out.index)
        out["score"] = pd.Series([row[2] for row in rows], dtype="float64", index=out.index)
        if self._has_stance():
            out["stance"] = pd.Series([row[3] for row in rows], dtype=object, index=out.index)
        out = pt.model.add_ranks(out)
        if is_anew:
            out = out[out["rank"] < self.num_results].reset_index(drop=True)
        # the columns of the input first
        return out[[*(c for c in kept.columns if c not in added), *added]]

    def _has_stance(self) -> bool:
        return self.index.task == "comparative" and self.stances

    def _found(self, topics: list[dict[str, Any]]) -> dict[str, list[tuple[str, float, str | None]]]:
        """The documents of each topic by its qid, best first: their ids, scores and stances."""
        if not topics:
            return {}
        index = self.index
        with tempfile.TemporaryDirectory(prefix="riposte-") as work:
            numbers = _numbers([topic["qid"] for topic in topics])
            queries = Path(work, "queries.jsonl")
            with open(queries, "w", encoding="utf-8", newline="\n") as file:
                for number, topic in zip(numbers, topics):
                    file.write(json.dumps({**topic, "qid": number}, ensure_ascii=False) + "\n")
            qids = {number: topic["qid"] for number, topic in zip(numbers, topics)}
            command: list[str | os.PathLike[str]] = [index.task, "--quiet=progress", "--no-metadata", "-i", index.path, "-o", work, "--topics", queries]
            command += ["--approach", self.approach, "--numeric", self.numeric]
            command += [part for name in self.use for part in ("--use", name)]
            command += [word for key, value in (self.settings or {}).items() for word in ("--set", f"{key}={toml(value)}")]
            if self.num_results > DEFAULT_RESULTS:
                command += ["--hits", str(self.num_results)]
            if index.task == "comparative" and not self.stances:
                command.append("--no-stance")
            with_notes(run([*command, *options(threads=self.threads, index=index.index, models=index.models)]), 3)
            found: dict[str, list[tuple[str, float, str | None]]] = {}
            # no field of a run contains blanks or control characters
            with open(Path(work, "run.txt"), encoding="utf-8", newline="\n") as file:
                for line in file:
                    number, stance, docno, _rank, score, _tag = line.rstrip("\n").split(" ")
                    document = (docno, float(score), None if stance == "Q0" else stance)
                    found.setdefault(qids[number], []).append(document)
        return found


def _numbers(qids: list[str]) -> list[str]:
    """The id of each query in a run: its qid or, if a run cannot contain that, another id that no query has."""
    taken = set(qids)
    spare = (f"query-{n}" for n in itertools.count())
    return [qid if _layout.unfit_id(qid) is None else next(number for number in spare if number not in taken) for qid in qids]


def _ids(column: pd.Series) -> pd.Series:
    """A column of ids as strings. Raises a ValueError if one is missing."""
    if column.isna().any():
        raise ValueError(f"the {column.name} of row {int(column.isna().to_numpy().argmax())} is missing")
    return column.astype(str)


def _topics(inp: pd.DataFrame, is_anew: bool) -> list[dict[str, Any]]:
    """The topics of a frame whose queries have words. A warning names the other queries."""
    parts = [part for part in ("description", "narrative", "objects") if part in inp.columns]
    topics: dict[str, dict[str, Any]] = {}
    for qid, query, *values in inp[["qid", "query", *parts]].itertuples(index=False, name=None):
        if why := _layout.unfit_text(query):
            raise ValueError(f"the query of qid {qid!r} {why}")
        if qid in topics and not (is_anew and topics[qid]["query"] == query):
            raise ValueError(f"qid {qid!r} occurs twice" + (", with two queries" if is_anew else ""))
        topic = topics[qid] = {"qid": qid, "query": query}
        for part, value in zip(parts, values):
            if part == "objects" and isinstance(value, (list, tuple)):
                topic[part] = objects_of(value, f"qid {qid!r}")
            elif part != "objects" and isinstance(value, str) and not _layout.unfit_text(value):
                topic[part] = value
    blank = [qid for qid, topic in topics.items() if not topic["query"].strip()]
    if blank:
        warnings.warn(f"queries without words find nothing: qid {', '.join(map(repr, blank))}", RiposteWarning, stacklevel=4)
    return [topic for topic in topics.values() if topic["query"].strip()]


class Indexer(pt.Indexer):
    """Writes a collection of documents, and builds riposte's index of it.

    Args:
        path: the directory of the collection, made if necessary. The documents are written to its `documents.jsonl`.
        overwrite: replace an existing `documents.jsonl`.
        threads: number of threads, by default one for each core.
        index: the directory for the index, by default one in the user's cache directory.

    Raises:
        ValueError: the directory has another collection, or topics.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        overwrite: bool = False,
        threads: int | None = None,
        index: str | os.PathLike[str] | None = None,
    ) -> None:
        self.path = Path(path).absolute()
        self.overwrite = overwrite
        self.threads = threads
        self._index = index
        if others := _layout.others_than({"documents.jsonl", "queries.jsonl"}, self.path):
            raise ValueError(f"{self.path} has {', '.join(others)} already: choose another directory")

    def __repr__(self) -> str:
        return f"riposte.pt.Indexer({str(self.path)!r})"

    def schematic(self, *, input_columns: list[str] | None = None) -> dict[str, Any]:
        return {"label": "riposte", "help_url": None}

    def index_inputs(self) -> list[list[str]]:
        return [["docno", "text"], ["docno", "text", "title"]]

    def index(self, iter: Iterable[dict[str, Any]], **kwargs: Any) -> Index:
        """Writes the documents, one at a time, and builds the index.

        Args:
            iter: dictionaries with `docno` (a string without blanks), `text` (a string) and, if present, `title` (a string). Other keys are
                ignored. A data frame with such rows is accepted, too.

        Returns:
            The collection, as `Index(path)`.

        Raises:
            ValueError: a document has no `docno` or no `text`, two documents have the same `docno`, or there is no document. The message names
                the document, and nothing is written.
            FileExistsError: `documents.jsonl` exists, and `overwrite` is not given.
            RiposteError: the index cannot be built.
        """
        if kwargs:
            raise TypeError(f"index() has no option {', '.join(kwargs)}")
        documents = self.path / "documents.jsonl"
        if documents.exists() and not self.overwrite:
            raise FileExistsError(f"{documents} exists: Indexer(..., overwrite=True) replaces it")
        if isinstance(iter, pd.DataFrame):
            iter = [{str(name): value for name, value in row.items()} for row in iter.to_dict("records")]
        self.path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".documents-", dir=self.path) as work:
            written = Path(work, "documents.jsonl")
            with open(written, "w", encoding="utf-8", newline="\n") as file:
                for line in _document_lines(iter):
                    file.write(line)
                file.flush()
                os.fsync(file.fileno())
            os.replace(written, documents)
        (self.path / "pt_meta.json").write_text(json.dumps(_METADATA) + "\n", "utf-8")
        with_notes(run(["index", "--quiet=progress", "-i", self.path, *options(threads=self.threads, index=self._index)]), 2)
        return Index(self.path, index=self._index)


def _document_lines(documents: Iterable[dict[str, Any]]) -> Iterator[str]:
    """The line of each document. Raises a ValueError that names the first document that cannot be written."""
    seen: set[str] = set()
    for n, document in enumerate(documents):
        docno: Any = document.get("docno")
        if why := _layout.unfit_id(docno):
            raise ValueError(f"the docno of document {n} (from 0) {why}" if "docno" in document else f"document {n} (from 0) has no docno")
        if docno in seen:
            raise ValueError(f"two documents have the docno {docno!r}: the second is document {n} (from 0)")
        seen.add(docno)
        if "text" not in document:
            raise ValueError(f"document {docno!r} has no text")
        line = {"docno": docno, "title": document.get("title"), "text": document["text"]}
        if line["title"] is None or line["title"] != line["title"]:  # a data frame has NaN for a missing title
            del line["title"]
        for name in ("title", "text"):
            if name in line and (why := _layout.unfit_text(line[name])):
                raise ValueError(f"the {name} of document {docno!r} {why}")
        yield json.dumps(line, ensure_ascii=False) + "\n"
    if not seen:
        raise ValueError("there is no document to index")


class TextLoader(Transformer):
    """Adds the texts of documents to a frame that has a column `docno`.

    For each frame, the collection is read from its beginning until all documents of the frame are found. Only those documents are kept in memory.
    If the collection does not have a document, its texts are None.

    Args:
        index: the collection.
        fields: the fields to add, or "*" for all. Documents have `text` and `title`. Passages have `text` and `url`. Arguments have `text` (a line
            for each premise), `conclusion`, and `premise_stance` ("PRO" or "CON": the stance of the first premise towards the conclusion).

    Raises:
        ValueError: the collection has no such field.
    """

    label = "texts"

    def __init__(self, index: Index, fields: Sequence[str] | str = "*") -> None:
        self.index = index
        self.fields = fields if isinstance(fields, str) else list(fields)
        known = {"rank": ["text", "title"], "comparative": ["text", "url"], "controversial": ["text", "conclusion", "premise_stance"]}
        all_fields = known[index.task]
        self._columns = all_fields if fields == "*" else [fields] if isinstance(fields, str) else list(fields)
        if unknown := sorted(set(self._columns) - set(all_fields)):
            raise ValueError(f"this collection has no field {', '.join(unknown)}; it has {', '.join(all_fields)}")

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        pt.validate.columns(inp, includes=["docno"], context=self)
        docnos = _ids(inp["docno"])
        wanted = set(docnos)
        found: dict[str, dict[str, Any]] = {}
        documents = documents_in(self.index.task, self.index.path) if wanted else iter(())
        for docno, document in documents:
            if docno in wanted and docno not in found:
                found[docno] = document
                if len(found) == len(wanted):
                    break
        columns = {name: pd.Series([found.get(d, {}).get(name) for d in docnos], dtype=object, index=inp.index) for name in self._columns}
        return inp.assign(**columns)
