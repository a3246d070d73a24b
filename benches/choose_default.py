#!/usr/bin/env python3
"""Cross-validates families of recipes by topic, for the choice of the default approach to a text task.

    choose_default.py RIPOSTE controversial|comparative COLLECTION WORK RELEVANCE QUALITY

A family is a search with different weights of the channels that re-rank its first 50 documents. For each topic, the recipe is chosen that is
best on all other topics, by the sum of nDCG@5 by relevance and by quality. The table shows the mean of the chosen recipes over the topics,
and how often the commonest choice was made. Runs are stored in WORK, so a stopped program can continue. Channels that were learned from the
judgements of these topics (svr-quality, trees) are in no family, because their figures would be too good. `quality` was learned from them
too, but all families have it.
"""
import hashlib, itertools, json, pathlib, statistics, subprocess, sys

RETRIEVALS = {
    "controversial": {
        "BM25": ("stop=none stem=snowball", 'name = "bm25", k1 = 3.2, b = 0.2'),
        "LMDirichlet": ("stop=lucene stem=snowball", 'name = "lucene-dirichlet", mu = 2000.0'),
    },
    "comparative": {"BM25": ("stop=long stem=snowball", 'name = "bm25", k1 = 1.2, b = 0.75')},
}
FIELDS = {"controversial": ("premises", "conclusion"), "comparative": ("contents", "expansion")}
FUSIONS = {"": None, "dense by RRF": ('{ name = "rrf", k = 60.0 }', 1.0), "dense by min-max, weight .5": ('{ name = "min-max" }', 0.5),
           "dense by min-max, weight 1": ('{ name = "min-max" }', 1.0)}
MORE = {"": {}, "side .5": {"side": 0.5}, "adjectives .5": {"adjectives": 0.5}, "relevance .25": {"relevance": 0.25},
        "relevance .5": {"relevance": 0.5}, "relevance 1": {"relevance": 1}, "relevance 1.5": {"relevance": 1.5}}


def recipe(task, retrieval, fusion, channels):
    first, second = FIELDS[task]
    analyzer, similarity = retrieval
    lines = ['name = "candidate"']
    if fusion:
        lines += [f"fusion = {fusion[0]}", "[dense]", f'field = "{first}"', "passages = { windows = { words = 200, step = 200, most = 8 } }",
                  f"weight = {fusion[1]}"]
    lines += ["[[retrieval]]", f'analyzer = "{analyzer}"', f"similarity = {{ {similarity} }}", f"fields = {{ {first} = 1.0, {second} = 0.5 }}"]
    named = ", ".join(f"{name} = {float(weight)}" for name, weight in channels.items())
    lines += ["[rerank]", "depth = 50", f"weights = {{ {named} }}", f"alike = {0.8 if task == 'controversial' else 0.9}"]
    return "\n".join(lines) + "\n"


def measured(riposte, task, collection, work, qrels, text):
    """nDCG@5 of each topic by each of the judgements."""
    kept = work / (hashlib.sha256(text.encode()).hexdigest()[:16] + ".json")
    if not kept.exists():
        (work / "candidate.toml").write_text(text)
        command = [riposte, task, "-q", "-i", collection, "-o", work / "run", "--index", work / "kept", "--approach", work / "candidate.toml"]
        subprocess.run(command + (["--no-stance"] if task == "comparative" else []), check=True)
        values = []
        for file in qrels:
            table = subprocess.run([riposte, "evaluate", file, work / "run", "nDCG@5", "--format", "tsv", "--by-topic"], check=True,
                                   capture_output=True, text=True).stdout
            rows = [line.split("\t") for line in table.splitlines()]
            values.append({row[3]: float(row[4]) for row in rows if row[3] not in ("topic", "all")})
        kept.write_text(json.dumps(values))
    return json.loads(kept.read_text())


def main(riposte, task, collection, work, *qrels):
    work = pathlib.Path(work)
    work.mkdir(parents=True, exist_ok=True)
    base = {"comparison": 0.25} if task == "comparative" else {}
    print("| family | relevance | quality | commonest choice |\n|---|---|---|---|")
    for (search, retrieval), (fused, fusion), (more, channels) in itertools.product(RETRIEVALS[task].items(), FUSIONS.items(), MORE.items()):
        if (fused and more not in ("", "relevance .5", "relevance 1")) or (search != "BM25" and (fused or more)):
            continue
        family = {}
        for sentence, quality in itertools.product((0.5, 1, 2), (0.5, 1, 2, 4)):
            weights = {"retrieval": 1, "sentence": sentence, "quality": quality, **base, **channels}
            family[f"sentence {sentence}, quality {quality}"] = measured(riposte, task, collection, work, qrels,
                                                                         recipe(task, retrieval, fusion, weights))
        topics = sorted({topic for values in family.values() for of in values for topic in of})

        def mean(values, on):
            return [statistics.mean(of.get(topic, 0.0) for topic in on) for of in values]

        chosen = []
        for topic in topics:
            others = [other for other in topics if other != topic]
            chosen.append(max(family, key=lambda name: sum(mean(family[name], others))))
        relevance, quality = (statistics.mean(family[name][at].get(topic, 0.0) for name, topic in zip(chosen, topics)) for at in (0, 1))
        most = max(set(chosen), key=chosen.count)
        name = ", ".join(filter(None, (search, fused, more)))
        print(f"| {name} | {relevance:.3f} | {quality:.3f} | {most}: {chosen.count(most)} of {len(topics)} |", flush=True)


if __name__ == "__main__":
    if len(sys.argv) != 7:
        sys.exit(__doc__)
    main(*sys.argv[1:])
