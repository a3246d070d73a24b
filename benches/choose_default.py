#!/usr/bin/env python3
"""Chooses the weights of the default approaches to `controversial`, `comparative` and `rank` by what generalises to new topics.

    pip install numpy
    choose_default.py RIPOSTE DATA WORK [VALUES]

riposte ranks the judged topics of DATA with each candidate search, and explains what every opinion says of the first 50 documents. All else is
computed here from these explanations: a setting is a search for each task and a weight for each opinion, and the weights are the same for all
tasks. Three rules keep what is chosen simple:

- One standard error: of all settings whose mean is within a standard error of the best one, the simplest is chosen. The standard error is that
  of the differences to the best setting, topic by topic. A setting is simpler if fewer of its numbers were chosen by a person or a program
  instead of being 1 (or a published number), then if it has fewer opinions, and then if these cost less time.
- Nested cross-validation: for each tenth of the topics, the whole choice is made without them, and measured on them ("outer"). "Inner" is what
  the choice promised on the topics that it saw, so inner minus outer is what choosing flatters.
- The quality model, which riposte learned from all judged topics, is learned again for each topic without it, and without the tenth.

The value of a topic is nDCG@10 in `rank`, and elsewhere the mean of nDCG@5 by relevance and by quality. The topics of arguments
and passages are taken together, and so are the queries of Cranfield and CISI; both groups count the same.
Outputs of models are stored in WORK, so a second run takes minutes; a program with another stance encoder computes its own. VALUES
(`train evaluate-relevance --data DATA --left-out VALUES`) replaces the encoder's relevance by one that learned from the judgements of other topics.
"""
import functools, gzip, itertools, json, pathlib, re, subprocess, sys
from collections import Counter, defaultdict, namedtuple

import numpy as np

DEPTH, FOLDS, RIDGE = 50, 10, 20
OPINIONS = ("retrieval", "sentence", "quality", "comparison", "relevance")
# the opinions that riposte itself does not scale, because their values are in [0, 1]
UNIT = ("quality", "comparison")
BASIC = (1, 1, 1, 0, 0)
LUCENE = "tokens=standard possessive=english stop=lucene stem=porter length=1-255"
BM25, DIRICHLET = 'name = "bm25", k1 = {}, b = {}', 'name = "lucene-dirichlet", mu = 2000.0'
FEEDBACK = "feedback = { documents = 10, terms = 10, original = 0.5 }"

# each search: the analyzer, the similarity, another line, and how many of its numbers are not published defaults
Search = namedtuple("Search", "analyzer similarity more chosen", defaults=("", 0))
# k1 3.2 and b .2 were chosen on all nine topics before, so what a fold leaves out is not new to them
ARGUMENT_SEARCHES = {name: Search("stop=none stem=snowball", similarity, "", chosen) for name, similarity, chosen in (
    ("BM25 with k1 3.2, b .2", BM25.format(3.2, 0.2), 2), ("BM25 with k1 .9, b .4", BM25.format(0.9, 0.4), 0),
    ("BM25 with k1 1.2, b .75", BM25.format(1.2, 0.75), 0), ("LMDirichlet", DIRICHLET, 0))}
PASSAGE_SEARCHES = {f"{name}, stop={stop}": Search(f"stop={stop} stem=snowball", similarity)
                    for name, similarity in (("BM25", BM25.format(1.2, 0.75)), ("LMDirichlet", DIRICHLET)) for stop in ("none", "lucene", "long")}
Task = namedtuple("Task", "command directory judgements fields searches measured opinions alike")
TASKS = {
    "arguments": Task("controversial", "args/argquality20", ("relevance.qrels", "quality.qrels"), "premises = 1.0, conclusion = 0.5",
                      ARGUMENT_SEARCHES, 5, OPINIONS, 0.8),
    "passages": Task("comparative", "passages", ("relevance.qrels", "quality.qrels"), "contents = 1.0, expansion = 0.5",
                     PASSAGE_SEARCHES, 5, OPINIONS, 0.9),
    **{name: Task("rank", f"rank/{name}", ("qrels/test.tsv",), '"title+text" = 1.0',
                  {"BM25": Search(LUCENE, BM25.format(0.9, 0.4)), "BM25 with feedback": Search(LUCENE, BM25.format(0.9, 0.4), FEEDBACK)},
                  10, OPINIONS[:2], None) for name in ("cranfield", "cisi")},
}
KINDS = [["arguments"], ["passages"], ["cranfield", "cisi"]]
# the topics of these collections are taken together, and both groups count the same
TOGETHER = [["arguments", "passages"], ["cranfield", "cisi"]]


