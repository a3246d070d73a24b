#!/bin/sh
# Makes tests/golden anew: evidence of the sample with the models that are here, and a run for each name that
# tests/it/images.rs knows.
set -eu
golden=tests/golden
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
make_run() {
    name=$1
    shift
    "$RIPOSTE" images -q -i sample -o "$out" --evidence "$golden/evidence.sqlite" "$@"
    cp "$out/run.txt" "$golden/$name.txt"
}
make_run riposte
make_run overlap --overlap
make_run manual --use description,narrative
make_run minsc --approach minsc
make_run boromir-afinn --approach boromir-afinn
make_run boromir-bert --approach boromir-bert
make_run aramis --approach aramis
rm -f "$golden/evidence.sqlite.lock"
