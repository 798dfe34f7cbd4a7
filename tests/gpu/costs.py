"""What tprof costs on a GPU program, beside the same program bare, torch.profiler with the same options, and the floor:
CUPTI on and its records thrown away (witness.cpp).

The processes of all modes live side by side and train in turn, a slice each; the others sleep. Figures are medians over
rounds of the time per step less that of the bare program in the same round, so that slow drifts fall out.
"""
import contextlib
import json
import os
import signal
import statistics
import subprocess
import time

import traces
from finishers import finishers
from place import needs
from report import Absent

ALWAYS = "active=1000000000"
OPTIONS = {
    "light": ({"TPROF_PRESET": "light"}, ["plain"]),
    "default": ({"TPROF_PRESET": "default"}, ["record_shapes"]),
    "memory": ({"TPROF_RECORD_SHAPES": "1", "TPROF_PROFILE_MEMORY": "1"}, ["record_shapes", "profile_memory"]),
}
# mode: (environment of tprof or None, options of torch.profiler, whether the witness is loaded)
MODES = {
    "off": (None, [], False),
    "again": (None, [], False),
    "floor": (None, [], True),
    "wait": ({"TPROF_SCHEDULE": "wait=1000000000,active=1"}, [], False),
    "over": ({"TPROF_SCHEDULE": "active=2,repeat=1"}, [], False),
}
MODES.update({"tprof_" + name: ({"TPROF_SCHEDULE": ALWAYS, **ours}, [], False) for name, (ours, _) in OPTIONS.items()})
MODES.update({"torch_" + name: (None, theirs, False) for name, (_, theirs) in OPTIONS.items()})


class Worker:
    def __init__(self, place, mode, model, size, options=()):
        tprof, profiler, witness = MODES[mode]
        self.logdir = place.directory(mode)
        environment = place.environment()
        if tprof is not None:
            environment.update({"LD_PRELOAD": str(place.library), "TPROF_LOGDIR": str(self.logdir),
                                "TPROF_MAX_SIZE": "32G", **tprof, **dict(options)})
        if witness:
            environment["CUDA_INJECTION64_PATH"] = str(place.witness)
        self.said = open(self.logdir / "stderr", "w+")
        self.process = subprocess.Popen(place.words(["worker.py", model, size, *profiler]), env=environment, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.said)

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            self.said.seek(0)
            raise RuntimeError("a worker died (%s):\n%s" % (self.process.wait(), self.said.read()[-2000:]))
        return json.loads(line)

    def ask(self, do, **more):
        self.process.stdin.write(json.dumps({"do": do, **more}) + "\n")
        self.process.stdin.flush()
        return self.answer()

    def close(self):
        """Ends the process and whoever would still write its traces."""
        self.process.kill()
        self.process.communicate()
        for pid in finishers(self.logdir):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.said.close()


@contextlib.contextmanager
def workers(place, modes, model, size, **more):
    started = {}
    try:
        for mode in modes:
            started[mode] = Worker(place, mode, model, size, **more)
        for worker in started.values():
            worker.answer()  # it is ready
        yield started
    finally:
        for worker in started.values():
            worker.close()


def per_step(place, modes, model, size, rounds, ns):
    """{mode: [us per step more than the bare program took in the same round]}, and the bare program's median."""
    with workers(place, modes, model, size) as started:
        for worker in started.values():
            worker.ask("slice", ns=ns // 4)
        names, found = list(started), {mode: [] for mode in started}
        for i in range(rounds):
            for mode in names[i % len(names):] + names[:i % len(names)]:
                one = started[mode].ask("slice", ns=ns)
                found[mode].append(one["wall"] / one["steps"] / 1000)
    bare = found["off"]
    return {mode: [a - b for a, b in zip(values, bare)] for mode, values in found.items()}, statistics.median(bare)


def with_floor(place, section):
    """The modes that can be had."""
    try:
        assert place.witness
        return list(MODES)
    except Absent as why:
        section.notes.append("no floor: %s" % why)
        return [mode for mode in MODES if mode != "floor"]


def costs(place, section, model, size):
    """{mode: median us per step more than bare}, and the bare program's."""
    needs("torch")
    rounds, ns = (3, 50_000_000) if place.quick else (21, 300_000_000)
    more, bare = per_step(place, with_floor(place, section), model, size, rounds, ns)
    medians = {mode: statistics.median(values) for mode, values in more.items()}
    section.figure("a bare step", bare, "us")
    for mode, value in medians.items():
        if mode != "off":
            section.figure("%s, over bare (%.1f us)" % (mode, value), 100 * value / bare, "%")
    return medians, bare


def dispatch_bound(place, section):
    medians, _ = costs(place, section, "mlp", "small")
    floor = medians.get("floor", 0.0)
    for name in OPTIONS:
        ours, theirs = medians["tprof_" + name] - floor, medians["torch_" + name] - floor
        if theirs <= 0:
            section.notes.append("%s: torch.profiler is not above the floor" % name)
            continue
        section.figure("%s: (tprof - floor) / (torch.profiler - floor)" % name, ours / theirs, "x",
                       None if place.quick else 0.5)


def gpu_bound(place, section):
    medians, bare = costs(place, section, "resnet18", "large")
    section.figure("default preset on a GPU-bound step", 100 * medians["tprof_default"] / bare, "%",
                   None if place.quick else 3.0)


def edges(place, section):
    """The longest step at each edge of a window, less the median of the steps around it."""
    needs("torch")
    warm, warmup, active = 200, 20, 200 if place.quick else 3000
    schedule = "skip_first=%d,warmup=%d,active=%d,repeat=1" % (warm, warmup, active)
    with workers(place, ["tprof_default", "off"], "mlp", "small", options={"TPROF_SCHEDULE": schedule}) as started:
        walls = {mode: worker.ask("walls", steps=warm + warmup + active + 300) for mode, worker in started.items()}
        longest = {}
        for mode, each in walls.items():
            for what, at in (("warm-up begins", warm), ("window begins", warm + warmup),
                             ("window ends", warm + warmup + active)):
                usual = statistics.median(each[at - 15:at - 2] + each[at + 3:at + 15])
                longest[mode, what] = (max(each[at - 1:at + 2]) - usual) / 1e6
        for (mode, what), value in longest.items():
            section.figure("%s: %s" % ("bare, the same step" if mode == "off" else "tprof", what), value, "ms")
        found = started["off"].ask("window", steps=active, path=str(place.directory("edge") / "theirs.json.gz"))
        section.figure("torch.profiler: stop", found["stop"] / 1e6, "ms")
        section.figure("torch.profiler: export to .json.gz", found["export"] / 1e6, "ms")
        section.figure("steps in the window", active, "")
        wait_for_trace(started["tprof_default"].logdir)
        section.check("tprof check", place.invalid(started["tprof_default"].logdir))


def wait_for_trace(logdir, seconds=120):
    end = time.monotonic() + seconds
    while not traces.files(logdir):
        if time.monotonic() > end:
            raise RuntimeError("no trace within %d s" % seconds)
        time.sleep(0.1)