# every choice of opinions with equal weights, and with one of the weights doubled
SETTINGS = [weights for weights in itertools.product((0, 1, 2), repeat=len(OPINIONS))
            if (weights[0] or weights[1]) and weights.count(2) <= 1 and 1 in weights]


# what an opinion costs: the search is there, words are counted, sentences are encoded, and the stance encoder reads each text with the topic
COSTS = (0, 2, 1, 1, 3)


def complexity(weights):
    return weights.count(2), len(weights) - weights.count(0), sum(cost for cost, weight in zip(COSTS, weights) if weight)


# Finer weights of sentence, quality and relevance. Nothing is chosen from them; print_fitted says what they would promise, and what new topics
# would get.
FINE = {"arguments": [(1, s, q, 0, r) for s in (0.5, 1, 2) for q in (0.5, 1, 2, 4) for r in (0, 0.25, 0.5, 1, 1.5, 2)],
        "passages": [(1, s, q, 0.25, r) for s in (0.5, 1, 2) for q in (0.5, 1, 2, 4) for r in (0, 0.25, 0.5, 1, 1.5, 2)]}
FINE_SEARCHES = {"arguments": "BM25 with k1 3.2, b .2", "passages": "BM25, stop=long"}


def read_judgements(path):
    judged = defaultdict(dict)
    for line in path.read_text().splitlines():
        topic, *rest = line.split()
        if topic != "query-id":
            judged[topic][rest[-2]] = max(0.0, float(rest[-1]))
    return judged


def read_texts(directory):
    if (directory / "args-me.json").exists():
        arguments = json.loads((directory / "args-me.json").read_text())["arguments"]
        return {of["id"]: " ".join(premise["text"] for premise in of["premises"]) for of in arguments}
    with gzip.open(directory / "passages.jsonl.gz", "rt") as lines:
        return {of["id"]: of["contents"] for of in map(json.loads, lines)}


def shingles(text):
    words = re.findall(r"[^\W_]+", text.lower())
    width = min(3, len(words)) or 1
    return {tuple(words[at : at + width]) for at in range(len(words) - width + 1)}


def explained(riposte, data, work, name, task, search, relevance):
    """For each topic, what each opinion says of the first documents: the document, the opinions, and the features of quality."""
    weights = ", ".join(f"{opinion} = 1.0" for opinion in task.opinions)
    recipe = ['name = "candidate"', "[[retrieval]]", f'analyzer = "{search.analyzer}"', f"similarity = {{ {search.similarity} }}",
              f"fields = {{ {task.fields} }}", search.more, "[rerank]", f"depth = {DEPTH}", "only = true", 'scale = "raw"', 'combine = "sum"',
              f"weights = {{ {weights} }}", ""]
    (work / "candidate.toml").write_text("\n".join(recipe))
    command = [riposte, task.command, "-q", "-i", data / task.directory, "-o", work / "run", "--index", work / name, "--numeric", "float",
               "--approach", work / "candidate.toml", "--explain", work / "why.jsonl"]
    subprocess.run(command + (["--no-stance"] if task.command == "comparative" else []), check=True)
    topics = defaultdict(list)
    for line in (work / "why.jsonl").read_text().splitlines():
        why = json.loads(line)
        parts = {part["id"]["channel"]: part for part in why["score"]["parts"]}
        features = [re.search(r"deviations \((-?[\d.]+)\)", part.get("how", "")) for part in parts["quality"]["parts"][0]["parts"]] \
            if "quality" in parts else []
        opinions = [parts[opinion]["value"] if opinion in parts else 0.0 for opinion in OPINIONS]
        opinions[-1] = relevance.get((why["topic"], why["document"]), opinions[-1])
        topics[why["topic"]].append((why["document"], opinions, [float(f[1]) for f in features if f]))
    return {topic: sorted(found, key=lambda of: (-of[1][0], of[0])) for topic, found in topics.items()}


