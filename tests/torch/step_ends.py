"""Eight steps without a loader, and an end as the word says:
    sleep     nothing for half a second
    killed    SIGKILL between the backward pass and the update of the ninth step
    slept     SIGKILL after a long sleep
    stopped   tprof_stop() behind the eighth update
    gap       recording begins (tprof_start()) after four steps, between two epochs
    inside    ... in the middle of the fifth step
    labels    each step is in a label, which ends with a log (aten::cos); behind it is a save (aten::sin)"""
import contextlib
import ctypes
import os
import signal
import sys
import time

import torch

torch.set_num_threads(1)
word = sys.argv[1]
tprof = ctypes.CDLL(None)
net = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
one = torch.ones(4)


def step(between=lambda: None):
    optimizer.zero_grad()
    net(torch.ones(2, 4)).sum().backward()
    between()
    optimizer.step()


for i in range(8):
    if word == "gap" and i == 4:
        time.sleep(0.2)
        tprof.tprof_start()
        torch.ones(4).sum()
        time.sleep(0.2)
    with torch.profiler.record_function("iteration %d" % i) if word == "labels" else contextlib.nullcontext():
        step(tprof.tprof_start if word == "inside" and i == 4 else lambda: None)
        if word == "labels":
            one.cos()
    if word == "labels":
        one.sin()
if word in ("sleep", "slept"):
    time.sleep(0.5)
    torch.ones(4).sum()
if word == "slept":
    os.kill(os.getpid(), signal.SIGKILL)
if word == "killed":
    step(lambda: os.kill(os.getpid(), signal.SIGKILL))
if word == "stopped":
    tprof.tprof_stop()
    time.sleep(0.3)
