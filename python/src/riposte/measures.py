"""Lets ir_measures compute by riposte.

    import ir_measures, riposte
    ir_measures.calc_aggregate([ir_measures.nDCG @ 10], qrels, run)            # by its own providers
    riposte.measures.provider.calc_aggregate([ir_measures.nDCG @ 10], qrels, run)   # by riposte

Importing this module registers the provider "riposte" with ir_measures. Needs the package ir_measures, which PyTerrier installs.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

try:
    import ir_measures
    from ir_measures import providers

    # it has no types
    _util: Any = ir_measures.util
except ImportError as error:
    raise ImportError(f"riposte.measures needs ir_measures ({error}): pip install ir_measures") from error

from ._judge import evaluated_files
from ._program import RiposteError

__all__ = ["RiposteProvider", "provider"]


@lru_cache(maxsize=1024)
def _is_known(name: str) -> bool:
    """Whether riposte can compute a measure of documents with grades."""
    with tempfile.TemporaryDirectory(prefix="riposte-") as work:
        try:
            evaluated_files(_written(Path(work, "qrels.json"), {"1": {"d": 1}}), _written(Path(work, "run.json"), {"1": {"d": 1.0}}), [name])
        except RiposteError:
            return False
    return True


def _written(path: Path, of: dict[str, dict[str, Any]]) -> Path:
    path.write_text(json.dumps(of), "utf-8")
    return path


class RiposteProvider(providers.Provider):  # type: ignore[misc, unused-ignore]
    """Computes by `riposte evaluate`, without starting a process for each run."""

    NAME = "riposte"

    def supports(self, measure: Any) -> bool:
        measure.validate_params()
        return _is_known(str(measure))

    def _evaluator(self, measures: Iterable[Any], qrels: Any) -> _Evaluator:
        grades = _util.QrelsConverter(qrels).as_dict_of_dict()
        return _Evaluator(list(dict.fromkeys(measures)), {str(qid): dict(documents) for qid, documents in grades.items()})


class _Evaluator(providers.Evaluator):  # type: ignore[misc, unused-ignore]
    """Judgements, which are written once, and the measures of one run after the other."""

    def __init__(self, measures: list[Any], grades: dict[str, dict[str, int]]) -> None:
        super().__init__(measures, list(grades))
        self._work = tempfile.TemporaryDirectory(prefix="riposte-")
        self._qrels = _written(Path(self._work.name, "qrels.json"), grades)

    def _iter_calc(self, run: Any) -> Iterator[Any]:
        scores = _util.RunConverter(run).as_dict_of_dict()
        scores = {str(qid): {docno: float(score) for docno, score in documents.items()} for qid, documents in scores.items() if documents}
        if not scores:
            return
        file = _written(Path(self._work.name, "run.json"), scores)
        values = evaluated_files(self._qrels, file, [str(measure) for measure in self.measures])
        # riposte prints the measures in the order in which they were asked for, some under another of their names
        of = dict(zip(dict.fromkeys(value["measure"] for value in values), self.measures))
        for value in values:
            if value["topic"] != "all":
                yield ir_measures.Metric(query_id=value["topic"], measure=of[value["measure"]], value=value["value"])


#: The provider, as ir_measures knows it under the name "riposte".
provider = RiposteProvider()  # type: ignore[no-untyped-call, unused-ignore]
providers.registry[provider.NAME] = provider
