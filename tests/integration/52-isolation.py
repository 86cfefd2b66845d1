#!/usr/bin/python3 -I
"""What jobs can do to each other and to the machine, wall by wall: two jobs at one time, with and without
the filter of system calls; what fifty jobs of every kind leave; the daemon killed in every phase; the same
layers for root and for an ordinary user. Beside 51-enclosed.sh. Ends only processes that it started."""
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

BUILD = os.path.abspath(os.environ["BUILD"])
ROUNDS = int(os.environ.get("ISOLATION_ROUNDS", "24"))
NOBODY = 65534
# Of this run alone, so that its processes are known by their users. The daemon takes 65536 of them.
FIRST_UID = 1900000000 + os.getpid() % 1000 * 65536
IS_ROOT = os.geteuid() == 0
# Holes that are known: one that is closed must be taken off this list, which is then a failure.
KNOWN = {
    "time of children that nobody waits for is not counted",
}
CHECKS = 0
FAILURES = []

PREAMBLE = """
load = (i for i in ()).gi_frame.f_builtins["__import__"]
open_file = load("io").open
os, sys, time, signal, errno = load("os"), load("sys"), load("time"), load("signal"), load("errno")
for name in [name for name in sys.modules if sys.modules[name] is None or "ctypes" in name]:
    del sys.modules[name]
ctypes = load("ctypes")
libc = ctypes.CDLL(None, use_errno=True)
"""


def check(truth, what):
    """Every failure is told, not the first alone."""
    global CHECKS
    CHECKS += 1
    if not truth:
        FAILURES.append(what)
        print("FAILED:", what, flush=True)


def check_hole(is_open, what):
    """Fails when it is open and not known, and when it is known and closed."""
    check(not is_open or what in KNOWN, what)
    check(is_open or what not in KNOWN, f"no longer so, take it out of KNOWN: {what}")


