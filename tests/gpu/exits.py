"""However a program ends, it ends as without tprof, and the trace holds what the GPU had finished."""
import concurrent.futures
from collections import Counter

import differences
from comparisons import lost
from place import needs

AT_ONCE = 3
WAYS = ("return", "sys_exit", "os_exit", "exception", "sigterm", "sigkill", "sigsegv")
DEATHS = ("sigterm", "sigkill", "sigsegv")
STEPS = 6  # of exits_program.py


def finished(trace):
    """What is missing of the finished steps: one matrix product under each mark."""
    seen = {}
    for event in trace.kernels:
        operator = trace.operator_of(event)
        if operator is not None and operator["name"] == "aten::mm":
            for outer in trace.operators:
                if outer["name"].startswith("mark:") and outer["tid"] == operator["tid"] and \
                        outer["ts"] <= operator["ts"] < outer["ts"] + outer["dur"]:
                    seen[outer["name"]] = seen.get(outer["name"], 0) + 1
    return differences.counters("matrix products under", Counter(seen),
                                Counter({"mark:%d" % i: 1 for i in range(STEPS)}))


def one(place, way, load):
    """{what: differences} of one way to end."""
    argv = ["exits_program.py", way, load]
    bare, profiled = place.run(argv), place.run(argv, "tprof")
    found = {
        "ends as bare": [] if (bare.returncode, bare.stdout) == (profiled.returncode, profiled.stdout) else [
            "status %s and %r, bare %s and %r" % (profiled.returncode, profiled.stdout, bare.returncode, bare.stdout)],
        "tprof check": place.invalid(profiled.logdir),
    }
    traces = profiled.traces()
    found["one trace"] = [] if len(traces) == 1 else ["%d traces" % len(traces)]
    if len(traces) == 1:
        found["all finished work is there"] = finished(traces[0])
        spins = sum("spin" in e["name"] for e in traces[0].kernels)
        if load == "busy" and way not in DEATHS and not spins:
            found["work in flight is there or counted"] = [] if lost(traces[0]) else ["neither"]
    return found, profiled.seconds - bare.seconds


def exits(place, section):
    needs("torch")
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        jobs = {(way, load): pool.submit(one, place, way, load) for way in WAYS for load in ("idle", "busy")}
    for (way, load), job in jobs.items():
        found, longer = job.result()
        for what, lines in found.items():
            section.check("%s, GPU %s: %s" % (way, load, what), lines)
        section.figure("%s, GPU %s: ends later by" % (way, load), longer, "s")