class Topic:
    """The candidates of a topic by one search, and their grades."""

    def __init__(self, task, found, grades, texts):
        self.task, self.documents = task, [document for document, _, _ in found]
        self.opinions = np.array([opinions for _, opinions, _ in found]).T
        self.features = np.array([features for _, _, features in found])
        self.grades = [np.array([grade.get(document, 0.0) for document in self.documents]) for grade in grades]
        self.is_judged = np.array([document in grades[-1] for document in self.documents])
        self.ideals = [ideal(grade, task.measured) for grade in grades]
        self.near = np.zeros((len(found),) * 2, bool)
        if task.alike:
            sets = [shingles(texts[document]) for document in self.documents]
            for a, b in itertools.combinations(range(len(sets)), 2):
                self.near[a, b] = self.near[b, a] = len(sets[a] & sets[b]) >= task.alike * len(sets[a] | sets[b]) > 0
        for at, opinion in enumerate(OPINIONS):
            if opinion not in UNIT:
                self.opinions[at] = scaled(self.opinions[at])

    def values(self, settings, quality=None):
        """The mean nDCG of each setting; one column for each kind of judgement."""
        opinions = self.opinions.copy()
        if quality is not None:
            opinions[OPINIONS.index("quality")] = quality
        weights = np.array(settings, float)[:, : len(self.task.opinions)]
        weights[~weights.any(axis=1), 0] = 1
        weights, which = np.unique(weights, axis=0, return_inverse=True)
        orders = np.argsort(-(weights @ opinions[: weights.shape[1]]).round(9), axis=1, kind="stable")
        return self.measured(orders)[which.ravel()]

    def measured(self, orders):
        """nDCG of each order of the documents; near-duplicates of documents before them are passed over, because riposte ranks them last."""
        kept, sums = np.zeros(len(orders), int), np.zeros((len(orders), len(self.grades)))
        discounts = np.append(discounted(self.task.measured), 0)
        for at, documents in enumerate(orders.T):
            is_new = ~self.near[documents[:, None], orders[:, :at]].any(axis=1)
            for kind, grades in enumerate(self.grades):
                sums[:, kind] += is_new * grades[documents] * discounts[kept]
            kept = np.minimum(kept + is_new, self.task.measured)
            if kept.min() == self.task.measured:
                break
        return sums / [ideal or 1 for ideal in self.ideals]


def discounted(count):
    return 1 / np.log2(np.arange(2, count + 2))


def ideal(grades, count):
    best = sorted(grades.values(), reverse=True)[:count]
    return float(np.sum(best * discounted(len(best))))


def scaled(values):
    low, high = values.min(), values.max()
    return (values - low) / (high - low) if high > low else np.ones(len(values))


def learned_quality(topics, without, of):
    """The quality of a topic's documents by a ridge regression over all topics that are not left out."""
    seen = [topic for name, topic in topics.items() if name not in without]
    highest = max(topic.grades[1].max() for topic in topics.values())
    features = np.vstack([topic.features[topic.is_judged] for topic in seen])
    grades = np.concatenate([topic.grades[1][topic.is_judged] for topic in seen]) / highest
    mean, deviation = features.mean(0), features.std(0) + 1e-3
    standard = lambda x: np.clip((x - mean) / deviation, -6, 6)
    x, middle = standard(features), standard(features).mean(0)
    weights = np.linalg.solve((x - middle).T @ (x - middle) + RIDGE * np.eye(x.shape[1]), (x - middle).T @ (grades - grades.mean()))
    return np.clip((standard(topics[of].features) - middle) @ weights + grades.mean(), 0, 1)


class Collection:
    """The value of each setting for each topic and search, as a choice sees them that must not know some topics."""

    def __init__(self, riposte, data, work, name, task, relevance):
        self.task, self.settings = task, SETTINGS + FINE.get(name, [])
        grades = [read_judgements(data / task.directory / file) for file in task.judgements]
        texts = read_texts(data / task.directory) if task.alike else {}
        self.searches = {}
        for search, how in task.searches.items():
            print(f"{name}: {search}", file=sys.stderr)
            found = explained(riposte, data, work, name, task, how, relevance)
            self.searches[search] = {topic: Topic(task, found.get(topic, []), [of[topic] for of in grades], texts)
                                     for topic in grades[0] if found.get(topic)}
        self.topics = sorted(grades[0], key=lambda topic: (len(topic), topic))
        self.folds = {topic: at % FOLDS for at, topic in enumerate(self.topics)}
        self.known = {}

    def table(self, search, fold=None):
        """Settings × topics × kinds of judgement. No quality model has seen the topic that it is used for, or a topic of the fold."""
        fold = fold if "quality" in self.task.opinions else None
        if (search, fold) not in self.known:
            topics, rows = self.searches[search], []
            for topic in self.topics:
                if topic not in topics:
                    rows.append(np.zeros((len(self.settings), len(self.task.judgements))))
                    continue
                unseen = [other for other in self.topics if other == topic or self.folds[other] == fold]
                quality = learned_quality(topics, unseen, topic) if "quality" in self.task.opinions else None
                rows.append(topics[topic].values(self.settings, quality))
            self.known[search, fold] = np.array(rows).transpose(1, 0, 2)
        return self.known[search, fold]

    def measures(self):
        names = [pathlib.Path(file).stem for file in self.task.judgements]
        return [f"nDCG@{self.task.measured}" + (f", {name}" if len(names) > 1 else "") for name in names]

    def is_in(self, fold):
        return np.array([self.folds[topic] == fold for topic in self.topics])

    def values(self, search, settings, fold=None):
        """Settings × topics outside the fold: the mean over the kinds of judgement."""
        at = [self.settings.index(of) for of in settings]
        return self.table(search, fold)[at][:, ~self.is_in(fold)].mean(axis=2)


