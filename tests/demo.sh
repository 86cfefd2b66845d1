#!/bin/bash
# demo.sh BUILD: real verdicts on real pandas code: a daemon of its own, the sample programs of
# tests/demo, and what tbclient says of each. Leaves nothing.
set -u
BUILD=$(cd "$1" && pwd)
cd "$(dirname "$0")/demo" || exit 1
T=$(mktemp -d)
export TBSANDBOX_SOCKET=$T/run/tbsandboxd.sock
cat >"$T/config.yaml" <<END
listen: {socket: $TBSANDBOX_SOCKET}
paths: {runtime_directory: $T/run, state_directory: $T/state, warden: $BUILD/tbwarden}
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
for _ in $(seq 600); do
    "$BUILD/tbclient" status >/dev/null 2>&1 && break
    kill -0 "$DAEMON" 2>/dev/null || { cat "$T/log" >&2; exit 1; }
    sleep 0.1
done

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
for program in *.py; do
    wanted=1
    case $program in good*) wanted=0 ;; esac
    show "$wanted" submit "$program" --input your_data.csv --protected account \
        --canary mail-1=tb.gen+leak@example.invalid --timeout 2
done
echo
echo "Every verdict above is about code that was seen to start. Now the daemon is stopped:"
finish
trap - EXIT
DAEMON=
status=0
"$BUILD/tbclient" submit good*.py --input your_data.csv || status=$?
echo "(exit status $status)"
rm -rf "$T"
[ "$status" = 2 ]
