#!/bin/sh
# run.sh SECONDS NAME...: builds each fuzz target with libFuzzer, ASan and UBSan under build/fuzz/ and
# runs it for SECONDS on a copy of its corpus. What a target finds stays in build/fuzz/, and the exit
# status is 1 then. The corpora in the tree are never written to.
set -eu

[ $# -ge 2 ] || { echo "usage: $0 SECONDS NAME..." >&2; exit 64; }
seconds=$1
shift

cd "$(dirname "$0")/../.."
build=build/fuzz
sanitizers=address,undefined
archives="$build/libbroker.a $build/libwarden.a $build/libclient.a $build/libcommon.a"

mkdir -p "$build"
objects=
for name in "$@"; do objects="$objects $build/tests/fuzz/$name.o"; done
# shellcheck disable=SC2086 # word splitting makes the goals
make --no-print-directory -s BUILD="$build" CC=clang SANITIZE="$sanitizers" OPT=-O1 \
    CFLAGS=-fsanitize=fuzzer-no-link $objects $archives >"$build/build.log" 2>&1 || {
    cat "$build/build.log" >&2
    exit 1
}

libs=$(pkg-config --libs libevent_core libprotobuf-c yaml-0.1 libsodium jansson)
failed=0
for name in "$@"; do
    program=$build/$name
    corpus=$build/corpus/$name
    log=$build/$name.log
    # shellcheck disable=SC2086 # word splitting makes the arguments
    clang -fsanitize=fuzzer,$sanitizers -o "$program" "$build/tests/fuzz/$name.o" $archives $libs
    mkdir -p "$corpus"
    cp "tests/fuzz/corpus/$name/"* "$corpus/"
    if "$program" -max_total_time="$seconds" -max_len=65536 -timeout=20 -rss_limit_mb=2048 \
        -artifact_prefix="$program-" "$corpus" >"$log" 2>&1; then
        echo "$name: $(sed -n 's/^Done \(.*\)$/\1/p' "$log"), nothing found"
    else
        failed=1
        tail -n 60 "$log" >&2
        echo "$name: FAILED; the input is one of $program-*, the log is $log" >&2
    fi
done
exit "$failed"
