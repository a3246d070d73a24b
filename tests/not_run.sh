#!/bin/sh
# Lists the tests that did not run, and says for which of them anybody can get the data.
#
#     tests/not_run.sh FILE
#
# FILE has a line `test: reason` for each of them (RIPOSTE_SKIPPED, tests/need). A reason that names `riposte datasets get` is a data set of the catalogue that is
# not here; `make test-official` gets it.
set -eu
echo "These tests did not run, or stopped early:"
sort -u "$1"
sort -u "$1" | awk '
    match($0, /`riposte datasets get [^`]*` gets it \([^)]*\)/) {
        command = substr($0, RSTART + 1, RLENGTH - 2)
        sub(/` gets it \(/, ", ", command)
        if (!(command in seen)) commands = commands (commands ? "; " : "") command
        seen[command] = 1
        test = $0
        sub(/: .*/, "", test)
        tests = tests (tests ? ", " : "") test
        count++
    }
    END {
        if (count)
            printf "%d of them need%s data that anybody can get (%s): `make test-official` gets them and runs %s\n", count, (count == 1 ? "s" : ""), commands, tests
    }'
