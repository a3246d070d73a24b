"""What notebooks show: HTML without scripts, that loads nothing. Texts of collections are escaped."""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

#: Maximum number of rows that are shown of a table.
ROWS = 20
#: Maximum number of topics whose images are shown, and maximum size of a picture in bytes.
TOPICS, PICTURE = 3, 2_000_000
_TYPES = {b"\xff\xd8\xff": "jpeg", b"\x89PNG": "png", b"RIFF": "webp", b"GIF8": "gif"}


def table(columns: Sequence[str], rows: Sequence[Sequence[str]], caption: str, count: int | None = None) -> str:
    """A table; `count` is the number of all rows if these are only the first."""
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    more = f"<p>… and {count - len(rows)} more rows</p>" if count is not None and count > len(rows) else ""
    return f"<table><caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def number(name: str, value: float, how: str, parts: Sequence[str], is_open: bool) -> str:
    """A number of an explanation; below it, its parts (HTML) in a list that can be folded."""
    how = f" <small>{escape(how)}</small>" if how else ""
    line = f"<b>{value:.4f}</b> {escape(name)}{how}"
    if not parts:
        return f"<div style='margin-left:1.2em'>{line}</div>"
    return f"<details style='margin-left:1.2em'{' open' if is_open else ''}><summary>{line}</summary>{''.join(parts)}</details>"


def bar(pro: float, con: float) -> str:
    """P(pro) and P(con) as a bar: green from the left, red from the right."""
    parts = ((pro, "#2a7f4f"), (max(0.0, 1 - pro - con), "#ddd"), (con, "#b3402f"))
    inside = "".join(f"<span style='width:{100 * share:.1f}%;background:{colour}'></span>" for share, colour in parts)
    return f"<div style='display:flex;height:6px' title='P(pro) {pro:.2f}, P(con) {con:.2f}'>{inside}</div>"


def thumbnail(path: Path | None) -> str:
    """A picture inside the page; a word if there is none that can be shown."""
    try:
        data = path.read_bytes() if path is not None and path.stat().st_size <= PICTURE else b""
    except OSError:
        data = b""
    kind = next((name for start, name in _TYPES.items() if data.startswith(start)), None)
    if kind is None:
        return "<div style='width:120px;height:90px;background:#eee'></div>"
    encoded = base64.b64encode(data).decode()
    return f"<img style='width:120px;height:90px;object-fit:contain' alt='' src='data:image/{kind};base64,{encoded}'>"


def picture_of(collection: Path, document: str) -> Path | None:
    """The file of an image in a collection in the layout of the lab; None for an id that is no name of a directory."""
    if not document or os.sep in document or document.startswith("."):
        return None
    directory = collection / "images" / document[:3] / document
    return next((file for file in sorted(directory.glob("image.*")) if file.is_file()), None)


def images(rows: Sequence[tuple[str, str | None, str, int, float]], stances: Mapping[tuple[str, str], tuple[float, float]], collection: Path) -> str:
    """The first topics of a run of images: for each list its images, with bars of their stances.

    Args:
        rows: topic, stance, image, rank and score of each line.
        stances: P(pro) and P(con) by topic and image. An image without them has no bar.
        collection: the directory in which the pictures are.
    """
    topics = list(dict.fromkeys(topic for topic, *_ in rows))
    shown = []
    for topic in topics[:TOPICS]:
        shown.append(f"<h4>topic {escape(topic)}</h4>")
        lists: dict[str | None, str] = {}
        for qid, stance, image, rank, score in rows:
            if qid == topic:
                cell = _image(image, rank, score, stances.get((topic, image)), collection)
                lists[stance] = lists.get(stance, "") + cell
        for stance, cells in lists.items():
            shown.append(f"<div style='margin:8px 0 4px'><b>{escape(stance or '')}</b></div><div style='display:flex;flex-wrap:wrap;gap:8px'>{cells}</div>")
    more = f"<p>… and {len(topics) - TOPICS} more topics</p>" if len(topics) > TOPICS else ""
    return f"<div>{''.join(shown)}{more}</div>"


def _image(image: str, rank: int, score: float, stance: tuple[float, float] | None, collection: Path) -> str:
    below = bar(*stance) if stance else ""
    caption = f"<div style='font-size:11px;line-height:1.4;overflow-wrap:anywhere'>{rank}. {score:.3f}<br>{escape(image)}</div>"
    return f"<div style='width:120px'>{thumbnail(picture_of(collection, image))}{below}{caption}</div>"
