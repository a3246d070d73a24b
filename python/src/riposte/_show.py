"""What notebooks show: HTML without scripts, that loads nothing. Texts of collections are escaped."""

from __future__ import annotations

import base64
import os
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._run import Explanation, Ranked, Run

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


def tree(of: Explanation, depth: int = 0) -> str:
    """An explanation as nested lists, of which the upper two levels are open."""
    how = f" <small>{escape(of.how)}</small>" if of.how else ""
    line = f"<b>{of.value:.4f}</b> {escape(of.name)}{how}"
    if not of.parts:
        return f"<div style='margin-left:1.2em'>{line}</div>"
    parts = "".join(tree(part, depth + 1) for part in of.parts)
    return f"<details style='margin-left:1.2em'{' open' if depth < 2 else ''}><summary>{line}</summary>{parts}</details>"


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


def images(run: Run, collection: Path) -> str:
    """The first topics of a run of images: for each list its images, with bars of their stances if the run is explained."""
    topics = list(dict.fromkeys(of.topic for of in run.lines))
    stances = _stances(run)
    shown = []
    for topic in topics[:TOPICS]:
        shown.append(f"<h4>topic {escape(topic)}</h4>")
        of_topic = [of for of in run.lines if of.topic == topic]
        for stance in dict.fromkeys(of.stance for of in of_topic):
            cells = "".join(_image(of, collection, stances) for of in of_topic if of.stance == stance)
            shown.append(f"<div style='margin:8px 0 4px'><b>{escape(stance or '')}</b></div><div style='display:flex;flex-wrap:wrap;gap:8px'>{cells}</div>")
    more = f"<p>… and {len(topics) - TOPICS} more topics</p>" if len(topics) > TOPICS else ""
    return f"<div>{''.join(shown)}{more}</div>"


def _image(of: Ranked, collection: Path, stances: dict[tuple[str, str], tuple[float, float]]) -> str:
    found = stances.get((of.topic, of.document))
    below = bar(*found) if found else ""
    caption = f"<div style='font-size:11px;line-height:1.4;overflow-wrap:anywhere'>{of.rank}. {of.score:.3f}<br>{escape(of.document)}</div>"
    return f"<div style='width:120px'>{thumbnail(picture_of(collection, of.document))}{below}{caption}</div>"


def _stances(run: Run) -> dict[tuple[str, str], tuple[float, float]]:
    """P(pro) and P(con) by topic and image, from the explanations."""
    from ._run import Explanation

    found = {}
    for of in run._explanations or ():
        if "image" not in of:
            continue
        sides = [Explanation.of(of[side]).find(name) if side in of else None for side, name in (("pro", "P(pro)"), ("con", "P(con)"))]
        if sides[0] is not None and sides[1] is not None:
            found[(of["topic"], of["image"])] = (sides[0].value, sides[1].value)
    return found
