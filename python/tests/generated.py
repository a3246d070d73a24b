"""Generates collections of random words, with a fixed seed. Some documents fit a query better than others."""

import json
import random
from pathlib import Path

SUBJECTS = ["school uniforms", "nuclear energy", "animal testing", "electric cars", "voting machines", "space travel"]
WORDS = "people say that this costs money and takes time while others think it helps the public in the long run of things".split()


def text(chance: random.Random, subject: str, fits: float) -> str:
    """Thirty words, some of which are those of the subject."""
    words = [chance.choice(subject.split()) if chance.random() < fits else chance.choice(WORDS) for _ in range(30)]
    return " ".join(words).capitalize() + "."


def documents(count: int = 60) -> list[dict[str, str]]:
    chance = random.Random(1)
    subjects = [SUBJECTS[n % len(SUBJECTS)] for n in range(count)]
    return [{"docno": f"d{n}", "text": text(chance, subject, chance.random() / 2), "title": f"Part {n}"} for n, subject in enumerate(subjects)]


def judgements(count: int = 60) -> list[tuple[str, str, int]]:
    """A grade from 0 to 2 for two thirds of the documents, for the query of their subject."""
    chance = random.Random(2)
    pairs = [(str(n % len(SUBJECTS) + 1), f"d{n}") for n in range(count)]
    return [(qid, docno, chance.randrange(3)) for qid, docno in pairs if chance.random() < 0.67]


def write_arguments(directory: Path, count: int = 60) -> None:
    """Writes `args-me.json` in the format of version 2020-04-01 of args.me."""
    chance = random.Random(3)
    arguments = []
    for n in range(count):
        subject = SUBJECTS[n % len(SUBJECTS)]
        premises = [{"text": text(chance, subject, chance.random() / 2), "stance": chance.choice(["PRO", "CON"]), "annotations": []}]
        context = {
            "acquisitionTime": "2019-04-18T17:05:08Z",
            "sourceId": f"s{n}",
            "sourceTitle": f"Debate {n}",
            "sourceUrl": f"https://www.debate.org/{n}",
            "discussionTitle": f"On {subject}",
        }
        arguments.append({"id": f"S{n:08x}-A{n:08x}", "conclusion": f"{subject} are good", "premises": premises, "context": context})
    directory.mkdir(exist_ok=True)
    (directory / "args-me.json").write_text(json.dumps({"arguments": arguments}))


PASSAGES = [
    "Cats are much cleaner than dogs, so for a small flat I would always prefer a cat over a dog, whatever my neighbours say about it.",
    "Dogs are better than cats: a dog is loyal, a dog guards the house, and a dog plays with the children, which a cat never does at all.",
    "Cats and dogs are both fine pets, and which of them is better depends on how much time you have for a walk in the morning.",
    "The history of pets goes back many thousand years, and there are drawings of cats and dogs on the walls of several tombs in Egypt.",
]


def write_passages(directory: Path) -> None:
    directory.mkdir(exist_ok=True)
    lines = [json.dumps({"id": f"page-{n}___1", "contents": words, "chatNoirUrl": f"https://example.org/{n}"}) for n, words in enumerate(PASSAGES)]
    (directory / "passages.jsonl").write_text("\n".join(lines) + "\n")
