#!/usr/bin/env python3
"""Compares riposte's text index with bm25s and Lucene on the same documents: build time, size, peak memory, query times.

    bench_text.py RIPOSTE_BENCH KIND DIR WORK [--lucene JAR] [--before RIPOSTE_BENCH] [--rounds N] [--json FILE]

RIPOSTE_BENCH is the program riposte-bench; --before names that of another commit. KIND is arguments or passages, DIR is a collection made
by `collection-tools generate-KIND`, and JAR contains Lucene 9 and Jackson, like Anserini's fat jar.

All three systems read the same documents, drop stop words, stem English words, keep their index on disk, and rank documents for the title
of each topic by BM25 with k1 1.2 and b 0.75 (bm25s: method "lucene"), top 10 and top 1,000, one query at a time on one thread; the time
includes the parsing of the query. riposte and Lucene index the same fields without positions, store the texts, build on two threads
(so the bench uses two cores), and also rank by Dirichlet's formula (mu 1000). bm25s has no Dirichlet; the rows of Dirichlet show its BM25
at the same depth.

Each system runs in separate processes. Its peak memory is that of building (for riposte with the first queries). Each query is asked N
times; times are medians of three such runs. Lucene (LuceneBench.java, compiled in advance) is warmed up before it is timed: it indexes
20,000 documents and discards them, or answers each kind of query for five seconds. Its input is written in advance: two files, one for each
thread, with one document per line. Its peak memory includes Java's heap, which can grow to 4 GB. tantivy is the library with which
riposte writes its index, alone: documents and terms are in memory before the clock starts. Lucene and bm25s return document numbers,
riposte returns ids.

It needs bm25s and PyStemmer (pip install bm25s PyStemmer numba), and for Lucene a JDK of version 17 or later.
"""
import argparse, gzip, json, os, re, shutil, statistics, subprocess, sys, time

FIELDS = {'arguments': ['premises', 'conclusion', 'title'], 'passages': ['contents', 'expansion']}
SIMILARITIES = {'bm25': 'name = "bm25", k1 = 1.2, b = 0.75', 'dirichlet': 'name = "lucene-dirichlet", mu = 1000'}
CUTS = (10, 1000)
RUNS = 3
CORES = 2
HEAP = '-Xmx4g'


def documents(kind, folder):
    """The id of each document and its texts in the order of FIELDS."""
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


def peak_mb():
    """The peak of this process's resident memory in MB; None where the system does not report it."""
    try:
        with open('/proc/self/status') as file:
            return int(re.search(r'^VmHWM:\s*(\d+)', file.read(), re.M)[1]) / 1e3
    except (OSError, TypeError):
        return None


def bm25s_peer(kind, folder, work, rounds):
    """Measures bm25s in this process, and prints the report."""
    import bm25s, Stemmer
    start, cpu = time.time(), time.process_time()
    texts = [texts[0] for _, texts in documents(kind, folder)]
    read = time.time()
    stemmer = Stemmer.Stemmer('english')
    tokens = bm25s.tokenize(texts, stopwords='en', stemmer=stemmer, show_progress=False)
    index = bm25s.BM25(method='lucene', k1=1.2, b=0.75)
    index.index(tokens, show_progress=False)
    index.save(work)
    report = {'documents': len(texts), 'read_s': read - start, 'build_s': time.time() - start,
              'build_cpu_s': time.process_time() - cpu, 'peak_mb': peak_mb(), 'index_mb': size_mb(work)}
    titles = topics(folder)
    for backend in ('numpy', 'numba'):
        try:
            index.backend = backend
            if backend == 'numba':
                index.activate_numba_scorer()
            for cut in CUTS:
                k = min(cut, len(texts))
                ask = lambda title: index.retrieve(
                    bm25s.tokenize([title], stopwords='en', stemmer=stemmer, show_progress=False), k=k, show_progress=False, n_threads=0)
                ask(titles[0])
                runs = []
                for _ in range(RUNS):
                    start = time.time()
                    for title in titles * int(rounds):
                        ask(title)
                    runs.append(1e3 * (time.time() - start) / len(titles) / int(rounds))
                report[f'bm25 {cut} {backend}'] = statistics.median(runs)
        except ImportError as error:
            report[f'not measured {backend}'] = str(error)
    print(json.dumps(report))


def lucene(jar, kind, folder, work, rounds):
    """The report of Lucene, or the reason why it was not measured."""
    if not jar:
        return '--lucene was not given'
    if not os.path.isfile(jar):
        return 'the file that --lucene names does not exist'
    if not shutil.which('java') or not shutil.which('javac'):
        return 'java and javac are not installed'
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(f'{work}/classes')
    fields = FIELDS[kind]
    files = [f'{work}/part{n}.jsonl' for n in range(CORES)]
    parts = [open(file, 'w') for file in files]
    for n, (name, texts) in enumerate(documents(kind, folder)):
        parts[n % len(parts)].write(json.dumps({'id': name, **dict(zip(fields, texts))}) + '\n')
    for part in parts:
        part.close()
    with open(f'{work}/topics.txt', 'w') as file:
        file.writelines(' '.join(title.split()) + '\n' for title in topics(folder))
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'LuceneBench.java')
    subprocess.run(['javac', '-proc:none', '-cp', jar, '-d', f'{work}/classes', source], check=True)
    def java(*arguments):
        command = ['java', HEAP, '-cp', f'{jar}{os.pathsep}{work}/classes', 'LuceneBench', *map(str, arguments)]
        return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    report = java('build', f'{work}/index', f'{work}/scratch', ','.join(fields), *files)
    shutil.rmtree(f'{work}/scratch')
    report['index_mb'] = size_mb(f'{work}/index')
    for name in SIMILARITIES:
        for k in CUTS:
            asked = java('search', f'{work}/index', fields[0], f'{work}/topics.txt', name, k, rounds, RUNS)
            asked['search_peak_mb'] = max(asked['search_peak_mb'] or 0, report.get('search_peak_mb', 0))
            report |= asked
    return report


