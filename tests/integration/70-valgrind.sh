#!/bin/bash
# 100 jobs through a broker under valgrind: no invalid access, no leak.
# shellcheck source=tests/lib/daemon.sh
. "$(dirname "$0")/../lib/daemon.sh"

case $BUILD in
*sanitize*)
    echo "$(basename "$0"): skipped, the sanitizers look at the same things"
    exit 0
    ;;
esac
printf 'print("hello")\n' >"$T/pass.py"
printf 'raise ValueError("x")\n' >"$T/raise.py"
files=()
for _ in $(seq 50); do files+=("$T/pass.py" "$T/raise.py"); done

config < <(stdlib_profile)
daemon_start valgrind --quiet --leak-check=full --show-leak-kinds=definite,indirect,possible \
    --errors-for-leak-kinds=definite,indirect,possible --error-exitcode=99 \
    --log-file="$T/valgrind-%p.log"
wait_health stdlib serving
expect 1 client submit --profile stdlib "${files[@]}"
expect 0 client jobs --json
expect 0 client doctor
daemon_stop
cat "$T"/valgrind-*.log >"$T/valgrind"
[ ! -s "$T/valgrind" ] || { cat "$T/valgrind" >&2; fail "valgrind found something"; }
ok