def wait_until(truth, limit_s=30.0):
    """The bound is one against hangs."""
    end = time.monotonic() + limit_s
    while not truth():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def read(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


def processes():
    """{pid: parent} of this machine."""
    found = {}
    for name in os.listdir("/proc"):
        stat = read(f"/proc/{name}/stat") if name.isdigit() else b""
        if stat:
            found[int(name)] = int(stat.rpartition(b")")[2].split()[1])
    return found


def below(pid):
    parents, found = processes(), {pid}
    grown = True
    while grown:
        more = {child for child, parent in parents.items() if parent in found} - found
        found |= more
        grown = bool(more)
    return found - {pid}


def identity(pid):
    """Tells a process from a later one of its number."""
    stat = read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    return (pid, stat[19]) if len(stat) > 19 else None


def of_this_run():
    """Processes of jobs' users, whoever their parents are by now."""
    found = set()
    for pid in processes() if IS_ROOT else ():
        try:
            if FIRST_UID <= os.stat(f"/proc/{pid}").st_uid < FIRST_UID + 65536:
                found.add(pid)
            status = read(f"/proc/{pid}/status").split(b"\nUid:")[1].split()
            if FIRST_UID <= int(status[1]) < FIRST_UID + 65536:
                found.add(pid)
        except (OSError, IndexError):
            pass
    return found


def mounts():
    return set(read("/proc/self/mountinfo").splitlines())


class Daemon:
    def __init__(self, top, profiles, name, user=None, extra=""):
        self.top = os.path.join(top, name)
        os.makedirs(self.top, exist_ok=True)
        # Its clients have them too: they trust no other user's socket.
        self.rights = {} if user is None else {"user": user, "group": user, "extra_groups": []}
        if user is not None:
            os.chown(self.top, user, user)
        self.run = self.top + "/run"
        self.log = self.top + "/log"
        self.config = self.top + "/config.yaml"
        self.socket = self.top + "/socket"
        first = f"jobs: {{first_uid: {FIRST_UID}}}\n" if IS_ROOT and user is None else ""
        with open(self.config, "w", encoding="utf-8") as file:
            file.write(f'listen: {{socket: "{self.socket}", socket_mode: "0666"}}\n'
                       f'paths: {{runtime_directory: "{self.run}", state_directory: "{self.top}/state", '
                       f'warden: "{top}/bin/tbwarden"}}\n'
                       f"log: {{level: debug}}\n{first}{extra}{profiles}")
        self.programs = top + "/bin"
        self.process = None

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen([self.programs + "/tbsandboxd", "--config", self.config],
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log, **self.rights)
        return self

    def client(self, *arguments):
        return subprocess.Popen([self.programs + "/tbclient", *arguments], stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                env={"TBSANDBOX_SOCKET": self.socket}, **self.rights)

    def ask(self, *arguments):
        """Its lines of JSON; none when nobody answers."""
        out = self.client(*arguments, "--json").communicate()[0]
        return [json.loads(line) for line in out.splitlines()]

    def status(self):
        lines = self.ask("status")
        return lines[0] if lines else None

    def is_serving(self):
        status = self.status()
        return status and all(p["health"] == "serving" and p["ready"] > 0 for p in status["profiles"])

    def is_idle(self):
        status = self.status()
        return status and status["running"] == status["queued"] == 0 and all(
            p["starting"] == p["busy"] == 0 and p["ready"] > 0 for p in status["profiles"])

    def is_running(self):
        status = self.status()
        return status and status["running"] > 0

    def submit(self, files, *options, profile="stdlib"):
        return self.ask("submit", "--profile", profile, "--wait-s", "120", *options, *files)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        check(self.process.wait(60) == 0, "a daemon that is told to end ends well")
        self.process = None
        check(not os.path.isdir(self.run + "/work") or not os.listdir(self.run + "/work"),
              "its work directory is empty then")

    def end(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()


def write(top, name, code):
    path = f"{top}/{name}.py"
    with open(path, "w", encoding="utf-8") as file:
        file.write(code)
    os.chmod(path, 0o644)
    return path


# --- Two jobs at one time ------------------------------------------------------------------------

# Tries each thing on its own, says what works, and stays.
HOLDER = PREAMBLE + """
socket, fcntl = load("socket"), load("fcntl")
kept, done = [], []
def hold(name, make):
    try:
        kept.append(make())
        done.append(name)
    except OSError:
        pass
def listen(family, address):
    server = socket.socket(family)
    server.bind(address)
    server.listen()
    return server
def call(function, *arguments):
    result = function(*arguments)
    if result < 0:
        raise OSError(ctypes.get_errno())
    return result
if WITH_CALLS:
    hold("memory", lambda: call(libc.shmget, 0x746201, 4096, 0o1666))
    hold("messages", lambda: call(libc.msgget, 0x746202, 0o1666))
    hold("semaphores", lambda: call(libc.semget, 0x746203, 1, 0o1666))
    hold("queue", lambda: call(libc.mq_open, b"/tb-escape", 0o102, 0o666, None))
    hold("abstract", lambda: listen(socket.AF_UNIX, "\\0tb-escape"))
    hold("file-socket", lambda: listen(socket.AF_UNIX, "/work/socket"))
    for place in (-4, -3, -5):
        hold("key", lambda: call(libc.syscall, 248, b"user", b"tb-escape", b"value", 5, place))
hold("file", lambda: open_file("/work/secret-of-a-job", "w"))
os.chmod("/work", 0o777)
os.chmod("/work/secret-of-a-job", 0o666)
shared = "/usr/lib/python3/dist-packages/README.txt"
library = (i for i in ()).gi_frame.f_builtins["vars"](load("json"))["__file__"]
file, null = open_file(library), open_file("/dev/null", "w")
hold("lock", lambda: fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB))
hold("null-lock", lambda: fcntl.lockf(null, fcntl.LOCK_EX | fcntl.LOCK_NB))
print("holds", *sorted(set(done)), flush=True)
for _ in range(30):
    open_file(library).read()
    time.sleep(0.1)
""".replace('shared = "/usr/lib/python3/dist-packages/README.txt"\n', "")

SEEKER = PREAMBLE + """
socket, fcntl = load("socket"), load("fcntl")
library = (i for i in ()).gi_frame.f_builtins["vars"](load("json"))["__file__"]
found, own = [], os.getpid()
def seek(name, attempt):
    try:
        if attempt():
            found.append(name)
    except OSError:
        pass
def connect(family, address):
    socket.socket(family).connect(address)
    return True
def is_locked(lock, file):
    try:
        lock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    return False
def kill(pid):
    os.kill(pid, 0)
    return True
if WITH_CALLS:
    seek("memory", lambda: libc.shmget(0x746201, 0, 0) >= 0)
    seek("messages", lambda: libc.msgget(0x746202, 0) >= 0)
    seek("semaphores", lambda: libc.semget(0x746203, 0, 0) >= 0)
    seek("queue", lambda: libc.mq_open(b"/tb-escape", 2) >= 0)
    seek("abstract", lambda: connect(socket.AF_UNIX, "\\0tb-escape"))
    seek("file-socket", lambda: connect(socket.AF_UNIX, "/work/socket"))
    seek("network", lambda: connect(socket.AF_INET, ("127.0.0.1", PORT)))
    for place in (-4, -3, -5):
        seek("key", lambda: libc.syscall(250, 10, place, b"user", b"tb-escape", 0) >= 0)
    for pid in [pid for pid in range(1, 20000) if pid != own]:
        seek(f"memory of {pid}", lambda: pid > 1 and libc.ptrace(16, pid, 0, 0) == 0)
for path in ("/work/secret-of-a-job", "/proc/1/root/work/secret-of-a-job", "/proc/1/cwd/secret-of-a-job", *GUESSES):
    seek(path, lambda: os.path.exists(path))
for pid in [pid for pid in range(2, 70000) if pid != own]:
    seek(f"process {pid}", lambda: kill(pid))
    seek(f"/proc/{pid}", lambda: os.path.exists(f"/proc/{pid}"))
file, null = open_file(library), open_file("/dev/null", "w")
seek("lock", lambda: is_locked(fcntl.flock, file))
seek("null-lock", lambda: is_locked(fcntl.lockf, null))
events = []
signal.signal(signal.SIGIO, lambda *_: events.append(1))
directory = os.open(os.path.dirname(library), os.O_RDONLY)
seek("watch", lambda: fcntl.fcntl(directory, fcntl.F_NOTIFY, fcntl.DN_ACCESS | fcntl.DN_MULTISHOT) and False)
end = time.monotonic() + 0.6
while time.monotonic() < end:
    time.sleep(0.05)
if events:
    found.append("reads")
print("found", *found)
"""


def two_jobs(top):
    listener = __import__("socket").create_server(("127.0.0.1", 0))  # of the host
    layers = ("session, death_signal, rlimits, descriptors, work_directory, no_new_privileges, user_namespace, "
              "mount_namespace, pid_namespace, network_namespace, ipc_namespace, uts_namespace, cgroup_namespace, "
              "own_root, unprivileged_user, no_capabilities, not_dumpable")
    pool = "pool: {min_ready: 2, max: 3, ready_timeout_s: 60}"
    daemon = Daemon(top, f"""profiles:
  stdlib: {{{pool}}}
  unfiltered:
    isolation: {{required: [{layers}], optional: []}}
    {pool}
""", "pairs").start()
    try:
        check(wait_until(daemon.is_serving, 60), "profiles with and without the filter serve")
        guesses = [daemon.run + "/work", daemon.socket, daemon.top, "/run/tbsandboxd", top]
        for profile in ("stdlib", "unfiltered"):
            facts = f"WITH_CALLS, PORT, GUESSES = {profile != 'stdlib'}, {listener.getsockname()[1]}, {guesses}\n"
            holder = write(top, "holder", facts + HOLDER)
            seeker = write(top, "seeker", facts + SEEKER)
            other = daemon.client("submit", "--json", "--profile", profile, holder)
            check(wait_until(daemon.is_running), f"{profile}: a job runs")
            time.sleep(0.3)
            verdict = daemon.submit([seeker], profile=profile)[0]
            check(other.poll() is None, f"{profile}: both ran at one time")
            held = json.loads(other.communicate()[0])
            judge_pair(profile, held, verdict)
        daemon.stop()
    finally:
        daemon.end()
        listener.close()


def judge_pair(profile, held, verdict):
    wanted = {"file"}
    if profile != "stdlib":
        wanted |= {"memory", "messages", "semaphores", "queue", "abstract", "file-socket", "key", "lock",
                   "null-lock"}
    holds = set(held["stdout"]["head"].split()[1:])
    check(held["kind"] == "passed" and wanted <= holds,
          f"{profile}: the first job holds {wanted - holds} not; {held['failures']} {held['stderr']['head']}")
    check(verdict["kind"] == "passed", f"{profile}: the second passes: {verdict['failures']}")
    found = set(verdict["stdout"]["head"].strip().partition(" ")[2].split())
    if profile == "stdlib":
        check(not holds & {"lock", "null-lock"}, f"{profile}: no lock is to be had: {holds}")
    else:  # the filter alone stands between jobs and the locks on files that both see
        check({"lock", "null-lock"} <= found, f"{profile}: locks are seen: {sorted(found)}")
        found -= {"lock", "null-lock", "reads"}
    check(not found, f"{profile}: the second job reaches {sorted(found)}")


# --- What is left --------------------------------------------------------------------------------

JOBS = {
    "good": 'print("hello")\n',
    "fails": 'raise ValueError("fails")\n',
    "loops": "while True: pass\n",
    "crashes": PREAMBLE + "os.abort()\n",
    "sleeps": PREAMBLE + "time.sleep(600)\n",
    "refused": "import socket\n",
    "shell": PREAMBLE + 'os.system("id")\n',
    "memory": "block = bytearray(1 << 40)\n",
    "forks": PREAMBLE + "while True: os.fork()\n",
    "stops": PREAMBLE + "os.fork()\nos.kill(0, 19)\n",
    "daemon": PREAMBLE + """
if os.fork() == 0:
    os.setsid()
    for number in range(1, 65):
        try:
            signal.signal(number, signal.SIG_IGN)
        except (OSError, ValueError):
            pass
    if os.fork() == 0:
        os.kill(os.getpid(), 19)
    time.sleep(600)
time.sleep(0.1)
""",
    "files": PREAMBLE + """
for n in range(800):
    os.close(os.open(f"file-{n}", os.O_CREAT | os.O_WRONLY))
os.mkfifo("fifo")
os.symlink("/", "link")
for name in ("a", "b", "c"):
    with open_file(name, "wb") as file:
        file.truncate(60 << 20)
""",
}


def picture(daemon):
    pid = daemon.process.pid
    tree = [(path[len(daemon.top):], len(files)) for path, _, files in os.walk(daemon.top)]
    inner = [path for path, _ in tree if "/work/e-" in path]
    return {
        "mounts here": mounts(),
        "mounts of the daemon": read(f"/proc/{pid}/mountinfo"),
        "descriptors": len(os.listdir(f"/proc/{pid}/fd")),
        "processes": len(below(pid)),
        "processes of jobs' users": len(of_this_run()),
        "directories": sorted(item for item in tree if "/work/e-" not in item[0]),
        "directories of environments": len(inner),
        "shared memory": read("/proc/sysvipc/shm"),
    }


def settled_picture(daemon):
    """One that holds still: the daemon closes what its last client left a moment later."""
    seen = [picture(daemon)]

    def is_still():
        time.sleep(0.3)
        seen.append(picture(daemon))
        return seen[-1] == seen[-2]
    wait_until(is_still)
    return seen[-1]


def nothing_is_left(top):
    daemon = Daemon(top, "profiles: {stdlib: {pool: {min_ready: 2, max: 2, ready_timeout_s: 60}}}\n", "left").start()
    try:
        check(wait_until(daemon.is_serving, 60), "a daemon serves")
        check(len(daemon.submit([write(top, "good", JOBS["good"])])) == 1, "a first job has a verdict")
        check(wait_until(daemon.is_idle), "it is idle after it")
        before = settled_picture(daemon)
        files = [write(top, name, code) for name, code in JOBS.items()]
        verdicts = daemon.submit(files * 5, "--timeout", "1")
        check(len(verdicts) == 5 * len(JOBS), "every job has one verdict")
        for verdict in verdicts:
            check(verdict["kind"] != "infrastructure_failure", f"a verdict on the code: {verdict['failures']}")
        check(wait_until(daemon.is_idle, 60), "it is idle afterwards")
        after = {}

        def is_as_before():
            after.update(picture(daemon))
            return after == before
        wait_until(is_as_before, 10)
        for what, value in before.items():
            check(after[what] == value, f"{what}: {value} before, {after[what]} after")
        states = [read(f"/proc/{pid}/stat").rpartition(b")")[2].split()[:1] for pid in below(daemon.process.pid)]
        check([b"Z"] not in states, "no dead child is kept")
        daemon.stop()
        check(not of_this_run(), "no process of a job's user is left")
    finally:
        daemon.end()


# --- The daemon dies -----------------------------------------------------------------------------

def kill_starting(_daemon, _top, chance):
    time.sleep(chance.uniform(0, 0.12))


def kill_surveying(daemon, _top, chance):
    wait_until(lambda: b"listening" in read(daemon.log)[daemon.log_began:])
    time.sleep(chance.uniform(0, 0.6))


def kill_idle(daemon, _top, chance):
    wait_until(daemon.is_serving, 60)
    time.sleep(chance.uniform(0, 0.3))


def kill_dispatching(daemon, top, chance):
    wait_until(daemon.is_serving, 60)
    daemon.later = daemon.client("submit", "--profile", "stdlib", *[f"{top}/good.py", f"{top}/fails.py"] * 20)
    time.sleep(chance.uniform(0, 0.5))


def kill_running(daemon, top, chance, names=("loops", "sleeps", "forks"), wait_s=(0, 0.4)):
    wait_until(daemon.is_serving, 60)
    files = [f"{top}/{name}.py" for name in names] * 3
    daemon.later = daemon.client("submit", "--profile", "stdlib", *files)
    wait_until(daemon.is_running)
    time.sleep(chance.uniform(*wait_s))


def kill_stopped(daemon, top, chance):
    kill_running(daemon, top, chance, ("daemon", "stops"), (0, 0.3))


def kill_checking(daemon, top, chance):
    kill_running(daemon, top, chance, ("files",), (0.05, 0.8))


def kill_closing(daemon, top, chance):
    kill_running(daemon, top, chance, ("loops", "stops"), (0, 0.05))
    daemon.process.send_signal(signal.SIGTERM)
    time.sleep(chance.uniform(0, 0.4))


PHASES = [kill_starting, kill_surveying, kill_idle, kill_dispatching, kill_running, kill_stopped, kill_checking,
          kill_closing]


def daemon_dies(top):
    chance = random.Random(52)
    for name, code in JOBS.items():
        write(top, name, code)
    daemon = Daemon(top, "profiles: {stdlib: {pool: {min_ready: 2, max: 3, ready_timeout_s: 60}}}\n", "dies",
                    extra="self_test: false\n")
    before = mounts()
    try:
        for number in range(ROUNDS):
            die_once(daemon, top, PHASES[number % len(PHASES)], chance)
            check(mounts() <= before, f"round {number}: mounts are left: {mounts() - before}")
        daemon.start()
        check(wait_until(daemon.is_serving, 60), "after all that a daemon serves")
        verdict = daemon.submit([f"{top}/good.py"])[0]
        check(verdict["kind"] == "passed", f"and judges: {verdict['failures']}")
        check(wait_until(lambda: not os.path.exists(daemon.run + "/work") or not [
            name for name in os.listdir(daemon.run + "/work") if name.startswith(".")]), "and has tidied up")
        daemon.stop()
    finally:
        daemon.end()


def die_once(daemon, top, phase, chance):
    daemon.later, daemon.log_began = None, len(read(daemon.log))
    daemon.start()
    phase(daemon, top, chance)
    pid = daemon.process.pid
    known = {identity(one) for one in below(pid)} - {None}
    daemon.process.kill()
    daemon.process.wait()
    if daemon.later:
        daemon.later.communicate()
        # Short jobs may all have had their verdicts.
        allowed = (0, 1, 2) if phase in (kill_dispatching, kill_checking) else (2,)
        check(daemon.later.returncode in allowed,
              f"{phase.__name__}: a client of the dead daemon ends {daemon.later.returncode}")
    began = time.monotonic()
    is_gone = wait_until(lambda: not [one for one in known if identity(one[0]) == one] and not of_this_run(), 20)
    left = [read(f"/proc/{one[0]}/cmdline")[:60] for one in known if identity(one[0]) == one]
    check(is_gone, f"{phase.__name__}: left after {time.monotonic() - began:.0f} s: {left} {of_this_run()}")


# --- Root and an ordinary user --------------------------------------------------------------------

def same_layers(top):
    enforced = {}
    profiles = "profiles: {stdlib: {pool: {min_ready: 1, max: 2, ready_timeout_s: 60}}}\n"
    users = {"root": None, "nobody": NOBODY} if IS_ROOT else {"self": None}
    good = write(top, "good", JOBS["good"])
    for name, user in users.items():
        daemon = Daemon(top, profiles, "as-" + name, user).start()
        try:
            check(wait_until(daemon.is_serving, 60), f"{name}'s daemon serves")
            verdict = daemon.submit([good])[0]
            enforced[name] = verdict["enforced"]
            check(verdict["kind"] == "passed", f"{name}'s daemon judges: {verdict['failures']}")
            check(verdict["enforced"] == daemon.status()["profiles"][0]["enforced"],
                  f"{name}: the verdict and the status name the same layers")
            daemon.stop()
        finally:
            daemon.end()
    for name, layers in enforced.items():
        check(len(layers) >= 18 and "seccomp" in layers and "own_root" in layers, f"{name} has only {layers}")
        check(set(layers) - {"cgroup"} == set(next(iter(enforced.values()))) - {"cgroup"},
              f"the layers of {name} differ from another user's")
    if not IS_ROOT:
        print("not root: a daemon of another user is not tested")


# --- Limits --------------------------------------------------------------------------------------

def unseen_time(top):
    """Time of the processor, spent by children whose parent leaves no trace of them."""
    daemon = Daemon(top, """profiles:
  stdlib:
    limits: {wall_s: 20, cpu_s: 1}
    pool: {min_ready: 1, max: 2, ready_timeout_s: 60}
""", "time").start()
    code = """
signal.signal(signal.SIGCHLD, HOW)
for _ in range(4):
    if os.fork() == 0:
        while time.process_time() < 0.7:
            pass
        os._exit(0)
    time.sleep(0.8)
    if HOW == signal.SIG_DFL:
        os.wait()
"""
    try:
        check(wait_until(daemon.is_serving, 60), "a daemon serves")
        for how in ("SIG_DFL", "SIG_IGN"):
            verdict = daemon.submit([write(top, "time", PREAMBLE + f"HOW = signal.{how}\n" + code)])[0]
            codes = [failure["code"] for failure in verdict["failures"]]
            if how == "SIG_IGN":
                check_hole(codes != ["timeout"], "time of children that nobody waits for is not counted")
            else:
                check(codes == ["timeout"], f"time of children is counted: {codes}")
        daemon.stop()
    finally:
        daemon.end()


def main():
    top = tempfile.mkdtemp(prefix="tbsandbox-test-")
    os.chmod(top, 0o755)
    os.mkdir(top + "/bin", 0o755)
    for program in ("tbsandboxd", "tbwarden", "tbclient"):
        shutil.copy(os.path.join(BUILD, program), top + "/bin")
    parts = [two_jobs, nothing_is_left, same_layers, unseen_time, daemon_dies]
    wanted = sys.argv[1:]
    try:
        for part in parts:
            if wanted and part.__name__ not in wanted:
                continue
            began = time.monotonic()
            part(top)
            print(f"  {part.__name__}: {time.monotonic() - began:.0f} s", flush=True)
    finally:
        if FAILURES and os.environ.get("KEEP"):
            print("kept:", top)
        else:
            shutil.rmtree(top)
    print(f"52-isolation.py: {CHECKS} checks, {len(FAILURES)} failed")
    sys.exit(1 if FAILURES else 0)


main()
