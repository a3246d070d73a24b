#!/bin/sh
# Evaluates every approach to a task on a judged collection, in one table.
#
#     benches/approaches_table.sh controversial|comparative|images COLLECTION OUT [NAME=]QRELS…
#
# Runs go to OUT/<approach>, indices and vectors to OUT/kept, evidence to OUT/evidence.sqlite. RIPOSTE names the program (default: target/release/riposte).
set -eu
task=$1 collection=$2 out=$3
shift 3
riposte=${RIPOSTE:-target/release/riposte}
runs=
# exit code 1: faults in documents, or an approach that finds nothing here; riposte names them
named() {
    test "$?" = 1
}
for approach in $("$riposte" approaches --json --task "$task" | sed -n 's/.*"recipe":"\([^"]*\)".*/\1/p' | awk '!seen[$0]++'); do
    # a service ranks its own pages, not this collection, and the lists of claims are another task (2024 and 2025)
    if "$riposte" approaches show "$approach" --task "$task" | grep -q -e '^service' -e '^form = "claims"'; then
        continue
    fi
    if [ "$task" = images ]; then
        stored="--evidence $out/evidence.sqlite"
    else
        stored="--index $out/kept"
    fi
    # shellcheck disable=SC2086
    "$riposte" "$task" --quiet --numeric float -i "$collection" -o "$out/$approach" $stored --approach "$approach" >&2 || named
    runs="$runs $out/$approach"
done
more=
first=$1
shift
for qrels in "$@"; do
    more="$more --qrels $qrels"
done
if [ "$task" = images ]; then
    # the measures of the task: P@10 by topic, argumentativeness and stance
    # shellcheck disable=SC2086
    "$riposte" evaluate "$first" $runs $more || named
else
    # shellcheck disable=SC2086
    "$riposte" evaluate "$first" $runs nDCG@5 'nDCG(judged_only=True)@5' Judged@5 $more || named
fi
