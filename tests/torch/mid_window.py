"""Trains six iterations, goes on in another way while a window may be open, and trains twelve there.

    mid_window.py exec|fork|daemon [ENDING]    labels: mark:<process>:<iteration>; ENDING: see endings.py in tests/apps
"""
import os
import pathlib
import sys

import torch
from torch.autograd.profiler import record_function

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "apps"))
import endings  # noqa: E402

net = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)


def train(process, iterations):
    for i in range(iterations):
        optimizer.zero_grad()
        with record_function("mark:%s:%d" % (process, i)):
            net(torch.ones(2, 4)).sum()
        for p in net.parameters():
            p.grad = torch.ones_like(p)  # torch refuses backward passes in a child if there was one before the fork
        optimizer.step()


def second():
    train("second", 12)
    endings.end(ending)
    sys.exit()


torch.set_num_threads(1)
how, ending = (sys.argv[1:] + ["exit"])[:2]
if how == "again":
    second()
train("first", 6)
if how == "exec":
    os.execv(sys.executable, [sys.executable, __file__, "again", ending])
elif how == "fork":
    child = os.fork()
    if child == 0:
        second()
    os.waitpid(child, 0)
else:
    end, held = os.pipe()  # closed when the daemon has ended
    if os.fork() == 0:
        os.setsid()
        if os.fork():
            os._exit(0)
        second()
    os.close(held)
    os.wait()
    os.read(end, 1)
