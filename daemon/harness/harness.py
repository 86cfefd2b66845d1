"""Harness: what an interpreter runs before generated code: set-up, static rules, then the code.

It says on the marker channel how far it came. It never judges: what is said after `started` counts
for nothing but the one line `ended`, and the static rules are hygiene, not a boundary. A bootstrap
runs it and gives it JOB and MARK, two descriptors, and read_frame().
"""

import ast
import atexit
import builtins
import gc
import importlib
import io
import json
import linecache
import os
import sys
import traceback
import types
import warnings

MAX_LINE_BYTES = 60000
MAX_REJECTED_BYTES = 500000
MAX_FAILURES = 50
MAX_ENTRIES = 16
# Texts that quote the source go out with room to spare for the longest canary: the warden redacts
# them first and cuts them afterwards. As in warden/harness.h.
SPARE = 4096
MAX_SUBJECT = 200 + SPARE
MAX_MESSAGE = 1000 + SPARE
MAX_ERROR = 1000
MAX_NAMED_MODULES = 8

EXIT_UNFIT = 71
EXIT_OUTPUT_LOST = 120  # as Python does

# What reading hostile source is known to raise.
UNREADABLE = (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError, SystemError)


# --- Markers ------------------------------------------------------------------------------------


def encode(marker):
    return (json.dumps(marker, separators=(",", ":"), ensure_ascii=True) + "\n").encode("ascii")


def encode_bounded(marker, *lists):
    """Drops from the end of the longest of its `lists` until the line is short enough."""
    line = encode(marker)
    while len(line) > MAX_LINE_BYTES:
        longest = marker[max(lists, key=lambda key: len(encode(marker[key])))]
        if not longest:
            break
        longest.popitem() if isinstance(longest, dict) else longest.pop()
        line = encode(marker)
    return line


def rejected_line(nonce, failures):
    """As many of the failures, from the first, as one line holds; that is one at least."""
    marker = {"marker": "rejected", "nonce": nonce, "failures": []}
    room = MAX_REJECTED_BYTES - len(encode(marker))
    for failure in failures:
        room -= len(encode(failure))
        if room < 0:
            break
        marker["failures"].append(failure)
    return encode(marker)


def write_line(line):
    while line:
        line = line[os.write(MARK, line) :]


def plain(text):
    """Without lone surrogates, which no JSON reader has to take."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def one_line(text, limit):
    text = " ".join(plain(text).split())
    return text if len(text) <= limit else text[: limit - 3] + "..."


def describe(error):
    """`Type: message`, whatever the message is, and whole."""
    try:
        message = str(error.msg or "" if isinstance(error, SyntaxError) else error)
    except Exception:
        message = ""
    if isinstance(error, SyntaxError) and message.startswith("future feature "):
        if len(message.encode("utf-8", "replace")) > 100:
            message = "no such future feature"  # Python cuts its name
    name = type(error).__name__
    return plain(f"{name}: {message}" if message else name)


# --- Set-up, until `ready` ----------------------------------------------------------------------


class Unfit(Exception):
    """This interpreter can run no job; says which step failed."""

    def __init__(self, step, cause):
        super().__init__(step)
        self.step = step
        self.cause = cause


def can_write_here():
    name = ".writable"
    try:
        os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        os.unlink(name)
    except OSError:
        return False
    return True


def has_urandom():
    try:
        return len(os.urandom(16)) == 16
    except (OSError, NotImplementedError):
        return False


def set_up_streams():
    """The same bytes on every system, and a line is out when it was printed, whatever kills us."""
    sys.stdout.reconfigure(
        encoding="utf-8", errors="strict", newline="\n", line_buffering=True
    )
    sys.stderr.reconfigure(encoding="utf-8", errors="backslashreplace", newline="\n")


def hide_memory():
    """From debuggers and core dumps. No module of Python's can; executing anything undoes it."""
    PR_SET_DUMPABLE = 4
    import ctypes

    if ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0:
        raise Unfit("hide its memory", OSError("prctl refuses"))
    for name in [name for name in sys.modules if name.partition(".")[0] in ("ctypes", "_ctypes")]:
        del sys.modules[name]


def preload(modules):
    for name in modules:
        try:
            importlib.import_module(name)
        except BaseException as error:
            raise Unfit(f"import {name}", error) from error


