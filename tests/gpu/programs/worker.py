"""The measured process. Reads commands, one JSON line each, and answers with a JSON line:

    {"do": "slice", "ns": N}      steps for about N ns: their number, wall time of all, CPU time of this thread, in ns
    {"do": "walls", "steps": N}   the wall time of each of N steps, begin to begin, in ns
    {"do": "window", "steps": N, "path": P}   one window of torch.profiler: its stop and its trace, in ns

    worker.py MODEL SIZE [option of torch.profiler, ...]

With options ("plain" alone: none) torch.profiler is on in each slice; its start and stop are not timed.
"""
import contextlib
import ctypes
import gc
import json
import os
import sys
import time

import torch

import models

OPTIONS = [name for name in sys.argv[3:] if name != "plain"]
end_of_step = getattr(ctypes.CDLL(None), "tprof_step", int)


def profiler():
    from torch.profiler import ProfilerActivity, profile
    return profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], **dict.fromkeys(OPTIONS, True))


def timed(what):
    begin = time.perf_counter_ns()
    what()
    return time.perf_counter_ns() - begin


class Loop:
    def __init__(self, step):
        self.step, self.usual = step, 0

    def run(self, steps):
        for _ in range(steps):
            self.step()
            end_of_step()
        torch.cuda.synchronize()

    def slice(self, ns):
        if not self.usual:
            self.run(30)  # compilers, caches, and the first window of a mode that has one
            self.usual = timed(lambda: self.run(10)) / 10
        steps = max(1, round(ns / self.usual))
        gc.collect()
        with profiler() if len(sys.argv) > 3 else contextlib.nullcontext():
            self.run(max(1, steps // 10))
            thread, wall = time.thread_time_ns(), time.perf_counter_ns()
            self.run(steps)
            return {"steps": steps, "thread": time.thread_time_ns() - thread, "wall": time.perf_counter_ns() - wall}

    def walls(self, steps):
        stamps = [time.perf_counter_ns()]
        for _ in range(steps):
            self.step()
            end_of_step()
            stamps.append(time.perf_counter_ns())
        return [b - a for a, b in zip(stamps, stamps[1:])]

    def window(self, steps, path):
        watcher = profiler()
        watcher.__enter__()
        self.run(steps)
        stop = timed(lambda: watcher.__exit__(None, None, None))
        return {"stop": stop, "export": timed(lambda: watcher.export_chrome_trace(path))}


def main():
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever else is printed must not stand among the answers
    gc.disable()   # between slices only
    torch.manual_seed(0)
    loop = Loop(models.MODELS[sys.argv[1]](sys.argv[2]))
    print(json.dumps({"ready": True}), file=answers, flush=True)
    for line in sys.stdin:
        command = json.loads(line)
        print(json.dumps(getattr(loop, command.pop("do"))(**command)), file=answers, flush=True)


if __name__ == "__main__":
    main()
