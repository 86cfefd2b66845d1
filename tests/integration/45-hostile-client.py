#!/usr/bin/python3 -I
"""Clients that break the protocol: each gets an error where one is possible, loses its connection where
framing is lost, and disturbs nobody else. Speaks the wire by hand, field by field."""
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

BUILD = os.path.abspath(os.environ["BUILD"])
CHECKS = 0
MALFORMED, TOO_LARGE, HELLO_REQUIRED, VERSION_MISMATCH, UNIMPLEMENTED, INVALID = 1, 2, 3, 4, 5, 6
EXHAUSTED = 9
HELLO, ERROR, SUBMIT, ACCEPTED, LIST, JOBS, GET_STATUS, STATUS = 2, 3, 10, 11, 17, 18, 20, 21
MAX_FRAME = 4 << 20
NOBODY = 65534


def check(truth, what):
    global CHECKS
    if not truth:
        raise SystemExit("FAILED: " + what)
    CHECKS += 1


def varint(value):
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field, value):
    return varint(field << 3) + varint(value)


def text(field, value):
    return varint(field << 3 | 2) + varint(len(value)) + value


def frame(payload):
    return struct.pack(">I", len(payload)) + payload


def request(body, content=b"", request_id=1):
    return frame(number(1, request_id) + text(body, content))


def read_varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if not data[at - 1] & 0x80:
            return value, at


def fields(data):
    """{number: last value} of one message; nested messages stay bytes."""
    found, at = {}, 0
    while at < len(data):
        key, at = read_varint(data, at)
        if key & 7 == 0:
            found[key >> 3], at = read_varint(data, at)
        else:
            size, at = read_varint(data, at)
            found[key >> 3] = data[at:at + size]
            at += size
    return found


class Client:
    def __init__(self, path, greet=True):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(30)
        self.socket.connect(path)
        if greet:
            self.socket.sendall(request(HELLO, number(1, 1)))
            check(HELLO in self.read(), "Hello is answered")

    def send(self, data):
        self.socket.sendall(data)

    def exactly(self, size):
        data = b""
        while len(data) < size:
            part = self.socket.recv(size - len(data))
            if not part:
                return None
            data += part
        return data

    def read(self):
        """One reply as fields, or None at the end."""
        header = self.exactly(4)
        return None if header is None else fields(self.exactly(struct.unpack(">I", header)[0]))

    def expect_error(self, code, what, then_closed):
        reply = self.read()
        check(reply and ERROR in reply, what + ": an error reply")
        check(fields(reply[ERROR]).get(1) == code, f"{what}: code {fields(reply[ERROR])}")
        if then_closed:
            check(self.read() is None, what + ": the connection ends")
        self.socket.close() if then_closed else None


def submit_body(**changes):
    values = {"key": b"k", "code": b"print(1)", "file": b"a.py", "profile": b"stdlib", **changes}
    return text(1, values["key"]) + text(2, values["code"]) + text(3, values["file"]) + text(
        4, values["profile"])


def attacks(path):
    client = Client(path, greet=False)
    client.send(request(GET_STATUS))
    client.expect_error(HELLO_REQUIRED, "a request before Hello", True)

    client = Client(path, greet=False)
    client.send(request(HELLO, number(1, 99)))
    client.expect_error(VERSION_MISMATCH, "another version", True)

    client = Client(path)
    client.send(frame(b"\xff\xff\xff\xff"))
    client.expect_error(MALFORMED, "garbage", True)

    client = Client(path)
    client.send(frame(b""))
    client.expect_error(MALFORMED, "an empty frame", True)

    client = Client(path)
    client.send(b"\xff\xff\xff\xff")
    client.expect_error(TOO_LARGE, "a frame of 4 GiB", True)

    client = Client(path)
    client.send(request(1900))
    client.expect_error(UNIMPLEMENTED, "a request of a later version", False)
    client.send(request(STATUS))
    client.expect_error(UNIMPLEMENTED, "a reply sent as a request", False)
    client.send(request(SUBMIT, submit_body(file=b"../evil.py")))
    client.expect_error(INVALID, "a path as a file name", False)
    client.send(request(SUBMIT, submit_body(profile=b"no-such")))
    client.expect_error(INVALID, "an unknown profile", False)
    client.send(request(GET_STATUS, request_id=77))
    reply = client.read()
    check(STATUS in reply and reply[1] == 77, "the connection still serves, with the request's id")

    many = text(9, b"") * 500000  # labels of two bytes each, forty times that when unpacked
    client = Client(path)
    client.send(request(SUBMIT, submit_body() + many))
    client.expect_error(MALFORMED, "a frame that unpacks to too much", True)