def run_quietly(source):
    namespace = {"__name__": "__warmup__", "__builtins__": builtins}
    streams = sys.stdout, sys.stderr
    sys.stdout = sys.stderr = io.StringIO()
    try:
        exec(compile(source, "<warmup>", "exec", dont_inherit=True), namespace)
    finally:
        sys.stdout, sys.stderr = streams


def warm_up(source):
    """Runs it in a directory of its own, of which nothing stays."""
    if not source:
        return
    import shutil

    home, scratch = os.getcwd(), "warmup"
    try:
        os.mkdir(scratch)
        os.chdir(scratch)
        try:
            run_quietly(source)
        finally:
            os.chdir(home)
            shutil.rmtree(scratch)
    except BaseException as error:
        raise Unfit("warmup", error) from error


def poison(modules):
    """Imports of these fail from now on. Libraries that hold them already keep them."""
    for name in modules:
        for known in [known for known in sys.modules if known.startswith(name + ".")]:
            sys.modules[known] = None
        sys.modules[name] = None


def flush_quietly():
    """What set-up printed must lie in the pipes before `ready` does."""
    for stream in (sys.stdout, sys.stderr):
        stream.flush()


def observe():
    """What this interpreter was given, before anything can change it."""
    return {
        "environ": dict(os.environ),
        "directory": os.getcwd(),
        "entries": sorted(os.listdir("."))[:MAX_ENTRIES],
        "writable": can_write_here(),
    }


def ready_line(observed, imports):
    marker = {
        "marker": "ready",
        "version": ".".join(map(str, sys.version_info[:3])),
        "implementation": sys.implementation.name,
        "pid": os.getpid(),
        "hash_randomization": sys.flags.hash_randomization,
        "hash_sample": format(hash("tbsandboxd") % 2**64, "016x"),
        "urandom": has_urandom(),
        "environ": observed["environ"],
        "directory": observed["directory"],
        "entries": observed["entries"],
        "writable": observed["writable"],
        "isolated": bool(sys.flags.isolated),
        "imports": [name for name in imports if sys.modules.get(name)],
        "system_root": os.environ.get("SystemRoot", ""),
    }
    return encode_bounded(marker, "environ", "entries", "imports")


def prepare(setup):
    os.set_inheritable(JOB, False)
    os.set_inheritable(MARK, False)
    observed = observe()
    set_up_streams()
    try:
        if setup["hide"]:
            hide_memory()
        preload(setup["preload"])
        warm_up(setup["warmup"])
        poison(setup["poisoned_modules"])
        flush_quietly()
    except Unfit as unfit:
        error = one_line(describe(unfit.cause), MAX_ERROR)
        write_line(encode({"marker": "unfit", "step": unfit.step, "error": error}))
        os._exit(EXIT_UNFIT)
    write_line(ready_line(observed, setup["preload"]))


# --- Static rules -------------------------------------------------------------------------------


