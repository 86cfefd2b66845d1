#!/bin/bash
# What a job, a warden or the broker leaves behind when it ends in the worst way: nothing.
# shellcheck source=tests/lib/daemon.sh
. "$(dirname "$0")/../lib/daemon.sh"

builtins='(i for i in ()).gi_frame.f_builtins'
cat >"$T/forks.py" <<END
os = ${builtins}["__import__"]("os")
time = ${builtins}["__import__"]("time")
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        while True: time.sleep(1)
    os._exit(0)
os.wait()
END
cat >"$T/sleeps.py" <<END
os = ${builtins}["__import__"]("os")
if os.fork() == 0:
    os.setsid()
${builtins}["__import__"]("time").sleep(60)
END
printf 'print("hello")\n' >"$T/good.py"

# busy_environment: the one that runs a job.
busy_environment() {
    grep -o 'dispatched, attempt 1.*environment=e-[0-9]*' "$T/log" | tail -n 1 | sed 's/.*environment=//'
}

# busy_warden: the pid of its warden.
busy_warden() {
    sed -n "s/.*starting for profile [a-z]*, pid \([0-9]*\).*environment=$(busy_environment)\$/\1/p" "$T/log"
}

running() { [ "$(client status --json | "$PYTHON" -c 'import json,sys; print(json.load(sys.stdin)["running"])')" = "$1" ]; }

survivors_are_killed() {
    expect 0 client submit --profile stdlib "$T/forks.py"
    wait_until no_sleeper
    ok
}

# No process but the pool's own interpreters is left below the daemon.
no_sleeper() {
    local pid
    for pid in $(descendants "$DAEMON"); do
        case $(tr '\0' ' ' <"/proc/$pid/stat" 2>/dev/null | awk '{print $3}') in '') continue ;; esac
        [ "$(readlink "/proc/$pid/cwd" 2>/dev/null)" != "$(readlink "/proc/$pid/cwd" 2>/dev/null | sed 's/ (deleted)//')" ] && return 1
    done
    return 0
}

a_killed_warden_costs_one_job() {
    client submit --profile stdlib --timeout 10 --wait-s 60 "$T/sleeps.py" >"$T/lost.out" 2>&1 &
    local waiting=$! status=0
    wait_until running 1
    kill -KILL "$(busy_warden)"
    wait "$waiting" || status=$?
    [ "$status" = 2 ] || { cat "$T/lost.out"; fail "the job of a killed warden ended $status, not 2"; }
    grep -q "the warden was killed by SIGKILL" "$T/lost.out" || { cat "$T/lost.out"; fail "no cause"; }
    wait_until no_sleeper
    expect 0 client submit --profile stdlib "$T/good.py"
}

a_killed_broker_leaves_nothing() {
    client submit --profile stdlib --timeout 10 --wait-s 60 "$T/sleeps.py" >"$T/lost.out" 2>&1 &
    local waiting=$! status=0
    wait_until running 1
    local all
    all=$(descendants "$DAEMON")
    kill -KILL "$DAEMON"
    wait "$DAEMON" 2>/dev/null
    DAEMON=
    wait "$waiting" || status=$?
    [ "$status" = 2 ] || fail "the client of a killed broker ended $status, not 2"
    grep -q "INFRASTRUCTURE FAILURE" "$T/lost.out" || fail "it is not called an infrastructure failure"
    for pid in $all; do wait_until sh -c "! kill -0 $pid"; done
    nobody_left
    [ -z "$(ls -A "$T/run/work")" ] || fail "left in work: $(ls "$T/run/work")"
    ok
}

# make_tree: so many names in $T/tree that their removal takes seconds.
make_tree() {
    "$PYTHON" -c '
import os, sys
for d in range(4):
    os.makedirs(f"{sys.argv[1]}/{d}")
    os.close(os.open(f"{sys.argv[1]}/{d}/file", os.O_CREAT))
    for i in range(50000):
        os.link(f"{sys.argv[1]}/{d}/file", f"{sys.argv[1]}/{d}/{i}")' "$T/tree"
}

now_ms() { date +%s%3N; }

# quick COMMAND...: succeeds, and soon.
quick() {
    local began took
    began=$(now_ms)
    "$@" >/dev/null || fail "does not succeed: $*"
    took=$(($(now_ms) - began))
    [ "$took" -lt 1000 ] || fail "took $took ms: $*"
}

is_tidy() { ! compgen -G "$T/run/work/.trash-*"; }

many_files_hold_up_nobody() {
    make_tree
    client submit --profile stdlib --timeout 10 --wait-s 60 "$T/sleeps.py" >"$T/lost.out" 2>&1 &
    local waiting=$! status=0
    wait_until running 1
    mv "$T/tree" "$T/run/work/$(busy_environment)/" || fail "the job's directory is not there"
    kill -KILL "$(busy_warden)"
    while kill -0 "$waiting" 2>/dev/null; do quick client status; done
    wait "$waiting" || status=$?
    [ "$status" = 2 ] || { cat "$T/lost.out"; fail "the job of a killed warden ended $status, not 2"; }
    for _ in $(seq 10); do quick client status; done
    expect 0 client submit --profile stdlib "$T/good.py"
    wait_until is_tidy
}

many_files_hold_up_no_start() {
    make_tree
    mkdir -p "$T/run/work/e-1"
    mv "$T/tree" "$T/run/work/e-1/work"
    quick daemon_start
    wait_health stdlib serving
    expect 0 client submit --profile stdlib "$T/good.py"
    daemon_stop # at the latest now they are gone
}

one_daemon_holds_the_place() {
    local status=0
    "$BUILD/tbsandboxd" --config "$T/config.yaml" >"$T/out" 2>"$T/err" || status=$?
    [ "$status" = 1 ] || fail "a second daemon ended $status, not 1"
    expect_text "another tbsandboxd runs"
}

config < <(stdlib_profile)
daemon_start
wait_health stdlib serving
survivors_are_killed
a_killed_warden_costs_one_job
many_files_hold_up_nobody
one_daemon_holds_the_place
a_killed_broker_leaves_nothing
many_files_hold_up_no_start
daemon_start
wait_health stdlib serving
expect 0 client submit --profile stdlib "$T/good.py"
daemon_stop