def riposte(program, kind, folder, work, rounds):
    shutil.rmtree(work, ignore_errors=True)
    def ask(name, k):
        command = [program, 'search', '--kind', kind, '-i', folder, '--topics', f'{folder}/topics.xml', '--index', work,
                   '--analyzer', 'stop=lucene stem=snowball length=2-40', '--fields', FIELDS[kind][0], '--rounds', str(rounds),
                   '--similarity', SIMILARITIES[name], '--top', str(k), '--all']
        return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    report = ask('bm25', 10)
    del report['query_ms']
    for name in SIMILARITIES:
        for k in CUTS:
            report[f'{name} {k}'] = statistics.median(ask(name, k)['query_ms'] for _ in range(RUNS))
    return report


def tantivy(program, index, work):
    """tantivy alone: builds the index of riposte once more."""
    shutil.rmtree(work, ignore_errors=True)
    asked = subprocess.run([program, 'tantivy', '--index', index, '--output', work], check=True, capture_output=True, text=True)
    shutil.rmtree(work)
    return json.loads(asked.stdout)


def main():
    if len(sys.argv) > 1 and sys.argv[1] == '--peer':
        return bm25s_peer(*sys.argv[2:])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ('riposte_bench', 'kind', 'folder', 'work'):
        parser.add_argument(name)
    parser.add_argument('--lucene', metavar='JAR')
    parser.add_argument('--before', metavar='RIPOSTE_BENCH')
    parser.add_argument('--rounds', type=int, default=20)
    parser.add_argument('--json', metavar='FILE')
    args = parser.parse_args()
    if hasattr(os, 'sched_setaffinity'):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-CORES:])
    place = lambda name: f'{args.work}/{name}-{args.kind}'
    os.makedirs(args.work, exist_ok=True)
    shutil.rmtree(place('bm25s'), ignore_errors=True)
    ours = riposte(args.riposte_bench, args.kind, args.folder, place('riposte'), args.rounds)
    peer = subprocess.run([sys.executable, __file__, '--peer', args.kind, args.folder, place('bm25s'), str(args.rounds)],
                          check=True, capture_output=True, text=True)
    report = {'kind': args.kind, 'riposte': ours, 'bm25s': json.loads(peer.stdout),
              'tantivy': tantivy(args.riposte_bench, place('riposte'), place('tantivy')),
              'lucene': lucene(args.lucene, args.kind, args.folder, place('lucene'), args.rounds)}
    if args.before:
        report['before'] = riposte(args.before, args.kind, args.folder, place('before'), args.rounds)
    if args.json:
        with open(args.json, 'w') as file:
            json.dump(report, file, indent=1)
    show(report)


def show(report):
    ours, bm25s, tantivy, lucene = (report[name] for name in ('riposte', 'bm25s', 'tantivy', 'lucene'))
    print(f'{report["kind"]}: {ours["documents"]} documents')
    if isinstance(lucene, str):
        print(f'  Lucene was not measured: {lucene}')
        lucene = {}
    rows = [('file to index, seconds', 'build_s', 'build_s'), ('file to index, CPU seconds', 'build_cpu_s', 'build_cpu_s'),
            ('index, MB', 'index_mb', 'index_mb'), ('peak memory, MB', 'peak_mb', 'peak_mb')]
    rows += [(f'{name}, top {k}, ms per query', f'{name} {k}', f'bm25 {k} numba') for name in SIMILARITIES for k in CUTS]
    number = lambda x: '' if x is None else f'{x:.3g}' if x < 100 else f'{x:.0f}'
    times = lambda theirs, mine: '' if theirs is None or not mine else f'{theirs / mine:.2f}'
    print(f'  {"":30}{"riposte":>9}{"bm25s":>9}{"ratio":>7}{"tantivy":>9}{"ratio":>7}{"Lucene":>9}{"ratio":>7}')
    for label, key, peer in rows:
        mine = ours[key]
        cells = ''.join(f'{number(theirs):>9}{times(theirs, mine):>7}' for theirs in (bm25s.get(peer), tantivy.get(key), lucene.get(key)))
        print(f'  {label:30}{number(mine):>9}{cells}')
    print('  ratio: the other system divided by riposte, at the same depth; above 1 if riposte takes less')
    print('  tantivy: alone, with documents and terms in memory before the clock starts; riposte cannot take less as long as tantivy writes its '
          'index')
    print(f'  bm25s: reading the file takes {bm25s["read_s"]:.1f} s of its build time; its index has one field and no texts; its query '
          'times are those with numba, and those of BM25 in the rows of Dirichlet')
    if before := report.get('before'):
        print('  the other commit divided by riposte: ' + ', '.join(f'{label} {times(before.get(key), ours[key])}' for label, key, _ in rows))
    if lucene:
        print(f'  Lucene {lucene["lucene"]} on Java {lucene["java"]}: {lucene["segments"]} segments; its peak memory while searching, '
              f'{number(lucene["search_peak_mb"])} MB')


if __name__ == '__main__':
    main()
