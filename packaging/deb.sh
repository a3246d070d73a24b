#!/bin/sh
# Makes the Debian package of the built program target/release/riposte: `packaging/deb.sh DIR` writes it to DIR. Needs cargo-deb
# (cargo install cargo-deb --locked) and, to find the dependencies, dpkg-dev. Cargo.toml has the package's description.
set -eu
cd "$(dirname "$0")/.."
out=${1:-out/release}
program=${CARGO_TARGET_DIR:-target}/release/riposte
sh packaging/extras.sh "$program" out/packaging
version=$(sh packaging/version.sh)
# Debian's form of a changelog; it refers to CHANGELOG.md, which is in the package as changelog.gz
cat >out/packaging/changelog <<END
riposte ($version-1) unstable; urgency=medium

  * Release $version: /usr/share/doc/riposte/changelog.gz says what changed.

 -- The riposte authors <riposte@example.org>  $(date -u -R -d "@$(git log -1 --format=%ct 2>/dev/null || echo 0)")
END
gzip -9n <CHANGELOG.md >out/packaging/changelog.gz
mkdir -p "$out"
${CARGO:-cargo} deb --no-build -p riposte-ir -o "$out/"
