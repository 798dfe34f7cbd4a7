"""Ranges with every kind of name; prints the names in the order in which they were used.

Operators of libraries that come and go: a new one may be registered where one before it stood in memory. None has the
name of an earlier one: torch.ops would call that one, which is gone. Labels: short and long ones, and many that differ
little, each made anew for its call.
"""
import gc

import torch
from torch.autograd.profiler import record_function

used = []


def label(*parts):
    text = "".join(parts)
    used.append(text)
    with record_function(text):
        torch.ones(2)


def come_and_go(count):
    for i in range(count):
        library = torch.library.Library("coming", "DEF")
        library.define("op%d(Tensor x) -> Tensor" % i)
        library.impl("op%d" % i, lambda x: x + 1, "CPU")
        used.append("coming::op%d" % i)
        getattr(torch.ops.coming, "op%d" % i)(torch.ones(2))
        del library
        gc.collect()


come_and_go(12)
for n in (1, 7, 8, 9, 15, 16, 17, 119, 120, 121, 300):
    for end in "ab":
        label("x" * (n - 1), end)
        label(end, "x" * (n - 1))
for i in range(2000):
    label("step %d of this loop" % (i % 700))
print("\n".join(used))
