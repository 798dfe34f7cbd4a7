"""What tprof is compared with, inside the measured process: callbacks of callbacks.cpp, and torch.profiler.

A watcher has begin() and end() around each slice, both outside of what is timed.
"""
import ctypes
import gzip
import os
import shutil
import time

import torch

TORCH_OPTIONS = {
    "torch_plain": {},
    "torch_shapes": {"record_shapes": True},
    "torch_full": {"record_shapes": True, "profile_memory": True},
    "torch_everything": {"record_shapes": True, "profile_memory": True, "with_stack": True},
}


CALLBACK_OPTIONS = {
    "empty": {},
    "empty_inputs": {"needs_inputs": True},
    "empty_backward": {"scopes": 1 << 1 | 1 << 7},  # backward nodes and labels, what tells steps
    "count": {"counts": True},
}


def mapped_torch():
    """The libtorch_cpu.so of this process."""
    with open("/proc/self/maps") as maps:
        path = next(line.split()[-1] for line in maps if "/libtorch_cpu.so" in line)
    return ctypes.CDLL(path, mode=os.RTLD_NOLOAD | os.RTLD_LOCAL | os.RTLD_NOW)


class Nobody:
    def begin(self):
        pass

    def end(self):
        pass


class Callback(Nobody):
    """A callback that does nothing, from now on."""

    def __init__(self, library, scopes=1023, needs_inputs=False, counts=False):
        self.library = ctypes.CDLL(library)
        self.library.bench_count.restype = ctypes.c_uint64
        add = mapped_torch()._ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE
        self.library.bench_listen(ctypes.cast(add, ctypes.c_void_p), scopes, needs_inputs, counts)

    def count(self):
        return self.library.bench_count()


class TorchProfiler:
    """A fresh profiler for each slice, in memory that is fresh too: what the last one used goes back to the system."""

    def __init__(self, options):
        self.options = options
        self.give_back = ctypes.CDLL(None).malloc_trim

    def begin(self):
        self.profiler = new_profiler(**self.options)
        self.profiler.__enter__()

    def end(self):
        self.profiler.__exit__(None, None, None)
        self.profiler = None
        self.give_back(0)


def new_profiler(**options):
    """torch.profiler on the CPU; the older autograd profiler where torch was built without Kineto."""
    if has_kineto():
        return torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], **options)
    return torch.autograd.profiler.profile(use_kineto=False, **options)


def has_kineto():
    return torch.autograd.kineto_available()


def watcher(name, library):
    if name.startswith("torch_"):
        return TorchProfiler(TORCH_OPTIONS[name])
    if name:
        return Callback(library, **CALLBACK_OPTIONS[name])
    return Nobody()


def resident_bytes(field="VmRSS"):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) << 10 for line in status if line.startswith(field + ":"))


def one_window(step, steps, path):
    """A window of torch.profiler and its trace, .json or .json.gz: stop and export as (wall s, CPU s), the growth of
    memory at the stop, the size of the trace."""
    def cost(what):
        wall, cpu = time.perf_counter(), time.process_time()
        what()
        return time.perf_counter() - wall, time.process_time() - cpu

    def export():
        if has_kineto() or not path.endswith(".gz"):
            return profiler.export_chrome_trace(path)
        profiler.export_chrome_trace(path[:-3])  # the older one compresses nothing
        with open(path[:-3], "rb") as source, gzip.open(path, "wb") as target:
            shutil.copyfileobj(source, target)

    profiler = new_profiler()
    before = resident_bytes()
    profiler.__enter__()
    for _ in range(steps):
        step()
    stop = cost(lambda: profiler.__exit__(None, None, None))
    growth = resident_bytes() - before
    return {"stop": stop, "rss": growth, "export": cost(export), "bytes": os.path.getsize(path)}
