#!/bin/bash
# Every suite of tests/cases against a live daemon with both built-in profiles.
# shellcheck source=tests/lib/daemon.sh
. "$(dirname "$0")/../lib/daemon.sh"

config <<END
profiles:
  stdlib:
    pool: {min_ready: 2, max: 4, ready_timeout_s: 60}
  pandas:
    pool: {min_ready: 2, max: 3, ready_timeout_s: 60}
END
daemon_start
wait_health stdlib serving
wait_health pandas serving
for suite in "$TOP"/tests/cases/*.yaml; do
    expect 0 client run "$suite"
    tail -n 1 "$T/out"
done
expect 0 client doctor --json
expect_json True 'all(p["healthy"] for p in v["profiles"])'
expect_json 11 'min(len(p["checks"]) for p in v["profiles"])'
daemon_stop
