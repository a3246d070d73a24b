#!/usr/bin/env python3
"""riposte's text index beside bm25s and Lucene on the same documents in the same run: time, size, peak memory, queries.

    bench_text.py COLLECTION_TOOLS KIND DIR WORK [--lucene JAR] [--rounds N] [--json FILE]

KIND is arguments or passages, DIR as generate-KIND makes it, JAR Anserini's jar with all it needs.

All read the same documents, take a list of stop words, a stemmer for English, BM25 with k1 1.2 and b 0.75 (bm25s:
method "lucene"), keep their index on disk, and rank the top 10 and the top 1,000 of each topic's title, one query at a time on
one thread. riposte and Lucene index the same fields, store the texts, build on two threads and rank by Dirichlet's
formula (mu 1000) too; Lucene's files are written for it, outside its time, as one document a line in two files, one a thread.
Lucene's milliseconds are those of a run of all topics ROUNDS times less those of one round, over the rounds between: so starting
Java and compiling are not in them. Needs bm25s and PyStemmer (pip install bm25s PyStemmer numba), and java for Lucene.
"""
import argparse, gzip, json, os, re, resource, shutil, statistics, subprocess, sys, time

FIELDS = {'arguments': ['premises', 'conclusion', 'title'], 'passages': ['contents', 'expansion']}
SIMILARITIES = {
    'bm25': ('name = "bm25", k1 = 1.2, b = 0.75', ['-bm25', '-bm25.k1', '1.2', '-bm25.b', '0.75']),
    'dirichlet': ('name = "lucene-dirichlet", mu = 1000', ['-qld', '-qld.mu', '1000']),
}
CUTS = (10, 1000)
RUNS = 3


def documents(kind, folder):
    """(id, texts by field) of each."""
    if kind == 'arguments':
        with open(f'{folder}/args-me.json') as file:
            for a in json.load(file)['arguments']:
                context = a.get('context') or {}
                title = next((context[k] for k in ('discussionTitle', 'topic', 'sourceTitle') if (context.get(k) or '').strip()), '')
                yield a['id'], ['\n'.join(p['text'] for p in a['premises']), a['conclusion'], title]
    else:
        with gzip.open(f'{folder}/passages.jsonl.gz', 'rt') as file:
            for line in file:
                p = json.loads(line)
                yield p['id'], [p['contents'], ' '.join(p.get('queries') or [])]


def topics(folder):
    with open(f'{folder}/topics.xml') as file:
        return re.findall(r'<title>(.*?)</title>', file.read(), re.S)


def size_mb(folder):
    return sum(os.path.getsize(os.path.join(folder, f)) for f in os.listdir(folder)) / 1e6


def bm25s_peer(kind, folder, work, rounds):
    """bm25s, in a process of its own."""
    import bm25s, Stemmer
    start = time.time()
    texts = [texts[0] for _, texts in documents(kind, folder)]
    read = time.time()
    stemmer = Stemmer.Stemmer('english')
    tokens = bm25s.tokenize(texts, stopwords='en', stemmer=stemmer, show_progress=False)
    index = bm25s.BM25(method='lucene', k1=1.2, b=0.75)
    index.index(tokens, show_progress=False)
    index.save(work)
    report = {'documents': len(texts), 'read_s': read - start, 'build_s': time.time() - start}
    titles = topics(folder)
    for backend in ('numpy', 'numba'):
        try:
            index.backend = backend
            if backend == 'numba':
                index.activate_numba_scorer()
            for k in CUTS:
                k = min(k, len(texts))
                ask = lambda title: index.retrieve(
                    bm25s.tokenize([title], stopwords='en', stemmer=stemmer, show_progress=False), k=k, show_progress=False, n_threads=0)
                ask(titles[0])
                runs = []
                for _ in range(RUNS):
                    start = time.time()
                    for title in titles * int(rounds):
                        ask(title)
                    runs.append(1e3 * (time.time() - start) / len(titles) / int(rounds))
                report[f'bm25 {k} {backend}'] = statistics.median(runs)
        except ImportError as error:
            report[f'not measured {backend}'] = str(error)
    report['index_mb'] = size_mb(work)
    report['peak_mb'] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    print(json.dumps(report))


