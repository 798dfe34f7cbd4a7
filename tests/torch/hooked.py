"""Functions that tprof hooks: `look` prints what a program can see of them, `forwards` calls modules that fail."""
import ctypes
import inspect
import os
import sys
import traceback

if sys.argv[1] == "unknown":
    sys.abiflags += "t"  # says of itself that it is laid out otherwise

import torch
from torch.utils.data.dataloader import _BaseDataLoaderIter

RANGE = torch.autograd.profiler.record_function
HOOKED = [torch.nn.Module.__call__, torch.autograd.grad, RANGE.__enter__, RANGE.__exit__,
          _BaseDataLoaderIter.__next__]


class Fails(torch.nn.Module):
    def forward(self, x):
        raise KeyError(x)


class Deep(torch.nn.Module):
    def forward(self, n):
        return 1 + self(n - 1) if n else 0


def raised(call, *args, **kwargs):
    """The error, and the functions it went through."""
    try:
        call(*args, **kwargs)
    except Exception as error:
        return repr(error), [(frame.name, frame.filename) for frame in traceback.extract_tb(error.__traceback__)]


def look():
    for function in HOOKED:
        print(type(function), function.__qualname__, inspect.signature(function), sorted(vars(function)))
    print(raised(torch.nn.Sequential(Fails()), 1))
    print(raised(torch.nn.Module.__call__))
    print(raised(torch.nn.Identity(), unknown=1))
    print(torch.nn.Identity()(torch.ones(1)), Deep()(60))
    if sys.version_info >= (3, 12):  # before, a function of tprof's own stands around it
        print(raised(torch.autograd.backward, torch.ones(1)))
    print(raised(torch.autograd.grad, outputs=torch.ones(1), inputs=torch.ones(1)))
    with RANGE("a") as label:
        print(label.name)
    print(raised(RANGE.__enter__))
    print(raised(RANGE.__exit__))
    calls = []
    sys.setprofile(lambda frame, what, _: calls.append((what, frame.f_code.co_name)))
    torch.nn.Identity()(1)
    sys.setprofile(None)
    print(calls)


def forwards():
    """Nothing but forwards, of which every other one fails inside."""
    good, bad = torch.nn.Sequential(torch.nn.Linear(2, 2)).eval(), torch.nn.Sequential(Fails()).eval()
    for step in range(6):
        with torch.no_grad():
            good(torch.ones(1, 2))
        raised(bad, step)


def is_hooked():
    call_of = ctypes.pythonapi.PyVectorcall_Function
    call_of.argtypes, call_of.restype = [ctypes.py_object], ctypes.c_void_p
    return call_of(torch.nn.Module.__call__) != call_of(is_hooked)


class Forks(torch.nn.Module):
    def forward(self, x):
        child = os.fork()
        if child == 0:
            print(is_hooked(), flush=True)
            os._exit(0)
        os.waitpid(child, 0)
        return x


def forked():
    """Whether module calls are hooked in a child that was forked inside one, and which its parent's hook left alone."""
    net = torch.nn.Linear(2, 2)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        net(torch.ones(1, 2)).sum().backward()
        optimizer.step()
    Forks()(1)


{"unknown": forwards, "look": look, "forked": forked, "forwards": forwards}[sys.argv[1]]()
