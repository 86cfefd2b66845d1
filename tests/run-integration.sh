#!/bin/bash
# run-integration.sh BUILD [PREFIX...]: runs the numbered scripts of tests/integration against the
# programs in BUILD, each with a bound, and ends with one line that counts scripts.
set -u
cd "$(dirname "$0")/.." || exit 1
BUILD=$1
export BUILD
shift
passed=0
failed=0
for script in tests/integration/[0-9]*; do
    name=$(basename "$script")
    if [ $# -gt 0 ]; then
        wanted=
        for prefix in "$@"; do case $name in "$prefix"*) wanted=yes ;; esac; done
        [ -n "$wanted" ] || continue
    fi
    began=$SECONDS
    status=0
    timeout -k 10 600 "$script" || status=$?
    if [ "$status" = 0 ]; then
        passed=$((passed + 1))
        echo "ok      $name ($((SECONDS - began)) s)"
    else
        failed=$((failed + 1))
        echo "NOT OK  $name (exit status $status, $((SECONDS - began)) s)"
    fi
done
[ $((passed + failed)) -gt 0 ] || { echo "no script matches: $*" >&2; exit 64; }
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
