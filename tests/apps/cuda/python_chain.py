"""python_chain.py LIBRARY: calls into CUDA below Python functions, some called by Python, one by a function written in C."""
import ctypes
import sys

import torch  # with it, tprof knows the interpreter's frames

library = ctypes.CDLL(sys.argv[1])


def inner():
    library.run()
    return 0


def middle(n):
    return inner() + n


def outer():
    return list(map(middle, [1]))


torch.ones(2).sum()
print(outer())
