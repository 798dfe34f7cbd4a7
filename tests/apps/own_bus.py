"""A program that has a use for SIGBUS itself: own_bus.py WHEN WHAT HOW

WHEN: it says what is to be done on SIGBUS before torch is loaded, or after operators have run (after).
WHAT: nothing, python (signal.signal), faulthandler, ignored, or ended (faulthandler on and off again).
HOW: last, a page of a file that it has cut off itself is read (fault), or SIGBUS is sent (sent).
"""
import faulthandler
import mmap
import os
import signal
import sys
import tempfile
import time

when, what, how = sys.argv[1:]


def arrange():
    if what == "python":
        print("before", signal.getsignal(signal.SIGBUS), signal.signal(signal.SIGBUS, lambda *a: print("caught", a[0])))
    elif what == "faulthandler":
        faulthandler.enable(sys.stdout, all_threads=False)
    elif what == "ended":
        faulthandler.enable(sys.stdout, all_threads=False)
        faulthandler.disable()
    elif what == "ignored":
        signal.signal(signal.SIGBUS, signal.SIG_IGN)


if when == "before":
    arrange()
import torch  # noqa: E402


def work():
    x = torch.ones(4)
    for _ in range(500):
        x = x.mul(0.5).add(1)
    return float(x.sum())


print(work())
if when == "after":
    arrange()
print(work(), signal.getsignal(signal.SIGBUS) == signal.SIG_DFL, flush=True)
if how == "fault":
    file = tempfile.TemporaryFile()
    file.truncate(8192)
    mapped = mmap.mmap(file.fileno(), 8192)
    os.truncate(file.fileno(), 0)
    if what == "python":  # its handler would be called for ever
        signal.signal(signal.SIGBUS, signal.SIG_DFL)
    print(mapped[4096], flush=True)
os.kill(os.getpid(), signal.SIGBUS)
time.sleep(0.1)
print(work())
