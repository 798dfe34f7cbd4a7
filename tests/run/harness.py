"""Runs a program bare, under tprof-run, or with plain LD_PRELOAD, and loads what it left.

    result = run(["prog.py", "arg"], how="run", logdir=tmp, options={"TPROF_SCHEDULE": "active=2"})
    result.returncode, result.stdout, result.stderr, result.traces()

A command that starts with a *.py file of tests/apps or tests/torch is run by the machine's /usr/bin/python3: in a pip
environment this is that of the environment.
"""
import contextlib
import dataclasses
import functools
import gzip
import json
import os
import pathlib
import re
import signal
import struct
import subprocess
import time
import zlib

import pytest

import bare
import quick
from finishers import finishers
from preload import preloadable

TESTS = pathlib.Path(__file__).resolve().parent.parent
REPO = TESTS.parent
APPS = TESTS / "apps"
BUILD = pathlib.Path(os.environ.get("TPROF_BUILD", REPO / "build")).resolve()
SIMULATED_CUDA = BUILD / "tests" / "fake" / "lib"
RUN = BUILD / "tools" / "tprof-run"
TPROF = BUILD / "tools" / "tprof"
LIBRARY = BUILD / "shim" / "libtprof.so"
PRELOAD = preloadable(LIBRARY)
# Exit status by the ending that a program of tests/apps is told, see endings.py there.
ENDINGS = {"fall": 0, "exit": 3, "exception": 1, "SIGINT": -signal.SIGINT, "SIGTERM": -signal.SIGTERM, "_exit": 5,
           "SIGSEGV": -signal.SIGSEGV, "SIGKILL": -signal.SIGKILL}
HUNG = 600  # seconds: what takes longer hangs, also where ten other programs want each processor
TRACE_NAME = re.compile(r"^(.*?)\.(\d+)\.pt\.trace\.json(?:\.gz)?$")


TORCHES = ["2.15", "2.6", "1.13"]  # pip's, the newest first: a tests/pip/VERSION.txt each
SIMULATED = ["sim-2.15", "sim-2.8"]  # the same, with a GPU: on the simulated CUDA, of 13 and 12
ROOTS = pathlib.Path(os.environ.get("TPROF_TEST_CACHE", "/var/cache/tprof-chroots"))


@dataclasses.dataclass(frozen=True)
class Machine:
    """Where a command runs: here with the Python of a pip environment (one of TORCHES), or with that of its copy for the
    simulated CUDA (one of SIMULATED), here with Debian's own ("host"), or in a root of tests/chroot ("trixie", "sid")."""
    name: str

    def command(self, argv, environment):
        """The words to execute and their environment."""
        if self.name == "host":
            return argv, environment
        if self.name in TORCHES + SIMULATED:
            there = pip_environment(self.name) if self.name in TORCHES else simulated_environment(self.name)
            if self.name in SIMULATED:
                driver = str(SIMULATED_CUDA / "driver")
                environment = {"LD_LIBRARY_PATH": driver, "TRITON_LIBCUDA_PATH": driver, **environment}
            return ([there + "/bin/python" if word == "/usr/bin/python3" else word for word in argv],
                    {**environment, "PATH": "%s/bin:%s" % (there, environment["PATH"])})
        there = {**environment, "PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LANG": "C.UTF-8"}
        return ["nsenter", "--target", str(inhabitant(self.name)), "--mount", "--root", "--wdns=" + os.getcwd(),
                "env", "-i", *("%s=%s" % item for item in there.items()), *argv], {"PATH": os.environ["PATH"]}


