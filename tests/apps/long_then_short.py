"""Ten steps, the first of which holds far more operators than the others together."""
import torch

from descent import Descent

weight = torch.zeros(4, requires_grad=True)
optimizer = Descent([weight], lr=0.01)
for step in range(10):
    optimizer.zero_grad()
    for _ in range(10 if step else 20000):
        torch.ones(4)
    weight.sum().backward()
    optimizer.step()
