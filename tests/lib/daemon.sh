# shellcheck shell=bash
# daemon.sh: what the integration scripts share: a daemon of the test's own in a directory of its own,
# expectations that name what failed, and an end that leaves nothing. Sourced with BUILD set. Ends only
# processes that it started, by pid.

set -u
: "${BUILD:?the build folder}"
BUILD=$(cd "$BUILD" && pwd)
# shellcheck disable=SC2034 # the scripts use it
TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
T=$(mktemp -d "${TMPDIR:-/tmp}/tbsandbox-test-XXXXXX")
chmod 755 "$T"
export TBSANDBOX_SOCKET=$T/run/tbsandboxd.sock
DAEMON=
PASSED=0

client() { "$BUILD/tbclient" "$@"; }

fail() {
    echo "FAILED: $*" >&2
    [ ! -s "$T/log" ] || { echo "--- the daemon's last lines:"; tail -n 40 "$T/log"; } >&2
    exit 1
}

ok() { PASSED=$((PASSED + 1)); }

# config [EXTRA]: a config with everything in $T; standard input holds its profiles: section.
config() {
    cat >"$T/config.yaml" <<END
listen: {socket: "$T/run/tbsandboxd.sock", socket_mode: "0666"}
paths: {runtime_directory: "$T/run", state_directory: "$T/state", warden: "$BUILD/tbwarden"}
log: {level: debug}
${1:-}
END
    cat >>"$T/config.yaml"
}

# The profile that most tests need: small, quick, without pandas.
stdlib_profile() {
    cat <<'END'
profiles:
  stdlib:
    pool: {min_ready: 2, max: 4, ready_timeout_s: 60}
END
}

# daemon_start [COMMAND...]: starts the daemon (under COMMAND) and waits until it answers.
daemon_start() {
    "$@" "$BUILD/tbsandboxd" --config "$T/config.yaml" >>"$T/log" 2>&1 &
    DAEMON=$!
    for _ in $(seq 600); do
        client status >/dev/null 2>&1 && return
        kill -0 "$DAEMON" 2>/dev/null || fail "the daemon did not start"
        sleep 0.1
    done
    fail "the daemon does not answer"
}

# health PROFILE: its health as status says it.
health() {
    client status --json | "$PYTHON" -c '
import json, sys
for p in json.loads(sys.stdin.readline())["profiles"]:
    if p["name"] == sys.argv[1]: print(p["health"])' "$1"
}

# wait_health PROFILE HEALTH
wait_health() {
    for _ in $(seq 600); do
        [ "$(health "$1")" = "$2" ] && return
        sleep 0.1
    done
    fail "profile $1 is $(health "$1"), not $2"
}

# wait_until COMMAND...: until it succeeds, at most a minute.
wait_until() {
    for _ in $(seq 600); do
        "$@" >/dev/null 2>&1 && return
        sleep 0.1
    done
    fail "never came true: $*"
}

# expect STATUS COMMAND...: runs it; its output is in $T/out and $T/err.
expect() {
    local wanted=$1 got=0
    shift
    "$@" >"$T/out" 2>"$T/err" </dev/null || got=$?
    [ "$got" = "$wanted" ] || {
        cat "$T/out" "$T/err" >&2
        fail "exit status $got, not $wanted: $*"
    }
    ok
}

# expect_text TEXT: the last command's output or errors hold it.
expect_text() {
    grep -qF -- "$1" "$T/out" "$T/err" || {
        cat "$T/out" "$T/err" >&2
        fail "the output lacks: $1"
    }
    ok
}

# expect_no_text TEXT
expect_no_text() {
    ! grep -qF -- "$1" "$T/out" "$T/err" || fail "the output holds: $1"
    ok
}

# json EXPRESSION: of the last command's first output line as `v`.
json() {
    "$PYTHON" -c 'import json, sys
v = json.loads(open(sys.argv[1]).readline())
print(eval(sys.argv[2]))' "$T/out" "$1"
}

# expect_json VALUE EXPRESSION
expect_json() {
    local got
    got=$(json "$2")
    [ "$got" = "$1" ] || { cat "$T/out" >&2; fail "$2 is '$got', not '$1'"; }
    ok
}

# descendants PID: pids of every process below it.
descendants() {
    local child
    for child in $(pgrep -P "$1"); do
        echo "$child"
        descendants "$child"
    done
}

# daemon_stop [SIGNAL]: ends it and checks that it says so; nothing of it may be left.
daemon_stop() {
    kill -"${1:-TERM}" "$DAEMON"
    local status=0 pid=$DAEMON
    wait "$DAEMON" || status=$?
    DAEMON=
    [ "$status" = 0 ] || fail "the daemon's exit status is $status"
    [ -z "$(ls -A "$T/run/work" 2>/dev/null)" ] || fail "left in work: $(ls "$T/run/work")"
    nobody_left "$pid"
}

# wardens_of PID: the pids of wardens that this daemon started, and of the first processes of their
# namespaces, without which nothing inside lives.
wardens_of() {
    local file
    for file in /proc/[0-9]*/cmdline; do
        { tr '\0' ' ' <"$file" | grep -q -- "^tbwarden .*--broker $1 "; } 2>/dev/null || continue
        file=${file%/cmdline}
        echo "${file#/proc/}"
    done
}

# nobody_left [PID]: no process works in $T any more, nor in an environment of the daemon PID.
nobody_left() {
    local link
    for _ in $(seq 100); do
        LEFT=
        [ -z "${1:-}" ] || LEFT=$(wardens_of "$1")
        for link in /proc/[0-9]*/cwd; do
            case $(readlink "$link" 2>/dev/null) in "$T"/run/work*) LEFT="$LEFT ${link%/cwd}" ;; esac
        done
        [ -z "$LEFT" ] && return
        sleep 0.1
    done
    fail "left behind:$LEFT"
}

finish() {
    local status=$?
    if [ -n "$DAEMON" ]; then
        kill -KILL "$DAEMON" 2>/dev/null
        wait "$DAEMON" 2>/dev/null
    fi
    [ "$status" != 0 ] || echo "$(basename "$0"): $PASSED checks"
    if [ "$status" = 0 ] || [ -z "${KEEP:-}" ]; then rm -rf "$T"; else echo "kept: $T" >&2; fi
    exit "$status"
}
trap finish EXIT
trap 'exit 130' INT TERM

PYTHON=/usr/bin/python3
