"""What trec_eval's own readers make of runs and judgements; pytrec_eval contains them.

Each line of the file argv[1] is a JSON array of "run" or "qrels" and a text. Prints an array of [topic, document, score or grade] for each; null if
trec_eval refuses the text. A text must not contain NUL, on which trec_eval reads beyond its buffer."""
import ctypes
import json
import sys

import pytrec_eval_ext

library = ctypes.CDLL(pytrec_eval_ext.__file__)
text, long = ctypes.c_char_p, ctypes.c_long


def struct(**fields):
    return type('Struct', (ctypes.Structure,), {'_fields_': list(fields.items())})


def array(of):
    """Before the array are its length and its capacity."""
    return struct(length=long, capacity=long, items=ctypes.POINTER(of))


# the declarations in trec_eval.h and trec_format.h
Retrieved = struct(document=text, value=ctypes.c_float)
Judged = struct(document=text, value=long)
RunTopic = struct(id=text, tag=text, format=text, documents=ctypes.POINTER(array(Retrieved)))
QrelsTopic = struct(id=text, format=text, documents=ctypes.POINTER(array(Judged)))
READERS = {
    'run': (array(RunTopic), library.te_get_trec_results, library.te_get_trec_results_cleanup),
    'qrels': (array(QrelsTopic), library.te_get_qrels, library.te_get_qrels_cleanup),
}
options = ctypes.create_string_buffer(4096)  # neither reader uses them
path = sys.argv[1] + '.one'

for line in open(sys.argv[1], encoding='utf-8'):
    kind, content = json.loads(line)
    with open(path, 'w', encoding='utf-8', newline='') as file:
        file.write(content)
    All, read, clean = READERS[kind]
    topics = All()
    if read(options, path.encode(), ctypes.byref(topics)) != 1:
        print('null')
        continue
    found = []
    for topic in topics.items[:topics.length]:
        documents = topic.documents.contents
        found += [[topic.id.decode(), d.document.decode(), repr(d.value)] for d in documents.items[:documents.length]]
    print(json.dumps(found))
    clean()
