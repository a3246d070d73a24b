#!/usr/bin/env python3
"""Compares riposte's dense search with numpy's product and with the flat index of faiss-cpu on the same vectors: times, results, memory.

    bench_dense.py RIPOSTE_BENCH COLLECTION_TOOLS WORK [--encoder DIR] [--count 100000] [--topics 50] [--top 1000] [--rounds 7]

COLLECTION_TOOLS generates COUNT arguments in WORK, and RIPOSTE_BENCH encodes the beginning of each one. Without --encoder, the encoder has
one layer with random weights, and vectors of 384 numbers, like those of MiniLM: the time of a search does not depend on the numbers, and
MiniLM needs an hour for that many arguments. All three programs then search the same vectors, for all topics at once and for one topic at a
time; riposte stores them in 16-bit floats, the others have the same numbers in 32 bits. numpy is timed for the product only and for the
product with the selection of the best (argpartition and a sort). The programs are run in turn; times are medians, and each ratio is the
median over the rounds of peer / riposte. riposte's peak memory is that of the whole process, with the index.

It needs numpy and faiss-cpu (pip install numpy faiss-cpu).
"""
import argparse, json, os, pathlib, resource, statistics, subprocess, sys, time

THREADS = 2


def random_encoder(folder, tokenizer):
    """A BERT of one layer with random weights in `folder`, with the tokenizer of `tokenizer`."""
    import numpy as np
    hidden, inner, words, positions = 384, 384, 96, 512
    generator = np.random.default_rng(7)
    tensors = {"embeddings.word_embeddings.weight": (words, hidden), "embeddings.position_embeddings.weight": (positions, hidden),
               "embeddings.token_type_embeddings.weight": (2, hidden)}
    norms = ["embeddings.LayerNorm"]
    for name, out, width in (("attention.self.query", hidden, hidden), ("attention.self.key", hidden, hidden),
                             ("attention.self.value", hidden, hidden), ("attention.output.dense", hidden, hidden),
                             ("intermediate.dense", inner, hidden), ("output.dense", hidden, inner)):
        tensors[f"encoder.layer.0.{name}.weight"], tensors[f"encoder.layer.0.{name}.bias"] = (out, width), (out,)
    norms += ["encoder.layer.0.attention.output.LayerNorm", "encoder.layer.0.output.LayerNorm"]
    arrays = {name: generator.normal(0, 0.05, shape).astype("<f4") for name, shape in tensors.items()}
    for norm in norms:
        arrays[f"{norm}.weight"], arrays[f"{norm}.bias"] = np.ones(hidden, "<f4"), np.zeros(hidden, "<f4")
    header, blobs, start = {}, [], 0
    for name, array in arrays.items():
        blob = array.tobytes()
        header[name] = {"dtype": "F32", "shape": list(array.shape), "data_offsets": [start, start + len(blob)]}
        blobs.append(blob)
        start += len(blob)
    head = json.dumps(header).encode()
    head += b" " * (-len(head) % 8)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.safetensors").write_bytes(len(head).to_bytes(8, "little") + head + b"".join(blobs))
    config = {"model_type": "bert", "hidden_size": hidden, "intermediate_size": inner, "num_hidden_layers": 1, "num_attention_heads": 12,
              "vocab_size": words, "max_position_embeddings": positions, "type_vocab_size": 2, "hidden_act": "gelu", "layer_norm_eps": 1e-12}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "tokenizer.json").write_bytes((tokenizer / "tokenizer.json").read_bytes())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bench")
    parser.add_argument("tools")
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("--encoder", type=pathlib.Path)
    parser.add_argument("--words", type=int, default=30)
    for name, default in (("--count", 100000), ("--topics", 50), ("--top", 1000), ("--rounds", 7)):
        parser.add_argument(name, type=int, default=default)
    options = parser.parse_args()
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS")
    if any(os.environ.get(name) != str(THREADS) for name in names):
        # numpy and faiss read these when they are imported
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **dict.fromkeys(names, str(THREADS))})
    import faiss
    import numpy as np

    work = options.work
    collection = work / f"arguments-{options.count}"
    if not (collection / "args-me.json").is_file():
        subprocess.run([options.tools, "generate-arguments", "--count", str(options.count), collection], check=True)
    titles = [f"Should {word} be banned in {place}?" for word in "guns milk cars books zoos games meat coal wine drones".split()
              for place in "schools cities prisons Europe hospitals".split()]
    topics = work / "topics.xml"
    topics.write_text("<topics>" + "".join(f"<topic><number>{n}</number><title>{title}</title></topic>"
                                           for n, title in enumerate(titles[:options.topics], 1)) + "</topics>")
    encoder = options.encoder
    if encoder is None:
        encoder = work / "random-encoder"
        random_encoder(encoder, pathlib.Path(__file__).resolve().parent.parent / "tests/reference/tiny-sentence")
    index = work / "index"
    index.mkdir(parents=True, exist_ok=True)
    command = [options.bench, "dense", "-i", collection, "--topics", topics, "--index", index, "--encoder", encoder, "--words", options.words,
               "--top", options.top, "--dump", work / "dump", "--rounds", 1]

    def riposte():
        process = subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE, text=True)
        said = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = status
        if status:
            sys.exit(f"riposte-bench failed: {status}")
        return {**json.loads(said), "peak_mb": usage.ru_maxrss / 1e3}

    first = riposte()
    size = first["dimension"]
    documents = np.fromfile(work / "dump/documents.f32", "<f4").reshape(-1, size)
    queries = np.fromfile(work / "dump/queries.f32", "<f4").reshape(-1, size)
    flat = faiss.IndexFlatIP(size)
    flat.add(documents)
    faiss.omp_set_num_threads(THREADS)
    scores = np.empty((len(queries), len(documents)), "<f4")

    def product(queries):
        np.matmul(queries, documents.T, out=scores[:len(queries)])

    def select(queries):
        product(queries)
        found = scores[:len(queries)]
        best = np.argpartition(-found, options.top - 1, axis=1)[:, :options.top]
        return np.take_along_axis(best, np.argsort(-np.take_along_axis(found, best, axis=1), axis=1), axis=1)

    def each(search):
        return lambda: [search(queries[n:n + 1]) for n in range(len(queries))]

    peers = {"numpy, product alone": product, "numpy, product and the best": select, "faiss, flat": lambda q: flat.search(q, options.top)}
    times = {name: ([], []) for name in ("riposte", *peers)}
    loads, peaks = [], []
    for _ in range(options.rounds):
        ours = riposte()
        times["riposte"][0].append(ours["all_s"][0])
        times["riposte"][1].append(ours["each_s"][0])
        loads.append(ours["load_s"])
        peaks.append(ours["peak_mb"])
        for name, search in peers.items():
            for slot, run in ((0, lambda: search(queries)), (1, each(search))):
                start = time.perf_counter()
                run()
                times[name][slot].append(time.perf_counter() - start)
    found = json.load(open(work / "dump/found.json"))
    cosines, ids = flat.search(queries, options.top)
    # documents with the last score can be in any order, so a document counts if its score is at least the last one
    recalled = sum(sum(cosine >= row[-1] - 1e-6 for _, cosine in ours) for ours, row in zip(found, cosines)) / cosines.size
    same = sum(len({d for d, _ in ours} & set(row)) for ours, row in zip(found, ids.tolist())) / ids.size
    print(f"{first['documents']:,} documents, {len(queries)} topics, {size} numbers, top {options.top}, {THREADS} threads, {options.rounds} rounds\n")
    print("| | all topics at once, ms | peer / riposte | one topic at a time, ms a topic | peer / riposte |\n|---|---|---|---|---|")
    for name, (together, single) in times.items():
        cells = []
        for ours, theirs, share in ((times["riposte"][0], together, 1), (times["riposte"][1], single, len(queries))):
            ratio = statistics.median(b / a for a, b in zip(ours, theirs))
            cells += [f"{statistics.median(theirs) / share * 1e3:.1f}", "" if name == "riposte" else f"{ratio:.2f}"]
        print(f"| {name} | {' | '.join(cells)} |")
    print(f"\nof the {options.top} best of faiss found by riposte: {recalled:.6f} by score, {same:.6f} by number")
    print(f"vectors in memory {first['vectors_mb']:.0f} MB, file {first['file_mb']:.0f} MB, loading {statistics.median(loads):.2f} s, "
          f"peak of the process {statistics.median(peaks):.0f} MB")


if __name__ == "__main__":
    main()
