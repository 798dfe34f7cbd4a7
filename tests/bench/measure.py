"""The measurements, one function per group of figures.py: each takes a torch (host, trixie, sid) and sizes, and gives
{figure: value} or {figure: (value, low, high)}, the quartiles where many slices stand behind it.
"""
import contextlib
import dataclasses
import functools
import glob
import gzip
import json
import os
import pathlib
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time

import big_trace
import many_ranks
import modes
import workers
from workers import Worker, Workers


@dataclasses.dataclass
class Sizes:
    slices: int = 31            # rounds of slices per generation
    generations: int = 3        # times that all processes are started anew: their memory layout is luck
    slice_steps: int = 40       # shorter ones make torch.profiler dearer: each slice is a new one, in fresh memory
    wait_steps: int = 80
    events: int = 1_000_000     # in the window of edges and conversion
    edge_runs: int = 5
    conversions: int = 11       # windows that are converted beside the program
    conversion_wait: int = 300  # slices of waiting steps before each
    quiet_slices: int = 15      # of them measured behind a conversion, and as many beside a process that spins
    rss_events: int = 10_000_000
    exec_runs: int = 400
    call_rounds: int = 1000
    nvtx_pairs: int = 20_000    # per slice
    python_calls: int = 3_000   # per slice
    sampled_pairs: int = 20
    sampled_steps: int = 1_500
    files: int = 8              # that are read as one directory
    ranks: int = 1024           # of a made job
    counted_steps: int = 40     # under callgrind
    warm_steps: int = 100       # before the first slice


SMOKE = Sizes(slices=2, generations=1, slice_steps=5, wait_steps=5, events=20_000, edge_runs=1, conversions=2,
              conversion_wait=100, quiet_slices=3, rss_events=100_000, exec_runs=20, call_rounds=20, nvtx_pairs=100,
              python_calls=100, sampled_pairs=2, sampled_steps=100, files=3, ranks=70, warm_steps=20)
SAMPLED_THREADS = 16
SLICE = 10  # steps per slice where the course of time matters


# --- slices in turn

def spread(values):
    """(median, lower quartile, upper quartile)"""
    values = sorted(values)
    quartile = len(values) // 4
    return statistics.median(values), values[quartile], values[-1 - quartile]


def rounds(torch, names, sizes, steps, loader=False):
    """Slices of `steps` steps in turn. A list of rounds: {mode: the worker's answer}."""
    found = []
    for _ in range(sizes.generations):
        with Workers(torch, names, loader=loader) as group:
            for worker in group.values():
                worker.ask("slice", steps=sizes.warm_steps)
            if "over" in group:
                group["over"].wait_for_trace()
            for i in range(sizes.slices):
                first = i % len(names)
                found.append({name: group[name].ask("slice", steps=steps) for name in names[first:] + names[:first]})
    return found


def over(found, name, base="bare", clock="thread"):
    """By how much a mode's slices exceed those of `base` in the same round, in ns."""
    return [one[name][clock] - one[base][clock] for one in found]


def ratio(found, name, rival):
    """What a mode costs over `bare` by what a rival does, each round with itself: machines have slow minutes, in which
    medians over all rounds lie apart by luck. A rival that seems to cost nothing counts as one ns."""
    return spread([ours / max(theirs, 1) for ours, theirs in zip(over(found, name), over(found, rival))])


@functools.lru_cache(maxsize=None)
def operators_per_step(torch):
    with Worker(torch, "count") as worker:
        worker.ask("count", steps=10)
        return worker.ask("count", steps=100) / 100


def operators(torch, sizes):
    ops = operators_per_step(torch)
    found = rounds(torch, modes.OPERATORS, sizes, sizes.slice_steps)
    per_slice = ops * sizes.slice_steps

    def per_op(values):
        return spread([value / per_slice for value in values])

    figures = {name + "_ns": per_op(over(found, name)) for name in modes.OPERATORS[1:]}
    figures["step_us"] = spread([one["bare"]["thread"] / sizes.slice_steps / 1e3 for one in found])
    figures["step_ops"] = ops
    for kind in ("plain", "shapes", "full"):
        figures[kind + "_ratio"] = ratio(found, kind, "torch_" + kind)
    figures["plain_over_empty_ns"] = per_op(over(found, "plain", "empty"))
    figures["helper_ns"] = per_op([one["plain"]["process"] - one["plain"]["thread"] for one in found])
    return figures


