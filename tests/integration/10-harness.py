#!/usr/bin/python3
"""The harness alone, in every interpreter there is: markers, static rules, exits, tracebacks.

Speaks the warden's side of the job and marker pipes. Interpreters: /usr/bin/python3, every
pythonX.Y on PATH, and those named in TBSANDBOX_TEST_PYTHONS, separated by colons.
"""

import fcntl
import json
import os
import re
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HARNESS = os.path.join(TOP, "daemon", "harness", "harness.py")
VERSIONS = [(3, minor) for minor in range(8, 14)]
NONCE = "0123456789abcdef0123456789abcdef"
TIMEOUT_S = 30
BOOTSTRAP = """\
import os
JOB, MARK = 3, 4
def read_exact(n):
    data = b""
    while len(data) < n:
        part = os.read(JOB, n - len(data))
        if not part:
            os._exit(70)
        data += part
    return data
def read_frame():
    return read_exact(int(read_exact(10)))
exec(compile(read_frame(), "<harness>", "exec"))
"""
SETUP = {
    "preload": ["json", "collections"],
    "allowed_imports": ["json", "collections", "dataclasses", "threading", "atexit", "sys", "os"],
    "refused_calls": ["eval", "exec", "open", "getattr", "__import__"],
    "poisoned_modules": ["socket", "subprocess", "http"],
    "warmup": "",
    "hide": False,
}
PASSED = ["received", "parsed", "allowed", "compiled", "started", "ended"]


def variables(directory):
    return {"PYTHONNOUSERSITE": "1", "HOME": directory, "TMPDIR": directory, "LANG": "C.UTF-8"}


def frame(data):
    return b"%010d" % len(data) + data


class Session:
    """One interpreter, from its start to its death."""

    def __init__(self, interpreter, setup, files=(), environ=None):
        self.directory = tempfile.mkdtemp(prefix="tbsandbox-harness-")
        for name in files:
            open(os.path.join(self.directory, name), "w").close()
        environ = dict(variables(self.directory), **(environ or {}))
        pipes = {1: self.pipe(), 2: self.pipe(), 3: self.pipe(), 4: self.pipe()}
        child = {fd: pipes[fd][0 if fd == 3 else 1] for fd in pipes}
        actions = [(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)]
        actions += [(os.POSIX_SPAWN_DUP2, child[fd], fd) for fd in child]
        words = [interpreter, "-I", "-B", "-X", "faulthandler", "-c", BOOTSTRAP]
        home = os.getcwd()
        os.chdir(self.directory)
        try:
            self.pid = os.posix_spawn(interpreter, words, environ, file_actions=actions)
        finally:
            os.chdir(home)
        for fd in child.values():
            os.close(fd)
        self.job = pipes[3][1]
        self.read_ends = {"out": pipes[1][0], "err": pipes[2][0], "mark": pipes[4][0]}
        self.data = {"out": b"", "err": b"", "mark": b""}
        self.send(open(HARNESS, "rb").read(), json.dumps(setup).encode())

    @staticmethod
    def pipe():
        """High numbers, so that no dup2 in the child hits one that is still needed."""
        ends = os.pipe()
        high = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 20) for fd in ends]
        for fd in ends:
            os.close(fd)
        return high

    def send(self, *frames):
        data = b"".join(map(frame, frames))
        while data:
            data = data[os.write(self.job, data) :]

    def hang_up(self):
        if self.job is not None:
            os.close(self.job)
            self.job = None

    def pump(self, done):
        """Reads until done() or every pipe is at its end."""
        deadline = time.monotonic() + TIMEOUT_S
        with selectors.DefaultSelector() as selector:
            for name, fd in self.read_ends.items():
                selector.register(fd, selectors.EVENT_READ, name)
            while selector.get_map() and not done():
                if time.monotonic() > deadline:
                    os.kill(self.pid, signal.SIGKILL)
                    raise AssertionError(f"no end within {TIMEOUT_S} s: {self.data}")
                for key, _ in selector.select(1):
                    part = os.read(key.fd, 65536)
                    self.data[key.data] += part
                    if not part:
                        selector.unregister(key.fd)

    def first_marker(self):
        self.pump(lambda: b"\n" in self.data["mark"])
        return json.loads(self.data["mark"].split(b"\n")[0])

    def finish(self):
        self.pump(lambda: False)
        _, status = os.waitpid(self.pid, 0)
        self.pid = None
        return os.WEXITSTATUS(status) if os.WIFEXITED(status) else -os.WTERMSIG(status)

    def close(self):
        self.hang_up()
        if self.pid is not None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        for fd in self.read_ends.values():
            os.close(fd)
        shutil.rmtree(self.directory)


