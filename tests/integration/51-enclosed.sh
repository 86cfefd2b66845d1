#!/bin/bash
# Isolation as a whole: what jobs see of each other and leave behind, the daemon killed at any moment, an
# ordinary user's daemon, a layer that cannot be had, and limits that leave no trace on the next job.
# shellcheck source=tests/lib/daemon.sh
. "$(dirname "$0")/../lib/daemon.sh"

ROUNDS=${ISOLATION_ROUNDS:-8}
OS='os = (i for i in ()).gi_frame.f_builtins["__import__"]("os")'
# One job's files, processes and names, as it sees them.
cat >"$T/sees.py" <<END
$OS
print(sorted(os.listdir("/work")), sorted(p for p in os.listdir("/proc") if p.isdigit()))
END
cat >"$T/leaves.py" <<END
$OS
import time
os.mkfifo("fifo")
os.close(os.open("file", os.O_CREAT | os.O_WRONLY))
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.kill(os.getpid(), 19)
    time.sleep(60)
time.sleep(1)
END
cat >"$T/many.py" <<END
$OS
for n in range(900):
    os.close(os.open("file%d" % n, os.O_CREAT | os.O_WRONLY))
END
printf 'print("hello")\n' >"$T/good.py"
printf 'while True: pass\n' >"$T/loops.py"
printf '%s\nos.abort()\n' "$OS" >"$T/crashes.py"
printf '%s\nos.system("id")\n' "$OS" >"$T/shell.py"
printf 'data = bytearray(1 << 40)\n' >"$T/memory.py"
printf '%s\nwhile True: os.fork()\n' "$OS" >"$T/processes.py"
printf '%s\nwhile True: os.open("/dev/null", os.O_RDONLY)\n' "$OS" >"$T/files.py"
printf '%s\nf = os.open("x", os.O_CREAT | os.O_WRONLY)\nwhile True: os.write(f, b"x" * 1000000)\n' "$OS" >"$T/disk.py"
printf 'while True: print("x" * 10000)\n' >"$T/output.py"
printf 'import time\ntime.sleep(60)\n' >"$T/sleeps.py"

mounts() { wc -l </proc/self/mountinfo; }
files() { find "$T/run" "$T/state" | wc -l; }
settled() {
    client status --json | "$PYTHON" -c '
import json, sys
v = json.load(sys.stdin)
p = v["profiles"][0]
sys.exit(not (v["running"] == v["queued"] == p["starting"] == p["busy"] == 0 and p["ready"] == 2))'
}

limits_profile() {
    cat <<'END'
profiles:
  stdlib:
    limits: {wall_s: 60, cpu_s: 1, memory: 256MiB, disk: 8MiB, output: 1MiB, processes: 8, open_files: 256}
    pool: {min_ready: 2, max: 3, ready_timeout_s: 60}
END
}

jobs_are_alone() {
    client submit --profile stdlib "$T/leaves.py" >/dev/null 2>&1 &
    local other=$!
    expect 0 client submit --profile stdlib --json "$T/sees.py"
    expect_json "[] ['2']" 'v["stdout"]["head"].strip()'
    wait "$other" || fail "the other job did not pass"
}

# limit CODE FILE [MESSAGE [WALL_S]]
limit() {
    expect 1 client submit --profile stdlib --timeout "${4:-60}" --json "$2"
    expect_json "$1" 'v["failures"][0]["code"]'
    expect_json True 'v["child_started"]'
    expect_json 0 'len(v["native_crashes"])'
    [ -z "${3:-}" ] || expect_text "$3"
    expect 0 client submit --profile stdlib "$T/good.py"
}

limits_are_told() {
    limit memory_limit "$T/memory.py" "asked for 10995116"
    limit process_limit "$T/processes.py" "8 processes and threads"
    limit open_files_limit "$T/files.py" "more than 256 files"
    limit disk_limit "$T/disk.py" "filled its 8388608 bytes"
    limit output_limit "$T/output.py"
    limit timeout "$T/loops.py" "CPU time limit of 1000 ms"
    limit timeout "$T/sleeps.py" "wall clock limit of 2000 ms" 2
    limit forbidden_syscall "$T/shell.py" "execve"
}

nothing_is_left() {
    local before_mounts before_files before_processes
    wait_until settled
    before_mounts=$(mounts) before_files=$(files) before_processes=$(descendants "$DAEMON" | wc -l)
    local list=()
    for _ in $(seq 6); do
        list+=("$T"/{good,leaves,many,crashes,shell,memory,processes,disk}.py)
    done
    expect 1 client submit --profile stdlib "${list[@]}"
    wait_until settled
    [ "$(mounts)" = "$before_mounts" ] || fail "mounts: $before_mounts, then $(mounts)"
    [ "$(files)" = "$before_files" ] || fail "files: $before_files, then $(files)"
    [ "$(descendants "$DAEMON" | wc -l)" = "$before_processes" ] || fail "processes are left"
    ok
}

alive() {
    local pid
    for pid in "$@"; do [ ! -e "/proc/$pid" ] || return 0; done
    return 1
}

all_dead() { ! alive "$@" && [ -z "$(wardens_of "$KILLED")" ]; }

