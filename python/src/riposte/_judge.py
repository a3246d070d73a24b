"""Evaluates, compares and verifies runs, in the process that goes on (`_calls`)."""

from __future__ import annotations

import itertools
import json
import os
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from subprocess import CompletedProcess
from typing import TYPE_CHECKING, Any, TypeAlias, Union

from . import _frames
from ._calls import call
from ._frames import options, pandas
from ._program import checked
from ._run import Run

if TYPE_CHECKING:
    import pandas as pd

#: A run: a file, a directory with a `run.txt`, a `Run`, a data frame, or `{topic: {document: score}}`.
RunLike: TypeAlias = Union[str, "os.PathLike[str]", Run, "pd.DataFrame", Mapping[str, Mapping[str, float]]]
#: Judgements: a file or the name of a data set, a data frame, or `{topic: {document: grade}}`.
QrelsLike: TypeAlias = Union[str, "os.PathLike[str]", "pd.DataFrame", Mapping[str, Mapping[str, int]]]


def evaluate(
    runs: RunLike | Sequence[RunLike] | Mapping[str, RunLike],
    qrels: QrelsLike | Sequence[QrelsLike] | Mapping[str, QrelsLike],
    measures: Sequence[object] | str = (),
    *,
    by_topic: bool = False,
    ci: bool = False,
    compare: bool = False,
    correction: str | None = None,
    test: str = "randomisation",
    edition: int | None = None,
) -> pd.DataFrame:
    """Measures runs by judgements, as `riposte evaluate` does: the values are those that it prints, to the last digit. No process is started.

    Args:
        runs: one run, a list of runs, or `{name: run}`. A run is a file (plain, gzip or zstd), a directory with a `run.txt`, a `Run`, a data frame
            with the columns `qid`, `docno` and `score`, as PyTerrier has them, or `{topic: {document: score}}`.
        qrels: the same with judgements: a file, the name of a data set, a data frame with `qid`, `docno` and `label`, or `{topic: {document: grade}}`.
        measures: measures under their names in ir_measures or trec_eval, such as `"nDCG@5"`, or objects of ir_measures. By default those that the
            organisers use for judgements of this kind.
        by_topic: also the values of each topic.
        ci: add the 95% confidence interval of each mean (bootstrap over the topics, 10,000 samples).
        compare: add how each run differs from the first.
        correction: correct the p-values for the number of comparisons of all runs: "bonferroni", "holm" or "tukey". By default they are not.
        test: "randomisation" or "t-test", both paired.
        edition: edition of the image task, 2022 or 2023, which decides the grades that count as relevant.

    Returns:
        A row for each run, judgements, measure and topic, in this order. A `Run` without a name has that of its tag. Columns: `run`, `qrels`, `measure`, `topic` (strings; the topic "all" is the
        mean over topics), `value` (float). With `ci`, `low` and `high`; with `compare`, `difference` (this run minus the first), `p` (0 to 1),
        `effect_size` (Cohen's d of the paired differences) and `significant` (p below .05). They are missing (NaN, None) for single topics, and for the first run.

    Warns:
        RiposteWarning: lines that cannot be read, or topics without judgements.

    Raises:
        RiposteError: a file cannot be read, or a measure does not exist or cannot be computed from these judgements.
        ValueError: a frame lacks a column, or has a document twice for a topic.

    Example:
        >>> run = {"1": {"d1": 2.0, "d2": 1.0}, "2": {"d3": 1.0}}
        >>> qrels = {"1": {"d2": 1}, "2": {"d3": 1}}
        >>> riposte.evaluate(run, qrels, ["P@1", "RR"])[["measure", "topic", "value"]]
          measure topic  value
        0     P@1   all   0.50
        1      RR   all   0.75
    """
    named = _named(runs)
    wants_comparisons = compare and len(named) > 1
    flags = [*(["--by-topic"] if by_topic else []), *(["--ci"] if ci else [])]
    if wants_comparisons:
        flags += ["--correction", correction or "none"]
    elif correction is not None:
        raise ValueError("correction corrects comparisons: give compare=True and two or more runs")
    values, comparisons = _evaluated(named, _named(qrels), measures, [*flags, "--test", test, *options(edition=edition)])
    rows = [dict(value, value=_number(value["value"])) for value in values if value["topic"] not in ("all.low", "all.high")]
    if ci:
        bounds = {(value["run"], value["qrels"], value["measure"], value["topic"]): _number(value["value"]) for value in values}
        for row in rows:
            key = (row["run"], row["qrels"], row["measure"])
            for name in ("low", "high"):
                row[name] = bounds.get((*key, f"all.{name}"), float("nan")) if row["topic"] == "all" else float("nan")
    frame = _frames.new_frame(rows, columns=["run", "qrels", "measure", "topic", "value", *(["low", "high"] if ci else [])])
    if compare:
        first = next(iter(frame["run"]), None)
        found = {(c["second"], c["qrels"], c["measure"]): c for c in comparisons if c["first"] == first}
        keys = zip(frame["run"], frame["qrels"], frame["measure"], frame["topic"])
        pairs = [found.get(key[:3], {}) if key[3] == "all" else {} for key in keys]
        for name in ("difference", "p", "effect_size"):
            frame[name] = [_number(pair.get(name)) for pair in pairs]
        frame["significant"] = pandas().Series([pair.get("significant") for pair in pairs], dtype=object, index=frame.index)
    return frame


