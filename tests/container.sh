#!/bin/sh
# Tests packaging/Dockerfile without Docker: replays its instructions in directories, with Debian's tools, and then runs the image as TIRA would:
# without network, with a read-only input, as a user that the image does not know. `make container-proof` calls this script.
#
# It needs root on Linux with amd64; mmdebstrap, unshare, mount and chroot (Debian: mmdebstrap, util-linux, coreutils); the Rust toolchain of
# the version that the Dockerfile names (rustup toolchain install VERSION); a network for the build; 6 GB of disk; and the time of a release
# build. Nothing is left on the machine except the directory KEEP. Mounts are made in namespaces that end with their command.
#
# Variables, with their defaults in parentheses:
#   MIRROR=URL     the mirror of Debian's packages (Debian's public mirror)
#   RIPOSTE=FILE   riposte on this machine, whose run is compared with the image's (target/release/riposte)
#   CLIP=WORD      the build argument CLIP: optional, required or none (the Dockerfile's default)
#   KEEP=DIR       a working directory that is kept, with base systems for the next call (a temporary directory)
#   JOBS=N         the number of jobs of cargo (cargo's default)
#   CA_FILE=FILE   certificates for downloads (this machine's bundle, if it is at Debian's path)
#   TIRA_PYTHON=P  a Python with the package tira, to run tira's format check and tracker (target/peers/bin/python, if it exists)
#
# The script understands these parts of Dockerfiles: comments, continued lines, FROM [--platform=linux/amd64] IMAGE [AS NAME], ARG NAME=VALUE,
# ENV NAME=VALUE… (without blanks or variables in a value), LABEL, WORKDIR DIR, RUN COMMAND, COPY [--from=STAGE] SOURCE… TARGET (without
# wildcards) and CMD ["WORD", …]. Any other instruction or option is an error, so nothing is skipped silently. In packaging/Dockerfile.dockerignore
# it understands the lines * and !PATH.
set -eu
cd "$(dirname "$0")/.."

die() {
    echo "container.sh: $*" >&2
    exit 2
}
step() { echo "--- $*"; }

mirror=${MIRROR:-http://deb.debian.org/debian}
outside=${RIPOSTE:-target/release/riposte}
ca_file=${CA_FILE:-/etc/ssl/certs/ca-certificates.crt}
tira_python=${TIRA_PYTHON:-target/peers/bin/python}
[ "$(id -u)" = 0 ] || die "only root can make file systems and namespaces"
[ "$(uname -m)" = x86_64 ] || die "the image is for amd64, this machine is $(uname -m)"
for tool in mmdebstrap unshare mount chroot tar; do
    command -v $tool >/dev/null || die "$tool is missing"
done
[ -x "$outside" ] || die "$outside is missing: its run is compared with the image's run (make container-proof builds it)"

if [ -n "${KEEP:-}" ]; then
    mkdir -p "$KEEP"
    work=$(cd "$KEEP" && pwd)
else
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    trap 'exit 130' INT TERM
fi

# ---- the replay

# PATH in Debian's image, and PATH in the official Rust image.
default_path=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
rust_path=/usr/local/cargo/bin:$default_path

# Mounts the file systems that Docker mounts in every container. It is sourced in a new mount namespace; $root is the root file system.
cat >"$work/mounts.sh" <<'MOUNTS'
mount -t proc proc "$root/proc"
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
for device in full:1:7 null:1:3 random:1:8 tty:5:0 urandom:1:9 zero:1:5; do
    name=${device%%:*} numbers=${device#*:}
    mknod -m 666 "$root/dev/$name" c "${numbers%:*}" "${numbers#*:}"
done
mkdir "$root/dev/shm"
mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
MOUNTS

# base IMAGE DIR: makes a replacement for an official image, from the same Debian release.
base() {
    packages= rust=
    case $1 in
    rust:*-slim-*)
        rust=${1#rust:} && rust=${rust%%-*}
        # what the official image installs beside the toolchain
        packages=ca-certificates,gcc,libc6-dev
        ;;
    debian:*-slim) ;;
    *) die "FROM $1: there is no replacement for this image" ;;
    esac
    release=${1#*:} && release=${release%-slim} && release=${release##*-}
    cache=$work/base-$(echo "$1" | tr ':' '-')
    if [ ! -e "$cache.tar" ]; then
        step "base: Debian $release by mmdebstrap${packages:+, with $packages}"
        mmdebstrap --quiet --mode=root --variant=minbase ${packages:+--include=$packages} "$release" "$cache.part.tar" "$mirror"
        mv "$cache.part.tar" "$cache.tar"
    fi
    rm -rf "$2"
    mkdir "$2"
    tar -xpf "$cache.tar" -C "$2"
    if [ -n "$rust" ]; then
        sysroot=$(rustup run "$rust" rustc --print sysroot 2>/dev/null || rustc --print sysroot)
        found=$("$sysroot/bin/rustc" --version)
        case $found in
        "rustc $rust "*) ;;
        *) die "the Dockerfile needs Rust $rust, but this machine has $found: rustup toolchain install $rust" ;;
        esac
        step "base: Rust $rust is this machine's toolchain, copied"
        mkdir -p "$2/usr/local/rustup" "$2/usr/local/cargo/bin"
        (cd "$sysroot" && tar -cf - bin lib) | tar -xf - --no-same-owner -C "$2/usr/local/rustup"
        ln -s /usr/local/rustup/bin/cargo /usr/local/rustup/bin/rustc "$2/usr/local/cargo/bin/"
    fi
}

