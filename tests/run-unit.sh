#!/bin/sh
# run-unit.sh PROGRAM...: runs each unit test, at most 120 s each, from the top of the tree; shows what
# the failing ones print and ends with one line that counts checks. A program that dies, hangs or runs
# no check is one failed check.
set -u

[ $# -ge 1 ] || { echo "run-unit.sh: no tests given" >&2; exit 64; }

# A bound for one check; sanitizers and a busy machine make them slow.
CK_DEFAULT_TIMEOUT=${CK_DEFAULT_TIMEOUT:-60}
export CK_DEFAULT_TIMEOUT

# add_counts [CHECKS FAILURES ERRORS]...: sets checks and bad; a program has a line for each runner.
add_counts() {
    checks=0
    bad=0
    while [ $# -ge 3 ]; do
        checks=$((checks + $1))
        bad=$((bad + $2 + $3))
        shift 3
    done
}

passed=0
failed=0
for program in "$@"; do
    output=$(timeout -k 5 120 "$program" 2>&1)
    status=$?
    # "97%: Checks: 58, Failures: 1, Errors: 1"
    counts=$(printf '%s\n' "$output" |
        sed -n 's/^[0-9]*%: Checks: \([0-9]*\), Failures: \([0-9]*\), Errors: \([0-9]*\)$/\1 \2 \3/p')
    # shellcheck disable=SC2086 # word splitting takes the lines apart
    add_counts $counts
    if [ "$bad" -eq 0 ] && { [ "$status" -ne 0 ] || [ "$checks" -eq 0 ]; }; then
        checks=$((checks + 1))
        bad=1
    fi
    passed=$((passed + checks - bad))
    failed=$((failed + bad))
    [ "$bad" -eq 0 ] && continue
    printf '%s\n' "--- $program (exit status $status)" "$output"
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
