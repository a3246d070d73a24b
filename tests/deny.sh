#!/bin/sh
# Checks all dependencies with cargo-deny (deny.toml). `sh tests/deny.sh optional` names what it cannot check, because cargo-deny or the list of
# vulnerabilities is missing; `sh tests/deny.sh required` then fails.
set -eu
cd "$(dirname "$0")/.."
cargo=${CARGO:-cargo}
case ${1:-} in
optional | required) ;;
*)
    echo "deny.sh: $*: it is optional or required" >&2
    exit 2
    ;;
esac

not_checked() {
    echo "not checked: $1"
    [ "$mode" = optional ]
}
mode=$1

# cargo finds its subcommands on the path
PATH=$PATH:$PWD/target/peers/bin
export PATH
if ! $cargo deny --version >/dev/null 2>&1; then
    not_checked "cargo-deny is not installed (cargo install cargo-deny --locked)"
    exit
fi
if $cargo deny fetch db; then
    $cargo deny --workspace check advisories bans licenses sources
else
    $cargo deny --workspace check bans licenses sources
    not_checked "whether dependencies have known vulnerabilities: the list of them cannot be fetched"
fi
