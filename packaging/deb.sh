#!/bin/sh
# Makes the Debian package of a program that is built already (target/release/riposte), into the directory that is its argument. Needs cargo-deb
# (cargo install cargo-deb --locked) and, for the dependencies, dpkg-dev. Cargo.toml has the package's description.
set -eu
cd "$(dirname "$0")/.."
out=${1:-out/release}
program=${CARGO_TARGET_DIR:-target}/release/riposte
sh packaging/extras.sh "$program" out/packaging
version=$(sh packaging/version.sh)
# Debian's form of a changelog; what changed is in CHANGELOG.md, which is in the package as changelog.gz
cat >out/packaging/changelog <<END
riposte ($version-1) unstable; urgency=medium

  * Release $version: /usr/share/doc/riposte/changelog.gz says what changed.

 -- The riposte authors <riposte@example.org>  $(date -u -R -d "@$(git log -1 --format=%ct 2>/dev/null || echo 0)")
END
gzip -9n <CHANGELOG.md >out/packaging/changelog.gz
mkdir -p "$out"
${CARGO:-cargo} deb --no-build -p riposte -o "$out/"
