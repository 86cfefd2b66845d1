"""Survey: what an interpreter runs so that a root can be made that holds nothing but what it needs.

It imports what jobs will import, then tells which files, directories and links that took: what is
mapped, where modules are looked for, and every symbolic link on the way. It runs no generated code
and judges nothing. A bootstrap runs it and gives it JOB and MARK, two descriptors, and read_frame().
"""

import builtins
import glob
import importlib
import io
import json
import os
import sys

EXIT_UNFIT = 71
MAX_LINKS_FOLLOWED = 40

# Read by the C library or by libraries when they need them, and by then it is too late.
OFTEN_READ = ("/etc/ld.so.cache", "/usr/share/zoneinfo", "/usr/lib/locale/C.utf8")
LOADERS = ("/lib/ld-*.so*", "/lib64/ld-*.so*")
# Of these never the whole: they hold the rest of the system, other people's files, or secrets.
SHARED = {"/", "/bin", "/boot", "/dev", "/etc", "/home", "/media", "/mnt", "/opt", "/proc", "/root",
          "/run", "/sbin", "/srv", "/sys", "/tmp", "/usr", "/usr/bin", "/usr/lib", "/usr/local",
          "/usr/local/bin", "/usr/local/lib", "/usr/sbin", "/usr/share", "/var", "/var/lib"}


class Plan:
    """Real paths to be shown, and links that lead to them."""

    def __init__(self):
        self.paths = set()
        self.links = {}

    def trace(self, path):
        """Follows a path component by component and notes each link; returns where it ends."""
        done, todo, followed = "/", path.split("/"), 0
        while todo:
            name = todo.pop(0)
            if name in ("", "."):
                continue
            if name == "..":
                done = os.path.dirname(done)
                continue
            here = os.path.join(done, name)
            if followed < MAX_LINKS_FOLLOWED and os.path.islink(here):
                followed += 1
                target = os.readlink(here)
                self.links[here] = target
                todo = target.split("/") + todo
                done = "/" if target.startswith("/") else done
            else:
                done = here
        return done

    def need(self, path):
        real = self.trace(os.path.abspath(path))
        if os.path.exists(real) and real not in SHARED:
            self.paths.add(real)

    def need_around(self, file):
        """A library's whole directory: others that it loads later lie beside it."""
        directory = os.path.dirname(self.trace(file))
        self.need(file if directory in SHARED else directory)

    def holds(self, path):
        return any(path == shown or path.startswith(shown + "/") for shown in self.paths)

    def need_links_out_of(self, directory):
        """Links of libraries that lead elsewhere before they come back, as alternatives do."""
        for entry in os.scandir(directory):
            if entry.is_symlink() and os.readlink(entry.path).startswith("/"):
                found = Plan()
                if self.holds(found.trace(entry.path)):
                    self.links.update(found.links)

    def finish(self):
        """Nothing below what is shown anyway."""
        paths = sorted(path for path in self.paths
                       if not any(path.startswith(other + "/") for other in self.paths))
        self.paths = set(paths)
        links = sorted(item for item in self.links.items() if not self.holds(item[0]))
        return paths, links


def loaded_files():
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
        fields = [line.rstrip("\n").split(None, 5) for line in maps]
    return {field[5] for field in fields if len(field) == 6 and os.path.isfile(field[5])}


def module_files():
    modules = list(sys.modules.values())
    files = [getattr(module, "__file__", None) for module in modules]
    return {file for file in files if isinstance(file, str) and os.path.isfile(file)}


def make_plan(interpreter, readable):
    plan = Plan()
    for path in (interpreter, sys.executable, *OFTEN_READ, *readable):
        plan.need(path)
    for path in (sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix, *sys.path):
        if os.path.isabs(path):
            plan.need(path)
    own = os.path.realpath(sys.executable)
    libraries = loaded_files() - {own}
    # Programs name their loader by a path of their own.
    for path in (path for pattern in LOADERS for path in glob.glob(pattern)):
        if os.path.realpath(path) in libraries:
            plan.need_around(path)
    for file in sorted(libraries | module_files()):
        if not plan.holds(plan.trace(file)):
            plan.need_around(file)
    for directory in sorted({os.path.dirname(file) for file in libraries}):
        plan.need_links_out_of(directory)
    return plan.finish()


def run_quietly(source):
    streams = sys.stdout, sys.stderr
    sys.stdout = sys.stderr = io.StringIO()
    try:
        exec(compile(source, "<warmup>", "exec"), {"__name__": "__warmup__",
                                                   "__builtins__": builtins})
    finally:
        sys.stdout, sys.stderr = streams


def say(marker):
    line = (json.dumps(marker, separators=(",", ":")) + "\n").encode("ascii")
    while line:
        line = line[os.write(MARK, line):]


def main():
    setup, step = json.loads(read_frame()), ""
    try:
        for name in setup["preload"]:
            step = f"import {name}"
            importlib.import_module(name)
        step = "warmup"
        run_quietly(setup["warmup"])
        step = "survey"
        paths, links = make_plan(setup["interpreter"], setup["readable"])
    except BaseException as error:
        text = " ".join(f"{type(error).__name__}: {error}".split())
        say({"marker": "unfit", "step": step, "error": text.encode("ascii", "replace").decode()})
        os._exit(EXIT_UNFIT)
    say({"marker": "surveyed", "paths": paths, "links": links})
    os.read(JOB, 1)  # until it is killed: a death would say that something went wrong


main()
