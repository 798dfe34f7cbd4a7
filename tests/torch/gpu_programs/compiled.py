"""torch.compile: Triton's kernels, made by ptxas for the simulated device; `reduce-overhead` also captures graphs."""
import sys

import torch
import torch.nn as nn
from shared import told

STEPS = 6


def main(mode):
    model = nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.LayerNorm(128), nn.Linear(128, 8)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    compiled = torch.compile(model, mode=mode)
    for _ in range(STEPS):
        loss = nn.functional.mse_loss(compiled(torch.randn(32, 64).cuda()), torch.zeros(32, 8).cuda())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    told(steps=STEPS, loss=loss.item())


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)
