"""The transformers of `riposte.pt` that read texts, and the one that ranks images."""

from __future__ import annotations

import json
import os
import tempfile
import uuid
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pyterrier as pt

from . import _layout
from ._calls import call
from ._collection import Collection
from ._frames import objects_in, options, with_notes
from ._program import RiposteWarning, run
from ._pt_base import Transformer, objects_of
from ._texts import quality


class StanceAnnotator(Transformer):
    """Detects the stance of each text, towards the query or towards two objects.

    In: a frame with the columns `text` and `query` (a question, a motion, a claim or a subject), or with `text` and `objects` (two strings each)
    if `towards="objects"`. It needs neither `qid` nor `docno`.

    Out: the same rows, with these columns added:

    - towards a query: `stance` ("PRO", "CON" or "NEITHER"), and the probabilities `stance_pro`, `stance_con` and `stance_neither`, which add up
      to 1;
    - towards objects: `stance` ("FIRST" or "SECOND": the better object; "NEUTRAL": neither is better; "NO": no stance), and the probabilities
      `stance_first`, `stance_second`, `stance_neutral` and `stance_no`.

    A row with an empty query has None and NaN, and a `RiposteWarning` says so.

    Args:
        towards: "query" or "objects".
        text: the name of the column with the texts.
        models: the directory of models. Without a sentence model, the stance depends only on words, and a `RiposteWarning` says so.
        numeric: as for `Retriever`.

    Raises (when it transforms):
        ValueError: a text, a query or objects are missing; the message names the row.
        RiposteError: riposte failed.
    """

    label = "stance"

    def __init__(
        self,
        *,
        towards: str = "query",
        text: str = "text",
        models: str | os.PathLike[str] | None = None,
        numeric: str = "auto",
    ) -> None:
        if towards not in ("query", "objects"):
            raise ValueError(f"towards is {towards!r}, but must be 'query' or 'objects'")
        self.towards = towards
        self.text = text
        self.models = models
        self.numeric = numeric

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        pt.validate.columns(inp, includes=[self.towards, self.text], context=self)
        questions = []
        for n, (towards, text) in enumerate(zip(inp[self.towards], inp[self.text])):
            if why := _layout.unfit_text(text):
                raise ValueError(f"the {self.text} of row {n} {why}")
            if self.towards == "objects":
                questions.append({"objects": objects_of(towards, f"row {n}"), "text": text})
            elif why := _layout.unfit_text(towards):
                raise ValueError(f"the query of row {n} {why}")
            else:
                questions.append({"topic": towards, "text": text})
        answers = self._answers(questions)
        classes = ("pro", "con", "neither") if self.towards == "query" else ("first", "second", "neutral", "no")
        columns = {"stance": pd.Series([a and a["stance"] for a in answers], dtype=object, index=inp.index)}
        for name in classes:
            columns[f"stance_{name}"] = pd.Series([a and a[name] for a in answers], dtype="float64", index=inp.index)
        return inp.assign(**columns)

    def _answers(self, questions: list[dict[str, Any]]) -> list[dict[str, Any] | None]:
        """The answer to each question; None for an empty query."""
        # if all queries are empty, riposte would report an error
        if not any("objects" in question or question["topic"].strip() for question in questions):
            if questions:
                warnings.warn("all queries are empty", RiposteWarning, stacklevel=3)
            return [None] * len(questions)
        command = ["stance", "--jsonl", "-", *options(numeric=self.numeric, models=self.models)]
        lines = "".join(json.dumps(question, ensure_ascii=False) + "\n" for question in questions)
        answers: list[dict[str, Any] | None] = list(objects_in(with_notes(call(command, input=lines, stacklevel=5), 4)))
        return answers


class QualityAnnotator(Transformer):
    """Rates each text as an argument on the query.

    In: a frame with the columns `query` and `text`. It needs neither `qid` nor `docno`.

    Out: the same rows with the column `quality`, from 0 to 1, higher is better. With `as_score`, `score` and `rank` are those of the quality: then it re-ranks, and
    the frame needs `qid`.

    Args:
        as_score: rank by the quality.
        text: the name of the column with the texts.
        models, numeric: as for `StanceAnnotator`.

    Raises (when it transforms):
        ValueError: a text or a query is missing or empty.
        RiposteError: riposte failed.
    """

    label = "quality"

    def __init__(self, *, as_score: bool = False, text: str = "text", models: str | os.PathLike[str] | None = None, numeric: str = "auto") -> None:
        self.as_score = as_score
        self.text = text
        self.models = models
        self.numeric = numeric

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        needed = ["query", self.text, *(["qid"] if self.as_score else [])]
        pt.validate.columns(inp, includes=needed, context=self)
        pairs = pd.DataFrame({"query": inp["query"], "text": inp[self.text]}, index=inp.index)
        out = inp.assign(quality=quality(pairs, models=self.models, numeric=self.numeric)["quality"])
        return pt.model.add_ranks(out.assign(score=out["quality"])) if self.as_score else out


#: The recipe that gives each passage the cross-encoder's score. The search finds those whose `expansion` has the word in the topic's description, and
#: nothing else reads the two. One window is the whole text; the model reads as much of it as it can.
_CROSS = """
name = "cross"
keep = { short = true, duplicates = true }

[[retrieval]]
analyzer = "tokens=words"
similarity = { name = "bm25", k1 = 0.9, b = 0.4 }
fields = { expansion = 1.0 }

[rerank]
depth = 1000
weights = { cross = 1.0 }
scale = "raw"
combine = "sum"
only = true
windows = { words = 100000, step = 100000, most = 1 }
"""
#: Number of texts in a list that riposte ranks: as many as `depth` of the recipe.
_LIST = 1000