def compare(
    runs: Sequence[RunLike] | Mapping[str, RunLike],
    qrels: QrelsLike | Sequence[QrelsLike] | Mapping[str, QrelsLike],
    measures: Sequence[object] | str = (),
    *,
    correction: str = "holm",
    test: str = "randomisation",
    alpha: float = 0.05,
    edition: int | None = None,
) -> pd.DataFrame:
    """Compares all runs with each other.

    Args:
        runs, qrels, measures, test, edition: as in `evaluate`. Two or more runs.
        correction: "bonferroni", "holm", "tukey" or "none".
        alpha: highest p of a significant difference.

    Returns:
        A row for each judgements, measure and pair of runs. Columns: `first`, `second`, `qrels`, `measure` (strings), `difference` (second minus
        first), `topics` (their number), `test`, `correction`, `p` (0 to 1), `effect_size`, `significant` (bool).

    Example:
        >>> qrels = {str(n): {"d1": 1} for n in range(8)}
        >>> good = {str(n): {"d1": 2.0, "d2": 1.0} for n in range(8)}
        >>> bad = {str(n): {"d1": 1.0, "d2": 2.0} for n in range(8)}
        >>> compared = riposte.compare({"good": good, "bad": bad}, qrels, ["RR"])
        >>> print(compared.loc[0, "difference"], bool(compared.loc[0, "significant"]))
        -0.5 True
    """
    flags = ["--correction", correction, *options(alpha=alpha, edition=edition)]
    if correction != "tukey":
        flags += ["--test", test]
    _, comparisons = _evaluated(_named(runs), _named(qrels), measures, flags)
    rows = [{**row, **{name: _number(row[name]) for name in ("difference", "p", "effect_size")}} for row in comparisons]
    names = ["first", "second", "qrels", "measure", "difference", "topics", "test", "correction", "p", "effect_size", "significant"]
    return _frames.new_frame(rows, columns=names)


def _number(value: float | None) -> float:
    return float("nan") if value is None else float(value)