def simplest(rows, complexities):
    """The position of the simplest row within a standard error of the best. `rows` has settings × topics for each group of topics.

    The error is that of the paired difference. Topics differ more than settings do, so the error of a mean covers what is worse on most topics."""
    mean = np.mean([of.mean(axis=1) for of in rows], axis=0)
    best = int(mean.argmax())
    errors = sum((of[best] - of).var(axis=1, ddof=1) / of.shape[1] for of in rows) ** 0.5 / len(rows)
    within = [at for at in range(len(mean)) if mean[best] - mean[at] <= errors[at]]
    return min(within, key=lambda at: (complexities[at], -mean[at]))


def choose_search(name, collections, fold=None, elsewhere=False):
    """The search for a collection, chosen with equal weights: by its own topics and those of the other collections of the task, or without its own
    topics where there are others."""
    kind = next(kind for kind in KINDS if name in kind)
    members = [other for other in kind if other != name] if elsewhere and len(kind) > 1 else kind
    candidates = collections[name].task.searches
    rows = [np.hstack([np.vstack([collections[of].values(search, [BASIC], fold) for search in candidates]) for of in members])]
    return list(candidates)[simplest(rows, [of.chosen for of in candidates.values()])]


def choose(names, collections, fold=None):
    """A search for each collection, then weights for all of them."""
    searches = {name: choose_search(name, collections, fold) for name in names}
    together = [[name for name in names if name in group] for group in TOGETHER]
    rows = [np.hstack([collections[name].values(searches[name], SETTINGS, fold) for name in group]) for group in together if group]
    return searches, SETTINGS[simplest(rows, [complexity(weights) for weights in SETTINGS])]


def nested(names, collections, choice):
    """For each collection, what `choice` promises on the topics that it sees, and what it gets on those that it does not see. Both have a column for
    each kind of judgement. Then the choices of the folds."""
    inner, outer, chosen = {name: [] for name in names}, {name: [] for name in names}, []
    for fold in range(FOLDS):
        searches, weights = choice(fold)
        chosen.append((tuple(searches[name] for name in names), weights))
        for name in names:
            of = collections[name]
            table = of.table(searches[name], fold)[of.settings.index(weights)]
            inner[name].append(table[~of.is_in(fold)].mean(axis=0))
            outer[name].extend(table[of.is_in(fold)])
    return {name: np.mean(inner[name], axis=0) for name in names}, {name: np.array(outer[name]) for name in names}, chosen


def interval(values):
    error = values.std(ddof=1) / len(values) ** 0.5
    return f"{number(values.mean())} ({number(values.mean() - 1.96 * error)} to {number(values.mean() + 1.96 * error)})"


def number(value):
    return f"{value:.3f}".replace("0.", ".", 1)


def described(weights):
    return ", ".join(f"{opinion} {weight:g}" for opinion, weight in zip(OPINIONS, weights) if weight)