# context DIR: copies the files that Dockerfile.dockerignore does not exclude to DIR.
context() {
    rm -rf "$1"
    mkdir "$1"
    sed -e '/^#/d' -e '/^[[:space:]]*$/d' packaging/Dockerfile.dockerignore >"$work/ignore"
    [ "$(head -n 1 "$work/ignore")" = '*' ] || die "Dockerfile.dockerignore: the first line must be *"
    sed 1d "$work/ignore" >"$work/kept"
    if grep -v '^![^*?]*$' "$work/kept" >&2; then
        die "Dockerfile.dockerignore: these lines are not understood"
    fi
    sed 's/^!//' "$work/kept" | tar -cf - -T - | tar -xf - --no-same-owner -C "$1"
}

# Prints the instructions of the Dockerfile, each on one line: continued lines are joined.
instructions() {
    awk '/^[ \t]*#/ { next }
         { line = $0; more = sub(/\\[ \t]*$/, "", line); whole = whole line }
         !more { if (whole ~ /[^ \t]/) print whole; whole = "" }
         END { if (whole != "") print whole }' packaging/Dockerfile
}

# run COMMAND: runs a RUN instruction in the current stage, with this machine's network, as root.
run() {
    set -- "$1" "HOME=/root" "PATH=$path" ${JOBS:+"CARGO_BUILD_JOBS=$JOBS"}
    command=$1 && shift
    cat "$variables" "$arguments" >"$work/environment"
    while read -r variable; do
        set -- "$@" "$variable"
    done <"$work/environment"
    # a machine behind a proxy has these variables; Docker passes them on, too
    for name in http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY PIP_INDEX_URL; do
        eval "value=\${$name:-}"
        [ -z "$value" ] || set -- "$@" "$name=$value"
    done
    if [ -f "$ca_file" ]; then
        for name in SSL_CERT_FILE CARGO_HTTP_CAINFO PIP_CERT; do
            set -- "$@" "$name=/run/certificates.crt"
        done
    fi
    mounts=$work/mounts.sh root=$root ca_file=$ca_file dir=$dir command=$command \
        unshare --mount --pid --fork sh -euc '
            . "$mounts"
            mount -t tmpfs tmpfs "$root/run"
            [ ! -f "$ca_file" ] || cp "$ca_file" "$root/run/certificates.crt"
            [ -e "$root/etc/resolv.conf" ] || : >"$root/etc/resolv.conf"
            mount --bind "$(readlink -f /etc/resolv.conf)" "$root/etc/resolv.conf"
            exec env -i "$@" chroot "$root" /bin/sh -c "cd \"\$0\" && exec /bin/sh -c \"\$1\"" "$dir" "$command"
        ' sh "$@"
}

