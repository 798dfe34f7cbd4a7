"""A few of each kind of operator whose arguments are known.

    zoo.py              runs them
    zoo.py compare OUT  runs them inside torch.profiler too, which writes OUT: what tprof must agree with
"""
import sys
import threading

import torch
from torch import nn
from torch.autograd.profiler import record_function

torch.manual_seed(0)
torch.set_num_threads(1)


def known():
    with record_function("known"):
        torch.mm(torch.ones(3, 4), torch.ones(4, 5))
        torch.add(torch.ones(2, 2), torch.ones(2, 2), alpha=3)
        torch.cat([torch.ones(2, 2), torch.ones(2, 3)], 1)
        torch.ones(2, 3, dtype=torch.float64).t().contiguous()
        torch.arange(6, dtype=torch.int64).view(2, 3).sum(1)
        torch.ones(4, dtype=torch.bool).any()
        torch.ones(4).half().float()


def model():
    net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                        nn.Linear(4, 2))
    optimizer = torch.optim.Adam(net.parameters())
    for _ in range(3):
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(torch.randn(2, 3, 8, 8)), torch.tensor([0, 1])).backward()
        optimizer.step()


def other_thread():
    def work():
        with record_function("elsewhere"):
            torch.ones(2).mul(2)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


def everything():
    with record_function("zoo"):
        known()
        model()
    other_thread()


model()  # whatever happens only once
if len(sys.argv) > 1:
    from torch.profiler import ProfilerActivity, profile
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as p:
        everything()
    p.export_chrome_trace(sys.argv[2])
else:
    everything()
print("ran")