def stacks(torch, sizes):
    """The depth is that of the trace of one slice."""
    per_slice = operators_per_step(torch) * sizes.slice_steps
    found = rounds(torch, modes.STACKS, sizes, sizes.slice_steps)
    with Worker(torch, "stack", options={"TPROF_SCHEDULE": "active=%d,repeat=1" % sizes.slice_steps}) as worker:
        worker.ask("slice", steps=2 * sizes.slice_steps)
        with open(worker.wait_for_trace(), "rb") as file:
            raw = file.read()
    events = json.loads(gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw)["traceEvents"]
    depths = [e["args"].get("Call stack", "").count(";") + 1 for e in events if e.get("cat") == "cpu_op"]
    return {"stack_depth": statistics.mean(depths),
            "stack_ns": spread([value / per_slice for value in over(found, "stack", "plain")])}


def everything(torch, sizes):
    per_slice = operators_per_step(torch) * sizes.slice_steps
    found = rounds(torch, modes.EVERYTHING, sizes, sizes.slice_steps)
    figures = {name + "_ns": spread([value / per_slice for value in over(found, name)]) for name in modes.EVERYTHING[1:]}
    figures["everything_ratio"] = ratio(found, "everything", "torch_everything")
    return figures


def flight(torch, sizes):
    """The ring is the smallest, so that it turns many times."""
    per_slice = operators_per_step(torch) * sizes.slice_steps
    found = rounds(torch, modes.FLIGHT, sizes, sizes.slice_steps)

    def per_op(values):
        return spread([value / per_slice for value in values])

    return {"flight_ns": per_op(over(found, "flight")), "flight_torch_ns": per_op(over(found, "torch_plain")),
            "flight_helper_ns": per_op([one["flight"]["process"] - one["flight"]["thread"] for one in found]),
            "flight_ratio": ratio(found, "flight", "torch_plain")}


def waiting(torch, sizes):
    found = rounds(torch, modes.WAITING, sizes, sizes.wait_steps, loader=True)
    figures = {name + "_percent": spread([100 * (one[name]["thread"] / one["bare"]["thread"] - 1) for one in found])
               for name in modes.WAITING[1:]}
    figures["loader_step_us"] = spread([one["bare"]["thread"] / sizes.wait_steps / 1e3 for one in found])
    return figures


# --- one window

BEFORE, WARMUP, AFTER = 60, 20, 60  # steps around the active part


def edge_stalls(walls, active):
    """ms at the begin of warm-up, of the active part, and at the end: the longest of the three steps around it less the
    median of 40 steps around it."""
    def stall(at):
        return (max(walls[at - 1:at + 2]) - statistics.median(walls[at - 20:at + 21])) / 1e6
    return [stall(BEFORE), stall(BEFORE + WARMUP), stall(BEFORE + WARMUP + active)]


def edges(torch, sizes):
    ops = operators_per_step(torch)
    active = int(sizes.events / ops) + 1
    schedule = "skip_first=%d,warmup=%d,active=%d,repeat=1" % (BEFORE, WARMUP, active)
    stalls = {"plain": [], "bare": []}
    for _ in range(sizes.edge_runs):
        for mode, found in stalls.items():
            with Worker(torch, mode, options={"TPROF_SCHEDULE": schedule}) as worker:
                found.append(edge_stalls(worker.ask("walls", steps=BEFORE + WARMUP + active + AFTER), active))
    warmup, begin, end = (spread(column) for column in zip(*stalls["plain"]))
    figures = {
        "edge_events": active * ops,
        "edge_bare_ms": statistics.median(max(three) for three in stalls["bare"]),
        "edge_warmup_ms": warmup, "edge_active_ms": begin, "edge_end_ms": end,
        "edge_ms": max(warmup[0], begin[0], end[0]),
    }
    rival = torch_window(torch, sizes.events, ops)
    figures["torch_edge_events"] = rival["events"]
    figures["torch_stop_ms"] = rival["stop"][0] * 1e3
    figures["torch_gz_ms"] = rival["export"][0] * 1e3
    figures["torch_json_ms"] = torch_window(torch, sizes.events, ops, "json")["export"][0] * 1e3
    theirs = (figures["torch_stop_ms"] + figures["torch_gz_ms"]) / rival["events"]
    figures["edge_ratio"] = figures["edge_ms"] / figures["edge_events"] / theirs
    return figures


