#!/bin/bash
# A gigabyte of output, allowed or not, changes nothing but its count: it is drained while the code runs,
# its head and tail are kept, the numbers are true, and memory is bounded.
# shellcheck source=tests/lib/daemon.sh
. "$(dirname "$0")/../lib/daemon.sh"

builtins='(i for i in ()).gi_frame.f_builtins'
cat >"$T/flood.py" <<END
os = ${builtins}["__import__"]("os")
os.write(1, b"the head\n")
block = b"y\n" * 32768
left = 1 << 30
while left > 0:
    left -= os.write(1, block[:left])
os.write(1, b"the tail\n")
END

# Highest resident size, in KiB, of all wardens that ever ran: sampled while they run.
watch_wardens() {
    local pid peak=0 now
    while [ ! -e "$T/done" ]; do
        for pid in $(pgrep -P "$DAEMON"); do
            now=$(awk '/^VmHWM:/ {print $2}' "/proc/$pid/status" 2>/dev/null)
            [ "${now:-0}" -le "$peak" ] || peak=$now
        done
        echo "$peak" >"$T/peak"
        sleep 0.05
    done
}

config <<'END'
profiles:
  stdlib:
    limits: {wall_s: 120, cpu_s: 120, output: 2GiB}
    pool: {min_ready: 1, max: 1, ready_timeout_s: 60}
END
daemon_start
wait_health stdlib serving
watch_wardens &
watcher=$!
expect 0 client submit --profile stdlib --json "$T/flood.py"
touch "$T/done"
wait "$watcher"
expect_json passed 'v["kind"]'
expect_json $(((1 << 30) + 18)) 'v["usage"]["stdout_bytes"]'
expect_json $(((1 << 30) + 18)) 'v["stdout"]["total_bytes"]'
expect_json True 'v["stdout"]["head"].startswith("the head\ny\ny\n")'
expect_json True 'v["stdout"]["tail"].endswith("y\nthe tail\n")'
expect_json True \
    'len(v["stdout"]["head"]) + len(v["stdout"]["tail"]) + v["stdout"]["omitted_bytes"] == v["stdout"]["total_bytes"]'
peak=$(cat "$T/peak")
case $BUILD in
*sanitize*) ;; # shadow memory
*) [ "$peak" -lt 16384 ] || fail "a warden had $peak KiB" ;;
esac
ok

# The same under the default limit.
config < <(stdlib_profile)
expect 0 client reload
wait_health stdlib serving
expect 1 client submit --profile stdlib --json "$T/flood.py"
expect_json '["output_limit"]' '__import__("json").dumps([f["code"] for f in v["failures"]])'
expect_json True 'v["child_started"] and v["stdout"]["head"].startswith("the head")'
expect_json '[]' 'v["native_crashes"]'
daemon_stop
