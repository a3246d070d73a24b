#!/bin/sh
# Takes screenshots of the sample's report, of a debate sheet, of an answer in a terminal and of the server's page, light and dark, wide and narrow. Look
# at them after every change of a page.
#
#     docs/screenshots.sh [DIR [DOCS]]
#
# They go to DIR (default: out/screenshots); those that README and the pages show are copied to DOCS (docs/). No models are needed for the report: its run
# is made from the stored evidence in tests/golden. The sheet, the terminal and the server show answers with the models that are installed.
set -eu
riposte=${RIPOSTE:-target/release/riposte}
out=${1:-out/screenshots}
chromium=$(sh "$(dirname "$0")/../tests/chromium.sh")
work=$(mktemp -d)
server=
trap 'if [ -n "$server" ]; then kill "$server"; fi; rm -rf "$work"' EXIT
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
question="Should zoos be closed?"
sheets=$work/sheets
$riposte images -q -i sample -o "$sheets" --cache "$work/cache" --arguments sample/args-me.json --debate "$sheets/debate.jsonl" --explain "$sheets/explain.jsonl"
$riposte inspect -q "$sheets" -i sample --cache "$work/cache" -o "$work/debate" >&2
for columns in 100 37; do
    python3 "$(dirname "$0")/terminal.py" $columns 31 "$work/terminal-$columns.html" "riposte ask \"$question\" -i sample" \
        "$riposte" ask -q "$question" -i sample --cache "$work/cache"
done

# arguments: name, page at $address, width,height, light or dark (which Blink calls 1 and 0)
address=file://$work
shoot() {
    blink=1
    [ "$4" = dark ] && blink=0
    "$chromium" --headless --no-sandbox --disable-gpu --hide-scrollbars --no-first-run --disable-background-networking \
        --disable-component-update --disable-sync --user-data-dir="$work/profile" --virtual-time-budget=3000 \
        --blink-settings=preferredColorScheme=$blink --window-size="$3" --screenshot="$out/$1.png" \
        "$address/$2" 2>"$work/log" || { cat "$work/log" >&2; exit 1; }
    echo "$out/$1.png"
}
image=$(awk '$1 == 2 && $2 == "PRO" && $4 == 2 { print $3 }' "$work/riposte/run.txt")
for scheme in light dark; do
    shoot topics-$scheme report/index.html 1280,860 $scheme
    shoot topic-$scheme report/topic-2.html 1280,860 $scheme
    shoot image-$scheme "report/topic-2.html#$image" 1280,860 $scheme
    shoot against-$scheme against/topic-2.html 1280,1100 $scheme
    shoot runs-$scheme against/index.html 1280,860 $scheme
    shoot sheet-$scheme debate/debate-2.html 1280,880 $scheme
    shoot terminal-$scheme terminal-100.html 940,730 $scheme
    shoot topics-narrow-$scheme report/index.html 390,1000 $scheme
    shoot topic-narrow-$scheme report/topic-2.html 390,1000 $scheme
    shoot image-narrow-$scheme "report/topic-2.html#$image" 390,1400 $scheme
    shoot runs-narrow-$scheme against/index.html 390,1200 $scheme
    shoot sheet-narrow-$scheme debate/debate-2.html 390,1400 $scheme
    shoot terminal-narrow-$scheme terminal-37.html 390,1000 $scheme
done

$riposte serve -i sample --cache "$work/cache" --listen 127.0.0.1:0 2>"$work/serve" &
server=$!
until address=$(sed -n 's|^listening on \(http://[^ ]*\)/ .*|\1|p' "$work/serve"); [ -n "$address" ]; do
    kill -0 "$server" || { cat "$work/serve" >&2; exit 1; }
    sleep 1
done
asked="?q=Should+zoos+be+closed%3F&stage=read"
absent="?q=Should+Germany+leave+the+European+Union%3F&stage=read"
for scheme in light dark; do
    shoot serve-first-$scheme "" 1280,700 $scheme
    shoot serve-$scheme "$asked" 1280,1100 $scheme
    shoot serve-nothing-$scheme "$absent" 1280,700 $scheme
    shoot serve-images-$scheme "$asked&tab=images" 1280,1000 $scheme
    shoot serve-narrow-$scheme "$asked" 390,1200 $scheme
    shoot serve-nothing-narrow-$scheme "$absent" 390,900 $scheme
    shoot serve-images-narrow-$scheme "$asked&tab=images" 390,1200 $scheme
done
if [ $# -gt 1 ]; then
    mkdir -p "$2"
    cp "$out/sheet-light.png" "$out/terminal-dark.png" "$out/image-dark.png" "$out/serve-light.png" "$out/serve-narrow-dark.png" "$2"
fi
