"""One rank of DistributedDataParallel on NCCL, on a device of its own: RANK, WORLD_SIZE and so on are set as torchrun does."""
import os

import torch
import torch.distributed as dist
import torch.nn as nn
from shared import told

STEPS = 6


def main():
    rank = int(os.environ["RANK"])
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl")
    model = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 10)).cuda()
    model = nn.parallel.DistributedDataParallel(model, device_ids=[rank])
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for _ in range(STEPS):
        loss = nn.functional.cross_entropy(model(torch.randn(32, 256).cuda()), torch.randint(0, 10, (32,)).cuda())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    dist.all_reduce(torch.ones(4, device="cuda"))
    dist.barrier()
    told(steps=STEPS, loss=loss.item())
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
