#!/bin/sh
# Checks all dependencies with cargo-deny (tests/deny.toml). `sh tests/deny.sh optional` names what it cannot check, because cargo-deny or the list of
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
deny="$cargo deny --config tests/deny.toml --workspace"
if $deny fetch db; then
    $deny check advisories bans licenses sources
else
    $deny check bans licenses sources
    not_checked "whether dependencies have known vulnerabilities: the list of them cannot be fetched"
fi
