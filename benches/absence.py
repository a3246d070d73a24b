#!/usr/bin/env python3
"""Learns when a collection has nothing about a question, and measures it on collections that it was not learned from.

    pip install snowballstemmer
    benches/absence.py DATA WORK [--riposte PROGRAM] [--evidence FILE]

benches/absence/questions.tsv has questions, each with the collections that answer it and the words of its subject. A question that a collection answers
is good there. It is about another matter where no document has the words of its subject; elsewhere it is left out. The queries of CISI and Cranfield, 80
of each, are good in their own collection and about other matters in all others. DATA is the directory of development data, the sixth collection is
sample/, once its arguments and once its images (FILE is its evidence store). WORK keeps copies of the collections, indexes and runs.

riposte ranks the questions with --explain; the likeness of a document is the value of `sentence` there, and its words are counted here as riposte counts
them. For each collection, a logistic regression on the documents of the other collections gives the probability that a document is about the question, and
the limit for the likeliest of the first 20 documents is the one at which the other collections have the smallest max(refused / .05, missed / .1). Refused is
the share of good questions below the limit, missed the share of questions about other matters at or above it. Words cannot reach both, so their limit is the
largest at which each of the other collections refuses at most .05. A document is about a question that its collection answers if it has the words of the
subject.
"""
import argparse, collections, gzip, json, math, os, pathlib, random, re, subprocess, sys

import snowballstemmer

ROOT = pathlib.Path(__file__).resolve().parent.parent
JUDGED = 20
WORDS = 1
RECIPE = """name = "absence"
depth = 20
[[retrieval]]
analyzer = "tokens=standard possessive=english stop=lucene stem=porter length=1-255"
similarity = { name = "bm25", k1 = 0.9, b = 0.4 }
fields = { "title+text" = 1.0 }
[rerank]
depth = 50
scale = "raw"
weights = { retrieval = 1.0, sentence = 1.0 }
windows = { words = 50, step = 50, most = 16 }
promising = true
"""
IMAGES = """name = "absence"
[relevance]
scale = "unit"
[relevance.channels]
"sentence ocr" = 1.0
"sentence title" = 1.0
"sentence near" = 1.0
"bm25 main" = 0.4
"bm25 ocr" = 0.2
"bm25 near" = 0.2
[argument]
model = "none"
[stance]
model = "both"
"""
STOP = set((ROOT / 'src/index/stop_words/long.txt').read_text().split())
stemmer = snowballstemmer.stemmer('english')
stems = {}


def terms(text):
    words = (word for word in re.findall(r'[^\W_]+', text.lower()) if word not in STOP)
    return {stems.get(word) or stems.setdefault(word, stemmer.stemWord(word)) for word in words}


def json_lines(path):
    with (gzip.open if path.suffix == '.gz' else open)(path, 'rt') as lines:
        return [json.loads(line) for line in lines]


def arguments(path):
    read = lambda a: (a['id'], a.get('conclusion', ''), ' '.join(p['text'] for p in a['premises']))
    return [read(a) for a in json.loads(path.read_text())['arguments']]


def collections_of(data):
    documents = {'argquality20': arguments(data / 'args/argquality20/args-me.json'), 'sample-arguments': arguments(ROOT / 'sample/args-me.json')}
    documents['passages'] = [(p['id'], '', p['contents']) for p in json_lines(data / 'passages/passages.jsonl.gz')]
    for name in ['cisi', 'cranfield']:
        documents[name] = [(d['_id'], d.get('title', ''), d['text']) for d in json_lines(data / f'rank/{name}/corpus.jsonl.gz')]
    pages = collections.defaultdict(list)
    for file in sorted((ROOT / 'sample/images').glob('*/*/**/text.txt')):
        pages[file.relative_to(ROOT / 'sample/images').parts[1]].append(file.read_text(errors='replace'))
    documents['sample-images'] = [(image, '', ' '.join(texts)) for image, texts in pages.items()]
    return documents


