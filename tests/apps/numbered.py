"""Operators with a number each, as their scalar argument: aten::fill_ of 0, 1, 2 ... A step is a hundred of them.

    numbered.py PROGRESS COUNT [ENDING]   ENDING: see endings.py
PROGRESS: a file that holds how many are complete (8 bytes), also after a death. COUNT 0: for ever.
NUMBERED_HOLD: after COUNT of them, print "ready" and wait until this file exists. NUMBERED_STEPS=0: no steps.
NUMBERED_STEP: how many are a step (100). NUMBERED_PAUSE: seconds to sleep in each step.
NUMBERED_SLOW: "STEP SECONDS", more of them in this one. NUMBERED_OOM: the step in which an
allocation fails.
"""
import ctypes
import mmap
import os
import struct
import sys
import time

import torch

import endings

library = ctypes.CDLL(None)
step = getattr(library, "tprof_step", None) if os.environ.get("NUMBERED_STEPS") != "0" else None
per_step = int(os.environ.get("NUMBERED_STEP", 100))
pause = float(os.environ.get("NUMBERED_PAUSE", 0))
slow_step, slow_seconds = map(float, os.environ.get("NUMBERED_SLOW", "-1 0").split())
oom_step = int(os.environ.get("NUMBERED_OOM", -1))
path, count = sys.argv[1], int(sys.argv[2])
with open(path, "w+b") as file:
    file.truncate(8)
    progress = mmap.mmap(file.fileno(), 8)
x = torch.zeros(1)
done = 0
while count == 0 or done < count:
    x.fill_(done)
    done += 1
    progress[:] = struct.pack("<q", done)
    if done % per_step == 0:
        if pause:
            time.sleep(pause)
        if done // per_step == slow_step:
            time.sleep(slow_seconds)
        if done // per_step == oom_step:
            try:
                torch.empty(1 << 58, dtype=torch.uint8)
            except RuntimeError:
                pass
        if step:
            step()
if "NUMBERED_HOLD" in os.environ:
    print("ready", flush=True)
    while not os.path.exists(os.environ["NUMBERED_HOLD"]):
        time.sleep(0.01)
print("done", done, flush=True)
endings.end(sys.argv[3] if len(sys.argv) > 3 else "fall")
