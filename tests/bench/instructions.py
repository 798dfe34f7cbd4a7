"""Trains a few steps inside bench_counted() of libbench_callbacks.so, which callgrind is told to count.

    instructions.py LIBRARY STEPS    prints nothing; valgrind's output file has the count
"""
import ctypes
import gc
import os
import sys

import workload

library, steps = ctypes.CDLL(sys.argv[1]), int(sys.argv[2])
step = workload.loop(loader=True)


@ctypes.CFUNCTYPE(None)
def counted():
    for _ in range(steps):
        step()


for _ in range(12):  # what runs for the first time, and the windows of the mode "over"
    step()
gc.collect()
gc.disable()
library.bench_within(counted)
os._exit(0)  # under valgrind tearing Python down takes longer than all the rest
