"""A signal that arrives while a profiler works: handled.py raises|interrupts. Its handler's exception ends the training.
`fails`: no signal, but torch itself fails a profiler that asks it, which is nothing to the program.

The moment is made by a function of torch's that a profiler asks when it begins to record, and else only torch.
"""
import os
import signal
import sys

import torch

from descent import Descent


class Stop(Exception):
    pass


def stop(*_):
    raise Stop


def asked():
    if not sys._getframe(1).f_code.co_filename.startswith(TORCH):
        if sys.argv[1] == "fails":
            raise RuntimeError("not yet")
        os.kill(os.getpid(), wanted)
    return False


TORCH = os.path.dirname(torch.__file__)
wanted = signal.SIGUSR1 if sys.argv[1] == "raises" else signal.SIGINT
signal.signal(signal.SIGUSR1, stop)
torch.distributed.is_available = asked
net = torch.nn.Linear(2, 2)
optimizer = Descent(net.parameters(), lr=0.1)
try:
    for step in range(20):
        net(torch.ones(1, 2)).sum().backward()
        optimizer.step()
    print("to the end")
except (Stop, KeyboardInterrupt) as error:
    print(repr(error))
