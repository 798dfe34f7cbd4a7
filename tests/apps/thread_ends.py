"""Threads that start, run operators and end while a window is open; some end at the very moment it closes."""
import sys
import threading

import loop
from torch.autograd.profiler import record_function
import torch


def work(thread):
    for i in range(20):
        with record_function("thread:%d" % (thread * 20 + i)):
            torch.ones(2).add(1)


for batch in range(6):
    threads = [threading.Thread(target=work, args=(batch * 5 + k,)) for k in range(5)]
    for thread in threads:
        thread.start()
    loop.step()
    for thread in threads:
        thread.join()
print("done", loop.done)
sys.stdout.flush()
