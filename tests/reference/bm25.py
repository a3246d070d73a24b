"""Makes bm25.json: the best of the development arguments for the 50 titles of Touché 2021, as bm25s ranks them
(pip install bm25s; method "lucene", k1 1.2, b 0.75). Tokens are runs of letters and digits in lower case; no token is left out.

    python tests/reference/bm25.py $RIPOSTE_DATA/args > tests/reference/bm25.json
"""
import json, re, sys
import bm25s

FULL, TOP = 3, 100  # the first 3 queries are stored with 100 documents, the others with 10

folder = sys.argv[1]
arguments = json.load(open(f'{folder}/args-me.json'))['arguments']
read = lambda text: re.findall(r'[^\W_]+', text.lower())
index = bm25s.BM25(method='lucene', k1=1.2, b=0.75, dtype='float64')
index.index([read('\n'.join(p['text'] for p in a['premises'])) for a in arguments], show_progress=False)
topics = re.findall(r'<number>\s*(\d+).*?<title>(.*?)</title>', open(f'{folder}/topics-task-1-2021.xml').read(), re.S)
queries = []
for n, (topic, title) in enumerate(topics):
    found, scores = index.retrieve([read(title)], k=TOP, show_progress=False)
    top = [[arguments[i]['id'], round(float(s), 5)] for i, s in zip(found[0], scores[0])]
    queries.append({'title': title.strip(), 'last': top[-1][1], 'sum': round(float(scores[0].sum()), 4), 'top': top if n < FULL else top[:10]})
print('{"documents": %d, "queries": [' % len(arguments))
print(',\n'.join(json.dumps(q) for q in queries))
print(']}')
