"""Runs N iterations of about ten operators and one label each, with no step among them: many_ops.py N"""
import sys

import torch
from torch.autograd.profiler import record_function

x = torch.ones(4)
for i in range(int(sys.argv[1])):
    with record_function("mark:%d" % i):
        for _ in range(5):
            x = x.mul(0.5).add(1)
print("done", int(sys.argv[1]))
