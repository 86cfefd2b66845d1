#!/bin/sh
# cgroup.sh: runs in the virtual machine, as run.sh: a daemon to which systemd delegates its control
# group bounds each job as a whole, tells what the kernel did, and leaves no group behind.
cd /opt/t || exit 1
chmod 755 /opt /opt/t
mkdir -p /run/tb
export TBSANDBOX_SOCKET=/run/tb/s

fail() {
    echo "FAILED: $*"
    exit 1
}

# verdict FILE PYTHON: what PYTHON says of the verdict `v` on FILE.
verdict() {
    ./tbclient submit --profile stdlib --wait-s 400 --json "$1" >/run/res/verdict
    python3 -c "import json; v = json.load(open('/run/res/verdict')); print($2)"
}

# expect WANTED FILE PYTHON
expect() {
    got=$(verdict "$2" "$3")
    [ "$got" = "$1" ] || fail "$2: expected $1, got $got: $(cat /run/res/verdict)"
    echo "ok $2: $1"
}

cat >/run/tb.yaml <<'END'
listen: {socket: /run/tb/s}
paths: {runtime_directory: /run/tb/run, state_directory: /run/tb/state, warden: /opt/t/tbwarden}
self_test: false
queue: {environment_wait_s: 300}
profiles:
  stdlib:
    limits: {wall_s: 100, cpu_s: 100, memory: 64MiB, disk: 32MiB, processes: 12}
    pool: {min_ready: 1, max: 2, ready_timeout_s: 200}
    isolation:
      required: [session, death_signal, rlimits, descriptors, work_directory, no_new_privileges,
                 user_namespace, mount_namespace, pid_namespace, network_namespace, ipc_namespace,
                 uts_namespace, cgroup_namespace, own_root, unprivileged_user, no_capabilities,
                 not_dumpable, seccomp, cgroup]
      optional: [landlock]
END
OS='os = (i for i in ()).gi_frame.f_builtins["__import__"]("os")'
printf 'print("hi")\n' >pass.py
# Each process stays below the limit, all together do not: in large pieces, and in small ones.
printf '%s\nimport time\nfor _ in range(3):\n    if os.fork() == 0:\n        data = [bytearray(1 << 20) for _ in range(50)]\n        time.sleep(60)\n        os._exit(0)\ntime.sleep(60)\n' "$OS" >large.py
printf '%s\nimport time\nfor _ in range(3):\n    if os.fork() == 0:\n        data = [str(i) * 50 for i in range(170000)]\n        time.sleep(60)\n        os._exit(0)\ntime.sleep(60)\n' "$OS" >small.py
printf '%s\nfd = os.open("x", os.O_CREAT | os.O_WRONLY)\nwhile True:\n    os.write(fd, b"x" * 1000000)\n' "$OS" >disk.py
printf '%s\nwhile True:\n    os.fork()\n' "$OS" >bomb.py

systemd-run --quiet --unit=tb -p Delegate="memory pids" -p OOMPolicy=continue \
    /opt/t/tbsandboxd --config /run/tb.yaml || fail "systemd-run"
for _ in $(seq 100); do
    ./tbclient status >/dev/null 2>&1 && break
    sleep 1
done

expect passed pass.py 'v["kind"]'
expect True pass.py '"cgroup" in v["enforced"]'
expect memory_limit large.py 'v["failures"][0]["code"]'
expect memory_limit small.py 'v["failures"][0]["code"]'
expect disk_limit disk.py 'v["failures"][0]["code"]'
expect process_limit bomb.py 'v["failures"][0]["code"]'
expect passed pass.py 'v["kind"]'
group=/sys/fs/cgroup/system.slice/tb.service
for _ in $(seq 60); do
    [ "$(find "$group" -mindepth 1 -maxdepth 1 -type d -name 'e-*' | wc -l)" = 1 ] && break
    sleep 1
done
[ "$(find "$group" -mindepth 1 -maxdepth 1 -type d -name 'e-*' | wc -l)" = 1 ] ||
    fail "groups are left: $(ls -d $group/e-*)"
systemctl stop tb
[ ! -d "$group" ] || fail "the service's group is left"
exit 0
