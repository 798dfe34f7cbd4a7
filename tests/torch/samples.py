"""Python that takes known shares of the time: four functions in each step, of which one computes, one calls C, one
sleeps and one calls a function that is over at once. What they really took is printed as JSON.

    samples.py SECONDS [ENDING]     ENDING: fall, kill, exec, fork, deep, threads
"""
import json
import os
import signal
import sys
import threading
import time

import torch

SHARES = {"computes": 0.60, "calls_c": 0.25, "sleeps": 0.10, "calls": 0.05}
STEP = 0.0317
TEXT = "a,b;c" * 2000


def computes(end):
    x = 0
    while time.perf_counter() < end:
        for i in range(300):
            x += i * i


def calls_c(end):
    while time.perf_counter() < end:
        sorted(TEXT)


def sleeps(end):
    time.sleep(max(0, end - time.perf_counter()))


def calls(end):
    while time.perf_counter() < end:
        is_over_at_once()


def is_over_at_once():
    return 1


def deep(n, end):
    if n:
        return deep(n - 1, end)
    computes(end)


def waits(event):
    event.wait()


def main(seconds, ending):
    model = torch.nn.Linear(4, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    spent = dict.fromkeys(SHARES, 0.0)
    over = threading.Event()
    if ending == "threads":
        for _ in range(15):
            threading.Thread(target=waits, args=(over,), daemon=True).start()
    stop = time.perf_counter() + seconds
    while time.perf_counter() < stop:
        at = time.perf_counter()
        if ending == "deep":
            deep(10000, at + 4 * STEP)  # to get there and back takes a slow machine a part of it
        for name, share in SHARES.items():
            if ending == "deep":
                break
            begin = time.perf_counter()
            globals()[name](begin + STEP * share)
            spent[name] += time.perf_counter() - begin
        optimizer.zero_grad()
        model(torch.ones(2, 4)).sum().backward()
        optimizer.step()
        if ending == "fork" and os.fork() == 0:
            os._exit(0)
    over.set()
    print(json.dumps(spent), flush=True)
    if ending == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if ending == "exec":
        os.execv("/bin/sleep", ["sleep", "1"])


sys.setrecursionlimit(20000)
threading.stack_size(64 << 20)
runner = threading.Thread(target=main, args=(float(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "fall"))
if sys.argv[2:] == ["deep"]:  # of Python before 3.11 frames take the stack of the thread
    runner.start()
    runner.join()
else:
    runner.run()