# The daemon dies at a moment of chance: while it starts, surveys, fills, runs, checks, or ends.
the_daemon_may_die_any_time() {
    local before_mounts below
    RANDOM=7
    before_mounts=$(mounts)
    for round in $(seq "$ROUNDS"); do
        "$BUILD/tbsandboxd" --config "$T/config.yaml" >>"$T/log" 2>&1 &
        DAEMON=$!
        if [ $((round % 3)) != 0 ]; then
            wait_until client status
            client submit --profile stdlib --detach "$T"/{leaves,many,loops,good,crashes}.py >/dev/null 2>&1
        fi
        sleep "0.$((RANDOM % 9))$((RANDOM % 10))"
        below=$(descendants "$DAEMON")
        KILLED=$DAEMON
        kill -KILL "$DAEMON"
        wait "$DAEMON" 2>/dev/null
        DAEMON=
        # shellcheck disable=SC2086 # a list of pids
        wait_until all_dead $below
    done
    [ "$(mounts)" = "$before_mounts" ] || fail "mounts: $before_mounts, then $(mounts)"
    daemon_start
    expect 0 client submit --profile stdlib "$T/good.py"
    daemon_stop
}

# Before a command: with another user's rights and places of its own.
AS_NOBODY=(setpriv --reuid=65534 --regid=65534 --clear-groups env -u XDG_RUNTIME_DIR "HOME=$T/home"
    "TBSANDBOX_SOCKET=$T/home/socket")

ordinary_users_are_contained_too() {
    if [ "$(id -u)" != 0 ]; then
        echo "skipped: a daemon of another user: not root"
        return
    fi
    mkdir "$T/bin" "$T/home"
    cp "$BUILD"/tbsandboxd "$BUILD"/tbwarden "$BUILD"/tbclient "$T/bin"
    chown -R 65534:65534 "$T/home"
    cat >"$T/user.yaml" <<END
listen: {socket: "$T/home/socket", socket_mode: "0666"}
paths: {runtime_directory: "$T/home/run", state_directory: "$T/home/state", warden: "$T/bin/tbwarden"}
END
    stdlib_profile >>"$T/user.yaml"
    "${AS_NOBODY[@]}" "$T/bin/tbsandboxd" --config "$T/user.yaml" >>"$T/log" 2>&1 &
    DAEMON=$!
    wait_until "${AS_NOBODY[@]}" "$T/bin/tbclient" status
    expect 0 "${AS_NOBODY[@]}" "$T/bin/tbclient" submit --profile stdlib --wait-s 60 --json "$T/good.py"
    expect_json True 'all(l in v["enforced"] for l in "user_namespace mount_namespace pid_namespace network_namespace ipc_namespace uts_namespace cgroup_namespace own_root unprivileged_user no_capabilities not_dumpable seccomp".split())'
    expect 1 "${AS_NOBODY[@]}" "$T/bin/tbclient" submit --profile stdlib --json "$T/shell.py"
    expect_json forbidden_syscall 'v["failures"][0]["code"]'
    KILLED=$DAEMON
    kill -TERM "$DAEMON"
    wait "$DAEMON" || fail "the user's daemon did not end well"
    DAEMON=
    wait_until all_dead
    ok
}

# Before a command: in a user namespace that allows no further one.
# shellcheck disable=SC2016 # the inner shell's
WITHOUT_NAMESPACES=(unshare --user --map-root-user sh -c
    'echo 0 >/proc/sys/user/max_user_namespaces; exec "$@"' sh)

a_missing_layer_stops_jobs() {
    config <<'END'
profiles:
  stdlib:
    pool: {min_ready: 1, max: 2, ready_timeout_s: 60}
END
    daemon_start "${WITHOUT_NAMESPACES[@]}"
    expect 2 client submit --profile stdlib --wait-s 60 --json "$T/good.py"
    expect_json infrastructure_failure 'v["kind"]'
    expect_json layer_missing 'v["failures"][0]["code"]'
    expect_json False 'v["child_started"]'
    expect_text "the required layer user_namespace cannot be had: cannot "
    expect 0 client status
    expect_text "no layer user_namespace: cannot "
    expect 2 client doctor stdlib
    expect_text "layer user_namespace: missing: cannot "
    expect_no_text "ok layer" # no environment was ever made
    daemon_stop
}

a_missing_optional_layer_is_named() {
    config <<'END'
profiles:
  stdlib:
    pool: {min_ready: 1, max: 2, ready_timeout_s: 60}
    isolation:
      required: [session, death_signal, rlimits, descriptors, work_directory, no_new_privileges]
      optional: [user_namespace, mount_namespace, pid_namespace, network_namespace, ipc_namespace,
                 uts_namespace, cgroup_namespace, own_root, unprivileged_user, no_capabilities]
END
    daemon_start "${WITHOUT_NAMESPACES[@]}"
    expect 0 client submit --profile stdlib --wait-s 60 --json "$T/good.py"
    expect_json False '"own_root" in v["enforced"] or "user_namespace" in v["enforced"]'
    expect_json True '"rlimits" in v["enforced"]'
    expect 0 client doctor stdlib
    expect_text "layer own_root: missing: cannot "
    daemon_stop
}

limits_profile | config
daemon_start
wait_health stdlib serving
jobs_are_alone
limits_are_told
nothing_is_left
daemon_stop
the_daemon_may_die_any_time
ordinary_users_are_contained_too
a_missing_layer_stops_jobs
a_missing_optional_layer_is_named
