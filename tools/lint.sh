#!/bin/sh
# lint.sh [CHECK...]: checks the tree without running it: layers, sizes, words, format, cppcheck, tidy,
# shell. Without arguments all of them, each to its end, so that one run shows everything.
# lint.sh --self-test: proves on a copy of the tree that planted violations are found.
set -eu

cd "$(dirname "$0")/.."

MAX_LINES=800
MAX_FUNCTION_LINES=60
CHECKS='layers sizes words format cppcheck tidy shell'

c_files() { find client daemon proto tests -name '*.[ch]' | sort; }
c_sources() { find client daemon proto tests -name '*.c' | sort; }

check_layers() {
    c_files | xargs awk -f tools/layers.awk
}

check_sizes() {
    c_files | xargs awk -v max_lines="$MAX_LINES" -v max_function_lines="$MAX_FUNCTION_LINES" \
        -f tools/sizes.awk
}

# Unfinished work is written down elsewhere, or done. The words are spelt so as not to find themselves.
check_words() {
    ! grep -rnIwE 'TO''DO|FIX''ME|XX''X' --exclude-dir=.git --exclude-dir=build .
}

check_format() {
    { c_files; find tools -name '*.h'; } | xargs clang-format --dry-run -Werror
}

# Left out: leaks, since it does not know the cleanup attribute (the sanitizers and clang's analyser
# look for them), and headers of the system, whose absence it takes for an error.
check_cppcheck() {
    c_sources | xargs cppcheck --quiet --std=c11 -j 2 --error-exitcode=1 --inline-suppr \
        --enable=warning,performance,portability \
        --suppress=missingInclude --suppress=missingIncludeSystem \
        --suppress=memleak --suppress=resourceLeak \
        -D_GNU_SOURCE -D__linux__ -DTBSANDBOX_VERSION='"0"' -DTBSANDBOX_LIBEXEC='"/"' -I. -Idaemon -Iproto
}

# Drops from what clang-tidy says the leaks, for the same reason, and its counts. Fails when anything
# is left.
tidy_findings() {
    awk '/^[^ ].*:[0-9]+:[0-9]+: (warning|error): / { dropped = /Potential (memory )?leak/ }
         /^[0-9]+ warnings? (and [0-9]+ errors? )?generated\.$/ { next }
         !dropped { print; found = 1 }
         END { exit found }'
}

check_tidy() {
    make --no-print-directory -s build/generated/tbsandbox.pb-c.h build/generated/warden.pb-c.h
    libs=$(pkg-config --cflags libevent_core libprotobuf-c yaml-0.1 libsodium jansson check)
    log=$(mktemp)
    status=0
    # shellcheck disable=SC2086 # word splitting makes the arguments
    c_sources | xargs -P 2 -I '{}' clang-tidy --quiet '{}' -- -std=gnu11 -D_GNU_SOURCE \
        -DTBSANDBOX_VERSION='"0"' -DTBSANDBOX_LIBEXEC='"/"' -I. -Idaemon -Iproto -Ibuild/generated $libs -include tools/tidy.h \
        >"$log" 2>&1 || status=1
    tidy_findings <"$log" || status=1
    rm -f "$log"
    return "$status"
}

# Left out: remarks on functions whose arguments may be left out.
check_shell() {
    find . \( -name .git -o -name build \) -prune -o -name '*.sh' -print | sort |
        xargs shellcheck -x -P SCRIPTDIR -e SC2119,SC2120
}

# plant FILE LINE CHECK RULE: with LINE added to FILE of the copy, the check must name FILE and RULE.
plant() {
    cp "$1" "$1.kept"
    printf '%s\n' "$2" >>"$1"
    if output=$("check_$3" 2>&1); then
        echo "self-test: $3 does not see '$2' in $1" >&2
        failed=1
    elif ! printf '%s\n' "$output" | grep -F "$1:" | grep -qF "$4"; then
        printf '%s\n' "self-test: $3 says something else of '$2' in $1:" "$output" >&2
        failed=1
    fi
    mv "$1.kept" "$1"
    planted=$((planted + 1))
}