# copy [--from=STAGE] SOURCE… TARGET
copy() {
    from=$work/context
    case $1 in
    --from=*)
        from=$work/stage-${1#--from=}
        [ -d "$from" ] || die "COPY $1: there is no such stage"
        shift
        ;;
    esac
    sources=
    while [ $# -gt 1 ]; do
        case $1 in
        -* | *[*?[]*) die "COPY $1: not understood" ;;
        esac
        [ -e "$from/$1" ] || die "COPY $1: not in ${from##*/}: does Dockerfile.dockerignore keep it?"
        sources="$sources $1"
        shift
    done
    case $1 in
    /*) target=$root$1 ;;
    *) target=$root$dir/$1 ;;
    esac
    # the contents of directories are copied; names have no blanks, because the instruction was split at blanks
    for source in $sources; do
        if [ -d "$from/$source" ]; then
            mkdir -p "$target"
            cp -r --preserve=mode,timestamps "$from/$source/." "$target/"
        else
            case $target in
            */) mkdir -p "$target" ;;
            *)
                [ "$sources" = " $source" ] || die "COPY to $1: several files need a directory, whose name ends with /"
                mkdir -p "$(dirname "$target")"
                ;;
            esac
            cp --preserve=mode,timestamps "$from/$source" "$target"
        fi
    done
}

# assignment WORD: prints the word if it is NAME=VALUE; otherwise, the script ends.
assignment() {
    case $1 in
    *=*[!A-Za-z0-9_./:-]* | [!A-Z]*) ;;
    *=*) echo "$1" && return ;;
    esac
    die "$1: not understood as NAME=VALUE"
}

step "the files that Dockerfile.dockerignore keeps"
context "$work/context"
if [ -n "$(git status --porcelain 2>/dev/null)" ]; then
    echo "note: there are uncommitted changes; tira-cli code-submission would refuse them"
fi

stages=0 root= command_words=
instructions >"$work/instructions"
# the loop reads from descriptor 3, because a RUN could read lines from stdin
while read -r word rest <&3; do
    echo ">>> $word $rest" | cut -c 1-160
    [ -n "$root" ] || [ "$word" = FROM ] || die "$word before FROM"
    case $word in
    FROM)
        rest=${rest#--platform=linux/amd64 }
        image=${rest%% *}
        stage=$stages
        case $rest in
        "$image AS "*) stage=${rest#"$image AS "} ;;
        "$image") ;;
        *) die "FROM $rest: not understood" ;;
        esac
        stages=$((stages + 1))
        # variables of ENV are set in RUN and in the finished image, those of ARG only in RUN
        root=$work/stage-$stage variables=$work/variables-$stage arguments=$work/arguments-$stage
        dir=/ command_words=
        path=$default_path
        case $image in
        rust:*) path=$rust_path ;;
        esac
        : >"$variables"
        : >"$arguments"
        base "$image" "$root"
        ;;
    ARG)
        name=${rest%%=*}
        eval "given=\${$name:-}"
        assignment "$rest" >/dev/null
        assignment "$name=${given:-${rest#*=}}" >>"$arguments"
        ;;
    ENV) for word in $rest; do assignment "$word" >>"$variables"; done ;;
    LABEL) ;;
    WORKDIR)
        dir=$rest
        mkdir -p "$root$dir"
        ;;
    RUN)
        case $rest in
        --* | "["*) die "RUN $rest: not understood" ;;
        esac
        run "$rest" || die "this RUN failed"
        ;;
    COPY) copy $rest ;;
    CMD)
        case $rest in
        '["'*'"]') command_words=$(echo "$rest" | tr -d '[]",') ;;
        *) die "CMD $rest: not understood" ;;
        esac
        ;;
    *) die "$word: this instruction is not understood" ;;
    esac
done 3<"$work/instructions"
[ "$stages" -gt 0 ] || die "the Dockerfile has no FROM"
step "replayed; the image would add $(du -sh "$root/opt" | cut -f 1) of models and licences, and a binary of $(du -h "$root/usr/local/bin/riposte" | cut -f 1)"

# ---- the runs

user=12345
mkdir -p "$root/tira-data/input" "$root/tira-data/output"
failures=0

