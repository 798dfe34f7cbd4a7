"""A training loop of N steps with a label mark:<i> in each; then ends in the way named.

    train.py STEPS [ENDING]   ENDING: see endings.py
Prints how many steps it completed before it ends. TRAIN_PAUSE: seconds to sleep in each step.
TRAIN_HOLD: after the last step, print "ready" and go on, slowly, until this file exists.
"""
import os
import sys
import time

import torch
from torch.autograd.profiler import record_function

import endings
from descent import Descent

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))
optimizer = Descent(net.parameters(), lr=0.01)
inputs, targets = torch.randn(4, 8), torch.randn(4, 4)
done = 0


def step():
    global done
    optimizer.zero_grad()
    with record_function("mark:%d" % done):
        loss = ((net(inputs) - targets) ** 2).mean()
    loss.backward()
    optimizer.step()
    done += 1
    time.sleep(float(os.environ.get("TRAIN_PAUSE", 0)))


for _ in range(int(sys.argv[1])):
    step()
if "TRAIN_HOLD" in os.environ:
    print("ready", flush=True)
    while not os.path.exists(os.environ["TRAIN_HOLD"]):
        step()
        time.sleep(0.01)
ending = sys.argv[2] if len(sys.argv) > 2 else "fall"
print("done", done, flush=True)
endings.end(ending)
