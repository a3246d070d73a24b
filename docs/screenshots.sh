#!/bin/sh
# Takes screenshots of the sample's report, light and dark, wide and narrow. Look at them after every change of a page.
#
#     docs/screenshots.sh [DIR [DOCS]]
#
# They go to DIR (default: out/screenshots); the two that the README shows are copied to DOCS (docs/). No models are needed: the run
# is made from the stored evidence in tests/golden.
set -eu
riposte=${RIPOSTE:-target/release/riposte}
out=${1:-out/screenshots}
chromium=$(sh "$(dirname "$0")/../tests/chromium.sh")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$out"
cp tests/golden/evidence.sqlite "$work"
for run in riposte aramis; do
    RIPOSTE_MODELS=$work/none $riposte images -q -i sample -o "$work/$run" --approach $run \
        --evidence "$work/evidence.sqlite" --explain "$work/$run/explain.jsonl" 2>"$work/notes"
done
inspect() {
    $riposte inspect -q "$work/riposte" -i sample --evidence "$work/evidence.sqlite" --qrels sample/qrels.txt "$@" >&2
}
inspect -o "$work/report"
inspect -o "$work/against" --against "$work/aramis"

# arguments: name, page, width,height, light or dark (which Blink calls 1 and 0)
shoot() {
    blink=1
    [ "$4" = dark ] && blink=0
    "$chromium" --headless --no-sandbox --disable-gpu --hide-scrollbars --no-first-run --disable-background-networking \
        --disable-component-update --disable-sync --user-data-dir="$work/profile" --virtual-time-budget=3000 \
        --blink-settings=preferredColorScheme=$blink --window-size="$3" --screenshot="$out/$1.png" \
        "file://$work/$2" 2>"$work/log" || { cat "$work/log" >&2; exit 1; }
    echo "$out/$1.png"
}
image=$(awk '$1 == 3 && $2 == "PRO" && $4 == 6 { print $3 }' "$work/riposte/run.txt")
for scheme in light dark; do
    shoot topics-$scheme report/index.html 1280,860 $scheme
    shoot topic-$scheme report/topic-3.html 1280,860 $scheme
    shoot image-$scheme "report/topic-3.html#$image" 1280,860 $scheme
    shoot against-$scheme against/topic-3.html 1280,1100 $scheme
    shoot topics-narrow-$scheme report/index.html 500,1000 $scheme
    shoot topic-narrow-$scheme report/topic-3.html 500,1000 $scheme
    shoot image-narrow-$scheme "report/topic-3.html#$image" 500,1400 $scheme
done
if [ $# -gt 1 ]; then
    mkdir -p "$2"
    cp "$out/topic-light.png" "$out/image-dark.png" "$2"
fi