def _evaluated(
    runs: list[tuple[str | None, Any]], qrels: list[tuple[str | None, Any]], measures: Sequence[object] | str, flags: list[str]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The values and the comparisons that `riposte evaluate --format json` prints."""
    with _files() as file:
        words = [word for name, of in _called(qrels, "qrels") for word in ("--qrels", _word(name, file(of, "label")))]
        words += [_word(name, file(of, "score")) for name, of in _called(runs, "run")]
        words += [measures] if isinstance(measures, str) else [str(measure) for measure in measures]
        done = call(["evaluate", "--format", "json", *flags, *words], stacklevel=4)
    answer = json.loads(_frames.with_notes(done, 4))
    return answer["values"], answer.get("comparisons", [])


def evaluated_files(qrels: Path, run: Path, measures: Sequence[str]) -> list[dict[str, Any]]:
    """The values of each topic and of all, for a run and judgements in files."""
    done = call(["evaluate", "--format", "json", "--by-topic", "--qrels", qrels, run, *measures], stacklevel=4)
    values: list[dict[str, Any]] = json.loads(done.stdout)["values"]
    return values


def _named(of: Any) -> list[tuple[str | None, Any]]:
    """Runs or judgements with their names, None if they have none."""
    if isinstance(of, Mapping):
        inside = [value for value in of.values() if isinstance(value, Mapping)]
        is_single = all(not isinstance(item, Mapping) for value in inside for item in value.values())
        return [(None, of)] if len(inside) == len(of) and is_single else [(str(name), value) for name, value in of.items()]
    if isinstance(of, (str, os.PathLike, Run)) or _frames.is_frame(of):
        return [(None, of)]
    return [(None, one) for one in of]


def _called(named: list[tuple[str | None, Any]], noun: str) -> Iterator[tuple[str | None, Any]]:
    """What is in memory gets a name: a `Run` its tag, other things the noun, with a number if another one has it. The program names files."""
    taken = {name for name, _ in named}
    for name, of in named:
        if name is None and not isinstance(of, (str, os.PathLike)):
            plain = re.sub(r"[=/]", "-", of.tag) if isinstance(of, Run) and of.tag else noun
            name = next(one for one in itertools.chain([plain], (f"{plain}-{n}" for n in itertools.count(2))) if one not in taken)
            taken.add(name)
        yield name, of


def _word(name: str | None, path: str) -> str:
    """A file as the program takes it. A name before `=` would end at the first `/`."""
    if name is None:
        return path
    if "=" in name or "/" in name or not name:
        raise ValueError(f"{name!r} cannot be the name of a run: it is empty, or has = or /")
    return f"{name}={path}"


@contextmanager
def _files() -> Iterator[Any]:
    """A function that gives the file of a run or of judgements; what is in memory is written to a temporary directory."""
    with ExitStack() as stack:
        numbers = itertools.count(1)

        @cache
        def work() -> Path:
            # only if something is in memory: removing a directory can take longer than measuring a small run
            return Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="riposte-")))

        def file(of: Any, value: str) -> str:
            if isinstance(of, (str, os.PathLike)):
                return os.fspath(of)
            if isinstance(of, Run):
                return str(of.write(work() / f"run-{next(numbers)}" / "run.txt"))
            if _frames.is_frame(of):
                of = _by_topic(of, value)
            path = work() / f"{'run' if value == 'score' else 'qrels'}-{next(numbers)}.json"
            path.write_text(json.dumps({str(topic): dict(documents) for topic, documents in of.items()}), "utf-8")
            return str(path)

        yield file


def _by_topic(frame: pd.DataFrame, value: str) -> dict[str, dict[str, float]]:
    """A frame of PyTerrier, or one with the columns of ir_measures, as `{topic: {document: value}}`."""
    topic = _frames.column(frame, "qid", "query_id", "topic")
    document = _frames.column(frame, "docno", "doc_id", "document")
    number = _frames.column(frame, value, *(["relevance", "grade"] if value == "label" else []))
    found: dict[str, dict[str, float]] = {}
    for qid, docno, amount in zip(frame[topic].astype(str), frame[document].astype(str), frame[number].tolist()):
        documents = found.setdefault(qid, {})
        if docno in documents:
            raise ValueError(f"the frame has the document {docno!r} twice for the topic {qid!r}")
        documents[docno] = amount
    return found


@dataclass(frozen=True)
class Finding:
    """What is wrong with a run, or unusual.

    Attributes:
        severity: "error": the run breaks a rule; "refused by TIRA": only TIRA's format check does not accept it; "warning": probably a mistake; "note".
        rule: the name of the rule.
        line: the line of the run, from 1; None if it is about the whole run.
        what: a sentence.
        hint: what would mend it, or None.
    """

    severity: str
    rule: str
    line: int | None
    what: str
    hint: str | None = None


@dataclass(frozen=True)
class Verdict:
    """The result of `verify`. It is true if the run is valid.

    Attributes:
        run: the file.
        task: "images", "controversial", "comparative" or "rank".
        valid: whether the run keeps the organisers' rules.
        refused_by_tira: whether TIRA's format check refuses it.
        findings: all findings, in the order of the file.
    """

    run: str
    task: str
    valid: bool
    refused_by_tira: bool
    findings: list[Finding] = field(default_factory=list)

    def __bool__(self) -> bool:
        return self.valid

    def to_frame(self) -> pd.DataFrame:
        """A row for each finding, with the fields of `Finding`."""
        names = ["severity", "rule", "line", "what", "hint"]
        return _frames.new_frame([[getattr(of, name) for name in names] for of in self.findings], columns=names)

    def _repr_html_(self) -> str:
        from . import _show

        word = "valid" if self.valid else "not valid"
        rows = [[of.severity, "" if of.line is None else str(of.line), of.what, of.hint or ""] for of in self.findings]
        return _show.table(["", "line", "what", "hint"], rows, f"{self.task}: {word}, {len(self.findings)} findings")


def verify(
    run: RunLike,
    *,
    collection: str | os.PathLike[str] | None = None,
    task: str | None = None,
    edition: int | None = None,
    ids: str | os.PathLike[str] | None = None,
    topics: str | os.PathLike[str] | None = None,
) -> Verdict:
    """Checks a run by the organisers' rules, as `riposte verify` does. No process is started.

    Args:
        run: a file, a directory with a `run.txt`, or a `Run`.
        collection: directory of the collection whose topics and ids are expected, or the name of a data set.
        task: "images", "controversial", "comparative" or "rank". By default inferred.
        edition: year of the lab. By default inferred.
        ids: file of the expected ids, one per line, instead of a collection.
        topics: file of the expected topics.

    Returns:
        A `Verdict`, which is true if the run is valid.

    Raises:
        RiposteError: a file cannot be read.

    Example:
        >>> riposte.Run.from_dict({"1": {"d1": 2.0, "d2": 1.0}}, tag="mine").write("mine.txt").name
        'mine.txt'
        >>> bool(riposte.verify("mine.txt", task="rank"))
        True
    """
    # what gives a run a form that the rules know: a file, or a `Run`
    if not isinstance(run, (str, os.PathLike, Run)):
        run = Run.from_frame(run) if _frames.is_frame(run) else Run.from_dict(run)  # type: ignore[arg-type]
    with _files() as file:
        path = os.fspath(run) if isinstance(run, (str, os.PathLike)) else file(run, "score")
        given = options(input=collection, task=task, edition=edition, ids=ids, topics=topics)
        done = call.raw(["verify", "--json", *given, path])
    # a run that is not valid has the exit code 1, and is no reason for a warning
    code = 0 if done.returncode == 1 and done.stdout else done.returncode
    checked(CompletedProcess(done.args, code, done.stdout, done.stderr), "riposte verify", 3)
    found = json.loads(done.stdout)
    findings = [Finding(of["severity"], of["rule"], of["line"], of["what"], of["hint"]) for of in found["findings"]]
    return Verdict(found["run"], found["task"], found["valid"], found["refused_by_tira"], findings)


__all__ = ["Finding", "Verdict", "compare", "evaluate", "verify"]
