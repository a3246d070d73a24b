#!/bin/sh
# Makes the files of tests/golden again: the evidence of the sample, if it is missing, and a run for each name in tests/it/images.rs. Evidence is
# computed in floats, with the models that are installed. Indexes stay in a temporary directory, outside the repository.
set -eu
golden=tests/golden
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
# an installed WordNet would change the queries of some approaches
export WNSEARCHDIR="$out"
if [ -f "$golden/evidence.sqlite" ]; then
    cp "$golden/evidence.sqlite" "$out"
fi
make_run() {
    name=$1
    shift
    "$RIPOSTE" images -q -i sample -o "$out" --numeric float --evidence "$out/evidence.sqlite" "$@"
    cp "$out/run.txt" "$golden/$name.txt"
}
make_run riposte
make_run overlap --overlap
make_run manual --use description,narrative
make_run minsc --approach minsc
make_run boromir-afinn --approach boromir-afinn
make_run boromir-query --approach boromir-query
make_run boromir-bert --approach boromir-bert
make_run aramis --approach aramis
make_run boromir-clusters --approach boromir-clusters
make_run boromir-afinn-clusters --approach boromir-afinn-clusters
make_run boromir-afinn-clusters-only --approach boromir-afinn-clusters-only
make_run jester --approach jester
make_run aramis-neural --approach aramis-neural
make_run aramis-neural-stance --approach aramis-neural-stance
make_run aramis-neural-both --approach aramis-neural-both
make_run jean-luc-picard --approach jean-luc-picard
make_run jean-luc-picard-text --approach jean-luc-picard-text
make_run jean-luc-picard-image-text --approach jean-luc-picard-image-text
make_run jean-luc-picard-both-texts --approach jean-luc-picard-both-texts
if [ ! -f "$golden/evidence.sqlite" ]; then
    cp "$out/evidence.sqlite" "$golden"
fi
