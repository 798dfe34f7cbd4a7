"""Trains six iterations, goes on in another way while a window may be open, and trains twelve there.

    mid_window.py exec|fork|daemon    labels: mark:<process>:<iteration>
"""
import os
import sys

import torch
from torch.autograd.profiler import record_function

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


torch.set_num_threads(1)
how = sys.argv[1]
if how == "again":
    train("second", 12)
    sys.exit()
train("first", 6)
if how == "exec":
    os.execv(sys.executable, [sys.executable, __file__, "again"])
elif how == "fork":
    child = os.fork()
    if child == 0:
        train("second", 12)
        sys.exit()
    os.waitpid(child, 0)
else:
    end, held = os.pipe()  # closed when the daemon has ended
    if os.fork() == 0:
        os.setsid()
        if os.fork():
            os._exit(0)
        train("second", 12)
        sys.exit()
    os.close(held)
    os.wait()
    os.read(end, 1)
