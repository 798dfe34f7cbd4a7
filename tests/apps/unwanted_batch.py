"""Two steps of a training, then a batch from a DataLoader with two workers that nobody trains on."""
import time

import torch
from torch.utils.data import DataLoader, Dataset

from descent import Descent


class Slow(Dataset):
    def __len__(self):
        return 40

    def __getitem__(self, index):
        time.sleep(0.01)
        return torch.ones(8).add(index)


net = torch.nn.Linear(8, 1)
optimizer = Descent(net.parameters(), lr=0.001)
for batch in DataLoader(torch.ones(4, 8), batch_size=2):
    optimizer.zero_grad()
    net(batch).mean().backward()
    optimizer.step()
next(iter(DataLoader(Slow(), batch_size=2, num_workers=2)))
time.sleep(0.2)