class Run:
    """What one job left behind."""

    def __init__(self, session, status):
        self.status = status
        self.out = session.data["out"].decode("utf-8")
        self.err = session.data["err"].decode("utf-8")
        self.markers = [json.loads(line) for line in session.data["mark"].splitlines()][1:]
        self.names = [marker["marker"] for marker in self.markers]
        self.files = sorted(os.listdir(session.directory))
        self.failures = [
            (failure["code"], failure["subject"], failure["line"])
            for marker in self.markers
            for failure in marker.get("failures", [])
        ]
        self.messages = [f["message"] for m in self.markers for f in m.get("failures", [])]


class HarnessTests:
    """Mixed into one TestCase per interpreter."""

    interpreter = None
    version = None

    def start(self, files=(), environ=None, **changes):
        session = Session(self.interpreter, dict(SETUP, **changes), files, environ)
        self.addCleanup(session.close)
        return session

    def run_job(self, code, hold=False, file_name="generated.py", **changes):
        session = self.start(**changes)
        self.assertEqual(session.first_marker()["marker"], "ready")
        header = {"nonce": NONCE, "file_name": file_name, "hold": hold}
        source = code if isinstance(code, bytes) else code.encode("utf-8")
        session.send(json.dumps(header).encode(), source)
        return Run(session, session.finish())

    def rejects(self, code, *failures, **changes):
        run = self.run_job(code, **changes)
        self.assertEqual(run.failures, list(failures), run.messages)
        self.assertEqual((run.names[-1], run.status), ("rejected", 0))
        for message in run.messages:
            self.assertNotIn("\n", message)
            self.assertTrue(message)
        return run

    def passes(self, code, out="", **changes):
        run = self.run_job(code, **changes)
        self.assertEqual((run.names, run.status, run.out), (PASSED, 0, out), run.err)
        return run

    def exits(self, code, status, **changes):
        run = self.run_job(code, **changes)
        self.assertEqual((run.names, run.status), (PASSED[:-1], status), run.err)
        return run

    # --- set-up

    def test_ready_tells_what_is_there(self):
        session = self.start()
        ready = session.first_marker()
        self.assertEqual(
            list(ready),
            "marker version implementation pid hash_randomization hash_sample urandom environ "
            "directory entries writable isolated imports system_root".split(),
        )
        self.assertEqual(ready["pid"], session.pid)
        self.assertEqual(tuple(map(int, ready["version"].split(".")))[:2], self.version)
        self.assertEqual(ready["environ"], variables(session.directory))
        self.assertEqual(ready["directory"], os.path.realpath(session.directory))
        self.assertEqual((ready["entries"], ready["writable"]), ([], True))
        self.assertEqual((ready["hash_randomization"], ready["urandom"]), (1, True))
        self.assertRegex(ready["hash_sample"], "^[0-9a-f]{16}$")
        self.assertEqual((ready["imports"], ready["isolated"]), (SETUP["preload"], True))
        self.assertEqual(os.listdir(session.directory), [])

    def test_hash_samples_differ(self):
        samples = [self.start().first_marker()["hash_sample"] for _ in range(2)]
        self.assertNotEqual(*samples)

    def test_only_the_given_descriptors_and_one_thread(self):
        session = self.start()
        session.first_marker()
        self.assertEqual(sorted(os.listdir(f"/proc/{session.pid}/fd")), list("01234"))
        self.assertEqual(len(os.listdir(f"/proc/{session.pid}/task")), 1)

    def test_what_lies_in_the_directory_is_reported(self):
        ready = self.start(files=["b", "a"]).first_marker()
        self.assertEqual((ready["entries"], ready["writable"]), (["a", "b"], True))
        ready = self.start(files=[".writable"]).first_marker()
        self.assertEqual((ready["entries"], ready["writable"]), ([".writable"], False))

    def test_long_ready_line_is_cut(self):
        environ = {f"V{n}": "\u00e9" * 1000 for n in range(20)}
        session = self.start(environ=environ)
        ready = session.first_marker()
        self.assertEqual((ready["marker"], ready["entries"]), ("ready", []))
        self.assertTrue(0 < len(ready["environ"]) < 24)
        self.assertLessEqual(len(session.data["mark"]), 60000)

    def test_bytes_in_the_environment_that_are_no_text(self):
        ready = self.start(environ={"ODD": b"\xff"}).first_marker()
        self.assertEqual(ready["environ"]["ODD"], "\udcff")

    def test_missing_module_is_unfit(self):
        session = self.start(preload=["json", "no_such_module"])
        unfit = session.first_marker()
        self.assertEqual(unfit["marker"], "unfit")
        self.assertEqual(unfit["step"], "import no_such_module")
        self.assertEqual(unfit["error"], "ModuleNotFoundError: No module named 'no_such_module'")
        self.assertEqual(session.finish(), 71)

    def test_warmup_leaves_nothing(self):
        run = self.passes(
            "print(1)", "1\n", warmup="print('warm')\nopen('left', 'w').write('x')\n"
        )
        self.assertEqual(run.files, [])
        self.assertEqual(run.err, "")

    def test_failing_warmup_is_unfit(self):
        session = self.start(warmup="1 / 0")
        unfit = session.first_marker()
        self.assertEqual((unfit["marker"], unfit["step"]), ("unfit", "warmup"))
        self.assertEqual(unfit["error"], "ZeroDivisionError: division by zero")
        self.assertEqual(session.finish(), 71)

    def test_hang_up_ends_it_quietly(self):
        session = self.start()
        session.first_marker()
        session.hang_up()
        self.assertEqual((session.finish(), session.data["err"]), (70, b""))

    # --- a good run

    def test_good_run(self):
        run = self.passes("print('h\u00e9llo')\n", "h\u00e9llo\n")
        self.assertEqual({marker["nonce"] for marker in run.markers}, {NONCE})
        self.assertEqual((run.err, run.files), ("", []))

    def test_hold_stops_before_the_start(self):
        run = self.run_job("print(1)", hold=True)
        self.assertEqual(run.names, ["received", "parsed", "allowed", "compiled", "held"])
        self.assertEqual((run.status, run.out), (0, ""))

    def test_refusal_wins_over_hold(self):
        self.rejects("import socket", ("forbidden_import", "socket", 1), hold=True)

    def test_code_sees_a_script(self):
        self.passes(
            "import sys\nprint(__name__, __file__, sys.argv, sys.stdin.read() == '')\n"
            "print(sorted(n for n in dir() if n[:1] != '_'))",
            "__main__ generated.py ['generated.py'] True\n['sys']\n",
        )

    def test_dataclasses_and_pickling_find_main(self):
        self.passes(
            "from dataclasses import dataclass\nimport pickle\n@dataclass\nclass P:\n    x: int\n"
            "print(pickle.loads(pickle.dumps(P(3))))",
            "P(x=3)\n",
            allowed_imports=["dataclasses", "pickle"],
        )

    def test_byte_order_mark_and_coding_cookie(self):
        self.passes(
            b"\xef\xbb\xbf# -*- coding: latin-1 -*-\nprint('\xc3\xa9')\n", "\u00e9\n"
        )

    def test_syntax_warnings_are_no_output(self):
        run = self.passes("x = '\\d'\nprint(x is 'a')\n", "False\n")
        self.assertEqual(run.err, "")

    def test_lines_are_out_before_a_kill(self):
        run = self.exits("import os\nprint('said')\nos.kill(os.getpid(), 9)", -9)
        self.assertEqual(run.out, "said\n")

    def test_threads_and_exit_functions_belong_to_the_run(self):
        self.passes(
            "import threading, atexit, time\n"
            "atexit.register(lambda: print('exit'))\n"
            "threading.Thread(target=lambda: (time.sleep(0.2), print('thread'))).start()\n"
            "print('main')\n",
            "main\nthread\nexit\n",
            allowed_imports=["threading", "atexit", "time"],
        )

    def test_files_that_globals_hold_are_flushed(self):
        code = "f = open('left', 'w')\nf.write('data')\n"
        session = self.start(refused_calls=[])
        session.first_marker()
        header = {"nonce": NONCE, "file_name": "g.py", "hold": False}
        session.send(json.dumps(header).encode(), code.encode())
        self.assertEqual(session.finish(), 0)
        with open(os.path.join(session.directory, "left")) as left:
            self.assertEqual(left.read(), "data")

    def test_a_fork_has_no_end_of_its_own(self):
        run = self.run_job("import os\nif os.fork():\n    os.wait()\n    os._exit(0)\n")
        self.assertEqual((run.names[-1], run.status), ("started", 0))

    # --- exits

    def test_uncaught_exception(self):
        run = self.exits("def f():\n    return 1 / 0\n\nf()\n", 1)
        plain = re.sub(r"\n +[~^]+(?=\n)", "", run.err)
        self.assertEqual(
            plain,
            "Traceback (most recent call last):\n"
            '  File "generated.py", line 4, in <module>\n    f()\n'
            '  File "generated.py", line 2, in f\n    return 1 / 0\n'
            "ZeroDivisionError: division by zero\n",
        )

    def test_chained_exception_has_no_frames_of_ours(self):
        run = self.exits(
            "try:\n    {}['a']\nexcept KeyError as e:\n    raise ValueError('b') from e", 1
        )
        self.assertNotIn("<harness>", run.err)
        self.assertNotIn("<string>", run.err)
        self.assertIn("KeyError: 'a'\n\nThe above exception was the direct cause", run.err)

    def test_traceback_quotes_the_code_not_a_file(self):
        code = "open('generated.py', 'w').write('lie')\nraise ValueError\n"
        run = self.exits(code, 1, refused_calls=[])
        self.assertIn("    raise ValueError\nValueError\n", run.err)

    def test_exception_that_cannot_be_shown(self):
        code = "class E(BaseException):\n    def __str__(self): raise E\nraise E\n"
        self.assertIn("E", self.exits(code, 1).err)

    def test_recursion(self):
        run = self.exits("def f(): f()\nf()\n", 1)
        self.assertIn("RecursionError: maximum recursion depth exceeded", run.err)

    def test_keyboard_interrupt_is_an_exception(self):
        self.assertIn("KeyboardInterrupt", self.exits("raise KeyboardInterrupt", 1).err)

    def test_lone_surrogate_raises(self):
        for text in ("\\ud800", "\\udcff"):
            self.assertIn("UnicodeEncodeError", self.exits(f"print('{text}')", 1).err)

    def test_system_exit(self):
        for argument, status, err in (
            ("", 0, ""), ("None", 0, ""), ("3", 3, ""), ("True", 1, ""), ("256 + 7", 7, ""),
            ("-1", 255, ""), ("'bye'", 1, "bye\n"), ("(1, 2)", 1, "(1, 2)\n"),
        ):
            with self.subTest(argument):
                run = self.exits(f"print(1)\nraise SystemExit({argument})", status)
                self.assertEqual((run.out, run.err), ("1\n", err))

    def test_early_exit_has_no_end(self):
        self.exits("import os\nos._exit(0)", 0)

    def test_lost_output(self):
        run = self.exits("import os\nprint('x', end='')\nos.close(1)\n", 120)
        self.assertIn("Exception ignored in: <_io.TextIOWrapper name='<stdout>'", run.err)
        self.assertIn("OSError: [Errno 9] Bad file descriptor", run.err)

    def test_closed_streams(self):
        self.passes("import sys, os\nsys.stdout.close()\nsys.stderr = None\nos.close(2)\n")

    def test_broken_stderr_still_tells(self):
        run = self.exits("import sys\nsys.stderr = 3\nraise ValueError('told')\n", 120)
        self.assertIn("ValueError: told", run.err)

    def test_poisoned_modules(self):
        chain = "(i for i in ()).gi_frame.f_builtins['__import__']"
        for name in ("socket", "subprocess", "http.client"):
            run = self.exits(f"{chain}('{name}')", 1)
            self.assertIn("ModuleNotFoundError: ", run.err)
        run = self.exits("import json.decoder", 1, poisoned_modules=["json"])
        self.assertIn("import of json", run.err)

    def test_code_gets_neither_the_job_pipe_nor_passes_markers_on(self):
        self.passes(
            "import os\nprint(sorted(os.listdir('/proc/self/fd'))[:4])\n"
            "print(os.get_inheritable(4))",
            "['0', '1', '2', '3']\nFalse\n",
        )  # 3 is the listing itself

    # --- static rules

    def test_imports(self):
        self.rejects("import socket", ("forbidden_import", "socket", 1))
        self.rejects(
            "import json, os.path\nif 1:\n  import socket.x as json, ctypes\nfrom http import *\n",
            ("forbidden_import", "socket.x", 3),
            ("forbidden_import", "ctypes", 3),
            ("forbidden_import", "http", 4),
        )
        self.rejects(
            "from . import x\nfrom .json import y\nfrom .. import json\n",
            ("forbidden_import", ".", 1),
            ("forbidden_import", ".json", 2),
            ("forbidden_import", "..", 3),
        )
        self.rejects(
            "from json import __loader__, decoder\nimport json.__init__\n",
            ("forbidden_attribute", "__loader__", 1),
            ("forbidden_attribute", "__init__", 2),
        )
        self.passes("import json.decoder as d, os\nfrom collections import abc, OrderedDict as o\n")

    def test_import_message_names_what_is_allowed(self):
        for allowed, words in (
            (["json"], "only json"),
            ([], "no imports"),
            ([f"m{n}" for n in range(10)], "only m0, m1, m2, m3, m4, m5, m6, m7, 2 more"),
        ):
            failure = ("forbidden_import", "socket", 1)
            run = self.rejects("import socket", failure, allowed_imports=allowed)
            message = f"socket may not be imported: the profile allows {words}"
            self.assertEqual(run.messages, [message])

    def test_calls_and_names(self):
        self.rejects(
            "eval('1')\ne = exec\n@getattr\ndef f(x=open): pass\nprint(list(map(eval, [])))\n",
            ("forbidden_call", "eval", 1),
            ("forbidden_name", "exec", 2),
            ("forbidden_name", "getattr", 3),
            ("forbidden_name", "open", 4),
            ("forbidden_name", "eval", 5),
        )
        self.rejects("__import__('os')", ("forbidden_call", "__import__", 1))
        self.rejects("\uff45val('1')", ("forbidden_call", "eval", 1))
        self.rejects("x = f'{eval(1)}'", ("forbidden_call", "eval", 1))
        self.passes(
            "x = {}\nx['eval'] = 'exec'\n"
            "class A:\n  def eval(self): return 1\n"
            "print(A().eval())",
            "1\n",
        )

    def test_attributes(self):
        self.rejects(
            "x = 1 .__class__\nx.__y = 1\ndel x.__z__\n",
            ("forbidden_attribute", "__class__", 1),
            ("forbidden_attribute", "__y", 2),
            ("forbidden_attribute", "__z__", 3),
        )
        self.passes(
            "class A:\n  _x = 1\n  def __len__(self): return self._x\nprint(len(A()), __name__)",
            "1 __main__\n",
        )

    def test_match_patterns(self):
        if self.version < (3, 10):
            self.skipTest("no match statement")
        self.rejects(
            "match 1:\n  case int(__class__=x): pass\n  case {'a': 1, **__builtins__}: pass\n"
            "  case [*__builtins__]: pass\n  case int() as __builtins__: pass\n",
            ("forbidden_attribute", "__class__", 2),
            ("forbidden_name", "__builtins__", 3),
            ("forbidden_name", "__builtins__", 4),
            ("forbidden_name", "__builtins__", 5),
        )

    def test_builtins_by_any_name(self):
        for code in (
            "__builtins__", "__builtins__ = 1", "del __builtins__", "def __builtins__(): pass",
            "class __builtins__: pass", "async def __builtins__(): pass",
            "def f(__builtins__): pass", "def f(*, __builtins__=1): pass",
            "def f(*__builtins__): pass", "lambda **__builtins__: 1", "dict(__builtins__=1)",
            "import json as __builtins__", "global __builtins__", "for __builtins__ in (): pass",
            "with x as __builtins__: pass", "[0 for __builtins__ in ()]", "(__builtins__ := 1)",
        ):
            with self.subTest(code):
                self.rejects(code, ("forbidden_name", "__builtins__", 1))
        self.rejects(
            "try: pass\nexcept ValueError as __builtins__: pass",
            ("forbidden_name", "__builtins__", 2),
        )
        self.rejects(
            "def f():\n  __builtins__ = 1\n  def g():\n    nonlocal __builtins__\n",
            ("forbidden_name", "__builtins__", 2),
            ("forbidden_name", "__builtins__", 4),
        )

    def test_type_parameters(self):
        if self.version < (3, 12):
            self.skipTest("no type parameters")
        self.rejects("type X[__builtins__] = int", ("forbidden_name", "__builtins__", 1))
        self.rejects("def f[*__builtins__](): pass", ("forbidden_name", "__builtins__", 1))

    def test_failures_are_bounded_sorted_and_once_per_line(self):
        code = "".join(f"x.__a{n}; x.__a{n}\n" for n in range(200))
        wanted = [("forbidden_attribute", f"__a{n}", n + 1) for n in range(50)]
        self.rejects(code, *wanted)

    def test_long_names_are_cut_with_room_for_a_canary(self):
        """The warden shows 200 and 1000, after it has redacted canaries of up to 4096."""
        run = self.run_job("import " + "x" * 9000)
        self.assertEqual(len(run.markers[-1]["failures"][0]["subject"]), 200 + 4096)
        self.assertEqual(len(run.messages[0]), 1000 + 4096)
        run = self.run_job("import x" + "y" * 4000)
        self.assertEqual(len(run.markers[-1]["failures"][0]["subject"]), 4001)

    def test_many_long_names_fit_one_line(self):
        name = "__" + "\U00010400" * 5000
        run = self.run_job("".join(f"x.{name}{n}\n" for n in range(50)))
        self.assertEqual(run.names[-1], "rejected")
        self.assertTrue(0 < len(run.failures) < 50)
        self.assertLess(len(json.dumps(run.markers[-1])), 1 << 19)

    def test_the_name_of_a_feature_is_whole_or_left_out(self):
        allowed = SETUP["allowed_imports"] + ["__future__"]
        for name, shown in (("x" * 200, "no such future feature"),
                            ("x" * 20, f"future feature {'x' * 20} is not defined")):
            code = f"from __future__ import {name}"
            run = self.rejects(code, ("does_not_compile", "", 1), allowed_imports=allowed)
            self.assertEqual(run.messages, [f"SyntaxError: {shown}"])

    def test_what_a_flush_raises_is_told_whole(self):
        code = (
            "import sys\nclass Lost:\n  def flush(self): raise OSError('x' * 2000 + 'a  b\\nc')\n"
            "sys.stdout = Lost()\n"
        )
        self.assertIn("x" * 2000 + "a  b\nc\n", self.exits(code, 120).err)

    # --- what does not parse or compile

    def does_not_parse(self, code, line, text):
        run = self.rejects(code, ("does_not_parse", "", line))
        self.assertEqual(run.names, ["received", "rejected"])
        self.assertIn(text, run.messages[0])

    def test_does_not_parse(self):
        self.does_not_parse("x = 1\nx =\n", 2, "SyntaxError: invalid syntax")
        self.does_not_parse("if 1:\nx\n", 2, "IndentationError: expected an indented block")
        self.does_not_parse("if 1:\n\tx\n        y\n", 3, "TabError: ")
        self.does_not_parse(b"x = 1\n# \xff\n", 2, "byte 8 is not UTF-8")
        self.does_not_parse("x = 1\n\n\0", 3, "NUL")
        self.does_not_parse("x = '\\N{no such}'", 1, "SyntaxError: (unicode error)")
        self.does_not_parse(b"\xef\xbb\xbfx = \xed\xa0\x80", 1, "not UTF-8")

    def test_deep_nesting_is_survived(self):
        for code in ("(" * 5000, "-" * 2000 + "1", "x" + ".y" * 20000, "1" + "+1" * 20000):
            with self.subTest(code[:3]):
                run = self.run_job(code)
                codes = {failure[0] for failure in run.failures}
                known = codes <= {"does_not_parse", "does_not_compile"}
                crashed = run.status < 0 and run.names[:1] == ["received"]
                self.assertTrue(known or crashed, (run.names, run.status, run.failures))

    def test_does_not_compile(self):
        for code, line in (("return 1", 1), ("x = 1\nbreak", 2), ("def f(a, a): pass", 1)):
            run = self.rejects(code, ("does_not_compile", "", line))
            self.assertEqual(run.names, ["received", "parsed", "allowed", "rejected"])
            self.assertIn("SyntaxError: ", run.messages[0])

    def test_rules_come_before_compile(self):
        self.rejects("import socket\nreturn", ("forbidden_import", "socket", 1))