class Rules:
    """Collects what a syntax tree does against the profile's rules."""

    def __init__(self, setup):
        self.allowed_imports = set(setup["allowed_imports"])
        self.refused_calls = set(setup["refused_calls"])
        self.called = set()  # ids of names that were reported as calls
        self.found = {}  # (code, subject, line) -> (column, message)

    def add(self, code, subject, place, message):
        line, column = place
        subject = plain(subject)[:MAX_SUBJECT]
        self.found.setdefault((code, subject, line), (column, plain(message)[:MAX_MESSAGE]))

    def failures(self):
        """In the order of the source."""
        items = sorted(self.found.items(), key=lambda item: (item[0][2], item[1][0]))
        return [
            {"code": code, "subject": subject, "line": line, "message": message}
            for (code, subject, line), (_, message) in items[:MAX_FAILURES]
        ]

    def check_module(self, module, place):
        if module.startswith("."):
            why = "relative imports have no package to be relative to"
        elif module.partition(".")[0] not in self.allowed_imports:
            why = f"the profile allows {self.allowed_text()}"
        else:
            return
        self.add("forbidden_import", module, place, f"{module} may not be imported: {why}")

    def check_parts(self, module, place):
        for name in module.split(".")[1:]:
            self.check_attribute(name, place)

    def allowed_text(self):
        names = sorted(self.allowed_imports)
        if len(names) > MAX_NAMED_MODULES:
            names[MAX_NAMED_MODULES:] = [f"{len(names) - MAX_NAMED_MODULES} more"]
        return "only " + ", ".join(names) if names else "no imports"

    def check_attribute(self, name, place):
        if name.startswith("__"):
            why = "names that begin with two underscores lead into the interpreter"
            self.add("forbidden_attribute", name, place, f"attribute {name} is refused: {why}")

    def check_identifier(self, name, place):
        if name == "__builtins__":
            why = "it holds every function that may not be called"
            self.add("forbidden_name", name, place, f"the name {name} is refused: {why}")

    def check_loaded(self, name, place):
        if name in self.refused_calls:
            message = f"{name} may not be called, so it may not be passed on or renamed either"
            self.add("forbidden_name", name, place, message)

    def visit_call(self, node, place):
        function = node.func
        if isinstance(function, ast.Name) and function.id in self.refused_calls:
            self.called.add(id(function))
            message = f"{function.id}() may not be called: the profile refuses it"
            self.add("forbidden_call", function.id, place, message)

    def visit_name(self, node, place):
        if isinstance(node.ctx, ast.Load) and id(node) not in self.called:
            self.check_loaded(node.id, place)

    def visit_attribute(self, node, place):
        self.check_attribute(node.attr, place)

    def visit_match_class(self, node, place):
        for name in node.kwd_attrs:
            self.check_attribute(name, place)

    def visit_import(self, node, place):
        for alias in node.names:
            self.check_module(alias.name, place)
            self.check_parts(alias.name, place)

    def visit_import_from(self, node, place):
        module = "." * node.level + (node.module or "")
        self.check_module(module, place)
        self.check_parts(module, place)
        for alias in node.names:
            self.check_attribute(alias.name, place)

    visits = {
        "Call": visit_call,
        "Name": visit_name,
        "Attribute": visit_attribute,
        "MatchClass": visit_match_class,
        "Import": visit_import,
        "ImportFrom": visit_import_from,
    }

    def visit(self, node, place):
        visit = self.visits.get(type(node).__name__)
        if visit:
            visit(self, node, place)
        for name in identifiers(node):
            self.check_identifier(name, place)


def identifiers(node):
    """Every name that stands in the node itself: of variables, arguments, aliases, patterns ..."""
    if isinstance(node, ast.Constant):
        return
    for field, value in ast.iter_fields(node):
        for name in value if isinstance(value, list) else (value,):
            if isinstance(name, str) and field != "type_comment":
                yield from name.split(".")


def check_rules(tree, setup):
    """Walks without recursion: the depth of the tree is the adversary's choice."""
    rules = Rules(setup)
    pending = [(tree, (0, 0))]
    while pending:
        node, place = pending.pop()
        place = (getattr(node, "lineno", place[0]), getattr(node, "col_offset", place[1]))
        rules.visit(node, place)
        pending.extend((child, place) for child in ast.iter_child_nodes(node))
    return rules.failures()


# --- From bytes to code -------------------------------------------------------------------------


class Rejected(Exception):
    def __init__(self, failures):
        super().__init__()
        self.failures = failures


def refusal(code, error):
    line = getattr(error, "lineno", None) or 0
    message = describe(error)[:MAX_MESSAGE]
    return Rejected([{"code": code, "subject": "", "line": line, "message": message}])


def decode(source):
    try:
        text = source.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = source.count(b"\n", 0, error.start) + 1
        fault = SyntaxError(f"byte {error.start} is not UTF-8: {error.reason}")
        fault.lineno = line
        raise fault from error
    if "\0" in text:
        fault = SyntaxError("the source holds a NUL character")
        fault.lineno = text.count("\n", 0, text.index("\0")) + 1
        raise fault
    return text


def parse(source, file_name):
    try:
        text = decode(source)
        return text, ast.parse(text, file_name)
    except UNREADABLE as error:
        raise refusal("does_not_parse", error) from error


def compile_tree(tree, file_name):
    try:
        return compile(tree, file_name, "exec", dont_inherit=True)
    except UNREADABLE as error:
        raise refusal("does_not_compile", error) from error