def rude_ends(path):
    """Half frames, silent ends and clients that never read: others are still served."""
    half = Client(path)
    half.send(struct.pack(">I", 1000) + b"abc")
    half.socket.close()
    stuck = [Client(path) for _ in range(5)]
    for client in stuck:
        client.send(struct.pack(">I", 5000) + b"x" * 100)
    deaf = Client(path)
    deaf.socket.setblocking(False)
    try:
        for _ in range(200000):
            deaf.send(request(GET_STATUS))
    except OSError:
        pass
    other = Client(path)
    began = time.monotonic()
    other.send(request(GET_STATUS))
    check(STATUS in other.read(), "others are served meanwhile")
    check(time.monotonic() - began < 20, "and need not wait for the rude ones' timeouts")
    for client in stuck:
        client.socket.close()
    deaf.socket.close()


def in_another_user(work):
    """Runs it in a child of another peer; only root can be two peers."""
    if os.geteuid() != 0:
        print("not root: what others may still submit is not tested")
        return
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            work()
            os._exit(0)
        except BaseException as error:
            sys.stderr.write(f"{error}\n")
            os._exit(1)
    check(os.waitpid(child, 0)[1] == 0, "another peer is served")


def large_submission(path):
    client = Client(path)
    client.send(request(SUBMIT, submit_body(key=b"large", code=b"#" * 200000)))
    check(ACCEPTED in client.read(), "a large submission of another peer is accepted")


def announcements(path):
    """Large frames that are announced and never sent take one peer's share alone."""
    stuck = []
    for _ in range(2):
        stuck.append(Client(path))
        stuck[-1].send(struct.pack(">I", MAX_FRAME) + b"x")
    one_more = Client(path)
    one_more.send(struct.pack(">I", MAX_FRAME) + b"x")
    one_more.expect_error(EXHAUSTED, "more than half of what all may send at once", True)
    in_another_user(lambda: large_submission(path))
    for client in stuck:
        client.socket.close()


def burst(path):
    """Many requests in one go are all answered; who asks one thing need not wait for that."""
    greedy, other = Client(path), Client(path)
    greedy.send(request(LIST) * 3000)
    other.send(request(GET_STATUS))
    check(STATUS in other.read(), "others have their turn")
    for _ in range(3000):
        reply = greedy.read()
        if not reply or JOBS not in reply:
            check(False, "each of many requests is answered")


def same_key_twice(path):
    client = Client(path)
    client.send(request(SUBMIT, submit_body(key=b"once")))
    first = client.read()
    client.send(request(SUBMIT, submit_body(key=b"once")))
    second = client.read()
    check(ACCEPTED in first and ACCEPTED in second, "both are accepted")
    one, two = fields(first[ACCEPTED]), fields(second[ACCEPTED])
    check(one[1] == two[1], "a key submitted again is the same job")
    check(two.get(2) == 1 and one.get(2, 0) == 0, "and says that it was known")


def resident_kib(pid):
    for line in open(f"/proc/{pid}/status"):
        if line.startswith("VmRSS:"):
            return int(line.split()[1])


def main():
    place = tempfile.mkdtemp(prefix="tbsandbox-test-")
    os.chmod(place, 0o755)
    path = place + "/run/tbsandboxd.sock"
    with open(place + "/config.yaml", "w") as config:
        config.write(f"listen: {{socket: '{path}', max_frame: {MAX_FRAME}, max_unsent: 2MiB}}\n"
                     f"queue: {{max_bytes: {4 * MAX_FRAME}}}\n"
                     "access: {submit: {users: ['*']}}\n"
                     f"paths: {{runtime_directory: '{place}/run', state_directory: '{place}/state', "
                     f"warden: '{BUILD}/tbwarden'}}\n"
                     "profiles: {stdlib: {pool: {min_ready: 1, max: 1, ready_timeout_s: 60}}}\n")
    log = open(place + "/log", "w")
    daemon = subprocess.Popen([BUILD + "/tbsandboxd", "--config", place + "/config.yaml"], stderr=log)
    try:
        for _ in range(600):
            if os.path.exists(path) or daemon.poll() is not None:
                break
            time.sleep(0.1)
        check(daemon.poll() is None, "the daemon starts")
        attacks(path)
        before = resident_kib(daemon.pid)
        for _ in range(3):
            attacks(path)
        same_key_twice(path)
        rude_ends(path)
        announcements(path)
        burst(path)
        grown = resident_kib(daemon.pid) - before
        check(grown < 65536 or "sanitize" in BUILD, f"memory is bounded (grew by {grown} KiB)")
        check(daemon.poll() is None, "the daemon lives")
        daemon.send_signal(signal.SIGTERM)
        check(daemon.wait(60) == 0, "and stops as told")
    except BaseException:
        sys.stderr.write(open(place + "/log").read()[-4000:])
        raise
    finally:
        if daemon.poll() is None:
            daemon.kill()
            daemon.wait()
        shutil.rmtree(place)
    print(f"{os.path.basename(__file__)}: {CHECKS} checks")


main()
