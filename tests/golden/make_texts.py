#!/usr/bin/env python3
"""Makes the golden runs of the text tasks again: each approach ranks a small generated collection, without models.

    make_texts.py RIPOSTE COLLECTION_TOOLS

Writes tests/golden/texts/TASK/topics.xml and APPROACH.tsv, with which tests/it/golden_texts.rs compares each build. Each line is a
document of the run: topic, document, second column, score in the run, and the full-precision score of --explain (empty if the document is
not explained). Run it only for a change that is meant to change rankings, and read the difference.
"""
import collections, gzip, json, os, pathlib, re, subprocess, sys, tempfile

TASKS = {"controversial": "generate-arguments", "comparative": "generate-passages", "rank": "generate-beir"}
COUNT, SEED, TOPICS = 160, 7, 4


def documents(collection):
    """The words of each document, in lower case."""
    arguments, corpus = collection / "args-me.json", collection / "corpus.jsonl"
    if corpus.is_file():
        texts = [json.loads(line)["text"] for line in corpus.read_text().splitlines()]
    elif arguments.is_file():
        texts = [a["premises"][0]["text"] for a in json.loads(arguments.read_text())["arguments"]]
    else:
        with gzip.open(collection / "passages.jsonl.gz", "rt") as file:
            texts = [json.loads(line)["contents"] for line in file]
    return [set(re.findall("[a-z]+", text.lower())) for text in texts]


def topics(collection, compares):
    """Questions with words that several documents contain. Words of the generator's own topics are too rare in such a small collection."""
    counts = collections.Counter(word for words in documents(collection) for word in words)
    known = sorted(word for word, count in counts.items() if 6 <= count <= 40 and len(word) > 3)
    lines = []
    for number in range(TOPICS):
        a, b, c, d = (known[(number * 37 + step * 59) % len(known)] for step in range(4))
        objects = f"<objects>{a}, {b}</objects>" if compares else ""
        lines.append(f"<topic><number>{number + 1}</number><title>Should the {a} of {b} be {c}, or {d} {a}?</title>{objects}</topic>\n")
    return "<topics>\n" + "".join(lines) + "</topics>\n"


def main(riposte, tools):
    golden = pathlib.Path(__file__).parent / "texts"
    listed = subprocess.run([riposte, "approaches", "--json"], check=True, capture_output=True, text=True).stdout
    listed = [json.loads(line) for line in listed.splitlines()]
    with tempfile.TemporaryDirectory() as home:
        home = pathlib.Path(home)
        (home / "none").mkdir()
        env = {**os.environ, "RIPOSTE_MODELS": str(home / "none"), "WNSEARCHDIR": str(home / "none")}
        for task, generate in TASKS.items():
            (golden / task).mkdir(parents=True, exist_ok=True)
            collection = home / task
            subprocess.run([tools, generate, "--count", str(COUNT), "--seed", str(SEED), collection], check=True)
            questions = golden / task / "topics.xml"
            questions.write_text(topics(collection, task == "comparative"))
            for name in dict.fromkeys(row["recipe"] for row in listed if row["task"] == task and "recipe" in row):
                shown = subprocess.run([riposte, "approaches", "show", name, "--task", task], check=True, capture_output=True, text=True).stdout
                if "\nservice = " in shown:
                    # a service ranks its own pages, not the collection
                    continue
                command = [riposte, task, "-q", "-i", collection, "--topics", questions, "-o", home / "out", "--index", home / "kept",
                           "--approach", name, "--explain", home / "explain.jsonl"]
                ran = subprocess.run(command, env=env, capture_output=True, text=True)
                if "the sentence encoder is not installed" in ran.stderr and ran.returncode == 2:
                    # this approach cannot rank without sentence vectors
                    continue
                ran.check_returncode()
                explained = {}
                for line in (home / "explain.jsonl").read_text().splitlines():
                    of = json.loads(line)
                    explained[of["topic"], of["document"]] = repr(of["score"]["value"])
                lines = []
                for line in (home / "out/run.txt").read_text().splitlines():
                    topic, second, document, _, score, _ = line.split(" ")
                    lines.append("\t".join((topic, document, second, score, explained.get((topic, document), ""))) + "\n")
                (golden / task / f"{name}.tsv").write_text("".join(lines))
                print(f"{task} {name}: {len(lines)} lines")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*(os.path.abspath(path) for path in sys.argv[1:]))
