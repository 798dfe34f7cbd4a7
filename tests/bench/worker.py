"""The measured process. Reads commands, one JSON line each, and answers with a JSON line:

    {"do": "slice", "steps": N}      CPU of this thread, CPU of the process and wall time of N steps, in ns; "warm": M
                                     steps go before and are not timed: the caches were others' meanwhile
    {"do": "walls", "steps": N}      the wall time of each of N steps, in ns
    {"do": "count", "steps": N}      RecordFunction events in N steps (mode count)
    {"do": "rss"}                    VmRSS and RssAnon in bytes
    {"do": "window", "steps": N, "path": P}   one window of torch.profiler and its trace

    worker.py WATCHER CALLBACK_LIBRARY loader|plain
"""
import gc
import json
import os
import sys
import time

import torch

import rivals
import workload


def slice_of(step, watcher, steps, warm=3):
    gc.collect()
    watcher.begin()
    for _ in range(warm):
        step()
    process, wall, thread = time.process_time_ns(), time.perf_counter_ns(), time.thread_time_ns()
    for _ in range(steps):
        step()
    thread, wall, process = (time.thread_time_ns() - thread, time.perf_counter_ns() - wall,
                             time.process_time_ns() - process)
    watcher.end()
    return {"thread": thread, "wall": wall, "process": process}


def walls_of(step, steps):
    stamps = [time.perf_counter_ns()]
    for _ in range(steps):
        step()
        stamps.append(time.perf_counter_ns())
    return [b - a for a, b in zip(stamps, stamps[1:])]


def count_of(step, watcher, steps):
    before = watcher.count()
    for _ in range(steps):
        step()
    return watcher.count() - before


def main():
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever else is printed must not stand among the answers
    gc.disable()   # between slices only
    watcher = rivals.watcher(sys.argv[1], sys.argv[2])
    step = workload.loop(loader=sys.argv[3] == "loader")
    do = {
        "slice": lambda **how: slice_of(step, watcher, **how),
        "walls": lambda steps: walls_of(step, steps),
        "count": lambda steps: count_of(step, watcher, steps),
        "rss": lambda: {name: rivals.resident_bytes(name) for name in ("VmRSS", "RssAnon")},
        "window": lambda steps, path: rivals.one_window(step, steps, path),
    }
    print(json.dumps({"torch": torch.__version__, "kineto": rivals.has_kineto()}), file=answers, flush=True)
    for line in sys.stdin:
        command = json.loads(line)
        print(json.dumps(do[command.pop("do")](**command)), file=answers, flush=True)


if __name__ == "__main__":
    main()
