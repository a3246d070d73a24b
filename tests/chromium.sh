#!/bin/sh
# Finds Chromium, or installs the package of that name where that can be done without a question, and prints its path: for the
# tests that look at reports, and for the screenshots. Exit code 1 and a line on stderr if there is none.
find_it() {
    [ -n "${CHROMIUM:-}" ] && echo "$CHROMIUM" && return
    command -v chromium || command -v chromium-browser || command -v google-chrome
}
find_it && exit
if command -v apt-get >/dev/null; then
    apt="env DEBIAN_FRONTEND=noninteractive apt-get -qq -y"
    [ "$(id -u)" = 0 ] || apt="sudo -n $apt"
    # once more with fresh lists, for machines that come without any
    { $apt install chromium || { $apt update && $apt install chromium; }; } >&2
fi
find_it && exit
echo "there is no Chromium here and it cannot be installed: install it, or name it in CHROMIUM" >&2
exit 1