def questions_of(data):
    """(collections that answer, words of the subject, question)"""
    lines = (ROOT / 'benches/absence/questions.tsv').read_text().splitlines()
    rows = [line.split('\t') for line in lines if not line.startswith('#')]
    questions = [(names.split(','), subject, question) for names, subject, question in rows]
    for name in ['cisi', 'cranfield']:
        judged = {line.split()[0] for line in open(next((data / f'rank/{name}/qrels').glob('*.tsv')))}
        queries = [q['text'] for q in json_lines(data / f'rank/{name}/queries.jsonl.gz') if q['_id'] in judged]
        random.Random(1).shuffle(queries)
        questions += [([name], '', query[:300]) for query in queries[:80]]
    return questions


def asked(name, documents, questions):
    """The questions of a collection by number: is it good, its subject, its words."""
    texts = [f'{title} {text}'.lower() for _, title, text in documents]
    found = {}
    for number, (names, subject, question) in enumerate(questions):
        if name in names:
            found[str(number)] = (True, subject, question)
        # the queries of CISI and Cranfield have no subject, and neither collection is about what people argue about
        elif not subject or name in ['cisi', 'cranfield'] or not any(re.search(subject, text) for text in texts):
            found[str(number)] = (False, subject, question)
    return found


def rank(name, documents, found, work, options):
    """Runs riposte. The explanations, by question: (document, values by name)."""
    directory, out = work / name, work / f'out-{name}'
    directory.mkdir(parents=True, exist_ok=True)
    write = lambda file, lines: (directory / file).write_text(''.join(json.dumps(line) + '\n' for line in lines))
    common = ['-o', str(out), '--explain', str(out / 'why.jsonl'), '-q']
    (work / 'recipe.toml').write_text(IMAGES if name == 'sample-images' else RECIPE)
    common += ['--approach', str(work / 'recipe.toml')]
    if name == 'sample-images':
        write('topics.jsonl', [{'qid': number, 'query': question} for number, (_, _, question) in found.items()])
        command = ['images', '-i', str(ROOT / 'sample'), '--topics', str(directory / 'topics.jsonl')] + (['--evidence', options.evidence] if options.evidence else [])
    else:
        write('corpus.jsonl', [{'_id': id, 'title': title, 'text': text} for id, title, text in documents])
        write('queries.jsonl', [{'_id': number, 'text': question} for number, (_, _, question) in found.items()])
        command = ['rank', '-i', str(directory), '--index', str(work / f'index-{name}')]
    if not (out / 'why.jsonl').exists():
        subprocess.run([options.riposte, *command, *common], check=True)
    ranked = collections.defaultdict(list)
    for line in open(out / 'why.jsonl'):
        why = json.loads(line)
        if 'image' in why and not why['listed']:
            continue
        score = why.get('score') or why.get('pro') or why['con']
        parts = score['parts']
        for part in parts:
            if part['name'] == 'relevance':
                parts = part['parts']
        values = {}
        for part in parts:
            value = re.search(r'× value (-?[\d.]+)', part.get('how', ''))
            if value and part['name'].startswith('sentence'):
                values['likeness'] = max(values.get('likeness', 0.0), float(value[1]))
        ranked[why['topic']].append((why.get('document') or why['image'], values.get('likeness', 0.0)))
    return ranked


def judged(name, documents, questions, work, options):
    """For each question: is it good, and for its documents (likeness, words, whether it is about it or None)."""
    found = asked(name, documents, questions)
    texts = {id: f'{title} {text}'.lower() for id, title, text in documents}
    words = {id: terms(text) for id, text in texts.items()}
    ranked = rank(name, documents, found, work, options)
    rows = []
    for number, (good, subject, question) in found.items():
        of_question = terms(question)
        row = []
        for document, likeness in ranked.get(number, [])[:JUDGED]:
            about = False if not good else bool(re.search(subject, texts.get(document, ''))) if subject else None
            shared = len(of_question & words.get(document, set()))
            row.append((likeness, shared / math.sqrt(max(1, len(of_question))), about))
        rows.append((good, question, row))
    return rows