def make_code(source, file_name, setup, mark):
    """Says each step as it is passed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        text, tree = parse(source, file_name)
        mark("parsed")
        failures = check_rules(tree, setup)
        if failures:
            raise Rejected(failures)
        mark("allowed")
        code = compile_tree(tree, file_name)
        mark("compiled")
    return text, code


# --- The run ------------------------------------------------------------------------------------


def make_main(text, file_name):
    """A fresh __main__, so that the code sees nothing of ours and finds itself when it pickles."""
    main_module = types.ModuleType("__main__")
    main_module.__file__ = file_name
    main_module.__builtins__ = builtins
    sys.modules["__main__"] = main_module
    sys.argv[:] = [file_name]
    # Tracebacks quote the code, not what lies in the directory under its name.
    lines = io.StringIO(text, newline=None).readlines()
    linecache.cache[file_name] = (len(text), None, lines, file_name)
    return main_module.__dict__


def say(text):
    """To stderr, also when the code has broken sys.stderr."""
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except BaseException:
        try:
            os.write(2, text.encode("utf-8", "backslashreplace"))
        except OSError:
            pass


def report(error):
    """As Python does, or as much of it as the error permits."""
    try:
        if sys.excepthook is not sys.__excepthook__:
            sys.excepthook(type(error), error, error.__traceback__)
            return
        lines = traceback.format_exception(type(error), error, error.__traceback__)
        say("".join(lines))
    except BaseException:
        say(type(error).__name__ + "\n")


def exit_status(error):
    """Of a SystemExit, as Python has it."""
    status = error.code
    if status is None:
        return 0
    if isinstance(status, int):
        return status & 0xFF
    say(f"{status}\n")
    return 1


def execute(code, namespace):
    """Runs the code; returns its exit status and whether it ran to its end."""
    try:
        exec(code, namespace)
    except SystemExit as error:
        return exit_status(error), False
    except BaseException as error:
        first = error.__traceback__
        report(error.with_traceback(first.tb_next if first else None))
        return 1, False
    return 0, True


def finalize(namespace):
    """What Python does before it ends: threads, exit functions, objects that only globals hold."""
    if "threading" in sys.modules:
        sys.modules["threading"]._shutdown()
    atexit._run_exitfuncs()
    for name in list(namespace):
        if name != "__builtins__":
            namespace[name] = None


def flush(stream):
    try:
        if stream is not None and not getattr(stream, "closed", False):
            stream.flush()
    except BaseException as error:
        say(f"Exception ignored in: {stream!r}\n{describe(error)}\n")
        return False
    return True


WRITERS = (io.TextIOWrapper, io.BufferedWriter, io.BufferedRandom, io.BufferedRWPair)


def open_writers():
    """Text before the bytes below it. What lived before the job is frozen and not among them."""
    writers = [found for found in gc.get_objects() if isinstance(type(found), type)
               and issubclass(type(found), WRITERS)]
    return sorted(writers, key=lambda found: not issubclass(type(found), io.TextIOWrapper))


def flush_writers():
    for writer in open_writers():
        flush(writer)


def wind_down(namespace, streams):
    """False when output was lost. What anything still holds in a buffer is written, as at any end:
    nothing may be kept back from the checks. Before the collection, which may close what lies below a
    text first; and after it, since finalizers write too."""
    flush_writers()
    try:
        finalize(namespace)
        flush_writers()
        gc.collect()
    except BaseException as error:
        report(error)
    flush_writers()
    return all([flush(stream) for stream in (sys.stdout, sys.stderr, *streams)])


def run(text, code, file_name, mark, ended):
    namespace, process = make_main(text, file_name), os.getpid()
    streams = (sys.stdout, sys.stderr)
    mark("started")
    status, complete = execute(code, namespace)
    if not wind_down(namespace, streams):
        os._exit(EXIT_OUTPUT_LOST)
    if complete and os.getpid() == process:  # not the end of a fork
        write_line(ended)
    os._exit(status)


def serve_job(setup):
    gc.freeze()
    header = json.loads(read_frame())
    source = read_frame()
    os.close(JOB)
    nonce, file_name = header["nonce"], header["file_name"]

    def mark(name):
        write_line(encode({"marker": name, "nonce": nonce}))

    mark("received")
    try:
        text, code = make_code(source, file_name, setup, mark)
    except Rejected as rejected:
        write_line(rejected_line(nonce, rejected.failures))
        os._exit(0)
    if header["hold"]:
        mark("held")
        os._exit(0)
    run(text, code, file_name, mark, encode({"marker": "ended", "nonce": nonce}))


def main():
    setup = json.loads(read_frame())
    prepare(setup)
    serve_job(setup)


main()
