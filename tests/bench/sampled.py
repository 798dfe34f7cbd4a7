"""A training step with much Python in it, beside threads that wait; prints the median step in us.

    sampled.py THREADS STEPS
"""
import statistics
import sys
import threading
import time

import torch

torch.set_num_threads(1)
over = threading.Event()
for _ in range(int(sys.argv[1]) - 1):
    threading.Thread(target=over.wait, daemon=True).start()
model = torch.nn.Linear(64, 64)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
times = []
for _ in range(int(sys.argv[2])):
    begin = time.perf_counter()
    batch = torch.tensor([float((v * 31 + 7) % 11) for v in range(20000)][:64])
    optimizer.zero_grad()
    model(batch).sum().backward()
    optimizer.step()
    times.append(time.perf_counter() - begin)
over.set()
print(statistics.median(times) * 1e6)