@functools.lru_cache(maxsize=None)
def torch_window(torch, events, ops, kind="json.gz"):
    """torch.profiler's window of as many events and its trace, see rivals.one_window. Once per torch and kind."""
    with Worker(torch, "bare") as worker:
        worker.ask("slice", steps=50)
        # The profiler of torch 1.13 keeps a Python object per event: a tenth must do.
        steps = int(events / ops / (1 if worker.hello["kineto"] else 10)) + 1
        found = worker.ask("window", steps=steps, path=str(worker.directory / ("trace." + kind)))
        return {**found, "events": steps * ops}


@contextlib.contextmanager
def spinning():
    """A process that only spins, at the finisher's priority."""
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"], stdin=subprocess.DEVNULL,
                               preexec_fn=lambda: os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0)))
    try:
        yield
    finally:
        process.kill()
        process.wait()


def steps_beside_conversion(torch, sizes, active):
    """[{"converting": slices, "waiting": slices, "spinning": slices}]: by window, while it is converted and, right behind,
    while nothing happens and beside a process that spins."""
    wait = sizes.conversion_wait * SLICE
    schedule = "skip_first=%d,wait=%d,warmup=1,active=%d,repeat=%d" % (
        sizes.warm_steps, wait, active, sizes.conversions)
    found, rest = [], wait
    with Worker(torch, "plain", options={"TPROF_SCHEDULE": schedule}) as worker:
        def slices(count):
            return [worker.ask("slice", steps=SLICE, warm=0) for _ in range(count)]

        worker.ask("walls", steps=sizes.warm_steps)
        for window in range(sizes.conversions):
            worker.ask("walls", steps=rest + 1 + active + SLICE)  # and a little beyond
            converting = slices(1)
            while worker.traces() <= window:
                converting += slices(1)
            waiting = slices(sizes.quiet_slices)
            with spinning():
                spun = slices(sizes.quiet_slices)
            found.append({"converting": converting, "waiting": waiting, "spinning": spun})
            rest = wait - SLICE * (1 + len(converting) + len(waiting) + len(spun))
            if rest < 0:  # the next window has begun already: what was measured until now stands
                print("conversion took longer than the %d steps to the next window; %d windows of %d are measured"
                      % (wait, window + 1, sizes.conversions), file=sys.stderr)
                break
    return found


def children_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def convert(torch, steps):
    """What `tprof convert` makes of a recording whose program and finisher were killed in the middle of a window."""
    with Worker(torch, "plain") as worker:
        worker.ask("walls", steps=steps)
        worker.kill()
        recording = worker.recording()
        disk = recording.stat().st_blocks * 512
        cpu = children_seconds()
        said = subprocess.run([str(workers.TPROF), "convert", str(recording)], check=True, capture_output=True,
                              text=True)
        cpu = children_seconds() - cpu
        events = int(re.search(r"\((\d+) events", said.stderr).group(1))
        return {"events": events, "cpu": cpu, "disk": disk, "trace_bytes": worker.trace().stat().st_size}


def conversion(torch, sizes):
    ops = operators_per_step(torch)
    steps = int(sizes.events / ops) + 1
    found = steps_beside_conversion(torch, sizes, steps)

    def slower(which, clock):
        """Of each window against the waiting steps right behind it: machines have slow minutes."""
        medians = [{name: statistics.median(one[clock] for one in slices) for name, slices in window.items()}
                   for window in found]
        return spread([100 * (window[which] / window["waiting"] - 1) for window in medians])

    ours, rival = convert(torch, steps), torch_window(torch, sizes.events, ops)
    ours_us = ours["cpu"] * 1e6 / ours["events"]
    theirs_us = (rival["stop"][1] + rival["export"][1]) * 1e6 / rival["events"]
    return {
        "during_percent": slower("converting", "wall"),
        "during_cpu_percent": slower("converting", "thread"),
        "during_slices": sum(len(window["converting"]) for window in found),
        "spin_percent": slower("spinning", "wall"),
        "convert_us": ours_us,
        "torch_export_us": theirs_us,
        "convert_speedup": theirs_us / ours_us,
        "event_bytes": ours["disk"] / ours["events"],
        "trace_bytes": ours["trace_bytes"] / ours["events"],
        "torch_trace_bytes": rival["bytes"] / rival["events"],
    }


