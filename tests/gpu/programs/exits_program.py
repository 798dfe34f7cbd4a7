"""STEPS steps of one matrix product each, all of them finished; then this program ends in the given way.

    exits_program.py WAY idle|busy

busy: a kernel of about a second is in flight at the end. Before a death that nothing can be done about the program
waits two seconds, in which a profiler may bring home what is finished.
"""
import ctypes
import os
import signal
import sys
import time

import torch
from torch.autograd.profiler import record_function

STEPS = 6


def segv():
    ctypes.string_at(0)


def uncaught():
    raise RuntimeError("on purpose")


# way: (how, whether the process dies without passing an exit)
WAYS = {
    "return": (lambda: None, False),
    "sys_exit": (lambda: sys.exit(3), False),
    "os_exit": (lambda: os._exit(4), False),
    "exception": (uncaught, False),
    "sigterm": (lambda: os.kill(os.getpid(), signal.SIGTERM), True),
    "sigkill": (lambda: os.kill(os.getpid(), signal.SIGKILL), True),
    "sigsegv": (segv, True),
}


def main():
    way, dies = WAYS[sys.argv[1]]
    end_of_step = getattr(ctypes.CDLL(None), "tprof_step", int)
    x = torch.randn(256, 256, device="cuda")
    for i in range(STEPS):
        with record_function("mark:%d" % i):
            x = torch.mm(x, x).clamp(-1, 1)
        end_of_step()
    torch.cuda.synchronize()
    if dies:
        time.sleep(2)
    if sys.argv[2] == "busy":
        torch.cuda._sleep(1_500_000_000)
    print("trained", flush=True)
    way()


if __name__ == "__main__":
    main()
