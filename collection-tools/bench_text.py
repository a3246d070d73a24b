#!/usr/bin/env python3
"""riposte's text index beside bm25s on the same documents in the same run: time, size, peak memory, queries.

    bench_text.py COLLECTION_TOOLS KIND DIR WORK     KIND: arguments or passages; DIR as generate-KIND makes it

Both read the same file, take the same stop list (Lucene's 33 words), stemmer (Snowball English) and shortest word (2
letters), use BM25 (k1 1.2, b 0.75, method "lucene"), keep their index on disk, and rank the top 1,000 of each topic's
title, one query at a time on one thread. Needs bm25s and PyStemmer (pip install bm25s PyStemmer numba).
"""
import gzip, json, os, re, resource, shutil, subprocess, sys, time

FIELDS = {'arguments': 'premises', 'passages': 'contents'}
ROUNDS = 5


def peer(kind, folder, work):
    """bm25s, in a process of its own."""
    import bm25s, Stemmer
    start = time.time()
    if kind == 'arguments':
        with open(f'{folder}/args-me.json') as file:
            texts = ['\n'.join(p['text'] for p in a['premises']) for a in json.load(file)['arguments']]
    else:
        with gzip.open(f'{folder}/passages.jsonl.gz', 'rt') as file:
            texts = [json.loads(line)['contents'] for line in file]
    read = time.time()
    stemmer = Stemmer.Stemmer('english')
    tokens = bm25s.tokenize(texts, stopwords='en', stemmer=stemmer, show_progress=False)
    index = bm25s.BM25(method='lucene', k1=1.2, b=0.75)
    index.index(tokens, show_progress=False)
    index.save(work)
    built = time.time()
    report = {'documents': len(texts), 'read_s': read - start, 'build_s': built - start}
    titles = re.findall(r'<title>(.*?)</title>', open(f'{folder}/topics.xml').read(), re.S)
    k = min(1000, len(texts))
    for backend in ('numpy', 'numba'):
        try:
            index.backend = backend
            if backend == 'numba':
                index.activate_numba_scorer()
            ask = lambda title: index.retrieve(
                bm25s.tokenize([title], stopwords='en', stemmer=stemmer, show_progress=False), k=k, show_progress=False, n_threads=0)
            ask(titles[0])
            start = time.time()
            for title in titles:
                for _ in range(ROUNDS):
                    ask(title)
            report[f'query_ms_{backend}'] = 1e3 * (time.time() - start) / len(titles) / ROUNDS
        except ImportError as error:
            report[f'query_ms_{backend}'] = f'not measured: {error}'
    report['index_mb'] = sum(os.path.getsize(os.path.join(work, f)) for f in os.listdir(work)) / 1e6
    report['peak_mb'] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    print(json.dumps(report))


def main():
    if len(sys.argv) > 1 and sys.argv[1] == '--peer':
        return peer(*sys.argv[2:])
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    tools, kind, folder, work = sys.argv[1:]
    os.makedirs(work, exist_ok=True)
    ours, theirs = f'{work}/riposte-{kind}', f'{work}/bm25s-{kind}'
    for place in (ours, theirs):
        shutil.rmtree(place, ignore_errors=True)
    command = [tools, 'bench-search', '--kind', kind, '-i', folder, '--topics', f'{folder}/topics.xml', '--index', ours,
               '--analyzer', 'stop=lucene stem=snowball length=2-40', '--fields', FIELDS[kind], '--rounds', str(ROUNDS), '--all']
    a = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    b = json.loads(subprocess.run([sys.executable, __file__, '--peer', kind, folder, theirs], check=True, capture_output=True, text=True).stdout)
    number = lambda x: f'{x:.2f}' if isinstance(x, float) else str(x)
    queries = ' / '.join(number(b[f'query_ms_{backend}']) for backend in ('numpy', 'numba'))
    print(f'{kind}: {a["documents"]} documents')
    for name, x, y in (
        ('file to index, seconds', a['build_s'], b['build_s']),
        ('of which reading the file', '', b['read_s']),
        ('index, MB', a['index_mb'], b['index_mb']),
        ('peak memory, MB', a['peak_mb'], b['peak_mb']),
        ('top 1,000, ms a query', a['query_ms'], queries),
    ):
        print(f'  {name:28} riposte {number(x):>10}   bm25s {number(y)}')
    print("  riposte's index holds the texts too, and its premises, conclusions and titles; bm25s' holds one field and no text")


if __name__ == '__main__':
    main()
