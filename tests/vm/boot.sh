#!/bin/bash
# boot.sh CACHE PAYLOAD OUT: boots Debian with systemd as its first process and control groups of version
# 2 alone, in QEMU; runs PAYLOAD/run.sh there as root, brings what it left in /run/res to OUT and exits
# with its status. CACHE keeps kernel and root image from run to run; it must lie outside the tree. The
# machine is emulated (no KVM), so that it boots wherever QEMU runs: everything takes 5 to 11 times as long.
set -euo pipefail
[ $# = 3 ] || { echo "usage: boot.sh CACHE PAYLOAD OUT" >&2; exit 64; }
CACHE=$1 PAYLOAD=$2 OUT=$3
PACKAGES=systemd,systemd-sysv,dbus,python3,libevent-core-2.1-7,libevent-extra-2.1-7,libprotobuf-c1
PACKAGES=$PACKAGES,libyaml-0-2,libsodium23,libjansson4
mkdir -p "$CACHE" "$OUT"
export TMPDIR=$CACHE

# What is made under another name and renamed is whole when it is there.
fetch_kernel() {
    local package
    package=$(apt-cache depends linux-image-cloud-amd64 | awk '/Depends: linux-image/ {print $2}')
    rm -rf "$CACHE/download"
    mkdir "$CACHE/download"
    (cd "$CACHE/download" && apt-get -qq -o APT::Sandbox::User=root download "$package")
    dpkg-deb --fsys-tarfile "$CACHE"/download/*.deb | tar -xO --wildcards './boot/vmlinuz-*' >"$CACHE/vmlinuz.new"
    mv "$CACHE/vmlinuz.new" "$CACHE/vmlinuz"
    rm -rf "$CACHE/download"
}

# The service that runs the payload, and nothing else that would wait or phone home.
set_up_root() {
    local root=$1 unit
    cat >"$root/usr/local/sbin/vmtest" <<'END'
#!/bin/sh
mkdir -p /opt/t /run/res
tar -C /opt/t -xf /dev/nvme1n1
sh /opt/t/run.sh; rc=$?
journalctl -b --no-pager >/run/res/journal
echo $rc >/run/res/rc
tar -C /run/res -cf /dev/nvme2n1 .
sync
END
    chmod +x "$root/usr/local/sbin/vmtest"
    printf '%s\n' '[Unit]' Description=vmtest After=basic.target After=dbus.service \
        SuccessAction=poweroff FailureAction=poweroff '[Service]' Type=oneshot \
        ExecStart=/usr/local/sbin/vmtest StandardOutput=journal+console StandardError=journal+console \
        TimeoutStartSec=600 >"$root/etc/systemd/system/vmtest.service"
    printf '%s\n' '[Unit]' Requires=basic.target Wants=vmtest.service After=basic.target AllowIsolate=yes \
        >"$root/etc/systemd/system/vmtest.target"
    ln -sf vmtest.target "$root/etc/systemd/system/default.target"
    for unit in e2scrub_reap.service systemd-pstore.service e2scrub_all.timer fstrim.timer apt-daily.timer \
        apt-daily-upgrade.timer dpkg-db-backup.timer systemd-random-seed.service systemd-update-utmp.service; do
        ln -sf /dev/null "$root/etc/systemd/system/$unit"
    done
    echo '/dev/nvme0n1 / ext4 rw,noatime 0 0' >"$root/etc/fstab"
    echo vmtest >"$root/etc/hostname"
    echo 0123456789abcdef0123456789abcdef >"$root/etc/machine-id"
}

make_image() {
    local root=$CACHE/rootfs sources=() file
    rm -rf "$root"
    for file in /etc/apt/sources.list /etc/apt/sources.list.d/debian.sources; do
        [ ! -s "$file" ] || sources+=("$file")
    done
    mmdebstrap -q --mode=root --variant=minbase --format=directory --include="$PACKAGES" \
        --aptopt='Acquire::Languages "none"' --dpkgopt='path-exclude=/usr/share/man/*' \
        --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
        bookworm "$root" "${sources[@]}"
    set_up_root "$root"
    mkfs.ext4 -q -F -O ^has_journal -E lazy_itable_init=0 -m 0 -d "$root" "$CACHE/base.img.new" 600M
    mv "$CACHE/base.img.new" "$CACHE/base.img"
    rm -rf "$root"
}

boot() {
    tar -C "$PAYLOAD" -cf "$OUT/in.tar" .
    rm -f "$OUT/result.img" "$OUT/rc"
    truncate -s 64M "$OUT/result.img"
    timeout 900 qemu-system-x86_64 -nodefaults -no-user-config -display none -no-reboot -M q35 \
        -accel tcg,thread=multi -cpu qemu64 -smp 2 -m 1024 -nic none -kernel "$CACHE/vmlinuz" \
        -append "console=ttyS0 root=/dev/nvme0n1 rw rootfstype=ext4 systemd.unified_cgroup_hierarchy=1 panic=-1 quiet mitigations=off" \
        -drive file="$CACHE/base.img",format=raw,if=none,id=d0,snapshot=on,cache=unsafe -device nvme,drive=d0,serial=d0 \
        -drive file="$OUT/in.tar",format=raw,if=none,id=d1,readonly=on -device nvme,drive=d1,serial=d1 \
        -drive file="$OUT/result.img",format=raw,if=none,id=d2,cache=unsafe -device nvme,drive=d2,serial=d2 \
        -serial stdio </dev/null >"$OUT/serial" 2>"$OUT/qemu" || true
    tar -C "$OUT" -xf "$OUT/result.img" 2>/dev/null || true
    if [ ! -s "$OUT/rc" ]; then
        echo "boot.sh: no result from the virtual machine" >&2
        tail -n 20 "$OUT/serial" "$OUT/qemu" >&2
        exit 99
    fi
}

[ -s "$CACHE/vmlinuz" ] || fetch_kernel
# Another list of packages is another image.
[ "$(cat "$CACHE/packages" 2>/dev/null)" = "$PACKAGES" ] || rm -f "$CACHE/base.img"
[ -s "$CACHE/base.img" ] || make_image
echo "$PACKAGES" >"$CACHE/packages"
boot
exit "$(cat "$OUT/rc")"