plant_layers() {
    plant daemon/base/text.c '#include "config/problem.h"' layers 'base lies below config'
    plant daemon/config/problem.h '#include "verdict/code.h"' layers 'config lies below verdict'
    plant daemon/verdict/rule.c '#include "platform/peer.h"' layers 'verdict lies below platform'
    plant daemon/platform/peer.h '#include "broker/job.h"' layers 'platform may not include broker'
    plant daemon/broker/job.c '#include "warden/ledger.h"' layers 'broker may not include warden'
    plant daemon/warden/probe.c '#include "broker/job.h"' layers 'warden may not include broker'
    plant daemon/main.c '#include "warden/ledger.h"' layers 'main may not include warden'
    plant daemon/broker/job.c '#include "wire.h"' layers 'only the codecs'
    plant daemon/broker/job.h '#include "tbsandbox.pb-c.h"' layers 'only request'
    plant client/probe.c '#include "warden.pb-c.h"' layers 'only the two channel codecs'
    plant client/probe.c '#include "verdict/verdict.h"' layers 'client may include'
    plant proto/wire.c '#include "config/config.h"' layers 'proto may include base only'
    plant daemon/config/units.c '# include <yaml.h>' layers 'only config/document'
    plant daemon/warden/probe.c '#include <event2/event.h>' layers 'only broker and daemon/main.c'
    plant daemon/broker/job.c '#include "../warden/ledger.h"' layers 'names its path'
    plant daemon/broker/job.c '#include HEADER' layers 'names its file'
    plant daemon/broker/job.c '#include "platform/posix/probe.h"' layers "platform's own header"
    plant daemon/broker/job.c '#ifdef _WIN32' layers 'a platform test'
    plant daemon/broker/job.c '#elif defined(__linux__)' layers 'a platform test'
}

long_text() { awk -v n="$1" -v line="$2" 'BEGIN { for (i = 0; i < n; i++) print line }'; }

plant_others() {
    plant daemon/base/text.c "$(long_text $MAX_LINES '/* line */')" sizes 'at most 800'
    plant daemon/base/text.c "int probe(int a,
          int b) {
$(long_text $((MAX_FUNCTION_LINES - 2)) '    a += b;')
}" sizes 'a function of 61 lines'
    plant daemon/base/text.c '/* TO''DO */' words 'TO''DO'
}

self_test() {
    copy=$(mktemp -d)
    trap 'rm -rf "$copy"' EXIT INT TERM
    cp -R client daemon proto tests tools "$copy"
    cd "$copy"
    for probe in client/probe.c daemon/warden/probe.c daemon/main.c; do
        [ -e "$probe" ] || : >"$probe"
    done
    planted=0
    failed=0
    for check in layers sizes words; do
        "check_$check" || { echo "self-test: $check fails before anything is planted" >&2; exit 1; }
    done
    plant_layers
    plant_others
    [ "$failed" -eq 0 ] && echo "self-test: all $planted planted violations were found"
    return "$failed"
}

need_tools() {
    for tool in awk clang-format cppcheck clang-tidy shellcheck pkg-config make; do
        command -v "$tool" >/dev/null || { echo "lint.sh: $tool is missing" >&2; exit 1; }
    done
}

need_tools
case ${1-} in
--self-test) self_test; exit ;;
esac

# shellcheck disable=SC2086 # word splitting makes the arguments
[ $# -gt 0 ] || set -- $CHECKS
bad=
for check; do
    case " $CHECKS " in
    *" $check "*) ;;
    *) echo "usage: lint.sh [--self-test | $CHECKS]" >&2; exit 64 ;;
    esac
    if "check_$check"; then
        echo "lint: $check: ok"
    else
        echo "lint: $check: FAILED" >&2
        bad="$bad $check"
    fi
done
[ -z "$bad" ] || { echo "lint: failed:$bad" >&2; exit 1; }
