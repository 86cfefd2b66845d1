#!/bin/bash
# demo.sh BUILD: real verdicts on real pandas code: a daemon of its own, the sample programs of
# tests/demo, and what tbclient says of each. Leaves nothing.
set -u
BUILD=$(cd "$1" && pwd)
cd "$(dirname "$0")/demo" || exit 1
T=$(mktemp -d)
export TBSANDBOX_SOCKET=$T/run/tbsandboxd.sock
cat >"$T/config.yaml" <<END
listen: {socket: "$TBSANDBOX_SOCKET"}
paths: {runtime_directory: "$T/run", state_directory: "$T/state", warden: "$BUILD/tbwarden"}
profiles: {pandas: {}}
END
"$BUILD/tbsandboxd" --config "$T/config.yaml" 2>"$T/log" &
DAEMON=$!
finish() {
    kill -TERM "$DAEMON" 2>/dev/null
    wait "$DAEMON"
    rm -rf "$T"
}
trap finish EXIT

echo "tbsandboxd is starting: it makes environments with pandas and tests itself with known programs."
answers=
for _ in $(seq 600); do
    "$BUILD/tbclient" status >/dev/null 2>&1 && { answers=yes; break; }
    kill -0 "$DAEMON" 2>/dev/null || { cat "$T/log" >&2; exit 1; }
    sleep 0.1
done
[ -n "$answers" ] || { echo "demo.sh: the daemon does not answer" >&2; tail "$T/log" >&2; exit 1; }

# show WANTED ARGUMENTS...: runs tbclient and checks that it ends as it should.
show() {
    local wanted=$1 status=0
    shift
    echo
    echo "\$ tbclient $*"
    "$BUILD/tbclient" "$@" || status=$?
    echo "(exit status $status)"
    [ "$status" = "$wanted" ] || { echo "demo.sh: expected exit status $wanted" >&2; tail "$T/log" >&2; exit 1; }
}

show 0 doctor pandas
for program in summarise shows_a_customer overwrites_its_input phones_home reaches_the_system \
    does_not_parse never_ends; do
    wanted=1
    [ $program != summarise ] || wanted=0
    show "$wanted" submit $program.py --input orders.csv --protected order_id \
        --canary customer-23=tb.gen+leak@example.invalid --timeout 2
done
echo
echo "Every verdict above is about code that was seen to start. Now the daemon is stopped:"
finish
trap - EXIT
DAEMON=
status=0
echo "\$ tbclient submit summarise.py --input orders.csv"
"$BUILD/tbclient" submit summarise.py --input orders.csv || status=$?
echo "(exit status $status)"
rm -rf "$T"
[ "$status" = 2 ]