def logistic(x):
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, x))))


def learn(data, names, at):
    """The constant and the weight. Each collection counts as much as the others, and its documents that are about a question as much as those that are not."""
    rows = []
    for name in names:
        documents = [(d[at], d[2]) for _, _, row in data[name] for d in row if d[2] is not None]
        counts = collections.Counter(about for _, about in documents)
        if counts[True]:
            rows += [(x, about, 1 / counts[about]) for x, about in documents]
    a = b = 0.0
    for _ in range(100):
        g0 = g1 = h00 = h01 = h11 = 1e-9
        for x, about, weight in rows:
            p = logistic(a + b * x)
            d, h = weight * (about - p), weight * p * (1 - p)
            g0, g1, h00, h01, h11 = g0 + d, g1 + d * x, h00 + h, h01 + h * x, h11 + h * x * x
        determinant = h00 * h11 - h01 * h01
        step = ((h11 * g0 - h01 * g1) / determinant, (h00 * g1 - h01 * g0) / determinant)
        a, b = a + step[0], b + step[1]
        if max(map(abs, step)) < 1e-7:
            break
    return a, b


def best(row, at, weights):
    return max((logistic(weights[0] + weights[1] * d[at]) for d in row), default=0.0)


def shares(values, limit):
    """Of the good questions, the share that is refused; of the others, the share that is recognised."""
    good = [value for is_good, value in values if is_good]
    other = [value for is_good, value in values if not is_good]
    return sum(v < limit for v in good) / len(good), sum(v < limit for v in other) / len(other)


def limit_of(data, names, at, weights):
    values = {name: [(good, best(row, at, weights)) for good, _, row in data[name]] for name in names}
    candidates = sorted({round(value, 3) for of in values.values() for _, value in of})

    if at == WORDS:
        return max(limit for limit in candidates if all(shares(of, limit)[0] <= .05 for of in values.values()))

    def cost(limit):
        refused, recognised = zip(*(shares(of, limit) for of in values.values()))
        return max(sum(refused) / len(names) / .05, (1 - sum(recognised) / len(names)) / .1)
    return min(candidates, key=cost)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('data', type=pathlib.Path)
    parser.add_argument('work', type=pathlib.Path)
    parser.add_argument('--riposte', default='riposte')
    parser.add_argument('--evidence')
    options = parser.parse_args()
    questions, documents = questions_of(options.data), collections_of(options.data)
    data = {}
    for name in documents:
        data[name] = judged(name, documents[name], questions, options.work, options)
        print(f'{name} is ranked', file=sys.stderr)
    for at, by in enumerate(['sentences', 'words']):
        print(f'\n| by {by}: learned from the others | good | refused | about other matters | recognised | constant, weight, limit |\n|---|---|---|---|---|---|')
        total = []
        for name in data:
            others = [other for other in data if other != name]
            # both collections of the sample answer the same questions
            others = [other for other in others if not (name.startswith('sample') and other.startswith('sample'))]
            weights = learn(data, others, at)
            limit = limit_of(data, others, at, weights)
            values = [(good, best(row, at, weights)) for good, _, row in data[name]]
            refused, recognised = shares(values, limit)
            total.append((refused, recognised))
            count = sum(good for good, _ in values)
            print(f'| {name} | {count} | {refused:.3f} | {len(values) - count} | {recognised:.3f} | {weights[0]:.2f}, {weights[1]:.2f}, {limit:.3f} |')
        print(f'| mean | | {sum(r for r, _ in total) / len(total):.3f} | | {sum(r for _, r in total) / len(total):.3f} | |')
        weights = learn(data, list(data), at)
        print(f'\nfor src/score/presence.rs, from all: bias {weights[0]:.2f}, weight {weights[1]:.2f}, least {limit_of(data, list(data), at, weights):.2f}')


if __name__ == '__main__':
    main()