def describe(command):
    """(real path, version) of an interpreter, or None when it does not run."""
    question = "import sys; print(sys.executable, sys.version_info[0], sys.version_info[1])"
    try:
        answer = subprocess.run(
            [command, "-I", "-c", question], capture_output=True, text=True, timeout=30
        )
        path, major, minor = answer.stdout.split()
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None
    return os.path.realpath(path), (int(major), int(minor))


def interpreters():
    named = [f"python{major}.{minor}" for major, minor in VERSIONS]
    commands = ["/usr/bin/python3", *filter(None, map(shutil.which, named))]
    given = os.environ.get("TBSANDBOX_TEST_PYTHONS", "")
    commands += [path for path in given.split(":") if path]
    found = {}
    for command in commands:
        answer = describe(command)
        if answer and answer[1] in VERSIONS:
            found.setdefault(answer[0], answer[1])
    return found


def keep_descriptors():
    """What we were started with must not show up in the interpreters."""
    for fd in map(int, os.listdir("/proc/self/fd")):
        if fd > 2 and os.path.exists(f"/proc/self/fd/{fd}"):
            os.set_inheritable(fd, False)


def main():
    keep_descriptors()
    suite = unittest.TestSuite()
    for path, version in interpreters().items():
        print(f"interpreter: {path} {version[0]}.{version[1]}")
        name = f"Harness{version[0]}_{version[1]}"
        attributes = {"interpreter": path, "version": version}
        case = type(name, (HarnessTests, unittest.TestCase), attributes)
        suite.addTests(unittest.defaultTestLoader.loadTestsFromTestCase(case))
    if suite.countTestCases() == 0:
        print("no interpreter to test", file=sys.stderr)
        return 1
    sys.stdout.flush()
    result = unittest.TextTestRunner(verbosity=0).run(suite)
    for test, why in result.skipped:
        print(f"skipped: {test}: {why}")
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
