#!/bin/sh
# deps.sh GROUP...: installs with apt-get what is missing of the named groups (build, check, lint,
# fuzz). Asks dpkg first, so that it needs neither root nor the network when nothing is missing.
set -eu

packages() {
    case $1 in
    build) echo gcc libc6-dev make pkg-config libevent-dev libprotobuf-c-dev protobuf-c-compiler \
        libyaml-dev libsodium-dev libjansson-dev ;;
    demo) echo python3 python3-pandas ;;
    check) echo check python3 python3-pandas valgrind procps ;;
    lint) echo clang-format clang-tidy cppcheck shellcheck git ;;
    fuzz) echo clang libclang-rt-14-dev ;;
    *) echo "deps.sh: no such group: $1" >&2; exit 64 ;;
    esac
}

missing=
for group in "$@"; do
    for package in $(packages "$group"); do
        dpkg-query -W -f '${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed && continue
        case " $missing " in *" $package "*) ;; *) missing="$missing $package" ;; esac
    done
done
[ -n "$missing" ] || exit 0

as_root=
if [ "$(id -u)" != 0 ]; then
    if ! command -v sudo >/dev/null 2>&1; then
        echo "deps.sh: missing packages:$missing" >&2
        echo "deps.sh: not root and there is no sudo; let an administrator run: apt-get install$missing" >&2
        exit 1
    fi
    as_root=sudo
fi
echo "installing:$missing" >&2
# shellcheck disable=SC2086 # word splitting makes the arguments
{
    $as_root apt-get update -qq
    DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y -qq --no-install-recommends $missing
} >&2 </dev/null || {
    echo "deps.sh: apt-get could not install:$missing" >&2
    exit 1
}
