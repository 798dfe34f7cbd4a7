"""Five steps after some setup, and two seconds of nothing before the end."""
import time

import torch
from torch.autograd.profiler import record_function

torch.set_num_threads(1)
with record_function("setup"):
    weights = torch.randn(64, 64).softmax(0)
net = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(5):
    optimizer.zero_grad()
    net(torch.ones(2, 4)).sum().backward()
    optimizer.step()
time.sleep(2)
