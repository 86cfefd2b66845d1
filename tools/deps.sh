#!/bin/sh
# deps.sh GROUP...: installs with apt-get what is missing of the named groups (build, demo, check, lint, vm,
# fuzz). Asks dpkg first, so that it needs neither root nor the network when nothing is missing.
set -eu

packages() {
    case $1 in
    build) echo gcc libc6-dev make pkg-config libevent-dev libprotobuf-c-dev protobuf-c-compiler \
        libyaml-dev libsodium-dev libjansson-dev libseccomp-dev ;;
    demo) echo python3 python3-pandas ;;
    check) echo check python3 python3-pandas valgrind procps ;;
    lint) echo clang-format clang-tidy cppcheck shellcheck git ;;
    vm) echo qemu-system-x86 mmdebstrap e2fsprogs ;;
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

# by_hand WHY: says what an administrator must do.
by_hand() {
    echo "deps.sh: missing packages:$missing" >&2
    echo "deps.sh: $1; let an administrator run: apt-get update && apt-get install --no-install-recommends$missing" >&2
    exit 1
}

# sudo drops the caller's variables, so env sets it behind sudo.
as_root="env DEBIAN_FRONTEND=noninteractive"
if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null 2>&1 || by_hand "not root and there is no sudo"
    echo "installing with sudo:$missing" >&2
    sudo true </dev/null || by_hand "not root and sudo refuses"
    as_root="sudo $as_root"
else
    echo "installing:$missing" >&2
fi
# shellcheck disable=SC2086 # word splitting makes the arguments
{
    $as_root apt-get update -qq
    $as_root apt-get install -y -qq -o Dpkg::Use-Pty=0 --no-install-recommends $missing
} >&2 </dev/null || {
    echo "deps.sh: apt-get could not install:$missing" >&2
    exit 1
}
