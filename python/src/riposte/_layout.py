"""The names of the files that riposte reads as a collection, and the strings that can be ids or texts."""

from __future__ import annotations

import re
from pathlib import Path

_PORTALS = ("debateorg", "debatepedia", "debatewise", "idebate", "parliamentary")

#: The commands that rank texts, in the order in which riposte looks for their collections, and the files of each without `.gz`.
_FILES = {
    "controversial": tuple(f"{name}.json" for name in ("args-me", *_PORTALS)),
    "comparative": ("passages.jsonl",),
    "rank": ("corpus.jsonl", "documents.jsonl"),
}

#: How the names of pictures and saved pages end, and those of texts, of which riposte makes a collection.
_SHOWN = (
    ".png",
    ".jpg",
    ".jpeg",
    ".jfif",
    ".webp",
    ".gif",
    ".bmp",
    ".tif",
    ".tiff",
    ".html",
    ".htm",
    ".xhtml",
    ".mhtml",
    ".mht",
    ".warc",
    ".warc.gz",
    ".warc.zst",
    ".wacz",
)
_TEXTS = (".txt", ".md", ".markdown")

_TOPICS = ("topics.xml", "arguments.xml", "queries.jsonl", "queries.xml")


def files_of(task: str, directory: Path) -> list[Path]:
    """The files that `riposte TASK` reads in a directory; none if the directory has no collection for this task."""
    names = [name for plain in _FILES[task] for name in (plain, f"{plain}.gz")]
    found = [directory / name for name in names if (directory / name).is_file()]
    if task == "controversial":
        whole = [file for file in found if file.name.startswith("args-me.")]
        return whole[:1] or found
    if task == "comparative" and not found:
        others = [file for file in sorted(directory.glob("*passages*")) if re.search(r"\.jsonl(\.gz)?$", file.name)]
        return others if len(others) == 1 else []
    return found[:1]


def task_of(directory: Path) -> str:
    """The command that ranks the collection in a directory.

    Raises:
        NotADirectoryError: there is no such directory.
        ValueError: the directory holds no collection of texts.
    """
    if not directory.is_dir():
        raise NotADirectoryError(f"{directory} is not a directory")
    for task in _FILES:
        if files_of(task, directory):
            return task
    names = ", ".join(names[0] for names in _FILES.values())
    raise ValueError(f"{directory} holds no collection of texts: it has no {names} or documents.jsonl, and no files of debate portals")


def task_of_folder(folder: Path) -> str | None:
    """The command that ranks what riposte makes of a folder of pictures, saved pages and texts; None for a collection, and where nothing of all this is."""
    if any(files_of(task, folder) for task in _FILES):
        return None
    names = [path.name.lower() for path in folder.rglob("*") if path.is_file()]
    if any(name.endswith(_SHOWN) for name in names):
        return "images"
    return "rank" if any(name.endswith(_TEXTS) for name in names) else None


def others_than(names: set[str], directory: Path) -> list[str]:
    """The names of files, other than `names`, that riposte would read in a directory as a collection or as topics."""
    if not directory.is_dir():
        return []
    found = [file.name for task in _FILES for file in files_of(task, directory)]
    topics = [f"{name}{end}" for name in _TOPICS for end in ("", ".gz")]
    found += [name for name in ("images", *topics) if (directory / name).exists()]
    return sorted(set(found) - names)


def unfit_id(text: object) -> str | None:
    """The reason why a value cannot be an id in a run, whose fields are separated by blanks; None if it can."""
    if not isinstance(text, str):
        return f"is {text!r}, not a string"
    if not text:
        return "is empty"
    if re.search(r"[\s\x00-\x1f\x7f-\x9f]", text):
        return f"is {text!r}, which has a blank or a control character"
    return unfit_text(text)


def unfit_text(text: object) -> str | None:
    """The reason why a value cannot be written as text; None if it can."""
    if not isinstance(text, str):
        return f"is {text!r}, not a string"
    try:
        text.encode()
    except UnicodeEncodeError:
        return f"is {text!r}, which has half a surrogate pair"
    return None
