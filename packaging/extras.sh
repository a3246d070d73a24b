#!/bin/sh
# Writes the files that accompany the program in every package: manual pages, completions and licences. `packaging/extras.sh PROGRAM DIR`: the
# program writes its own pages, so it must run on this machine. DIR is deleted first.
set -eu
program=$1
dir=$2
here=$(cd "$(dirname "$0")/.." && pwd)

rm -rf "$dir"
mkdir -p "$dir/completions" "$dir/licences"
"$program" man "$dir/man/man1"
"$program" completions bash >"$dir/completions/riposte.bash"
"$program" completions zsh >"$dir/completions/_riposte"
"$program" completions fish >"$dir/completions/riposte.fish"
"$program" completions elvish >"$dir/completions/riposte.elv"
"$program" completions powershell >"$dir/completions/_riposte.ps1"
# the licences of code and weights that are compiled into riposte; packages have riposte's own licences in another place
cp "$here/src/index/kstem/LICENSE-KStem" "$here/src/evidence/sentiment/LICENSE-vaderSentiment" "$dir/licences/"
cp "$here/models/own/LICENSE.md" "$dir/licences/LICENSE-weights.md"
