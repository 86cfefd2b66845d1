#!/bin/bash
# The daemon as a service: signals, reload, drain, access, bounds, detached jobs, lost clients.
# shellcheck source=tests/lib/daemon.sh
. "$(dirname "$0")/../lib/daemon.sh"

printf 'print("hello")\n' >"$T/good.py"
printf 'while True: pass\n' >"$T/loop.py"

quick_config() { config "${1:-}" < <(stdlib_profile); }

accepts_again_after_resume() {
    expect 0 client drain
    expect 2 client submit --profile stdlib --wait-s 1 "$T/good.py"
    expect_text "draining"
    expect 0 client resume
    expect 0 client submit --profile stdlib "$T/good.py"
}

detached_jobs_are_waited_for() {
    expect 0 client submit --profile stdlib --detach --label ci=42 --json "$T/good.py"
    local job
    job=$(json 'v["job_id"]')
    expect 0 client wait "$job"
    expect 0 client show "$job"
    expect_text "$job"
    expect 0 client jobs --label ci=42 --json
    expect_json "$job" 'v["job_id"]'
    expect 0 client jobs --label ci=41 --json
    [ ! -s "$T/out" ] || fail "jobs lists a job of another label"
    expect 2 client wait j-0000000000000000
}

cancelled_is_no_verdict_on_the_code() {
    expect 0 client submit --profile stdlib --timeout 10 --detach --json "$T/loop.py"
    local job
    job=$(json 'v["job_id"]')
    expect 0 client cancel "$job"
    expect 2 client wait "$job"
    expect_text cancelled
}

a_lost_client_does_not_own_its_job() {
    client submit --profile stdlib --timeout 1 --label lost=yes "$T/loop.py" >/dev/null 2>&1 &
    local lost=$!
    wait_until sh -c "'$BUILD/tbclient' jobs --label lost=yes | grep -q ."
    kill -KILL "$lost"
    wait "$lost" 2>/dev/null
    wait_until sh -c "'$BUILD/tbclient' jobs --label lost=yes --verdict failed | grep -q ."
    ok
}

reload_takes_good_and_refuses_bad() {
    expect 0 client status --json
    expect_json 1 'v["config_generation"]'
    echo "no_such_key: 1" >>"$T/config.yaml"
    kill -HUP "$DAEMON"
    wait_until grep -q "reload refused" "$T/log"
    grep -q "config.yaml:[0-9]*:[0-9]*: no_such_key" "$T/log" || fail "the log does not name the place"
    expect 2 client reload
    expect 0 client submit --profile stdlib "$T/good.py"
    quick_config "jobs: {keep_finished: 5}"
    expect 0 client reload
    expect 0 client status --json
    expect_json 2 'v["config_generation"]'
    config <<END
profiles:
  other: {pool: {min_ready: 1, max: 1, ready_timeout_s: 60}}
END
    kill -HUP "$DAEMON"
    wait_health other serving
    expect 0 client submit --profile other "$T/good.py"
    expect 2 client submit --profile stdlib "$T/good.py"
    expect_text "there is no profile 'stdlib'"
    quick_config
    expect 0 client reload
    wait_health stdlib serving
}

other_users_need_access() {
    local other=(setpriv --reuid 65534 --regid 65534 --clear-groups)
    if [ "$(id -u)" != 0 ]; then
        echo "skipped (not root): access of another user"
        [ -z "${CI:-}" ] || fail "a skip in CI is a failure"
        return
    fi
    expect 2 "${other[@]}" "$BUILD/tbclient" status
    expect_text "access"
    quick_config "access: {submit: {users: [65534]}}"
    expect 0 client reload
    expect 0 "${other[@]}" "$BUILD/tbclient" submit --profile stdlib "$T/good.py"
    expect 2 "${other[@]}" "$BUILD/tbclient" drain
    expect 0 client submit --profile stdlib --detach --json "$T/good.py"
    local job
    job=$(json 'v["job_id"]')
    expect 2 "${other[@]}" "$BUILD/tbclient" show "$job"
    expect 0 "${other[@]}" "$BUILD/tbclient" jobs --json
    ! grep -q "$job" "$T/out" || fail "another user's job is listed"
    wait_health stdlib serving
}

a_full_queue_says_when_to_come_back() {
    quick_config "queue: {max_jobs: 1, environment_wait_s: 30}"
    expect 0 client reload
    wait_health stdlib serving
    local crowd=()
    for _ in 1 2 3 4 5 6; do
        client submit --profile stdlib --timeout 3 --wait-s 60 "$T/loop.py" >/dev/null 2>&1 &
        crowd+=($!)
    done
    wait_until sh -c "'$BUILD/tbclient' status --json | grep -q '\"refused_total\": *[1-9]'"
    for pid in "${crowd[@]}"; do
        status=0
        wait "$pid" || status=$?
        [ "$status" = 1 ] || fail "a job that had to wait ended $status, not 1"
    done
    ok
}

stops_at_the_second_signal() {
    client submit --profile stdlib --timeout 10 "$T/loop.py" >"$T/loop.out" 2>&1 &
    local waiting=$! status=0
    wait_until sh -c "'$BUILD/tbclient' status --json | grep -q '\"running\": *1'"
    kill -TERM "$DAEMON"
    wait_until grep -q "SIGTERM: draining" "$T/log"
    expect 2 client submit --profile stdlib --wait-s 1 "$T/good.py"
    daemon_stop TERM
    wait "$waiting" || status=$?
    [ "$status" = 2 ] || fail "a job cut off by the stop ended $status, not 2"
    grep -q "INFRASTRUCTURE FAILURE" "$T/loop.out" || fail "it is not called an infrastructure failure"
}

drains_at_the_first() {
    quick_config
    daemon_start
    wait_health stdlib serving
    client submit --profile stdlib --timeout 2 "$T/loop.py" >"$T/loop.out" 2>&1 &
    local waiting=$! status=0
    wait_until sh -c "'$BUILD/tbclient' status --json | grep -q '\"running\": *1'"
    daemon_stop TERM
    wait "$waiting" || status=$?
    [ "$status" = 1 ] || { cat "$T/loop.out"; fail "a drained job ended $status, not 1"; }
    grep -q timeout "$T/loop.out" || fail "a drained job did not get its own verdict"
}

unreachable_is_infrastructure() {
    expect 2 client submit "$T/good.py"
    expect_text "INFRASTRUCTURE FAILURE"
    expect_text "tbsandboxd"
    expect 64 client submit
    expect 64 client no-such-command
    expect 64 client submit --no-such-flag x
    expect 64 client submit "$T/no-such-file.py"
}

quick_config
unreachable_is_infrastructure
daemon_start
wait_health stdlib serving
accepts_again_after_resume
detached_jobs_are_waited_for
cancelled_is_no_verdict_on_the_code
a_lost_client_does_not_own_its_job
reload_takes_good_and_refuses_bad
other_users_need_access
a_full_queue_says_when_to_come_back
quick_config
client reload >/dev/null
wait_health stdlib serving
stops_at_the_second_signal
drains_at_the_first
