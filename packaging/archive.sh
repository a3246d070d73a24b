#!/bin/sh
# Packs a release archive of a built program, and checks that the unpacked program runs:
#
#     packaging/archive.sh target/release/riposte x86_64-unknown-linux-gnu out/release
#
# writes riposte-VERSION-TARGET.tar.gz (.zip for Windows) with the program, manual pages, completions, licences and the README, and beside it the
# SHA-256 checksum, which `sha256sum -c` reads. .github/workflows/release.yml calls it on each system; so does `make archive`. The program must
# run on this machine. With GNU tar, the same files give the same archive.
set -eu
program=$1
target=$2
out=$3
here=$(cd "$(dirname "$0")/.." && pwd)
version=$(sh "$here/packaging/version.sh")
name=riposte-$version-$target

# the glibc of Ubuntu 22.04, which the release is built on: a program that needs a newer one might not start on other systems of that age
newest_glibc=2.35
case $target in
*-linux-gnu)
    if command -v objdump >/dev/null; then
        needed=$(objdump -T "$program" | sed -n 's/.*GLIBC_\([0-9.]*\).*/\1/p' | sort -uV | tail -n 1)
        echo "needs glibc $needed"
        if [ "$(printf '%s\n' "$needed" "$newest_glibc" | sort -V | tail -n 1)" != "$newest_glibc" ]; then
            echo "the program needs glibc $needed, but a release may need $newest_glibc at most" >&2
            exit 1
        fi
    else
        echo "objdump is not installed, so the glibc that the program needs is not checked"
    fi
    ;;
esac

mkdir -p "$out"
out=$(cd "$out" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
sh "$here/packaging/extras.sh" "$program" "$work/$name"
case $target in
# the symbols of functions are removed to save space; on other systems, stripping could break a signature
*-linux-*) if command -v strip >/dev/null; then strip -o "$work/$name/$(basename "$program")" "$program"; else cp "$program" "$work/$name/"; fi ;;
*) cp "$program" "$work/$name/" ;;
esac
cp "$here/README.md" "$here/CHANGELOG.md" "$here/LICENSE-APACHE" "$here/LICENSE-MIT" "$here/docs/installing.md" "$work/$name/"
chmod -R u=rwX,go=rX "$work/$name"

cd "$work"
case $target in
*windows*)
    file=$name.zip
    rm -f "$out/$file"
    # GitHub's machines have 7z; zip is for testing this script elsewhere
    if command -v 7z >/dev/null; then 7z a -tzip -bso0 "$out/$file" "$name"; else zip -qr "$out/$file" "$name"; fi
    ;;
*)
    file=$name.tar.gz
    if tar --version 2>/dev/null | grep -q GNU; then
        # files get the time of the commit, so that the same commit gives the same archive
        time=$(git -C "$here" log -1 --format=%ct 2>/dev/null || echo 0)
        tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$time" -cf - "$name" | gzip -9n >"$out/$file"
    else
        tar -czf "$out/$file" "$name"
    fi
    ;;
esac
cd "$out"
if command -v sha256sum >/dev/null; then sum='sha256sum'; else sum='shasum -a 256'; fi
$sum "$file" >"$file.sha256"

# unpack and test the archive as a user would
$sum -c "$file.sha256"
rm -rf "${work:?}/$name"
case $file in
*.zip) if command -v unzip >/dev/null; then unzip -q "$file" -d "$work"; else 7z x -bso0 -o"$work" "$file"; fi ;;
*) tar -xzf "$file" -C "$work" ;;
esac
"$work/$name/$(basename "$program")" --version
for part in README.md LICENSE-APACHE LICENSE-MIT licences/LICENSE-KStem man/man1/riposte.1 completions/riposte.bash; do
    test -s "$work/$name/$part"
done
ls -l "$file" "$file.sha256"