def print_strangers(names, collections):
    """What topics get that the choice has not seen: left out by tenths, or with their whole task."""
    inner, outer, chosen = nested(names, collections, lambda fold: choose(names, collections, fold))
    print("## What new topics get\n")
    print("| collection | measure | outer, 95% interval | inner | inner − outer | chosen without this task |\n|---|---|---|---|---|---|")
    notes = []
    for kind in KINDS:
        _, weights = choose([name for name in names if name not in kind], collections)
        notes.append(f"Chosen without {' and '.join(kind)}: {described(weights)}")
        for name in kind:
            search = functools.partial(choose_search, name, collections, elsewhere=True)
            _, strange, _ = nested([name], collections, lambda fold: ({name: search(fold)}, weights))
            for at, measure in enumerate(collections[name].measures()):
                print(f"| {name} | {measure} | {interval(outer[name][:, at])} | {number(inner[name][at])} | "
                      f"{inner[name][at] - outer[name][:, at].mean():+.3f} | {number(strange[name][:, at].mean())} |")
    for (searches, weights), times in Counter(chosen).most_common():
        notes.append(f"Chosen in {times} of {FOLDS} folds: {described(weights)}; {'; '.join(dict.fromkeys(searches))}")
    print("", *notes, sep="\n")


def print_fitted(collections):
    """What fitted weights would flatter: for each task alone, the best of finer weights, with the search that all its topics chose."""
    print("\n## Fitted weights: for each task alone, the best of 72 settings\n")
    print("| collection | measure | inner | outer, 95% interval | inner − outer |\n|---|---|---|---|---|")
    for name, grid in FINE.items():
        of = collections[name]
        search = FINE_SEARCHES[name]

        def best(fold):
            return {name: search}, grid[int(of.values(search, grid, fold).mean(axis=1).argmax())]

        inner, outer, _ = nested([name], collections, best)
        for at, measure in enumerate(of.measures()):
            print(f"| {name} | {measure} | {number(inner[name][at])} | {interval(outer[name][:, at])} | "
                  f"{inner[name][at] - outer[name][:, at].mean():+.3f} |")


def print_differences(names, collections, searches, weights):
    """The chosen weights beside others, with the same searches: the difference and its standard error."""
    at = SETTINGS.index(weights)
    others = {"only retrieval": (1, 0, 0, 0, 0), **{f"without {opinion}": changed(weights, number, 0) for number, opinion in enumerate(OPINIONS)
              if weights[number]}, **{f"with {opinion}": changed(weights, number, 1) for number, opinion in enumerate(OPINIONS)
              if not weights[number]}, **{f"{opinion} 2": changed(weights, number, 2) for number, opinion in enumerate(OPINIONS) if weights[number]}}
    print("\n## Other weights beside the chosen ones: difference, and its standard error\n")
    print(f"| | {' | '.join(names)} |\n|---|{'---|' * len(names)}")
    for name, other in others.items():
        if other in SETTINGS:
            rows = [collections[of].values(searches[of], [other, SETTINGS[at]]) for of in names]
            cells = [difference(a, b) if (a != b).any() else "" for a, b in rows]
            print(f"| {name} | {' | '.join(cells)} |")
    print("\n## Each search with the chosen weights, on all topics\n")
    print("| collection | search | nDCG | difference to the chosen search |\n|---|---|---|---|")
    for name in names:
        of = collections[name]
        for search in of.searches:
            a, b = (of.values(which, [weights])[0] for which in (search, searches[name]))
            means = " and ".join(map(number, of.table(search)[of.settings.index(weights)].mean(axis=0)))
            print(f"| {name} | {search} | {means} | {difference(a, b) if search != searches[name] else 'chosen'} |")


def difference(a, b):
    return f"{(a - b).mean():+.3f} ± {(a - b).std(ddof=1) / len(a) ** 0.5:.3f}"


def changed(weights, at, weight):
    return weights[:at] + (weight,) + weights[at + 1 :]


def main(riposte, data, work, values=None):
    data, work = pathlib.Path(data), pathlib.Path(work)
    work.mkdir(parents=True, exist_ok=True)
    lines = pathlib.Path(values).read_text().splitlines() if values else []
    relevance = {(topic, document): float(value) for _, topic, document, value in (line.split("\t") for line in lines)}
    known = {name: Collection(riposte, data, work, name, task, relevance) for name, task in TASKS.items()}
    names = list(TASKS)
    print_strangers(names, known)
    print_fitted(known)
    searches, weights = choose(names, known)
    print_differences(names, known, searches, weights)
    print("\n## Chosen\n")
    print(f"weights: {described(weights)}\n")
    for name in names:
        means = known[name].table(searches[name])[known[name].settings.index(weights)].mean(axis=0)
        print(f"{name}: {searches[name]}; on all topics {' and '.join(map(number, means))}")


if __name__ == "__main__":
    if len(sys.argv) not in (4, 5):
        sys.exit(__doc__)
    main(*sys.argv[1:])
