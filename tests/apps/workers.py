"""A training whose DataLoader has two workers that run operators of their own: workers.py fork|spawn|forkserver"""
import sys

import torch
from torch.autograd.profiler import record_function
from torch.utils.data import DataLoader, Dataset

from descent import Descent


class Work(Dataset):
    def __len__(self):
        return 12

    def __getitem__(self, index):
        with record_function("worker:%d" % index):
            return torch.ones(8).add(index)


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    net = torch.nn.Linear(8, 1)
    optimizer = Descent(net.parameters(), lr=0.001)
    total = 0.0
    for epoch in range(2):
        for batch in DataLoader(Work(), batch_size=2, num_workers=2, multiprocessing_context=sys.argv[1]):
            optimizer.zero_grad()
            loss = net(batch).mean()
            loss.backward()
            optimizer.step()
            total += loss.item()
    print("%.6f" % total)


if __name__ == "__main__":
    main()
