"""CPU time of one call in ns, less the loop's: the best of many slices of N calls, as JSON.

    python_calls.py N
"""
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


torch.ones(1)
loop = best(nothing_at_all, COUNT)
json.dump({"call": best(calls, COUNT) - loop, "builtin": best(builtins, COUNT) - loop,
           "module": best(modules, COUNT // 10) - loop,
           "events": 3 if hasattr(sys, "monitoring") else 2}, sys.stdout)
