"""Tables of the package datasets (of Hugging Face), with the interface of a data set of ir_datasets, and collections as such tables."""

from __future__ import annotations

import json
from collections import namedtuple
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from . import _layout
from ._documents import documents_in

#: The names of the tables, and those under which BEIR's are published.
_DOCUMENTS, _QUERIES, _QRELS = ("documents", "corpus", "docs"), ("queries",), ("qrels",)
_ID, _QUERY_ID = ("_id", "docno", "doc_id", "id"), ("_id", "qid", "query_id", "id")
_TEXT, _QUERY_TEXT = ("text", "contents"), ("query", "text", "title")


def tables_of(dataset: Any) -> Tables | None:
    """The tables of a `datasets.Dataset`, or of a dictionary of them; None if it is something else.

    Raises:
        ValueError: a dictionary has no documents.
    """
    if _is_table(dataset):
        return Tables(dataset)
    if not isinstance(dataset, Mapping):
        return None
    found: list[Any] = [next((dataset[name] for name in names if name in dataset), None) for names in (_DOCUMENTS, _QUERIES, _QRELS)]
    if found[0] is None:
        raise ValueError(f"there are no documents: the tables are {', '.join(map(repr, dataset))}, and documents are in 'documents' or 'corpus'")
    return Tables(*found)


def _is_table(value: object) -> bool:
    return hasattr(value, "column_names") and hasattr(value, "features")


class Tables:
    """Documents, queries and judgements.

    Args:
        documents: rows with an id (`_id`, `docno`, `doc_id` or `id`), `text` and, if present, `title` and others.
        queries: rows with an id (`_id`, `qid`, `query_id` or `id`), a text (`query`, `text` or `title`) and, if present, `description` and `narrative`.
        qrels: rows with `query-id`, `corpus-id` and `score`, or with `qid`, `docno` and `label`.
    """

    def __init__(self, documents: Iterable[Mapping[str, Any]], queries: Any = None, qrels: Any = None) -> None:
        self._documents, self._queries, self._qrels = documents, queries, qrels

    def has_docs(self) -> bool:
        return True

    def has_queries(self) -> bool:
        return self._queries is not None

    def has_qrels(self) -> bool:
        return self._qrels is not None

    def docs_cls(self) -> type:
        return tuple

    def docs_iter(self) -> Iterator[Any]:
        for row in self._documents:
            id, text = _of(row, _ID, "document"), _of(row, _TEXT, "document")
            others = {name: value for name, value in row.items() if name not in (*_ID, *_TEXT) and name.isidentifier() and not name.startswith("_")}
            yield _row("Document", {"doc_id": str(id), "text": text, **others})

    def queries_iter(self) -> Iterator[Any]:
        for row in self._queries:
            parts = {name: row[name] for name in ("description", "narrative", "objects") if row.get(name)}
            yield _row("Query", {"query_id": str(_of(row, _QUERY_ID, "query")), "query": _of(row, _QUERY_TEXT, "query"), **parts})

    def qrels_iter(self) -> Iterator[Any]:
        for row in self._qrels:
            query, document = (str(_of(row, names, "judgement")) for names in (("query-id", "query_id", "qid"), ("corpus-id", "doc_id", "docno")))
            yield _row("Qrel", {"query_id": query, "doc_id": document, "relevance": int(_of(row, ("score", "relevance", "label"), "judgement"))})


@cache
def _kind(name: str, fields: tuple[str, ...]) -> Any:
    kind: Any = namedtuple  # whose fields mypy wants to know
    return kind(name, fields)


def _row(name: str, fields: dict[str, Any]) -> Any:
    """A row as ir_datasets has it: a named tuple."""
    return _kind(name, tuple(fields))(*fields.values())


def _of(row: Mapping[str, Any], names: tuple[str, ...], what: str) -> Any:
    """The first of these columns that a row has."""
    for name in names:
        if row.get(name) is not None:
            return row[name]
    raise ValueError(f"a {what} has none of the columns {', '.join(names)}; it has {', '.join(row)}")


def read(directory: Path) -> dict[str, Any]:
    """The tables of a collection of texts; see `riposte.datasets.read`."""
    try:
        import datasets
    except ImportError as error:
        raise ImportError(f"riposte.datasets.read needs the package datasets ({error}): pip install datasets") from error

    def table(rows: Iterable[dict[str, Any]]) -> Any:
        return datasets.Dataset.from_list(list(rows))

    documents = ({"docno": id, **fields} for id, fields in documents_in(_layout.task_of(directory), directory))
    tables = {"documents": table(documents)}
    if (queries := directory / "queries.jsonl").is_file():
        tables["queries"] = table(json.loads(line) for line in queries.read_text("utf-8").split("\n") if line)
    for qrels in sorted(directory.glob("*.qrels")):
        lines = (line.split() for line in qrels.read_text("utf-8").split("\n") if line)
        name = "qrels" if qrels.stem == "relevance" else f"{qrels.stem}_qrels"
        is_graded = qrels.stem != "stance"
        tables[name] = table({"qid": qid, "docno": docno, "label": int(grade) if is_graded else grade} for qid, _, docno, grade in lines)
    return tables
