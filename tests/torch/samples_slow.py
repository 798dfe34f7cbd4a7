"""A training that prepares its batches in a list comprehension, which takes 92 % of a step."""
import time

import torch


def slow(values, seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        values = [float((v * 31 + 7) % 11) for v in values]  # the line
    return values


model = torch.nn.Linear(64, 64)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
step = 0.05
for _ in range(60):
    begin = time.perf_counter()
    batch = torch.tensor(slow([float(i) for i in range(2000)], 0.92 * step))[:64]
    while time.perf_counter() < begin + step:
        optimizer.zero_grad()
        model(batch).sum().backward()
        optimizer.step() if time.perf_counter() > begin + 0.98 * step else None
