"""Starts workers, here or in a chroot of tests/chroot, and talks with them."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

import modes
from finishers import finishers
from preload import preloadable

BENCH = pathlib.Path(__file__).resolve().parent
REPO = BENCH.parent.parent
BUILD = pathlib.Path(os.environ.get("TPROF_BUILD", REPO / "build")).resolve()
LIBRARY = preloadable(BUILD / "shim" / "libtprof.so")
CALLBACKS = BUILD / "tests" / "libbench_callbacks.so"
TPROF = BUILD / "tools" / "tprof"
CALLS = BUILD / "tests" / "bench_calls"
EXEC_COST = BUILD / "tests" / "exec_cost"
NVTX_PAIR = BUILD / "tests" / "nvtx_pair"
NATIVE_STACK = BUILD / "tests" / "native_stack"
ALL_TABLES = BUILD / "tests" / "all_tables"
CHROOT = REPO / "tests" / "chroot"
TORCHES = ("host", "trixie", "sid")


def why_not(torch):
    """Why this torch cannot be measured; empty if it can."""
    if torch == "host":
        command = ["/usr/bin/python3", "-c", "import torch"]
    else:
        command = [str(CHROOT), torch]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          env={**os.environ, "TPROF_BUILD": str(BUILD)})
    return "" if done.returncode == 0 else (done.stderr.strip().splitlines() or ["exit %d" % done.returncode])[-1]


def command_line(torch, argv, environment):
    """(words, environment) that run argv where that torch lives."""
    environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LANG": "C.UTF-8", "OMP_NUM_THREADS": "1",
                   "PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "0", **environment}
    if torch == "host":
        return argv, environment
    outside = {"PATH": os.environ["PATH"], "TPROF_BUILD": str(BUILD),
               "TPROF_CHROOT_ENV": "\n".join("%s=%s" % item for item in environment.items())}
    if "TPROF_TEST_CACHE" in os.environ:
        outside["TPROF_TEST_CACHE"] = os.environ["TPROF_TEST_CACHE"]
    return [str(CHROOT), torch] + argv, outside


def has(torch, program):
    """Whether a program is to be had where that torch lives, or a $VARIABLE is set here."""
    if program.startswith("$"):
        return program[1:] in os.environ
    words, environment = command_line(torch, ["/bin/sh", "-c", "command -v " + program], {})
    return subprocess.run(words, env=environment, stdin=subprocess.DEVNULL, capture_output=True).returncode == 0


def environment_of(mode, directory, options=None):
    """What a process in a mode is given; `options` are added to those of the mode."""
    mode = modes.MODES[mode]
    if mode.options is None:
        return {}
    return {"LD_PRELOAD": str(LIBRARY), "TPROF_LOGDIR": str(directory), "TPROF_MAX_SIZE": "64G", **mode.options,
            **(options or {})}


class Worker:
    """One process in one mode. `options` are added to those of the mode."""

    def __init__(self, torch, mode, loader=False, options=None):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="tprof-bench-", dir="/tmp"))
        argv = ["/usr/bin/python3", str(BENCH / "worker.py"), modes.MODES[mode].watcher, str(CALLBACKS),
                "loader" if loader else "plain"]
        words, environment = command_line(torch, argv, environment_of(mode, self.directory, options))
        self.said = open(self.directory / "stderr", "w+")
        self.process = subprocess.Popen(words, env=environment, text=True, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=self.said)

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            self.said.seek(0)
            raise RuntimeError("a worker died (exit %s):\n%s" % (self.process.wait(), self.said.read()[-2000:]))
        return json.loads(line)

    def ask(self, do, **more):
        try:
            self.process.stdin.write(json.dumps({"do": do, **more}) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # answer() says what became of it
        return self.answer()

    def _finished(self):
        return (p for p in self.directory.glob("*.pt.trace.json*") if not p.name.endswith(".tmp"))

    def traces(self):
        """How many are finished."""
        return sum(1 for _ in self._finished())

    def trace(self):
        """One that is finished, None before there is one."""
        return next(self._finished(), None)

    def wait_for_trace(self, seconds=300):
        end = time.monotonic() + seconds
        while not self.trace():
            if time.monotonic() > end:
                raise RuntimeError("no trace within %d s" % seconds)
            time.sleep(0.05)
        return self.trace()

    def recording(self):
        return next(self.directory.glob("*.tprof"))

    def kill(self):
        """Ends the process and its finisher, whatever they have not written yet."""
        self.process.kill()
        self.process.communicate()
        while found := list(finishers(self.directory)):
            for pid in found:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            time.sleep(0.01)

    def close(self):
        self.kill()
        self.said.close()
        shutil.rmtree(self.directory, ignore_errors=True)

    def __enter__(self):
        try:
            self.hello = self.answer()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_):
        self.close()


class Workers(dict):
    """Workers of several modes by name, started together: with Workers(torch, names) as workers."""

    def __init__(self, torch, names, **more):
        super().__init__((name, Worker(torch, name, **more)) for name in names)

    def __enter__(self):
        try:
            for worker in self.values():
                worker.__enter__()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for worker in self.values():
            worker.close()
