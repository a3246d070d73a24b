#!/bin/sh
# Prints the version in Cargo.toml. With a tag, as in `packaging/version.sh v0.1.0`, it fails unless the tag is `v` and the version.
set -eu
cd "$(dirname "$0")/.."
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"$/\1/p' Cargo.toml)
test -n "$version"
if [ $# -gt 0 ] && [ "$1" != "v$version" ]; then
    echo "the tag $1 is not v$version, the version in Cargo.toml" >&2
    exit 1
fi
echo "$version"
