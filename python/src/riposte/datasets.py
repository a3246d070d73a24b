"""Writes data sets of ir_datasets as files that riposte reads.

    import riposte
    riposte.datasets.write("argsme/2020-04-01/touche-2021-task-1", "touche-2021")
    riposte.run(["controversial", "-i", "touche-2021", "-o", "out"])

Needs the package ir_datasets, which downloads missing files, and for arguments also ijson.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
import warnings
from collections.abc import Iterable
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple

from . import _hugging, _layout
from ._program import RiposteWarning

__all__ = ["TOUCHE", "Written", "read", "write"]

#: The Touché data sets of ir_datasets, and the command of riposte that ranks each. Only the publishers of ClueWeb12 distribute its documents.
TOUCHE = {
    "argsme/1.0/touche-2020-task-1/uncorrected": "controversial",
    "argsme/2020-04-01/touche-2020-task-1": "controversial",
    "argsme/2020-04-01/touche-2020-task-1/uncorrected": "controversial",
    "argsme/2020-04-01/touche-2021-task-1": "controversial",
    "argsme/2020-04-01/processed/touche-2022-task-1": "controversial",
    "beir/webis-touche2020": "rank",
    "beir/webis-touche2020/v2": "rank",
    "clueweb12/touche-2020-task-2": "rank",
    "clueweb12/touche-2021-task-2": "rank",
    "clueweb12/touche-2022-task-2": "comparative",
    "clueweb12/touche-2022-task-2/expanded-doc-t5-query": "comparative",
    "nano-beir/webis-touche2020": "rank",
    "touche-image/2022-06-13/touche-2022-task-3": "images",
}


class Written(NamedTuple):
    """The result of `write`."""

    #: The command of riposte that ranks the documents: "controversial", "comparative", "rank" or "images".
    task: str
    #: The file of documents, or the directory of images.
    documents: Path
    #: The file of queries; None if the data set has none.
    queries: Path | None
    #: The file of each dimension of the judgements: "relevance" and, where the data set has them, "quality", "coherence" and "stance".
    qrels: dict[str, Path]


def write(dataset: Any, directory: str | os.PathLike[str], *, overwrite: bool = False) -> Written:
    """Writes the documents, queries and judgements of a data set.

    Documents are read and written one at a time. All files are written to a temporary directory and then moved, so none is ever incomplete.

    - Arguments become `args-me.json`: conclusion, premises with their stances, and the context (source, topic, author and so on).
    - Passages of Task 2 become `passages.jsonl`: id, contents and the address.
    - Images become `images/`, as in the collection: the image, its address and hash, and the pages with their files. A `RiposteWarning` says how
      many images have no page in ir_datasets.
    - All other documents become `documents.jsonl`: id, title, text, and the other fields that are texts or numbers. If a document has no field
      `text`, its `default_text()` is written.
    - Queries become `queries.jsonl`, with `description`, `narrative` and `objects` if they have them.
    - Judgements become `relevance.qrels` and, where there are several dimensions, `quality.qrels`, `coherence.qrels` or `stance.qrels`, each with
      lines of "topic iteration document value". Judgements of images have PRO, CON or ONTOPIC in the second column, as in the organisers' file.

    Args:
        dataset: the id of a data set (a key of `TOUCHE`, or another id), a data set of ir_datasets, or one of PyTerrier (`irds:…`). Or a table of the
            package datasets, or a dictionary of them: `documents` (or `corpus`), `queries` and `qrels`, with the columns of BEIR or of PyTerrier.
        directory: where to write, made if necessary.
        overwrite: replace existing files with these names.

    Raises:
        ValueError: the directory has another collection, or an id cannot be written to a run.
        FileExistsError: files with these names exist, and `overwrite` is not given.
        KeyError: ir_datasets does not know the id.

    Example:
        >>> documents = datasets.Dataset.from_list([{"_id": "d1", "text": "Cats keep themselves clean."}])
        >>> riposte.datasets.write({"corpus": documents}, "cats").task
        'rank'
        >>> riposte.datasets.read("cats")["documents"][0]["text"]
        'Cats keep themselves clean.'
    """
    if isinstance(dataset, (str, os.PathLike)):
        import ir_datasets

        dataset = ir_datasets.load(os.fspath(dataset))
    elif hasattr(dataset, "irds_ref"):
        dataset = dataset.irds_ref()
    else:
        dataset = _hugging.tables_of(dataset) or dataset
    if not dataset.has_docs():
        raise ValueError("the data set has no documents")
    task, name = _kind(getattr(dataset.docs_cls(), "_fields", ()))
    directory = Path(directory).absolute()
    ours = {name, "queries.jsonl"}
    if others := _layout.others_than(ours, directory):
        raise ValueError(f"{directory} has {', '.join(others)} already, which riposte would read instead: choose another directory")
    present = sorted(file for file in [*ours, *(f"{dimension}.qrels" for dimension in _DIMENSIONS)] if (directory / file).exists())
    if present and not overwrite:
        raise FileExistsError(f"{directory} has {', '.join(present)} already: overwrite=True replaces them")
    directory.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".riposte-", dir=directory) as work:
        made = Path(work)
        _WRITERS[task](dataset.docs_iter(), made / name)
        if dataset.has_queries():
            _write_lines(map(_query, dataset.queries_iter()), made / "queries.jsonl")
        dimensions = _write_qrels(dataset.qrels_iter(), made) if dataset.has_qrels() else []
        for path in (directory / file for file in present):
            # the earlier data set can have files that this one does not have, so all of its files are removed
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        for file in made.iterdir():
            os.replace(file, directory / file.name)
    queries = directory / "queries.jsonl"
    return Written(task, directory / name, queries if queries.exists() else None, {d: directory / f"{d}.qrels" for d in dimensions})


def read(directory: str | os.PathLike[str]) -> dict[str, Any]:
    """The tables of a collection of texts, for the package datasets.

    Args:
        directory: a collection that `Collection` opens. All of it is read into memory; large collections are read from their files.

    Returns:
        `documents`, with `docno` and the columns that `riposte.pt.TextLoader` adds; `queries`, if there is a `queries.jsonl`, with its fields; and for the
        judgements that `write` has written, `qrels` and `quality_qrels` and so on, with `qid`, `docno` and `label`. Each is a `datasets.Dataset`.

    Raises:
        NotADirectoryError, ValueError: there is no collection of texts.
        ImportError: the package datasets is not installed.
    """
    return _hugging.read(Path(directory))


def _kind(fields: tuple[str, ...]) -> tuple[str, str]:
    """The task for documents with these fields, and the name of the file or directory for them."""
    if "premises" in fields:
        return "controversial", "args-me.json"
    if "chatnoir_url" in fields:
        return "comparative", "passages.jsonl"
    if "webp" in fields and "pages" in fields:
        return "images", "images"
    return "rank", "documents.jsonl"


def _id(text: str, what: str) -> str:
    if why := _layout.unfit_id(text):
        raise ValueError(f"the id of a {what} {why}")
    return text


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _write_lines(objects: Iterable[dict[str, Any]], path: Path) -> None:
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        for value in objects:
            file.write(_json(value) + "\n")


def _write_documents(documents: Iterable[Any], path: Path) -> None:
    _write_lines(map(_document, documents), path)


def _document(doc: Any) -> dict[str, Any]:
    fields = doc._asdict()
    text = fields["text"] if "text" in fields else doc.default_text()
    line = {"docno": _id(doc.doc_id, "document"), "title": fields.get("title") or "", "text": text}
    return line | {name: value for name, value in fields.items() if name not in ("doc_id", *line) and isinstance(value, (str, int, float))}


def _write_passages(documents: Iterable[Any], path: Path) -> None:
    lines = ({"id": _id(doc.doc_id, "passage"), "contents": doc.text, "chatNoirUrl": doc.chatnoir_url} for doc in documents)
    _write_lines(lines, path)


def _write_arguments(documents: Iterable[Any], path: Path) -> None:
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        file.write('{"arguments":[')
        for n, doc in enumerate(documents):
            file.write((",\n" if n else "\n") + _json(_argument(doc)))
        file.write("\n]}\n")


#: The keys of an argument's context, by their names in ir_datasets.
_CONTEXT = {
    "source_id": "sourceId",
    "source_title": "sourceTitle",
    "source_url": "sourceUrl",
    "source_previous_argument_id": "previousArgumentInSourceId",
    "source_next_argument_id": "nextArgumentInSourceId",
    "source_text": "sourceText",
    "source_text_conclusion_start": "sourceTextConclusionStart",
    "source_text_conclusion_end": "sourceTextConclusionEnd",
    "source_text_premise_start": "sourceTextPremiseStart",
    "source_text_premise_end": "sourceTextPremiseEnd",
    "topic": "topic",
    "author": "author",
    "author_image_url": "authorImage",
    "author_organization": "authorOrganization",
    "author_role": "authorRole",
}

#: The names of debate portals in args.me, where ir_datasets has other names.
_DOMAINS = {"debateorg": "debate.org", "canadian_parliament": "canadian-parliament"}


def _argument(doc: Any) -> dict[str, Any]:
    context = {key: value for field, key in _CONTEXT.items() if (value := getattr(doc, field)) is not None}
    context["acquisitionTime"] = doc.acquisition.isoformat()
    if doc.date is not None:
        context["date"] = doc.date.isoformat()
    if doc.source_domain is not None:
        context["sourceDomain"] = _DOMAINS.get(doc.source_domain.name, doc.source_domain.name)
    if doc.mode is not None:
        context["mode"] = doc.mode.name
    if doc.aspects:
        context["aspects"] = [{"name": a.name, "weight": a.weight, "normalizedWeight": a.normalized_weight, "rank": a.rank} for a in doc.aspects]
    premises = [
        {"text": premise.text, "stance": premise.stance.name, "annotations": [a._asdict() for a in premise.annotations]} for premise in doc.premises
    ]
    argument = {"id": _id(doc.doc_id, "argument"), "conclusion": doc.conclusion, "premises": premises, "context": context}
    if getattr(doc, "sentences", None):
        argument["sentences"] = [{"sent_id": s.id, "sent_text": s.text} for s in doc.sentences]
    return argument


def _write_images(documents: Iterable[Any], path: Path) -> None:
    path.mkdir()
    images = without_pages = 0
    for doc in documents:
        images, without_pages = images + 1, without_pages + (not doc.pages)
        # the id becomes the name of a directory
        if not re.fullmatch("I[0-9a-f]{16,24}", doc.doc_id):
            raise ValueError(f"{doc.doc_id!r} is not the id of an image")
        image = path / doc.doc_id[:3] / doc.doc_id
        files: dict[str, str | bytes] = {
            "image.webp": doc.webp,
            "image.png": doc.png,
            "image-url.txt": f"{doc.url}\n",
            "image-phash.txt": f"{doc.phash}\n",
        }
        for page in doc.pages:
            if not re.fullmatch("P[0-9a-f]{16}", page.page_id):
                raise ValueError(f"{page.page_id!r} is not the id of a page")
            rankings = [{"query": r.query, "topic": r.query_id, "rank": r.rank} for r in page.rankings]
            nodes = [
                {"xPath": n.xpath, "visible": n.visible, "id": n.id, "classes": n.classes, "position": n.position, "text": n.text, "css": n.css}
                for n in page.nodes
            ]
            for name, content in {
                "page-url.txt": f"{page.url}\n",
                "rankings.jsonl": _jsonl(rankings),
                "snapshot/dom.html": page.dom_html,
                "snapshot/image-xpath.txt": "\n".join(xpath.rstrip("\n") for xpath in page.xpaths) + "\n",
                "snapshot/nodes.jsonl": _jsonl(nodes),
                "snapshot/text.txt": page.text,
            }.items():
                files[f"pages/{page.page_id}/{name}"] = content
        for name, content in files.items():
            file = image / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content if isinstance(content, bytes) else content.encode())
    if without_pages:
        warnings.warn(f"{without_pages} of {images} images have no page: only the text in them can be searched", RiposteWarning, stacklevel=3)


def _jsonl(objects: Iterable[dict[str, Any]]) -> str:
    return "".join(_json({key: value for key, value in line.items() if value is not None}) + "\n" for line in objects)


_WRITERS = {"controversial": _write_arguments, "comparative": _write_passages, "images": _write_images, "rank": _write_documents}


def _query(query: Any) -> dict[str, Any]:
    fields = query._asdict()
    text = next((fields[name] for name in ("title", "text", "query") if name in fields), None) or query.default_text()
    parts = {name: fields[name] for name in ("description", "narrative", "objects") if fields.get(name)}
    return {"qid": _id(query.query_id, "query"), "query": text, **parts}


_DIMENSIONS = ("relevance", "quality", "coherence", "stance")

#: The words in the second column of judgements of images.
_SIDES = {"PRO", "CON", "ONTOPIC"}


def _write_qrels(judgements: Iterable[Any], directory: Path) -> list[str]:
    """Writes a file for each dimension. Returns the dimensions."""
    lines: dict[str, Any] = {}
    try:
        for qrel in judgements:
            values = {name: _word(getattr(qrel, name)) for name in _DIMENSIONS if name in qrel._fields}
            second = getattr(qrel, "iteration", "0")
            if values.get("stance") in _SIDES:
                second = values.pop("stance")
            for name, value in values.items():
                if name not in lines:
                    lines[name] = open(directory / f"{name}.qrels", "w", encoding="utf-8", newline="\n")
                ids = _id(qrel.query_id, "judged query"), _id(qrel.doc_id, "judged document")
                lines[name].write(f"{ids[0]} {second} {ids[1]} {value}\n")
    finally:
        for file in lines.values():
            file.close()
    return list(lines)


def _word(value: Any) -> str:
    return str(value.value if isinstance(value, Enum) else value)