# container OPTIONS OUTPUT COMMAND: runs COMMAND as TIRA does, with `sh -c "sleep .1; COMMAND"` and the variables inputDataset and outputDir.
# There is no network, the input is read-only, and HOME is not set. OPTIONS are a comma-separated list: root (run as root, and not as a user
# that the image does not know), fixed (the root file system is read-only, and so is /tmp), tmp (/tmp is a separate file system in memory).
container() {
    options=",$1," output=$2 command=$3
    set -- "PATH=$default_path" inputDataset=/tira-data/input outputDir=/tira-data/output
    while read -r variable; do
        set -- "$@" "$variable"
    done <"$variables"
    mounts=$work/mounts.sh root=$root input=$PWD/sample output=$output user=$user options=$options command=$command \
        unshare --net --mount --pid --ipc --uts --fork sh -euc '
            . "$mounts"
            mount --bind "$input" "$root/tira-data/input"
            mount -o remount,bind,ro "$root/tira-data/input"
            mount --bind "$output" "$root/tira-data/output"
            case $options in
            *,fixed,*)
                # only the root file system becomes read-only, not the file systems that are mounted in it
                mount --rbind "$root" "$root"
                mount -o remount,bind,ro "$root"
                ;;
            esac
            case $options in
            *,tmp,*) mount -t tmpfs -o mode=1777 tmpfs "$root/tmp" ;;
            esac
            case $options in
            *,root,*) as=0:0 ;;
            *) as=$user:$user ;;
            esac
            exec env -i "$@" chroot --userspec="$as" --groups= "$root" /bin/sh -c "sleep .1; $command"
        ' sh "$@" >"$output.said" 2>&1
}

# output NAME: makes an empty output directory that the container's user can write to, and prints its path.
output() {
    rm -rf "$work/$1" "$work/$1.said"
    mkdir "$work/$1"
    chown $user:$user "$work/$1"
    echo "$work/$1"
}

# check WHAT COMMAND…: runs the command, and prints whether it proves WHAT.
check() {
    what=$1
    shift
    if "$@"; then
        echo "proven: $what"
    else
        echo "FAILED: $what"
        failures=$((failures + 1))
    fi
}

# exits CODE OPTIONS OUTPUT COMMAND: runs COMMAND in the container, and checks its exit code.
exits() {
    wanted=$1
    shift
    code=0
    container "$@" || code=$?
    if [ "$code" != "$wanted" ]; then
        echo "exit code $code, not $wanted:"
        cat "$2.said"
        return 1
    fi
}

# Lists all files of the image except those in /tmp, with owner, size and times.
listing() {
    find "$root" -xdev ! -path "$root/tmp" ! -path "$root/tmp/*" -printf '%P %y %m %U %s %T@ %C@\n' | sort
}
image_is_unchanged() {
    listing >"$work/after"
    diff "$work/before" "$work/after"
}
has_only_the_run() { [ "$(ls -A "$1" | tr '\n' ' ')" = "ir-metadata.yml run.txt " ]; }
says() { grep -q -- "$2" "$1.said"; }
no_interface_but_loopback() { [ "$(sed -e 1,2d -e 's/:.*//' -e 's/ //g' "$1.said" | tr '\n' ' ')" = "lo " ]; }
tira_accepts() {
    "$tira_python" - "$1" <<'PYTHON'
import sys
from pathlib import Path
from tira.check_format import _fmt, check_format
level, message = check_format(Path(sys.argv[1]), "run.txt", {})
if level != _fmt.OK:
    sys.exit(message)
PYTHON
}

docker_keeps_the_same() {
    "$tira_python" - "$work/context" <<'PYTHON'
import sys
from pathlib import Path
from docker.utils.build import exclude_paths
lines = [line.strip() for line in open("packaging/Dockerfile.dockerignore")]
patterns = [line for line in lines if line and not line.startswith("#")]
kept = {path for path in exclude_paths(".", patterns) if Path(path).is_file()}
context = Path(sys.argv[1])
found = {str(path.relative_to(context)) for path in context.rglob("*") if path.is_file()}
if kept != found:
    sys.exit(f"only Docker: {sorted(kept - found)[:5]}, only here: {sorted(found - kept)[:5]}")
PYTHON
}

images='riposte images -i $inputDataset -o $outputDir'

step "the run on this machine, to compare with"
rm -rf "$work/models" "$work/outside" "$work"/outside.sqlite*
cp -r "$root/opt/riposte/models" "$work/models"
RIPOSTE_MODELS=$work/models "$outside" images -q -i sample -o "$work/outside" --evidence "$work/outside.sqlite"
expected=$work/outside/run.txt

