#!/bin/bash
# run.sh BUILD: every test of tests/vm that needs a real systemd and control groups, each in a virtual
# machine of its own. Where QEMU's caches are says TBSANDBOX_VM_CACHE.
set -euo pipefail
BUILD=$(cd "$1" && pwd)
HERE=$(cd "$(dirname "$0")" && pwd)
CACHE=${TBSANDBOX_VM_CACHE:-${XDG_CACHE_HOME:-/var/tmp}/tbsandboxd-vm}
passed=0 failed=0
for test in "$HERE"/*.sh; do
    name=$(basename "$test" .sh)
    case $name in boot | run) continue ;; esac
    work=$(mktemp -d /var/tmp/tbsandbox-vm-XXXXXX)
    mkdir "$work/payload" "$work/out"
    cp "$BUILD"/tbsandboxd "$BUILD"/tbwarden "$BUILD"/tbclient "$work/payload"
    cp "$test" "$work/payload/run.sh"
    rc=0
    "$HERE/boot.sh" "$CACHE" "$work/payload" "$work/out" || rc=$?
    if [ "$rc" = 0 ]; then
        passed=$((passed + 1))
        echo "ok      vm/$name"
    else
        failed=$((failed + 1))
        grep -hE " (vmtest|tbsandboxd)\[" "$work/out/journal" | tail -n 60 >&2 || true
        echo "NOT OK  vm/$name (exit status $rc)"
    fi
    rm -rf "$work"
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
