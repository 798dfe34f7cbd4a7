"""CPU time of one call in ns, less the loop's: the best of many slices of N calls, as JSON.

    python_calls.py N [LIBRARY]

LIBRARY: libbench_callbacks.so, to be told of every call (by sys.monitoring, before 3.12 as a profile function) and do
nothing.
"""
import ctypes
import json
import sys
import time

import torch

COUNT = int(sys.argv[1])


class Passes(torch.nn.Module):
    def forward(self, x):
        return x


def nothing():
    pass


def calls(n):
    for _ in range(n):
        nothing()


def builtins(n):
    for _ in range(n):
        len("")


def modules(n, module=Passes()):
    for _ in range(n):
        module(1)


def nothing_at_all(n):
    for _ in range(n):
        pass


def best(function, n, slices=100):
    spent = []
    for _ in range(slices):
        begin = time.thread_time_ns()
        function(n)
        spent.append(time.thread_time_ns() - begin)
    return min(spent) / n


class Definition(ctypes.Structure):
    """PyMethodDef"""
    _fields_ = [("name", ctypes.c_char_p), ("call", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p)]


FASTCALL = 0x80


def listen_for_nothing(library):
    global ignore_definition  # a function refers to it
    library = ctypes.CDLL(library)
    if not hasattr(sys, "monitoring"):
        ctypes.pythonapi.PyEval_SetProfile(library.bench_python_profile, None)
        return
    call = ctypes.cast(library.bench_python_ignore, ctypes.c_void_p)
    ignore_definition = Definition(b"ignore", call, FASTCALL, None)
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.argtypes, make.restype = (ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p), ctypes.py_object
    ignore = make(ctypes.addressof(ignore_definition), None, None)
    monitoring, events = sys.monitoring, sys.monitoring.events
    monitoring.use_tool_id(monitoring.PROFILER_ID, "nothing")
    for event in (events.PY_START, events.PY_RETURN, events.CALL, events.C_RETURN):
        monitoring.register_callback(monitoring.PROFILER_ID, event, ignore)
    monitoring.set_events(monitoring.PROFILER_ID, events.PY_START | events.PY_RETURN | events.CALL)


torch.ones(1)
if len(sys.argv) > 2:
    listen_for_nothing(sys.argv[2])
loop = best(nothing_at_all, COUNT)
json.dump({"call": best(calls, COUNT) - loop, "builtin": best(builtins, COUNT) - loop,
           "module": best(modules, COUNT // 10) - loop,
           "events": 3 if hasattr(sys, "monitoring") else 2}, sys.stdout)
