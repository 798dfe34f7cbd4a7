"""Counts the DeprecationWarnings (os.fork in a process with threads, Python 3.12 on) of os.fork in each phase.

Steps are made by a forward and an optimizer: the first backward would start a thread of torch's own, and warn as bare.
Phases as in loop.py, for TPROF_STEP=optimizer.
"""
import os
import sys
import warnings

import torch

from descent import Descent

torch.set_num_threads(1)
layer = torch.nn.Linear(4, 1)
optimizer = Descent([layer.weight], lr=0.1)
counts = []


def fork(phase):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        pid = os.fork()
        if pid == 0:
            os._exit(0)
        os.waitpid(pid, 0)
    counts.append((phase, len(caught)))


fork("start")
for step in range(11):
    layer(torch.ones(4))
    layer.weight.grad = torch.ones(1, 4)
    optimizer.step()
    for _ in range(3):
        with torch.no_grad():
            layer.weight.add(1)
        fork(step)
fork("end")
print(sum(n for _, n in counts), "warnings", [c for c in counts if c[1]], file=sys.stderr)
print(sum(n for _, n in counts))
