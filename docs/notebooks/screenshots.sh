#!/bin/sh
# Takes screenshots of the pages of the notebooks, as the book shows them: each from top to bottom, 1280 pixels wide and as on a phone, light and dark.
# Look at them after every change of a notebook, of render.py or of what objects show of themselves. `make book` must have made the book.
#
#     docs/notebooks/screenshots.sh [DIR]
#
# They go to DIR (default: out/screenshots).
set -eu
cd "$(dirname "$0")/../.."
out=${1:-out/screenshots}
book=target/book
chromium=$(sh tests/chromium.sh)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$out"
test -s $book/index.html || { echo "$book has no book: make book" >&2; exit 2; }
cp -R $book "$work/book"

# arguments: page, width, light or dark (which Blink calls 1 and 0), further arguments of the browser
browse() {
    page=$1 width=$2 blink=1
    [ "$3" = dark ] && blink=0
    shift 3
    "$chromium" --headless --no-sandbox --disable-gpu --hide-scrollbars --no-first-run --disable-background-networking \
        --disable-component-update --disable-sync --user-data-dir="$work/profile" --virtual-time-budget=5000 --allow-file-access-from-files \
        --blink-settings=preferredColorScheme=$blink "$@" "file://$work/book/notebooks/$page.html" 2>"$work/log" || { cat "$work/log" >&2; exit 1; }
}
for notebook in docs/notebooks/*.ipynb; do
    page=$(basename "$notebook" .ipynb)
    # a page says how high it is
    echo '<script>addEventListener("load", () => { document.title = `height ${document.documentElement.scrollHeight}` })</script>' >>"$work/book/notebooks/$page.html"
    for width in 1280 500; do
        for scheme in light dark; do
            height=$(browse "$page" $width $scheme --window-size=$width,800 --dump-dom | sed -n 's/.*<title>height \([0-9]*\).*/\1/p')
            narrow=
            [ $width = 1280 ] || narrow=-narrow
            browse "$page" $width $scheme --window-size=$width,"$height" --screenshot="$out/notebook-$page$narrow-$scheme.png"
            echo "$out/notebook-$page$narrow-$scheme.png"
        done
    done
done
