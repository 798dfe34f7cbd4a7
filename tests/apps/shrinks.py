"""Does something to its own recording while three threads run operators: shrinks.py WAY [ENDING]

WAY: empty, half, rewrite (a copy of it, written over it), delete, move, or nothing. ENDING: fall, SIGKILL.
SHRINKS_FORK: a child runs operators too, before and after. Without a recording nothing is done to it.
SHRINKS_BLOCKED: all threads block all signals, as in a program that takes them with sigwait(); one is sent.
"""
import glob
import os
import shutil
import signal
import sys
import threading

import torch
from torch.autograd.profiler import record_function

torch.set_num_threads(1)
way, ending = sys.argv[1], (sys.argv[2:] + ["fall"])[0]
forks, blocked = "SHRINKS_FORK" in os.environ, "SHRINKS_BLOCKED" in os.environ
sums = [0.0] * 3
between = threading.Barrier(len(sums) + 1)


def work(begin, end):
    x = torch.ones(4)
    for i in range(begin, end):
        with record_function("mark:%d" % i):
            x = x.mul(0.5).add(1)
    return float(x.sum())


def thread(number):
    work(0, 1500)
    between.wait()
    between.wait()
    sums[number] = work(1500, 6000)


def spoil():
    for path in glob.glob("%s/*_%d.*.tprof" % (os.environ.get("TPROF_LOGDIR", "/nowhere"), os.getpid())):
        if way == "empty":
            os.truncate(path, 0)
        elif way == "half":
            os.truncate(path, 65536 + 524288 + 100000)
        elif way == "rewrite":
            shutil.copy(path, path + ".copy")
            with open(path, "wb") as file:
                work(0, 500)
                with open(path + ".copy", "rb") as copy:
                    shutil.copyfileobj(copy, file)
            os.remove(path + ".copy")
        elif way == "delete":
            os.remove(path)
        elif way == "move":
            os.rename(path, path + ".moved")


if blocked:
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
work(0, 100)
if forks:
    go, ready = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        work(0, 1000)
        os.write(ready[1], b"1")
        os.read(go[0], 1)
        total = work(1000, 2000)
        os._exit(7 if total == 8.0 else 1)
    os.read(ready[0], 1)
threads = [threading.Thread(target=thread, args=(i,)) for i in range(len(sums))]
for t in threads:
    t.start()
between.wait()
if blocked:
    os.kill(os.getpid(), signal.SIGBUS)
    work(0, 100)
    print("waited for", signal.sigwait([signal.SIGBUS]).name)
spoil()
between.wait()
for t in threads:
    t.join()
if forks:
    os.write(go[1], b"1")
    print("child", os.waitpid(child, 0)[1])
if blocked:
    print("blocks", sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])))
print("done", sums, work(0, 100), flush=True)
if ending.startswith("SIG"):
    os.kill(os.getpid(), getattr(signal, ending))
