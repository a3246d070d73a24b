"""Reads the documents of a collection of texts."""

from __future__ import annotations

import codecs
import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from . import _layout


def documents_in(task: str, directory: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The id and the fields of each document of a collection, in the order of its files.

    A line that cannot be read is passed over: riposte has named it when it built the index.
    """
    for path in _layout.files_of(task, directory):
        open_file = gzip.open if path.suffix == ".gz" else open
        if task == "controversial":
            with open_file(path, "rb") as file:
                for argument in _arguments(file):  # type: ignore[arg-type]
                    premises = argument.get("premises") or []
                    yield (
                        str(argument.get("id")),
                        {
                            "text": "\n".join(premise.get("text") or "" for premise in premises),
                            "conclusion": argument.get("conclusion"),
                            "premise_stance": next((premise["stance"] for premise in premises if premise.get("stance")), None),
                        },
                    )
            continue
        with open_file(path, "rt", encoding="utf-8-sig") as file:
            for line in file:
                try:
                    document = json.loads(line)
                except ValueError:
                    continue
                id = next((document[key] for key in ("_id", "docno", "doc_id", "id") if key in document), None)
                text = document.get("contents" if task == "comparative" else "text")
                yield str(id), {"text": text, "title": document.get("title"), "url": document.get("chatNoirUrl")}


def _arguments(file: IO[bytes]) -> Iterator[dict[str, Any]]:
    """The arguments of a file `{"arguments": [{…}, …]}`, read one at a time. Raises a ValueError where the file is not valid JSON."""
    import ijson

    # ijson would refuse a byte order mark
    start = file.read(3)
    if start != codecs.BOM_UTF8:
        file.seek(0)
    try:
        yield from ijson.items(file, "arguments.item")
    except ijson.JSONError as error:
        raise ValueError(f"{file.name} cannot be read further: {error}") from None
