#!/usr/bin/env python3
"""Times 1,000 calls of the Python package, beside starting the program for each call, beside ir_measures, and beside sentence-transformers.

    PYTHONPATH=python/src RIPOSTE_BINARY="$PWD/target/release/riposte" python3 benches/python_calls.py [CALLS [MODEL]]

Needs pandas and ir_measures, and the sentence model for the stances. Where sentence-transformers is installed, MODEL, the directory of
all-MiniLM-L6-v2 (`riposte models list` says where the models are), is timed with it, too.

What is compared is called in turn, so that both meet the same disturbances; `ratio` is the time of riposte divided by that of the other: that of the middle
one of five rounds, the smallest and the largest.
"""

import importlib.util
import itertools
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import ir_measures
import riposte

TOPICS, DOCUMENTS = 50, 100
CALLS = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
ROUNDS = 5
QUESTION = "Should zoos be closed?"
Call = Callable[[int], object]
#: Each call gets a number of its own, so that no text is read twice.
NUMBERS = itertools.count()


def seconds(call: Call) -> float:
    start = time.perf_counter()
    call(next(NUMBERS))
    return time.perf_counter() - start


def timed(what: str, call: Call, calls: int = CALLS) -> None:
    calls = min(calls, CALLS)
    call(next(NUMBERS))  # starts the process, and loads the model
    print(f"{what}: {sum(seconds(call) for _ in range(calls)) / calls * 1000:.2f} ms a call, {calls} calls", flush=True)


def in_turn(what: str, mine: Call, other: str, theirs: Call, calls: int = CALLS, items: int = 1) -> None:
    """Times two programs in turn. `items` is the number of texts in a call: times are printed for one."""
    calls = max(1, min(calls, CALLS) // ROUNDS)
    for call in (mine, theirs):
        call(next(NUMBERS))
    # for each round: the seconds of both
    rounds = [[sum(of) for of in zip(*((seconds(mine), seconds(theirs)) for _ in range(calls)))] for _ in range(ROUNDS)]
    ours, others = (statistics.median(of[n] for of in rounds) / calls / items * 1000 for n in (0, 1))
    ratios = sorted(of[0] / of[1] for of in rounds)
    middle = ratios[ROUNDS // 2]
    print(
        f"{what}: {ours:.2f} ms; {other}: {others:.2f} ms; ratio {middle:.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f}), {ROUNDS} x {calls} calls",
        flush=True,
    )


def main() -> None:
    chance = random.Random(1)
    with tempfile.TemporaryDirectory() as work:
        run, qrels, small = (Path(work, name) for name in ("run.txt", "qrels.txt", "small.txt"))
        ranked = {str(topic): {f"d{n}": chance.random() for n in range(DOCUMENTS)} for topic in range(1, TOPICS + 1)}
        riposte.Run.from_dict(ranked).write(run)
        riposte.Run.from_dict({"1": {"d1": 1.0}}).write(small)
        qrels.write_text("".join(f"{topic} 0 d{n} {chance.randrange(3)}\n" for topic in ranked for n in range(0, DOCUMENTS, 3)))
        words = ["evaluate", "--json", "--qrels", qrels, run, "nDCG@10", "AP"]
        size = f"{TOPICS} topics of {DOCUMENTS} documents, nDCG@10 and AP"
        timed(f"riposte.run, which starts the program: {size}", lambda _: riposte.run(words), 200)
        timed("riposte.evaluate of a run with one document", lambda _: riposte.evaluate(small, qrels, ["AP"]))
        measures = [ir_measures.nDCG @ 10, ir_measures.AP]
        in_turn(
            f"riposte.evaluate of files: {size}",
            lambda _: riposte.evaluate(run, qrels, ["nDCG@10", "AP"]),
            "ir_measures of the same files",
            lambda _: ir_measures.calc_aggregate(measures, ir_measures.read_trec_qrels(str(qrels)), ir_measures.read_trec_run(str(run))),
        )
        grades = list(ir_measures.read_trec_qrels(str(qrels)))
        by_riposte, by_itself = (provider.evaluator(measures, grades) for provider in (riposte.measures.provider, ir_measures.pytrec_eval))
        in_turn(
            "ir_measures of a run in memory, by riposte",
            lambda _: by_riposte.calc_aggregate(ranked),
            "by itself",
            lambda _: by_itself.calc_aggregate(ranked),
        )
        timed("riposte.verify: the same run", lambda _: riposte.verify(run, task="rank"))
        timed("riposte.stance of one text", stance)
        timed("riposte.quality of one text", lambda n: riposte.quality([(QUESTION, text(n))]))
        timed(f"riposte.stance of {CALLS} texts", lambda n: riposte.stance([(QUESTION, text(of)) for of in many(n)]), 1)
        if importlib.util.find_spec("sentence_transformers") and len(sys.argv) > 2:
            sentence_transformers(sys.argv[2])


def text(n: int) -> str:
    return f"Cages make animals ill, and {n} of them die."


def stance(n: int) -> object:
    return riposte.stance([(QUESTION, text(n))])


def many(n: int) -> range:
    """The numbers of as many texts as there are calls; none is that of another call."""
    return range(1_000_000 * (n + 1), 1_000_000 * (n + 1) + CALLS)


def sentence_transformers(model: str) -> None:
    """The same texts by sentence-transformers, which does less with each: a vector of the text, or three numbers of the question and the text.

    A stance is read from the whole text and from its sentences, and from lists of words. The head of the cross-encoder here has random weights,
    because only its time is of interest.
    """
    from sentence_transformers import CrossEncoder, SentenceTransformer

    encoder, cross = SentenceTransformer(model, device="cpu"), CrossEncoder(model, num_labels=3, device="cpu")
    others: list[tuple[str, Call, Call]] = [
        (
            "the vector of a text by sentence-transformers",
            lambda n: encoder.encode([text(n)]),
            lambda n: encoder.encode([text(of) for of in many(n)]),
        ),
        (
            "a cross-encoder of the question and a text by sentence-transformers",
            lambda n: cross.predict([(QUESTION, text(n))]),
            lambda n: cross.predict([(QUESTION, text(of)) for of in many(n)]),
        ),
    ]
    for other, one, all_of_them in others:
        in_turn("riposte.stance, a text a call", stance, other, one)
        whole = lambda n: riposte.stance([(QUESTION, text(of)) for of in many(n)])  # noqa: E731
        in_turn(f"riposte.stance, {CALLS} texts a call", whole, other, all_of_them, 1, CALLS)


if __name__ == "__main__":
    main()
