#!/bin/sh
# Installs a Debian package for the tests: `sh tests/apt.sh PACKAGE`. The exit code is not 0 if there is no apt-get, if it asks for a password, or
# if it fails. What it prints goes to stderr.
command -v apt-get >/dev/null || exit 1
apt="env DEBIAN_FRONTEND=noninteractive apt-get -qq -y"
[ "$(id -u)" = 0 ] || apt="sudo -n $apt"
# some machines have no package lists: they are fetched for a second try
{ $apt install "$1" || { $apt update && $apt install "$1"; }; } >&2
