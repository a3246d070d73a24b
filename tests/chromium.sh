#!/bin/sh
# Prints the path of Chromium, for the tests of reports and for the screenshots. If Chromium is missing and apt-get needs no password, the
# package is installed. If that fails, the exit code is 1, with a message on stderr.
find_chromium() {
    [ -n "${CHROMIUM:-}" ] && echo "$CHROMIUM" && return
    command -v chromium || command -v chromium-browser || command -v google-chrome
}
find_chromium && exit
sh "$(dirname "$0")/apt.sh" chromium
find_chromium && exit
echo "Chromium is missing and cannot be installed: install it, or name it in CHROMIUM" >&2
exit 1
