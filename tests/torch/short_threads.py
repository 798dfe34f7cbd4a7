"""Threads that live for a moment, one after the other: what tprof kept for one is used again for the next. Each begins with
something that is seen before its first operator: a module called, a backward pass, a label.
"""
import threading

import torch
from torch.autograd.profiler import record_function

net = torch.nn.Linear(2, 2)
x = torch.ones(1, 2)


def forward():
    net(x)


def backward():
    loss.backward()


def label():
    with record_function("mark:label"):
        x.sgn()


def operator():
    x.sgn()


ROUNDS = 5
for _ in range(ROUNDS):
    for begins in (operator, forward, operator, backward, operator, label):
        loss = net(x).sum()
        thread = threading.Thread(target=begins)
        thread.start()
        thread.join()
print("ran")