step "the runs in the image"
find sample -printf '%P %s %T@ %C@\n' | sort >"$work/input-before"
rm -rf "$root/tmp"/* "$root/tmp"/.[!.]*
listing >"$work/before"

net=$(output net)
container "" "$net" 'cat /proc/net/dev'
check "there is no network in the container" no_interface_but_loopback "$net"

if [ -n "$command_words" ]; then
    command_output=$(output command)
    check "the image's own command, $command_words" exits 0 "" "$command_output" "$command_words"
fi

first=$(output first)
check "user $user without a name, without HOME: exit code 0" exits 0 "" "$first" "$images"
sed 's/^/    | /' "$first.said"
check "the output directory has run.txt, its metadata and nothing else" has_only_the_run "$first"
check "its run is the same as on this machine, byte for byte" cmp "$expected" "$first/run.txt"
check "nothing was written outside the output directory and /tmp" image_is_unchanged

verified=$(output verified)
[ ! -f "$first/run.txt" ] || cp "$first/run.txt" "$verified/"
check "riposte verify finds it valid" exits 0 "" "$verified" 'riposte verify $outputDir --input $inputDataset'
sed 's/^/    | /' "$verified.said"

second=$(output second)
check "a second run in the same container: exit code 0" exits 0 "" "$second" "$images"
check "it computed no evidence again" says "$second" " 0 of them new or changed"
check "its run is the same, byte for byte" cmp "$expected" "$second/run.txt"

bare=$(output bare)
check "as root, 'riposte images' without options, which reads both variables: exit code 0" exits 0 root "$bare" "riposte images"
check "its run is the same, byte for byte" cmp "$expected" "$bare/run.txt"

tmpfs=$(output tmpfs)
check "a read-only image with a separate /tmp (--read-only --tmpfs /tmp): exit code 0" exits 0 fixed,tmp "$tmpfs" "$images"
check "its run is the same, byte for byte" cmp "$expected" "$tmpfs/run.txt"

fixed=$(output fixed)
check "only the output directory can be written: exit code 2" exits 2 fixed "$fixed" "$images"
check "the message says what helps (--evidence)" says "$fixed" "choose another place with --evidence"
check "with --evidence in the output directory: exit code 0" exits 0 fixed "$fixed" "$images --evidence \$outputDir/evidence.sqlite"
check "its run is the same, byte for byte" cmp "$expected" "$fixed/run.txt"

refusing=$(output refusing)
if ls "$root"/opt/riposte/models/clip-* >/dev/null 2>&1; then
    clip="CLIP is in the image"
    check "with --require ocr,clip: exit code 0" exits 0 tmp "$refusing" "$images --require ocr,clip"
else
    clip="CLIP is not in the image, so no run used it"
    check "the run says that CLIP is off" says "$first" "clip is off"
    check "with --require ocr,clip: exit code 2, because CLIP is not in the image" exits 2 tmp "$refusing" "$images --require ocr,clip"
fi

find sample -printf '%P %s %T@ %C@\n' | sort >"$work/input-after"
check "the input is unchanged" cmp "$work/input-before" "$work/input-after"

if "$tira_python" -c 'import tira' 2>/dev/null; then
    tira="the parts that ran here are from tira $("$tira_python" -c 'from importlib.metadata import version; print(version("tira"))')"
    check "Docker's Python client, which tira uses, keeps the same files by Dockerfile.dockerignore" docker_keeps_the_same
    check "tira's own check accepts the run (check_format, run.txt)" tira_accepts "$first"
    # if the tracker runs in an image, TIRA starts the command with it, to measure resources
    tracker=$("$tira_python" -c 'from tira.tirex_tracker import find_tirex_tracker_executable_or_none as find; print(find() or "")')
    if [ -n "$tracker" ]; then
        cp "$tracker" "$root/tracked"
        tracked=$(output tracked)
        check "under TIRA's tracker: exit code 0" exits 0 root "$tracked" \
            "/tracked -o \$outputDir/.tracking-results.yml -f irmetadata '$images'"
        check "its run is the same, byte for byte" cmp "$expected" "$tracked/run.txt"
        check "tira's own check accepts this output directory, too" tira_accepts "$tracked"
        rm "$root/tracked"
    fi
else
    tira="there is no Python with tira here, so neither its format check nor its tracker ran"
fi

cat <<END

Not proven here:
- Docker itself did not build or start anything. This script replayed each instruction above, without layers and their cache, and ignored labels.
- The base images are replacements: Debian's packages of the same release, and this machine's Rust toolchain of the same version.
- Docker's limits of memory and processes (cgroups) and its filter of system calls were not in force.
- $clip.
- Nothing was sent to TIRA; $tira.
END
[ "$failures" = 0 ] || die "$failures checks failed"
echo "all checks passed"
