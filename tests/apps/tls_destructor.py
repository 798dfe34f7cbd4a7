"""Operators inside the thread-local destructors of an ending thread: tls_destructor.py LIBRARY"""
import ctypes
import sys

import loop

library = ctypes.CDLL(sys.argv[1])
calls = []


@ctypes.CFUNCTYPE(None, ctypes.c_int)
def callback(number):
    calls.append(number)
    loop.note("pass:%d" % (number + 1))


loop.step(2)
library.arm(callback)
assert library.run_thread() == 0
loop.step(2)
print(calls)