# --- others

def memory(torch, sizes):
    ops = operators_per_step(torch)
    steps = int(sizes.rss_events / ops) + 1
    schedule = "skip_first=%d,active=1000000000" % (sizes.warm_steps + 10)
    with Worker(torch, "shapes", options={"TPROF_SCHEDULE": schedule}) as worker:
        worker.ask("walls", steps=sizes.warm_steps)
        first = worker.ask("rss")
        parts = 20
        found = []
        for _ in range(parts):
            worker.ask("walls", steps=steps // parts + 1)
            found.append(worker.ask("rss"))
    rival = torch_window(torch, sizes.events, ops)
    return {
        "rss_events": steps * ops,
        "rss_mib": (max(one["VmRSS"] for one in found) - first["VmRSS"]) / 2**20,
        "rss_anon_mib": (max(one["RssAnon"] for one in found) - first["RssAnon"]) / 2**20,
        "torch_rss_bytes": rival["rss"] / rival["events"],
    }


def exec_cost(torch, sizes):
    """Of this machine's /bin/true, whatever the torch."""
    said = subprocess.run([str(workers.EXEC_COST), str(workers.LIBRARY), str(sizes.exec_runs)], check=True,
                          stdout=subprocess.PIPE, text=True).stdout
    return {"exec_ms": float(re.search(r"difference (-?[\d.]+) ms", said).group(1))}


def calls(torch, sizes):
    """Of a CUDA runtime that does nothing, whatever the torch."""
    with tempfile.TemporaryDirectory(prefix="tprof-bench-") as directory:
        said = subprocess.run([str(workers.CALLS), str(sizes.call_rounds)], check=True, stdout=subprocess.PIPE, text=True,
                              env={"LD_PRELOAD": str(workers.LIBRARY), "TPROF_AUTOSTART": "0",
                                   "TPROF_LOGDIR": directory}).stdout
    found = re.findall(r"^(\w+) (\w+) .*over (-?[\d.]+) ns$", said, re.M)
    return {"%s_%s_ns" % (state, call): float(ns) for state, call, ns in found}


def nvtx(torch, sizes):
    """Of a C program, whatever the torch. Each in a process of its own; the best of its slices."""
    def pairs(options=None):
        with tempfile.TemporaryDirectory(prefix="tprof-bench-", dir="/tmp") as directory:
            environment = {} if options is None else {"LD_PRELOAD": str(workers.LIBRARY), "TPROF_LOGDIR": directory,
                                                      "TPROF_EXIT_WAIT": "60", **options}
            said = subprocess.run([str(workers.NVTX_PAIR), str(sizes.nvtx_pairs)], check=True, stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, text=True, env=environment).stdout
        return {what: float(ns) for what, ns in re.findall(r"(\w+) ([\d.]+) ns", said)}

    bare, idle, recorded = pairs(), pairs({"TPROF_AUTOSTART": "0"}), pairs({})
    return {"nvtx_bare_ns": bare["plain"], "nvtx_idle_ns": idle["plain"], "nvtx_pair_ns": recorded["plain"],
            "nvtx_attributes_ns": recorded["attributes"], "nvtx_registered_ns": recorded["registered"],
            "nvtx_stamp_ns": 2 * bare["stamp"]}


def python(torch, sizes):
    """Each way in a process of its own. Before 3.12 a call has two events, since then one more at the place of the call."""
    def spent(options, *more):
        with tempfile.TemporaryDirectory(prefix="tprof-bench-", dir="/tmp") as directory:
            words, environment = workers.command_line(
                torch, ["/usr/bin/python3", str(workers.BENCH / "python_calls.py"), str(sizes.python_calls), *more],
                {"LD_PRELOAD": str(workers.LIBRARY), "TPROF_LOGDIR": directory, "TPROF_EXIT_WAIT": "0", **options})
            return json.loads(subprocess.run(words, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                             text=True, env=environment).stdout)

    plain, modules, every = spent({}), spent({"TPROF_WITH_MODULES": "1"}), spent({"TPROF_WITH_STACK": "calls"})
    call = every["call"] - plain["call"]
    nothing = spent({}, str(workers.CALLBACKS))
    return {"python_call_ns": call, "python_event_ns": call / every["events"],
            "python_nothing_ns": nothing["call"] - plain["call"],
            "python_builtin_ns": every["builtin"] - plain["builtin"],
            "python_module_ns": modules["module"] - plain["module"],
            "python_module_calls_ns": every["module"] - plain["module"]}


def sampling(torch, sizes):
    """Pairs of runs, which take turns. The sampler's own time is in the trace's ledger."""
    def step(sample, directory):
        words, environment = workers.command_line(
            torch, ["/usr/bin/python3", str(workers.BENCH / "sampled.py"), str(SAMPLED_THREADS), str(sizes.sampled_steps)],
            {"LD_PRELOAD": str(workers.LIBRARY), "TPROF_LOGDIR": directory, "TPROF_EXIT_WAIT": "60", "TPROF_SAMPLE": sample})
        return float(subprocess.run(words, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                                    env=environment).stdout)

    def ledger_of(directory):
        trace, = glob.glob(directory + "/*.pt.trace.json.gz")
        with gzip.open(trace) as f:
            return json.load(f)["tprof"]

    modes = {"without": "0", "python": "python", "again": "0", "native": "native"}
    percent, stops, slower = [], [], {name: [] for name in modes}
    for _ in range(sizes.sampled_pairs):
        with tempfile.TemporaryDirectory(prefix="tprof-bench-", dir="/tmp") as directory:
            steps = {name: step(sample, directory + "/" + name) for name, sample in modes.items()}
            ledger, native = ledger_of(directory + "/python"), ledger_of(directory + "/native")["samples"]
            percent.append(100 * ledger["samples"]["cpu_ns"] / ledger["span"]["duration_ns"])
            stops.append(native["stopped_ns"] / max(native["stops"], 1) / 1000)
            for name in modes:
                slower[name].append((steps[name] / steps["without"] - 1) * 100)
    return {"sampled_threads": SAMPLED_THREADS, "sampler_percent": spread(percent),
            "sampled_step_percent": spread(slower["python"]), "sampled_again_percent": spread(slower["again"]),
            "native_step_percent": spread(slower["native"]), "native_stop_us": spread(stops)}


def instructions(torch, sizes):
    """Counted, not timed: the same on a busy machine. Each mode in a process of its own under callgrind."""
    def count(mode):
        with tempfile.TemporaryDirectory(prefix="tprof-bench-", dir="/tmp") as directory:
            out = directory + "/callgrind"
            argv = ["valgrind", "--tool=callgrind", "--toggle-collect=bench_counted", "--callgrind-out-file=" + out,
                    "/usr/bin/python3", str(workers.BENCH / "instructions.py"), str(workers.CALLBACKS),
                    str(sizes.counted_steps)]
            words, environment = workers.command_line(torch, argv, workers.environment_of(mode, directory))
            subprocess.run(words, env=environment, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            with open(out) as f:
                total = int(re.search(r"^totals: (\d+)$", f.read(), re.M).group(1))
        if not total:
            raise RuntimeError("this valgrind does not see bench_counted(), of %s, begin" % workers.CALLBACKS)
        return total

    found = {mode: count(mode) for mode in modes.INSTRUCTIONS}
    percent = {mode: (found[mode] / found["bare"] - 1) * 100 for mode in found}
    return {"step_instructions": found["bare"] / sizes.counted_steps, "wait_instructions": percent["wait"],
            "over_instructions": percent["over"], "shapes_instructions": percent["shapes"]}


def timed(*command):
    """Seconds and peak memory in MiB of a command."""
    begin = time.monotonic()
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode in (0, 4), command  # 4: the clocks of made ranks are not known
    return time.monotonic() - begin, usage.ru_maxrss / 1024


def best(*command):
    return min(timed(*command) for _ in range(3))


@contextlib.contextmanager
def made_trace(events):
    with tempfile.TemporaryDirectory(prefix="tprof-bench-") as directory:
        trace = pathlib.Path(directory) / "w.1.pt.trace.json"
        big_trace.write(trace, events)
        yield trace


def reader(torch, sizes):
    """Of a made trace, whatever the torch. Best of three; the directory once."""
    with made_trace(sizes.events) as trace:
        seconds, _ = best(workers.TPROF, "overview", trace)
        tables_seconds, tables_rss = best(workers.ALL_TABLES, trace)
        python_seconds, python_rss = best("/usr/bin/python3", "-c", "import json, sys; json.load(open(sys.argv[1]))", trace)
        compat_seconds, _ = best(workers.TPROF, "overview", "--plugin-compat", trace)
        check_seconds, _ = best(workers.TPROF, "check", trace)
        page = trace.parent / "report.html"
        report_seconds, report_rss = best(workers.TPROF, "report", trace, "-o", page)
        page.unlink()
        size = trace.stat().st_size
        subprocess.run(["gzip", "-1", str(trace)], check=True)
        packed = str(trace) + ".gz"
        gz_seconds, _ = best(workers.TPROF, "overview", packed)
        run = trace.parent / "run"
        run.mkdir()
        for i in range(sizes.files):
            os.link(packed, run / ("w%d.1.pt.trace.json.gz" % i))
        files_seconds, files_rss = timed(workers.TPROF, "overview", run)
    return {"reader_events": sizes.events, "reader_mb": size / 1e6, "reader_s": seconds, "reader_gz_s": gz_seconds,
            "reader_compat_s": compat_seconds, "check_s": check_seconds, "tables_s": tables_seconds,
            "tables_rss_mib": tables_rss, "report_s": report_seconds, "report_rss_mib": report_rss, "files": sizes.files,
            "file_s": files_seconds / sizes.files, "files_rss_mib": files_rss, "python_json_s": python_seconds,
            "python_json_mib": python_rss}


def ranks(torch, sizes):
    """Of made traces, whatever the torch."""
    with made_trace(sizes.events) as trace:
        many_ranks.write(trace.parent / "many", sizes.ranks, 100)
        seconds, rss = timed(workers.TPROF, "overview", "--all-ranks", trace.parent / "many")
        job = trace.parent / "job"
        job.mkdir()
        for i in range(8):
            os.link(trace, job / ("w%d.1.pt.trace.json" % i))
        merge_seconds, merge_rss = timed(workers.TPROF, "merge", job, "-o", trace.parent / "all.json.gz")
    return {"ranks": sizes.ranks, "ranks_s": seconds, "ranks_rss_mib": rss, "merged_events": sizes.events,
            "merge_s": merge_seconds, "merge_rss_mib": merge_rss}


def plugin(torch, sizes):
    """torch_tb_profiler itself, run by the script $TBCHECK (which wants its sources in $TB_PLUGIN), on the same trace."""
    with made_trace(sizes.events) as trace:
        seconds, rss = best(workers.ALL_TABLES, trace)
        theirs, their_rss = timed("/usr/bin/python3", os.environ["TBCHECK"], trace.parent)
    return {"plugin_s": theirs, "plugin_rss_mib": their_rss, "plugin_ratio": theirs / seconds,
            "plugin_rss_ratio": their_rss / rss}


def native(torch, sizes):
    """Of a C program and a CUDA runtime that does nothing, whatever the torch."""
    def told(words):
        with tempfile.TemporaryDirectory(prefix="tprof-bench-", dir="/tmp") as directory:
            said = subprocess.run([str(workers.NATIVE_STACK), str(sizes.call_rounds)], check=True, stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, text=True,
                                  env={"LD_PRELOAD": str(workers.LIBRARY), "TPROF_LOGDIR": directory,
                                       "TPROF_WITH_STACK": words}).stdout
        return {what: float(ns) for what, ns in re.findall(r"(\w+) ([\d.]+) ns", said)}

    without, with_stack = told("0"), told("native")
    return {"native_frames": with_stack["frames"], "native_stack_ns": with_stack["launch"] - without["launch"],
            "backtrace_ns": with_stack["backtrace"]}


GROUPS = {
    "operators": operators,
    "stacks": stacks,
    "everything": everything,
    "flight": flight,
    "waiting": waiting,
    "edges": edges,
    "conversion": conversion,
    "memory": memory,
    "calls": calls,
    "nvtx": nvtx,
    "python": python,
    "sampling": sampling,
    "instructions": instructions,
    "exec": exec_cost,
    "reader": reader,
    "ranks": ranks,
    "plugin": plugin,
    "native": native,
}
