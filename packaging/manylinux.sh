#!/bin/sh
# Builds the wheels for Linux that the Python Package Index takes: zig links them against glibc 2.28, so they start on Debian 10, Ubuntu 20.04,
# Red Hat 8 and later systems, and not only on those that are as new as this machine.
#
#     packaging/manylinux.sh DIR [TARGET …]
#
# writes them to DIR; the targets are x86_64-unknown-linux-gnu and aarch64-unknown-linux-gnu. Each needs the standard library of Rust for it
# (rustup target add TARGET). The Python that PYTHON names needs these packages: pip install -r packaging/manylinux.txt. A wheel for this machine's
# processor is installed and started. No wheel for aarch64 has been started yet: that needs such a machine.
set -eu
cd "$(dirname "$0")/.."
out=$1
shift
[ $# -gt 0 ] || set -- x86_64-unknown-linux-gnu aarch64-unknown-linux-gnu
python=${PYTHON:-python3}
# maturin runs in another directory
case $python in */*) python=$(cd "$(dirname "$python")" && pwd)/$(basename "$python") ;; esac
platform=manylinux_2_28
version=$(sh packaging/version.sh)
# maturin finds zig beside Python, or on the path
bin=$(dirname "$("$python" -c 'import sys; print(sys.executable)')")
mkdir -p "$out"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for target; do
    machine=${target%%-*}
    case $target in
    x86_64-unknown-linux-gnu | aarch64-unknown-linux-gnu) ;;
    *)
        echo "there is no wheel for $target: only for x86_64-unknown-linux-gnu and aarch64-unknown-linux-gnu" >&2
        exit 2
        ;;
    esac
    (
        cd python
        PATH="$bin:$PATH" "$python" -m maturin build --release --locked --zig --target "$target" --compatibility "$platform" --out "$work/$target"
    )
    wheel=$work/$target/riposte_ir-$version-py3-none-${platform}_$machine.whl
    # auditwheel reads the symbols that the program needs, and finds the oldest platform that has them
    "$python" -m auditwheel show "$wheel" | tee "$work/shown"
    if ! tr '\n' ' ' <"$work/shown" | grep -Eq "consistent with the following platform tag: \"manylinux_2_(17|24|26|27|28)_$machine\""; then
        echo "$wheel does not run on all systems of $platform" >&2
        exit 1
    fi
    "$python" -m twine check --strict "$wheel"
    "$python" packaging/wheel_content.py "$wheel"
    if [ "$(uname -s)-$(uname -m)" = "Linux-$machine" ]; then
        "$python" -m venv "$work/check"
        "$work/check/bin/python" -m pip install -q --no-index "$wheel"
        "$work/check/bin/python" -c "import riposte"
        "$work/check/bin/riposte" --version
    else
        echo "not started here: $(basename "$wheel")"
    fi
    cp "$wheel" "$out/"
done
