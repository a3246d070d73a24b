#!/bin/sh
# Runs the tests of a release build, and then lists the tests that did not run, with the reasons (tests/not_run.sh). Everything that could be fetched for the tests
# is required (RIPOSTE_REQUIRE, tests/need), so a test that could have run does not pass without running.
set -eu
cd "$(dirname "$0")/.."
cargo=${CARGO:-cargo}
not_run=$PWD/target/tests-not-run.txt

required=${RIPOSTE_REQUIRE:-}
require() {
    required=${required:+$required,}$1
}
if target/release/riposte models fetch ppocr-v4 all-minilm-l6-v2 afinn; then
    require models
fi
if sh tests/chromium.sh; then
    require chromium
fi
# the programs of tests/peers.txt, for the tests that compare riposte with them or check its files
python=${PYTHON:-python3}
if { [ -x target/peers/bin/python ] || $python -m venv target/peers; } && target/peers/bin/python -m pip install -q -r tests/peers.txt; then
    require peers
fi
if sh tests/java.sh; then
    require java
fi
# some commands of the manual call it
command -v sqlite3 >/dev/null || sh tests/apt.sh sqlite3 || echo "sqlite3 is missing and cannot be installed" >&2
# some tests save pages with it
command -v wget >/dev/null || sh tests/apt.sh wget || echo "wget is missing and cannot be installed" >&2
if [ -n "${RIPOSTE_DATA:-}" ]; then
    require data
fi

# the wheel is built offline, and needs the manifests of all crates, also of those that other systems use
$cargo fetch --locked || echo "not all crates can be downloaded" >&2

memory=/dev/shm
temporary=

list_not_run() {
    status=$?
    if [ -n "$temporary" ]; then
        rm -rf "$temporary"
    fi
    if [ -s "$not_run" ]; then
        sh tests/not_run.sh "$not_run"
    elif [ "$status" = 0 ]; then
        echo "all tests ran"
    fi
}
: >"$not_run"
trap list_not_run EXIT

# Many tests wait for a disk: they write small files, and see that they are safe. In memory that takes no time. 8 GiB is several times what
# they write.
free=$(df -Pk "$memory" 2>/dev/null | awk 'NR == 2 { print $4 }')
if [ -w "$memory" ] && [ "${free:-0}" -ge 8388608 ]; then
    temporary=$(mktemp -d "$memory/riposte-tests.XXXXXX")
    # like /tmp, because some tests run riposte as another user
    chmod 1777 "$temporary"
    # the tests run programs there
    printf '#!/bin/sh\n' >"$temporary/program"
    chmod +x "$temporary/program"
    if "$temporary/program" 2>/dev/null; then
        export TMPDIR="$temporary"
    fi
fi

RIPOSTE_REQUIRE=$required
RIPOSTE_SKIPPED=$not_run
# one test more than there are cores: many tests wait for a browser, for Java or for a lock
RUST_TEST_THREADS=${RUST_TEST_THREADS:-$(($(getconf _NPROCESSORS_ONLN) + 1))}
export RIPOSTE_REQUIRE RIPOSTE_SKIPPED RUST_TEST_THREADS
$cargo test --release --workspace --no-fail-fast
