"""Stance, quality and the text in images, in the process that goes on (`_calls`)."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, Union

from . import _frames, _layout
from ._calls import call
from ._explanation import Explanation
from ._frames import options, pandas

if TYPE_CHECKING:
    import pandas as pd

#: Texts and what they are about: (topic, text) or ((first, second), text), dictionaries, or a data frame.
Pairs: TypeAlias = Union["pd.DataFrame", Iterable[tuple[str | tuple[str, str], str] | Mapping[str, Any]]]
#: Number of texts that are sent in one call: an interrupted call loses no more.
_BATCH = 2048


def stance(pairs: Pairs, *, explain: bool = False, models: str | os.PathLike[str] | None = None, numeric: str = "auto") -> pd.DataFrame:
    """Whether texts support or attack a claim, or which of two objects they prefer. No process is started; the first call loads the model.

    Args:
        pairs: (topic, text) for each text, where the topic is a question, a motion, a claim or a subject; or ((first, second), text) with two objects.
            Or dictionaries with `topic` or `objects`, and `text`; or a data frame with the columns `topic` (or `query`) or `objects`, and `text`.
            All have topics, or all have objects.
        explain: add a column with an `Explanation` of each stance.
        models: the directory of models. Without the sentence model, stance depends only on words, and a `RiposteWarning` says so.
        numeric: "float" computes in floats on every machine, "auto" in 8-bit integers if the machine can.

    Returns:
        A row for each pair, in their order (a frame keeps its columns and index). Towards topics: `stance` ("PRO", "CON" or "NEITHER"), the probabilities
        `pro`, `con`, `neither`, which add up to 1, `undecided` (bool: P(pro) and P(con) are too near each other), and `unlike` (how the text differs from
        what the model has learned from, or None). Towards objects: `stance` ("FIRST", "SECOND", "NEUTRAL" or "NO") and `first`, `second`, `neutral`, `no`.

    Raises:
        ValueError: a topic or a text is missing or empty; the message names the pair.
        RiposteError: the model is damaged.

    Example:
        >>> found = riposte.stance([("Should we ban cars?", "We should not ban cars."), ("Should we ban cars?", "Ban them.")])
        >>> found["stance"].tolist()[0], list(found.columns[2:6])
        ('CON', ['stance', 'pro', 'con', 'neither'])
    """
    frame, questions = _questions(pairs, allows_objects=True)
    towards_objects = bool(questions) and "objects" in questions[0]
    classes = ["first", "second", "neutral", "no"] if towards_objects else ["pro", "con", "neither"]
    answers = _answered(["stance"], questions, explain, options(models=models, numeric=numeric))
    frame["stance"] = pandas().Series([answer["stance"] for answer in answers], dtype=object, index=frame.index)
    for name in classes:
        frame[name] = pandas().Series([answer[name] for answer in answers], dtype="float64", index=frame.index)
    if not towards_objects:
        frame["undecided"] = pandas().Series([answer["undecided"] for answer in answers], dtype=bool, index=frame.index)
        frame["unlike"] = pandas().Series([answer["unlike"] for answer in answers], dtype=object, index=frame.index)
    return _explained(frame, answers, explain)


def quality(pairs: Pairs, *, explain: bool = False, models: str | os.PathLike[str] | None = None, numeric: str = "auto") -> pd.DataFrame:
    """How good texts are as arguments on a topic. No process is started; the first call loads the model.

    Args:
        pairs: (topic, text) for each text, as in `stance`, without objects.
        explain, models, numeric: as in `stance`.

    Returns:
        A row for each pair, in their order, with the column `quality`: from 0 to 1, higher is better.

    Example:
        >>> found = riposte.quality([("Should we ban cars?", "Cars cost lives: last year, 40 children died on our roads."), ("Should we ban cars?", "lol")])
        >>> bool(found["quality"][0] > found["quality"][1])
        True
    """
    frame, questions = _questions(pairs, allows_objects=False)
    answers = _answered(["quality"], questions, explain, options(models=models, numeric=numeric))
    frame["quality"] = pandas().Series([answer["quality"] for answer in answers], dtype="float64", index=frame.index)
    return _explained(frame, answers, explain)


def _explained(frame: pd.DataFrame, answers: list[dict[str, Any]], explain: bool) -> pd.DataFrame:
    if explain:
        trees = [Explanation.of(answer["explanation"]) for answer in answers]
        frame["explanation"] = pandas().Series(trees, dtype=object, index=frame.index)
    return frame


def _questions(pairs: Pairs, allows_objects: bool) -> tuple[pd.DataFrame, list[dict[str, Any]]]:
    """The pairs as a frame, and as lines of `--jsonl`."""
    frame: pd.DataFrame
    if _frames.is_frame(pairs):
        frame = pairs.copy()
    else:
        items: list[Any] = list(pairs)
        with_objects = any(("objects" in item if isinstance(item, Mapping) else not isinstance(item[0], str)) for item in items)
        first = "objects" if with_objects else "topic"
        rows = [(item.get(first), item.get("text")) if isinstance(item, Mapping) else tuple(item) for item in items]
        frame = _frames.new_frame({name: pandas().Series([row[n] for row in rows], dtype=object) for n, name in enumerate((first, "text"))})
    _frames.column(frame, "text")
    towards = "objects" if "objects" in frame.columns and "topic" not in frame.columns else _frames.column(frame, "topic", "query")
    if towards == "objects" and not allows_objects:
        raise ValueError("quality is that of an argument on a topic, not on two objects")
    questions = []
    for n, (about, text) in enumerate(zip(frame[towards], frame["text"])):
        if why := _layout.unfit_text(text):
            raise ValueError(f"the text of pair {n} {why}")
        if towards == "objects":
            two = list(about) if isinstance(about, (list, tuple)) else []
            if len(two) != 2 or any(_layout.unfit_text(one) or not one.strip() for one in two):
                raise ValueError(f"the objects of pair {n} are {about!r}, not two strings")
            questions.append({"objects": two, "text": text})
        else:
            why = _layout.unfit_text(about) or (None if about.strip() else "is empty")
            if why:
                raise ValueError(f"the topic of pair {n} {why}")
            questions.append({"topic": about, "text": text})
    return frame, questions


def _answered(command: list[str], questions: Sequence[dict[str, Any]], explain: bool, given: list[str]) -> list[dict[str, Any]]:
    """The answers to the questions, in batches."""
    answers: list[dict[str, Any]] = []
    for start in range(0, len(questions), _BATCH):
        lines = "".join(json.dumps(question, ensure_ascii=False) + "\n" for question in questions[start : start + _BATCH])
        done = call([*command, "--jsonl", "-", *(["--explain"] if explain else []), *given], input=lines, stacklevel=4)
        answers += _frames.objects_in(_frames.with_notes(done, 4))
    return answers


@dataclass(frozen=True)
class TextLine:
    """A line of text in an image.

    Attributes:
        text: what it says.
        confidence: 0 to 1.
        corners: the four corners of the line in the image, in pixels, (x, y) from the upper left: clockwise from the upper left corner of the line.
        block: the number of the block of text that it belongs to, from 0.
    """

    text: str
    confidence: float
    corners: tuple[tuple[float, float], ...]
    block: int


@dataclass(frozen=True)
class PictureText:
    """The text in an image.

    Attributes:
        path: the file.
        text: the texts of its blocks in reading order, with an empty line between them.
        lines: its lines, in the same order.
    """

    path: str
    text: str
    lines: tuple[TextLine, ...]

    def _repr_html_(self) -> str:
        from html import escape

        return f"<pre>{escape(self.text)}</pre>"


def read_text(
    images: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    ocr: str | None = None,
    script: str | None = None,
    models: str | os.PathLike[str] | None = None,
    numeric: str = "auto",
) -> list[PictureText | None]:
    """Reads the text in images. No process is started; the first call loads the model.

    Args:
        images: one file or several: JPEG, PNG, GIF, WebP, BMP, TIFF, ICO or PNM, of at most 100 million pixels.
        ocr: the name of the OCR model, by default the first that is installed.
        script: "latin" (the default) or "all".
        models, numeric: as in `stance`.

    Returns:
        A `PictureText` for each file, in their order; None for a file that cannot be read, which a `RiposteWarning` names.

    Raises:
        RiposteError: no OCR model is installed, or no file can be read.

    Example:
        >>> [picture] = riposte.read_text("poster.webp")  # doctest: +SKIP
        >>> picture.text  # doctest: +SKIP
        'NO EXHAUST ON MY WAY TO SCHOOL'
    """
    paths = [os.fspath(images)] if isinstance(images, (str, os.PathLike)) else [os.fspath(path) for path in images]
    if not paths:
        return []
    given = options(ocr=ocr, script=script, models=models, numeric=numeric)
    # a name that begins with a hyphen is no option
    done = call(["read", *given, "--", *paths], stacklevel=3)
    found = {}
    for of in _frames.objects_in(done.stdout):
        lines = (TextLine(line["text"], line["confidence"], tuple(map(tuple, line["corners"])), line["block"]) for line in of["lines"])
        found[of["path"]] = PictureText(of["path"], of["text"], tuple(lines))
    return [found.get(path) for path in paths]


__all__ = ["PictureText", "TextLine", "quality", "read_text", "stance"]
