"""Runs one script as its author would, with what it lacks put in from outside: launch.py SPEC.json.

SPEC says (see `specification` in run): script and argv; work, the directory to run in; paths for sys.path; stubs, modules
that are only imported; images, how many pictures torchvision's data sets have; setup, files of setups/ whose
before(work, spec) writes data files or replaces what would be downloaded. Bare, `count` names a file for what the script
is seen to do: how often given lines of it are reached, in which loop, and how often an optimizer updates. Under tprof
nothing of that is there, except with `marks`: then each turn of the line is a record_function label "mark:<i>"; and with
`clock`, a file for the times at which script_clock.py sees the line and its loop.
"""
import atexit
import collections
import importlib.machinery
import json
import multiprocessing
import os
import random
import runpy
import sys
import threading
import types

import script_clock

HERE = os.path.dirname(os.path.abspath(__file__))


class Anything:
    """Takes every call, attribute and index; what a stubbed module hands out."""

    def __init__(self, *args, **kwargs):
        pass

    def __call__(self, *args, **kwargs):
        return Anything()

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything()

    def __iter__(self):
        return iter([Anything(), Anything()])

    def __getitem__(self, key):
        return Anything()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False


class StubModule(types.ModuleType):
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything


class Stubs:
    """An import hook: the named modules and all below them are empty shells."""

    def __init__(self, names):
        self.names = set(names)

    def find_spec(self, name, path=None, target=None):
        parts = name.split(".")
        if any(".".join(parts[:i + 1]) in self.names for i in range(len(parts))):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        module = StubModule(spec.name)
        module.__path__ = []
        return module

    def exec_module(self, module):
        pass


def older_torch():
    """Names that today's scripts use and torch 1.13 lacks; none has to do with training."""
    import contextlib
    import torch
    import torch.optim.lr_scheduler as schedulers
    if not hasattr(schedulers, "LRScheduler"):
        schedulers.LRScheduler = schedulers._LRScheduler
    if not hasattr(torch.serialization, "safe_globals"):
        torch.serialization.safe_globals = lambda *names: contextlib.nullcontext()
    if not hasattr(torch, "accelerator"):
        torch.accelerator = types.SimpleNamespace(is_available=lambda: False, current_accelerator=lambda: None)


def line_numbers(path, text):
    with open(path, encoding="utf-8") as file:
        found = [i for i, line in enumerate(file, 1) if line.strip().startswith(text)]
    if not found:
        sys.exit(f"launch: no line of {path} begins with: {text}")
    return found


class Lines:
    """Counts how often lines are reached; a line is (end of a file's path, first words of the line)."""

    def __init__(self, lines, on_turn=None):
        self.lines = lines
        self.loops = script_clock.Loops()
        self.counts = collections.Counter()
        self.on_turn = on_turn
        self.known = {}  # file name -> {line number: line}

    def start(self):
        threading.settrace(self.call)
        sys.settrace(self.call)

    def wanted(self, path):
        if path not in self.known:
            self.known[path] = {number: line for line in self.lines
                                if path == line[0] or path.endswith("/" + line[0])
                                for number in line_numbers(path, line[1])}
        return self.known[path]

    def call(self, frame, event, argument):
        return self.line if self.wanted(frame.f_code.co_filename) else None

    def line(self, frame, event, argument):
        if event == "line":
            line = self.wanted(frame.f_code.co_filename).get(frame.f_lineno)
            if line:
                self.counts[line] += 1
                self.loops.turn(frame)
                if self.on_turn:
                    self.on_turn(self.counts[line] - 1)
        return self.line


def count_updates(counts):
    """How often an optimizer of torch.optim updates."""
    import torch
    inside = threading.local()

    def wrap(cls):
        step = cls.__dict__["step"]

        def counting(self, *args, **kwargs):
            if getattr(inside, "step", False):  # of a class above
                return step(self, *args, **kwargs)
            inside.step = True
            try:
                counts["updates"] += 1
                return step(self, *args, **kwargs)
            finally:
                inside.step = False
        cls.step = counting
    for cls in list(vars(torch.optim).values()):
        if isinstance(cls, type) and issubclass(cls, torch.optim.Optimizer) and cls is not torch.optim.Optimizer and \
                "step" in vars(cls):
            wrap(cls)


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        spec = json.load(file)
    packages = os.path.join(spec["checkouts"], "packages", spec["where"], "root", "usr/lib/python3/dist-packages")
    sys.path[:1] = spec["paths"]  # in place of this file's own directory
    sys.path.append(packages)
    sys.meta_path.insert(0, Stubs(spec["stubs"]))
    os.chdir(spec["work"])
    if sys.version_info >= (3, 14):  # as it was when the scripts were written; a stub or a fake is not there otherwise
        multiprocessing.set_start_method("fork")
    if spec["clock"]:
        script_clock.start(spec["clock"], spec["loop"], [[path or spec["script"], text] for path, text in spec["lines"]])
    import numpy
    import torch
    older_torch()
    random.seed(0)
    numpy.random.seed(0)
    torch.manual_seed(0)
    if spec["images"]:
        runpy.run_path(os.path.join(HERE, "images.py"))["replace"](*spec["images"])
    sys.argv = [spec["script"], *spec["argv"]]
    sys.path.insert(0, os.path.dirname(spec["script"]))
    for setup in spec["setup"]:
        runpy.run_path(setup)["before"](spec["work"], spec)
    lines = None
    asked = [(path or spec["script"], text) for path, text in spec["lines"]]
    if spec["count"]:
        process, counts = os.getpid(), collections.Counter()
        count_updates(counts)
        lines = Lines(asked)

        def write():
            if os.getpid() == process:
                with open(spec["count"], "w", encoding="utf-8") as file:
                    counted = [[*names, lines.counts[line]] for names, line in zip(spec["lines"], asked)]
                    json.dump({"lines": counted, "loop": lines.loops.usual(spec["work"]), **counts}, file, indent=1)
        atexit.register(write)
    elif spec["marks"]:
        def mark(turn):
            with torch.profiler.record_function(f"mark:{turn}"):
                pass
        lines = Lines(asked, mark)
    if lines:
        lines.start()
    if spec["module"]:
        runpy.run_module(spec["module"], run_name="__main__", alter_sys=True)
    else:
        runpy.run_path(spec["script"], run_name="__main__")


if __name__ == "__main__":
    main()