class CrossEncoder(Transformer):
    """Ranks texts again by a cross-encoder, which reads the query and the text together.

    In: a frame with the columns `qid`, `query` and `text`.

    Out: the same rows; `score` is that of the model, to six decimals, and `rank` its rank. Different texts of a query with the same score are told apart by a millionth.

    For each frame, the program is started and loads the model, so give it many queries in one frame.

    Args:
        model: the name of a cross-encoder: "ms-marco-minilm-l6" (`riposte models fetch ms-marco-minilm-l6`), or one of your own (`riposte models add DIR`).
        text: the name of the column with the texts. The model reads the beginning of a long text: for ms-marco-minilm-l6, 512 tokens with the query.
        models, numeric: as for `StanceAnnotator`.

    Raises (when it transforms):
        ValueError: a text or a query is missing or empty; the message names the row.
        RiposteError: the model is not installed, or riposte failed.
    """

    label = "cross-encoder"

    def __init__(
        self, model: str = "ms-marco-minilm-l6", *, text: str = "text", models: str | os.PathLike[str] | None = None, numeric: str = "auto"
    ) -> None:
        self.model = model
        self.text = text
        self.models = models
        self.numeric = numeric

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        pt.validate.columns(inp, includes=["qid", "query", self.text], context=self)
        pairs = list(zip(inp["query"], inp[self.text]))
        for n, pair in enumerate(pairs):
            for name, value in zip(("query", self.text), pair):
                if why := _layout.unfit_text(value) or (None if value.strip() else "is empty"):
                    raise ValueError(f"the {name} of row {n} {why}")
        scores = self._scores(list(dict.fromkeys(pairs))) if pairs else {}
        score = pd.Series([scores[pair] for pair in pairs], dtype="float64", index=inp.index)
        return pt.model.add_ranks(inp.assign(score=score))

    def _scores(self, pairs: list[tuple[str, str]]) -> dict[tuple[str, str], float]:
        """The scores of pairs of a query and a text."""
        numbers: dict[str, list[int]] = {}
        for n, (query, _) in enumerate(pairs):
            numbers.setdefault(query, []).append(n)
        lists = [(query, of[at : at + _LIST]) for query, of in numbers.items() for at in range(0, len(of), _LIST)]
        # no query has this word
        word = uuid.uuid4().hex
        topics = [{"qid": str(n), "query": query, "description": f"{word}{n}"} for n, (query, _) in enumerate(lists)]
        passages = [{"id": str(pair), "contents": pairs[pair][1], "expansion": f"{word}{n}"} for n, (_, of) in enumerate(lists) for pair in of]
        with tempfile.TemporaryDirectory(prefix="riposte-") as work:
            for name, lines in (("queries.jsonl", topics), ("passages.jsonl", passages)):
                Path(work, name).write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), "utf-8")
            (recipe := Path(work, "cross.toml")).write_text(_CROSS, "utf-8")
            command: list[str | os.PathLike[str]] = ["comparative", "--quiet=progress", "--no-stance", "--no-metadata", "-i", work, "-o", work]
            command += ["--use", "description", "--approach", recipe]
            # its notes are about other models and about stances, which have no part in the score
            run([*command, *options(cross=self.model, index=Path(work, "index"), models=self.models, numeric=self.numeric)])
            # topic, stance, document, rank, score, tag
            fields = (line.split(" ") for line in Path(work, "run.txt").read_text("utf-8").splitlines())
            return {pairs[int(of[2])]: float(of[4]) for of in fields}


class ImageRetriever(Transformer):
    """Ranks the images of a collection for and against each query.

    In: a frame with the columns `qid` and `query`. Other columns are kept.

    Out: a row for each image of the two lists, with the additional columns `docno`, `stance` ("PRO" or "CON"), `score` and `rank` (from 0). With both lists, the
    ranks of a query are those of all its images by their scores; with one, those of the list.

    Args:
        collection: the collection, or its directory.
        stance: "PRO" or "CON" keeps one list.
        approach: as in `Collection.rank`.
        settings: as in `Collection.rank`.

    Raises (when it transforms):
        ValueError: a `qid` or `query` is missing, or a `qid` occurs twice.
        RiposteError: riposte cannot rank.
    """

    label = "images"

    def __init__(
        self,
        collection: Collection | str | os.PathLike[str],
        stance: str | None = None,
        *,
        approach: str | os.PathLike[str] = "riposte",
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        if stance not in (None, "PRO", "CON"):
            raise ValueError(f"stance is {stance!r}, but must be 'PRO', 'CON' or None")
        self.collection = collection if isinstance(collection, Collection) else Collection(collection, task="images")
        self.stance = stance
        self.approach = approach
        self.settings = settings

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        pt.validate.columns(inp, includes=["qid", "query"], excludes=["docno"], context=self)
        inp = inp.assign(qid=inp["qid"].astype(str))
        ranked = self.collection.images(inp, approach=self.approach, settings=self.settings, explain=False).to_frame() if len(inp) else None
        lines = [] if ranked is None else [row for row in ranked.itertuples() if self.stance in (None, row.stance)]
        columns = {"qid": [row.topic for row in lines], "docno": [row.document for row in lines], "stance": [row.stance for row in lines]}
        found = pd.DataFrame({**columns, "score": pd.Series([row.score for row in lines], dtype="float64")}).astype({name: str for name in columns})
        kept = inp.drop(columns=["stance", "score", "rank"], errors="ignore")
        return pt.model.add_ranks(kept.merge(found, on="qid", how="inner", sort=False))