@functools.lru_cache(maxsize=None)
def inhabitant(name):
    """The id of a process in that chroot. Its mounts are there for as long as this process lives, so that not every
    command has to make them."""
    process = subprocess.Popen([str(TESTS / "chroot"), name, "cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               env={**os.environ, "TPROF_BUILD": str(BUILD)}, start_new_session=True)
    process.stdin.write(b"ready\n")
    process.stdin.flush()
    assert process.stdout.readline() == b"ready\n", "tests/chroot %s: exit %s" % (name, process.wait())
    return process.pid


HOST, NEWEST = Machine("host"), Machine(TORCHES[0])
every_way = True  # conftest.py: not in CI


@functools.lru_cache(maxsize=None)
def installed(version):
    """tests/pip/install, which has ended: it prints the directory of the environment, or why it cannot be had."""
    return subprocess.run([str(TESTS / "pip" / "install"), version], stdin=subprocess.DEVNULL, capture_output=True, text=True)


def pip_environment(version):
    """The directory of that environment. The test is skipped where it cannot be had; not in CI, which is about the newest."""
    made = installed(version)
    if made.returncode:
        why = "not run: " + (made.stderr.strip() or "exit %d" % made.returncode)
        (pytest.fail if version == NEWEST.name and os.environ.get("CI") == "true" else pytest.skip)(why)
    return made.stdout.strip()


@functools.lru_cache(maxsize=None)
def simulated_environment(name):
    """The directory of a pip environment's copy in which CUDA is simulated: tests/fake/pytorch."""
    version = name.partition("-")[2]
    made = subprocess.run([str(TESTS / "fake/pytorch/overlay"), pip_environment(version), str(SIMULATED_CUDA)],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    return made.stdout.strip()


def missing_root(name):
    """Why that root of tests/chroot is not there; empty when it is. `tests/all --full` makes them."""
    there = ROOTS / name
    return "" if (there / ".done").exists() else "not run: no %s; tests/chroot %s makes it" % (there, name)


@functools.lru_cache(maxsize=None)
def missing_machine(name):
    """Why nothing can be run in that root; empty when it can."""
    if missing_root(name):
        return missing_root(name)
    made = subprocess.run([str(TESTS / "chroot"), name], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    return "" if made.returncode == 0 else made.stderr.strip() or "exit %d" % made.returncode


def machine(name):
    if name in TORCHES:
        pip_environment(name)
    elif name in SIMULATED:
        simulated_environment(name)
    elif name == "host":
        pytest.importorskip("torch", reason="not run: /usr/bin/python3 has no torch; apt-get install python3-torch")
    elif missing_machine(name):
        pytest.skip(missing_machine(name))
    return Machine(name)


@functools.lru_cache(maxsize=None)
def torch_version(where):
    """(2, 6) for 2.6.0 on that machine."""
    out = run(["-c", "import torch; print(torch.__version__)"], where=where).stdout
    return tuple(int(n) for n in out.split(".")[:2])


@functools.lru_cache(maxsize=None)
def python_version(where):
    """(3, 11) for Python 3.11 on that machine."""
    return tuple(map(int, run(["-c", "import sys; print(*sys.version_info[:2])"], where=where).stdout.split()))


@dataclasses.dataclass
class Result:
    returncode: int
    stdout: str
    stderr: str
    logdir: pathlib.Path

    def traces(self):
        return load_traces(self.logdir)

    def said(self):
        """The lines on stderr that tprof wrote."""
        return [line for line in self.stderr.splitlines() if line.startswith("tprof")]


def command_line(argv):
    """/usr/bin/python3 in front of a script of ours or of -c."""
    argv = [str(word) for word in argv]
    if argv[0].endswith(".py") and not argv[0].startswith("/"):
        argv[0] = str(APPS / argv[0])
    return (["/usr/bin/python3"] if argv[0].endswith(".py") or argv[0].startswith("-") else []) + argv


def prepare(argv, how="bare", logdir=None, options=None, env=None, where=NEWEST, run_options=(), preload="",
            wrapper=()):
    """(words, environment) for Popen. `wrapper` stands in front of tprof-run or of the preloaded program."""
    environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": os.environ.get("HOME", "/"), "LANG": "C.UTF-8",
                   "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    environment.update(env or {})
    argv = command_line(argv)
    if "/usr/bin/python3" in argv:
        quick.python_starts()
    if how != "bare":
        environment.setdefault("TPROF_EXIT_WAIT", "60")  # a busy machine must not change what is seen
        if logdir:
            environment["TPROF_LOGDIR"] = str(logdir)
        environment.update(options or {})
    if how == "run":
        if preload:
            environment["LD_PRELOAD"] = str(preload)
        argv = [str(RUN), *run_options, "--"] + argv
    elif how == "preload":
        environment["LD_PRELOAD"] = "%s:%s" % (preload, PRELOAD) if preload else str(PRELOAD)
        if wrapper:  # only the program itself is preloaded
            argv = ["/usr/bin/env", "LD_PRELOAD=" + environment.pop("LD_PRELOAD")] + argv
    elif preload:
        environment["LD_PRELOAD"] = str(preload)
    return where.command([*wrapper, *argv], environment)


def start(argv, how="bare", **more):
    """Popen with stdout and stderr as text pipes. Keywords: those of prepare, others go to Popen."""
    ours = ("logdir", "options", "env", "where", "run_options", "preload", "wrapper")
    words, environment = prepare(argv, how, **{k: more.pop(k) for k in ours if k in more})
    more = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **more}
    STARTED.append(subprocess.Popen(words, env=environment, text=True, errors="replace", **more))
    return STARTED[-1]


STARTED = []  # by the test that runs now


def end_started():
    """What a test that failed has left running would take the processor from those that follow."""
    for process in STARTED:
        if process.returncode is not None or process.poll() is not None:
            continue
        for pid in [*descendants(process.pid), process.pid]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.wait()
    STARTED.clear()


def what_is_left(directory):
    """For the report of a test that failed: the stderr of its programs, its files, and what `tprof info` says of recordings."""
    lines = []
    for process in STARTED:
        lines += ["%s -> %s" % (" ".join(map(str, process.args)), process.poll()),
                  *getattr(process, "said", "").splitlines()[-20:]]
    for path in sorted(path for path in directory.rglob("*") if path.is_file()):
        lines.append("%10d %s" % (path.stat().st_size, path.relative_to(directory)))
        if path.name.endswith(".tprof"):
            told = tprof("info", path)
            lines += (told.stdout + told.stderr).splitlines()[:20]
    return "\n".join(lines)


def descendants(pid):
    children = []
    for path in pathlib.Path("/proc/%d/task" % pid).glob("*/children"):
        with contextlib.suppress(OSError):  # the thread has just ended
            children += map(int, path.read_text().split())
    return children + [deeper for child in children for deeper in descendants(child)]


def pythons_below(pid):
    """The descendants that run Python."""
    found = []
    for child in descendants(pid):
        with contextlib.suppress(OSError):  # it has just ended
            if b"/bin/python" in pathlib.Path("/proc/%d/cmdline" % child).read_bytes().split(b"\0")[0]:
                found.append(child)
    return found


def finish(process, logdir, timeout=HUNG):
    """Waits for the process and for everything that writes in its log directory."""
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        for pid in descendants(process.pid):  # whoever holds our pipes would be waited for
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.send_signal(signal.SIGABRT)
        try:
            process.communicate(timeout=5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
        raise
    process.said = err or ""
    if logdir:
        settle(logdir)
    return Result(process.returncode, out or "", err or "", pathlib.Path(logdir) if logdir else None)


WAYS = ("run", "preload")


def run(argv, how="bare", timeout=HUNG, **more):
    if how == "bare" and not every_way and not set(more) - {"logdir", "env", "where"}:
        words, environment = prepare(argv, **more)
        if bare.may_be_forked(words, environment):
            return Result(*bare.run(words, environment, timeout), None)
    return finish(start(argv, how, **more), more.get("logdir") if how != "bare" else None, timeout)


def both(argv, tmp_path, ways=(), **more):
    """Runs bare and in each of the ways, by default under tprof-run and preloaded, of which CI takes one for each test;
    asserts the same stdout and exit status. Returns {way: Result}."""
    test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0].encode()
    ways = ways or (WAYS if every_way else [WAYS[zlib.crc32(test) % 2]])
    bare = run(argv, **{k: v for k, v in more.items() if k not in ("options", "run_options")})
    results = {"bare": bare}
    for way in ways:
        result = run(argv, way, logdir=tmp_path / way, **more)
        assert (result.returncode, result.stdout) == (bare.returncode, bare.stdout), \
            "%s differs from bare\n%s\nbare said:\n%s" % (way, result.stderr, bare.stderr)
        results[way] = result
    return results


# --- what lies in a log directory

@dataclasses.dataclass
class Recording:
    """The head of a *.tprof file: see FileHeader in src/record/record.h."""
    path: pathlib.Path
    pid: int
    helper: bool
    finisher: int  # the process that has opened it and watches it, or 0


def recordings(logdir):
    found = []
    for path in sorted(pathlib.Path(logdir).glob("*.tprof")):
        try:
            head = path.open("rb").read(256)
        except FileNotFoundError:
            continue
        if len(head) == 256 and head.startswith(b"TPROFREC"):
            found.append(Recording(path, struct.unpack_from("<I", head, 20)[0],
                                   struct.unpack_from("<I", head, 176)[0] == 1,
                                   struct.unpack_from("<I", head, 192)[0]))
    return found


def settle(logdir, seconds=HUNG):
    """Until nobody writes in the log directory any more."""
    end = time.monotonic() + seconds
    quiet = 0
    while time.monotonic() < end and quiet < 3:
        busy = list(finishers(logdir)) or list(pathlib.Path(logdir).glob("*.tmp"))
        quiet = 0 if busy else quiet + 1
        time.sleep(0.02)


def wait_for(condition, seconds=HUNG, what="what the test waits for"):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    raise AssertionError("not within %g s: %s" % (seconds, what))


def trace_files(logdir):
    """Finished traces, oldest first; nothing else may carry a trace's name."""
    if not logdir or not pathlib.Path(logdir).is_dir():
        return []
    found = [p for p in pathlib.Path(logdir).iterdir() if ".pt.trace.json" in p.name and not p.name.endswith(".tmp")]
    return sorted(found, key=lambda p: int(TRACE_NAME.match(p.name).group(2)) if TRACE_NAME.match(p.name) else 0)


class Trace:
    def __init__(self, path):
        self.path = pathlib.Path(path)
        opened = gzip.open(path) if str(path).endswith(".gz") else open(path, "rb")
        with opened as file:
            self.data = json.load(file)
        self.events = self.data["traceEvents"]
        self.ranges = [e for e in self.events if e.get("ph") == "X"]

    @property
    def ledger(self):
        return self.data["tprof"]

    @property
    def pid(self):
        return int(re.search(r"_(\d+)(?:_rank\d+)?$", TRACE_NAME.match(self.path.name).group(1)).group(1))

    def ops(self, name=None):
        return [e for e in self.ranges if e.get("cat") in ("cpu_op", "user_annotation") and
                not e["name"].startswith("ProfilerStep#") and (name is None or e["name"] == name)]

    def step_spans(self):
        """ProfilerStep events in the order of their numbers."""
        spans = [e for e in self.ranges if e["name"].startswith("ProfilerStep#")]
        return sorted(spans, key=lambda e: int(e["name"].split("#")[1]))

    def steps(self):
        """Numbers of the step spans; one that occurs twice is given twice."""
        return [int(e["name"].split("#")[1]) for e in self.step_spans()]

    def marks(self, prefix="mark:"):
        """The numbers n of the record_function labels prefix + n, sorted."""
        return sorted(int(e["name"][len(prefix):]) for e in self.ops() if e["name"].startswith(prefix))


def load_traces(logdir):
    """Every trace of a run, checked: `tprof check` finds nothing wrong with any."""
    loaded = []
    for path in trace_files(logdir):
        check(path)
        loaded.append(Trace(path))
    return loaded


@contextlib.contextmanager
def unless_busy(logdir):
    """What is asserted of shares of time holds where program and tprof got the processor. A test that fails is skipped
    if the traces themselves say that one of them waited for it: for a tenth of the time or more."""
    try:
        yield
    except AssertionError:
        for path in trace_files(logdir):
            sampled = Trace(path).ledger.get("samples", {"missed": 0, "looks": 0})
            if sampled["missed"] > sampled["looks"] / 5:
                pytest.skip("the machine was busy: %(missed)d looks were too late, %(looks)d were not" % sampled)
            advice = " ".join(tprof("advise", path).stdout.split())
            busy = re.search(r"the machine was busy with other work: for \d\d+ % of the time", advice)
            if busy:
                pytest.skip(busy.group())
        raise


def tprof(*words, **more):
    """Runs the tprof tool."""
    more = {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True, "timeout": HUNG, **more}
    return subprocess.run([str(TPROF), *map(str, words)], **more)


def check(path):
    checked = tprof("check", path)
    assert checked.returncode == 0, "tprof check %s:\n%s%s" % (path, checked.stdout, checked.stderr)


# --- torch.profiler.schedule

def schedule_words(**words):
    return ",".join("%s=%d" % item for item in words.items())


def windows(count, skip_first=0, wait=0, warmup=0, active=0, repeat=0, skip_first_wait=0):
    """The step numbers of each window that torch.profiler.schedule gives a run of `count` steps."""
    found = []
    for step in range(count):
        at = step - skip_first
        if at < 0:
            continue
        if skip_first_wait:
            at += wait
        cycle, inside = divmod(at, wait + warmup + active)
        if (repeat and cycle >= repeat) or inside < wait + warmup:
            continue
        if not found or found[-1][0] != cycle:
            found.append((cycle, []))
        found[-1][1].append(step)
    return [steps for _, steps in found]
