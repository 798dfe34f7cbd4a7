"""Many threads, each in Python with operators, recursion, exceptions, generators and code that is made and freed: what
the walk along their frames must survive.

    stress_stacks.py THREADS SECONDS
"""
import itertools
import sys
import threading
import time

import torch

x = torch.ones(2)


def recurses(n):
    return recurses(n - 1) if n else x.sgn()


def raises(n):
    try:
        if n:
            raises(n - 1)
        x.sgn()
        raise KeyError(n)
    except KeyError:
        x.sgn()
        if n % 3:
            raise
    finally:
        x.neg()


def generates(n):
    for _ in range(n):
        yield x.sgn()
        yield from (x.neg() for _ in range(2))


def executes(n):
    exec(compile('\n' * (n % 11) + 'def f%d(): return x.sgn()\nf%d()' % (n % 7, n % 7), '<%d>' % (n % 5), 'exec'), {'x': x})


class Collected:
    """Runs an operator wherever the collector happens to end it."""

    def __init__(self):
        self.me = self

    def __del__(self):
        x.abs()


def backward():
    w = torch.ones(2, requires_grad=True)
    (w * 2).sum().backward()


def work(until, counts):
    for n in itertools.count():
        if time.monotonic() > until:
            counts.append(n)
            return
        recurses(n % 400)
        try:
            raises(n % 20)
        except KeyError:
            pass
        half_done = generates(5)
        next(half_done)
        list(generates(3))
        executes(n)
        Collected()
        sorted(range(4), key=lambda k: float(x.sgn()[0]) * k)
        backward()


def recurses_and_sleeps(depth):
    x.sgn()
    if depth:
        recurses_and_sleeps(depth - 1)
    time.sleep(3600)


def churn(until):
    """Threads that live for a moment."""
    while time.monotonic() < until:
        threads = [threading.Thread(target=recurses, args=(5,)) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()


def main(threads, seconds):
    sys.setswitchinterval(1e-4)
    torch.set_num_threads(1)
    until = time.monotonic() + seconds
    counts = []
    working = [threading.Thread(target=work, args=(until, counts)) for _ in range(threads)]
    working.append(threading.Thread(target=churn, args=(until,)))
    for t in working:
        t.start()
    for t in working:
        t.join()
    # Ones that still stand in a call when the interpreter ends. (Not in an operator: torch itself aborts then.)
    for _ in range(2):
        threading.Thread(target=recurses_and_sleeps, args=(50,), daemon=True).start()
    time.sleep(0.05)
    print("rounds by %d threads" % len(counts), flush=True)


if __name__ == '__main__':
    main(int(sys.argv[1]), float(sys.argv[2]))
