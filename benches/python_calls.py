#!/usr/bin/env python3
"""Times 1,000 calls of the Python package, beside ir_measures, beside starting the program for each call, and beside sentence-transformers.

    PYTHONPATH=python/src RIPOSTE_BINARY="$PWD/target/release/riposte" python3 benches/python_calls.py [CALLS [MODEL]]

Needs pandas and ir_measures, and the sentence model for the stances. Where sentence-transformers is installed, MODEL, the directory of
all-MiniLM-L6-v2 (`riposte models list` says where the models are), is timed with it, too.
"""

import importlib.util
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import ir_measures
import riposte

TOPICS, DOCUMENTS = 50, 100
CALLS = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
QUESTION = "Should zoos be closed?"


def timed(what: str, call: Callable[[int], object], calls: int = CALLS) -> None:
    calls = min(calls, CALLS)
    call(-1)  # starts the process, and loads the model
    start = time.perf_counter()
    for number in range(calls):
        call(number)
    print(f"{what}: {(time.perf_counter() - start) / calls * 1000:.2f} ms a call, {calls} calls")


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
        timed(f"riposte.evaluate of files: {size}", lambda _: riposte.evaluate(run, qrels, ["nDCG@10", "AP"]))
        timed("riposte.evaluate of a run with one document", lambda _: riposte.evaluate(small, qrels, ["AP"]))
        measures = [ir_measures.nDCG @ 10, ir_measures.AP]
        grades = list(ir_measures.read_trec_qrels(str(qrels)))
        for name, provider in [("ir_measures by riposte", riposte.measures.provider), ("ir_measures by itself", ir_measures.pytrec_eval)]:
            evaluator = provider.evaluator(measures, grades)
            timed(f"{name}, a run in memory: {size}", lambda _, evaluator=evaluator: evaluator.calc_aggregate(ranked))
        timed(
            "ir_measures by itself, files: " + size,
            lambda _: ir_measures.calc_aggregate(measures, ir_measures.read_trec_qrels(str(qrels)), ir_measures.read_trec_run(str(run))),
            200,
        )
        timed("riposte.verify: the same run", lambda _: riposte.verify(run, task="rank"))
        timed("riposte.stance of one text", lambda n: riposte.stance([(QUESTION, text(n))]))
        timed("riposte.quality of one text", lambda n: riposte.quality([(QUESTION, text(n))]))
        timed(f"riposte.stance of {CALLS} texts", lambda _: riposte.stance([(QUESTION, text(n)) for n in range(CALLS)]), 1)
        if importlib.util.find_spec("sentence_transformers") and len(sys.argv) > 2:
            sentence_transformers(sys.argv[2])


def text(n: int) -> str:
    return f"Cages make animals ill, and {n} of them die."


def sentence_transformers(model: str) -> None:
    """The same texts by sentence-transformers, which does less with each: a vector of the text, or three numbers of the question and the text.

    A stance is read from the whole text and from its sentences, and from lists of words. The head of the cross-encoder here has random weights,
    because only its time is of interest.
    """
    from sentence_transformers import CrossEncoder, SentenceTransformer

    encoder, cross = SentenceTransformer(model, device="cpu"), CrossEncoder(model, num_labels=3, device="cpu")
    timed("sentence-transformers, the vector of one text", lambda n: encoder.encode([text(n)]))
    timed("sentence-transformers, a cross-encoder of one text", lambda n: cross.predict([(QUESTION, text(n))]))
    timed(f"sentence-transformers, the vectors of {CALLS} texts", lambda _: encoder.encode([text(n) for n in range(CALLS)]), 1)
    timed(f"sentence-transformers, a cross-encoder of {CALLS} texts", lambda _: cross.predict([(QUESTION, text(n)) for n in range(CALLS)]), 1)


if __name__ == "__main__":
    main()