def lucene(jar, kind, folder, work, rounds):
    """Lucene, or why not."""
    if not jar:
        return 'no --lucene JAR'
    if not os.path.isfile(jar):
        return f'there is no {jar}'
    if not shutil.which('java'):
        return 'no java here'
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(f'{work}/input')
    fields = FIELDS[kind]
    halves = [open(f'{work}/input/part{n}.jsonl', 'w') for n in range(2)]
    names = ['contents'] + fields[1:]
    for n, (name, texts) in enumerate(documents(kind, folder)):
        halves[n % 2].write(json.dumps({'id': name, **dict(zip(names, texts))}) + '\n')
    for half in halves:
        half.close()
    anserini = lambda name, *rest: subprocess.run(
        ['java', '-cp', jar, f'io.anserini.{name}', *rest], check=True, capture_output=True, text=True)
    start = time.time()
    anserini('index.IndexCollection', '-collection', 'JsonCollection', '-input', f'{work}/input', '-index', f'{work}/index',
             '-generator', 'DefaultLuceneDocumentGenerator', '-threads', '2', '-storeRaw', '-fields', *fields[1:])
    report = {'build_s': time.time() - start, 'peak_mb': resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e3,
              'index_mb': size_mb(f'{work}/index')}
    titles = topics(folder)
    files = {}
    for times in (1, 1 + rounds):
        files[times] = f'{work}/topics{times}.tsv'
        with open(files[times], 'w') as file:
            for n, title in enumerate(titles * times):
                file.write(f'{n + 1}\t{title.strip()}\n')
    for name, (_, options) in SIMILARITIES.items():
        for k in CUTS:
            def seconds(times):
                start = time.time()
                anserini('search.SearchCollection', '-index', f'{work}/index', '-topics', files[times], '-topicreader', 'TsvInt',
                         '-output', f'{work}/run.txt', '-hits', str(k), '-threads', '1', *options)
                return time.time() - start
            runs = [seconds(1 + rounds) - seconds(1) for _ in range(RUNS)]
            report[f'{name} {k}'] = 1e3 * statistics.median(runs) / len(titles) / rounds
    return report


def riposte(tools, kind, folder, work, rounds):
    shutil.rmtree(work, ignore_errors=True)
    def ask(name, k):
        command = [tools, 'bench-search', '--kind', kind, '-i', folder, '--topics', f'{folder}/topics.xml', '--index', work,
                   '--analyzer', 'stop=lucene stem=snowball length=2-40', '--fields', FIELDS[kind][0], '--rounds', str(rounds),
                   '--similarity', SIMILARITIES[name][0], '--top', str(k), '--all']
        return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    report = ask('bm25', 10)
    del report['query_ms']
    for name in SIMILARITIES:
        for k in CUTS:
            report[f'{name} {k}'] = statistics.median(ask(name, k)['query_ms'] for _ in range(RUNS))
    return report


def main():
    if len(sys.argv) > 1 and sys.argv[1] == '--peer':
        return bm25s_peer(*sys.argv[2:])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ('tools', 'kind', 'folder', 'work'):
        parser.add_argument(name)
    parser.add_argument('--lucene', metavar='JAR')
    parser.add_argument('--rounds', type=int, default=20)
    parser.add_argument('--json', metavar='FILE')
    args = parser.parse_args()
    place = lambda name: f'{args.work}/{name}-{args.kind}'
    os.makedirs(args.work, exist_ok=True)
    shutil.rmtree(place('bm25s'), ignore_errors=True)
    ours = riposte(args.tools, args.kind, args.folder, place('riposte'), args.rounds)
    peer = subprocess.run([sys.executable, __file__, '--peer', args.kind, args.folder, place('bm25s'), str(args.rounds)],
                          check=True, capture_output=True, text=True)
    report = {'kind': args.kind, 'riposte': ours, 'bm25s': json.loads(peer.stdout),
              'lucene': lucene(args.lucene, args.kind, args.folder, place('lucene'), args.rounds)}
    if args.json:
        with open(args.json, 'w') as file:
            json.dump(report, file, indent=1)
    show(report)


def show(report):
    ours, bm25s, lucene = report['riposte'], report['bm25s'], report['lucene']
    print(f'{report["kind"]}: {ours["documents"]} documents')
    if isinstance(lucene, str):
        print(f'  Lucene was not measured: {lucene}')
        lucene = {}
    rows = [('file to index, seconds', 'build_s', 'build_s'), ('index, MB', 'index_mb', 'index_mb'), ('peak memory, MB', 'peak_mb', 'peak_mb')]
    rows += [(f'{name}, top {k}, ms a query', f'{name} {k}', f'{name} {k} numba') for name in SIMILARITIES for k in CUTS]
    number = lambda x: '' if x is None else f'{x:.3g}' if x < 100 else f'{x:.0f}'
    print(f'  {"":30}{"riposte":>9}{"bm25s":>9}{"ratio":>7}{"Lucene":>9}{"ratio":>7}')
    for label, key, peer in rows:
        a = ours[key]
        cells = ''.join(f'{number(b):>9}{number(b and a / b):>7}' for b in (bm25s.get(peer), lucene.get(key)))
        print(f'  {label:30}{number(a):>9}{cells}')
    print(f'  bm25s: {bm25s["read_s"]:.1f} s of its building is reading the file; its queries are numba\'s; it holds one field and no text')


if __name__ == '__main__':
    main()
