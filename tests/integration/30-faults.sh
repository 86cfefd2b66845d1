#!/bin/bash
# Stand-in interpreters that fail in every way one can: each must end in INFRASTRUCTURE FAILURE with its
# cause, exit status 2, no stage, no retry, no produced file, in bounded time: at the first fill, and
# after good jobs. A failing child never reads as failing code.
# shellcheck source=tests/lib/daemon.sh
. "$(dirname "$0")/../lib/daemon.sh"

mkdir "$T/fake"
cp "$TOP"/tests/fake/* "$T/fake/"
printf 'print("hello")\n' >"$T/good.py"

fake_config() {
    config "queue: {environment_wait_s: 20}
circuit: {failures: 3, backoff_min_s: 0.2, backoff_max_s: 1}" <<END
profiles:
  faulty:
    interpreter: $T/fake/faulty-python
    preload: [json]
    pool: {min_ready: 1, max: 2, ready_timeout_s: 3}
    # A stand-in executes the real interpreter, which no layer but these lets it do.
    isolation:
      required: [session, death_signal, rlimits, descriptors, work_directory, no_new_privileges]
      optional: []
END
}

# expect_infrastructure CAUSE: a submit now is an infrastructure failure that names the cause.
expect_infrastructure() {
    expect 2 client submit --profile faulty --wait-s 60 --json "$T/good.py"
    expect_json infrastructure_failure 'v["kind"]'
    expect_json 1 'len(v["failures"])'
    expect_json '[]' 'v["stages"]'
    expect_json '[]' 'v["produced"]'
    expect_json False 'v["child_started"]'
    expect_json True 'v["attempts"] <= 1'
    # shellcheck disable=SC2016
    json 'v["failures"][0]["message"]' >"$T/message"
    grep -qE -- "$1" "$T/message" || fail "fault $FAULT: '$(cat "$T/message")' lacks '$1'"
    ok
    expect 2 client submit --profile faulty --wait-s 60 "$T/good.py"
    expect_text "INFRASTRUCTURE FAILURE: "
}

at_first_fill() {
    printf '%s' "$FAULT" >"$T/fake/faulty-python.fault"
    daemon_start
    expect_infrastructure "$1"
    expect 2 client doctor faulty
    daemon_stop
}

after_good_jobs() {
    rm -f "$T/fake/faulty-python.fault"
    daemon_start
    wait_health faulty serving
    local files=()
    for i in $(seq 20); do
        cp "$T/good.py" "$T/good-$i.py"
        files+=("$T/good-$i.py")
    done
    expect 0 client submit --profile faulty "${files[@]}"
    printf '%s' "$FAULT" >"$T/fake/faulty-python.fault"
    # The environments made before the fault are good and may still be used up.
    wait_until unlucky
    expect_infrastructure "$1"
    rm -f "$T/fake/faulty-python.fault"
    wait_health faulty serving
    expect 0 client submit --profile faulty "$T/good.py"
    daemon_stop
}

unlucky() { ! client submit --profile faulty --wait-s 60 "$T/good.py"; }

fake_config
# The fault, and what the cause must match.
while read -r FAULT cause; do
    at_first_fill "$cause"
    after_good_jobs "$cause"
done <<'END'
hash-randomization Fatal Python error: _Py_HashRandomization_Init
silent exited 0
hang no start marker
marker-on-stdout exited 0
die-after-ready exited 1
die-on-dispatch start marker
die-on-dispatch-silently start marker
hang-on-dispatch no start marker
flood-before-ready start marker
abort-before-ready SIGABRT
garbage-marker marker
out-of-order marker
never-valid not randomised
wrong-environ LD_PRELOAD
same-hash-sample not really random
END

# Points of validation: one fill shows each.
while read -r FAULT cause; do at_first_fill "$cause"; done <<'END'
no-urandom random bytes
not-writable cannot write
not-isolated isolat
left-over-file empty
wrong-directory directory
missing-import import
extra-descriptor descriptor
second-thread thread
endless-marker marker
wrong-nonce protocol|marker
END
