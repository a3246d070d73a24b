#!/bin/sh
# Prints the path of Chromium, for the tests of reports and for the screenshots. Where it is missing and apt-get needs no password,
# the package is installed. Exit code 1 and a message on stderr if there is none.
find_chromium() {
    [ -n "${CHROMIUM:-}" ] && echo "$CHROMIUM" && return
    command -v chromium || command -v chromium-browser || command -v google-chrome
}
find_chromium && exit
if command -v apt-get >/dev/null; then
    apt="env DEBIAN_FRONTEND=noninteractive apt-get -qq -y"
    [ "$(id -u)" = 0 ] || apt="sudo -n $apt"
    # a second try with fresh package lists, which some machines lack
    { $apt install chromium || { $apt update && $apt install chromium; }; } >&2
fi
find_chromium && exit
echo "Chromium is missing and cannot be installed: install it, or let CHROMIUM name it" >&2
exit 1
