#!/bin/bash
# 500 mixed jobs leave no process, file, descriptor or memory behind. Counted after the first hundred,
# when every buffer has its size, and at the end.
# shellcheck source=tests/lib/daemon.sh
. "$(dirname "$0")/../lib/daemon.sh"

builtins='(i for i in ()).gi_frame.f_builtins'
printf 'print("hello")\n' >"$T/a-pass.py"
printf 'raise ValueError("x")\n' >"$T/b-raise.py"
printf 'import socket\n' >"$T/c-import.py"
printf 'print("x" * 300000)\n' >"$T/d-output.py"
printf '%s["__import__"]("os")._exit(0)\n' "$builtins" >"$T/e-early.py"
printf 'f = %s["open"]("made.csv", "w")\nf.write("1" * 10000)\nf.close()\n' "$builtins" >"$T/f-file.py"
printf 'def broken(:\n' >"$T/g-syntax.py"
printf 'print("secret-canary-" + str(17))\n' >"$T/h-leak.py"
printf '%s["__import__"]("os").abort()\n' "$builtins" >"$T/i-crash.py"
printf 'a,b\n1,x\n' >"$T/data.csv"

# round N: submits N times each of the ten kinds but one.
round() {
    local files=() kind
    for _ in $(seq "$1"); do
        for kind in "$T"/[a-i]-*.py "$T/a-pass.py"; do files+=("$kind"); done
    done
    expect 1 client submit --profile stdlib --input "$T/data.csv" --canary c=secret-canary-17 \
        "${files[@]}"
}

rss() { awk '/^VmRSS:/ {print $2}' "/proc/$DAEMON/status"; }
descriptors() { find "/proc/$DAEMON/fd" -mindepth 1 | wc -l; }
processes() { descendants "$DAEMON" | wc -l; }
files() { find "$T/run" "$T/state" | wc -l; }
settled() {
    client status --json | "$PYTHON" -c '
import json, sys
v = json.load(sys.stdin)
p = v["profiles"][0]
sys.exit(not (v["running"] == v["queued"] == p["starting"] == p["busy"] == 0 and p["ready"] == 2))'
}

config "jobs: {keep_finished: 20}" <<'END'
profiles:
  stdlib:
    pool: {min_ready: 2, max: 2, ready_timeout_s: 60}
END
daemon_start
wait_health stdlib serving
round 10
wait_until settled
sleep 1
before_rss=$(rss) before_fds=$(descriptors) before_processes=$(processes) before_files=$(files)
round 40
wait_until settled
sleep 1
[ "$(descriptors)" = "$before_fds" ] || fail "descriptors: $before_fds, then $(descriptors)"
[ "$(processes)" = "$before_processes" ] || fail "processes: $before_processes, then $(processes)"
[ "$(files)" = "$before_files" ] || fail "files: $before_files, then $(files)"
grown=$(($(rss) - before_rss))
case $BUILD in
*sanitize*) ;; # quarantined memory is not given back
*) [ "$grown" -lt 2048 ] || fail "the broker grew by $grown KiB over 400 jobs" ;;
esac
ok
expect 0 client status --json
expect_json 500 'v["accepted_total"]'
expect_json 0 'v["infrastructure_total"]'
daemon_stop
echo "the broker grew by $grown KiB over 400 jobs"
