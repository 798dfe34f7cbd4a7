"""A training whose DataLoader has one known trouble: loaders.py TROUBLE [fork|spawn|forkserver]

Each batch says which worker made it and how long that took; at the end the program prints {worker: [seconds of a batch]}.
"""
import json
import os
import sys
import time

import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info

from descent import Descent

ITEMS = 4  # of a batch


def spin(seconds):
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass


def batch_seconds(trouble, worker, batch):
    if trouble == "long" and batch < 6:
        return 0.15 * (batch + 1)  # so that not all workers end at the same time
    return {"few": 0.04, "slow": 0.04, "iterable": 0.04, "straggler": 0.08 if worker else 0.004,
            "uneven": 0.16 if batch % 8 == 5 else 0.004, "long": 0.9}.get(trouble, 0.004)


def item(trouble, index):
    worker = get_worker_info().id
    begin = time.perf_counter()
    (spin if trouble == "slow" else time.sleep)(batch_seconds(trouble, worker, index // ITEMS) / ITEMS)
    return torch.tensor([worker, begin], dtype=torch.float64)


class Items(Dataset):
    def __init__(self, trouble):
        self.trouble = trouble

    def __len__(self):
        return ITEMS * (12 if self.trouble == "sending" else 40)

    def __getitem__(self, index):
        return item(self.trouble, index)


class Stream(IterableDataset):
    def __iter__(self):
        for index in range(ITEMS * 20):
            yield item("iterable", index)


class Large:
    """Is copied through the pipe, which takes longer than to make it."""
    content = bytes(100_000_000)

    def __init__(self, items):
        self.items = stack(items)
        self.copy = Large.content


class SlowToOpen:
    def __init__(self, items):
        self.items = stack(items)

    def __setstate__(self, state):
        time.sleep(0.04)
        self.__dict__.update(state)


def stack(items):
    """The items as (worker, seconds since the first one began)."""
    batch = torch.stack(items)
    batch[:, 1] = time.perf_counter() - batch[0, 1]
    return batch


def main():
    trouble = sys.argv[1]
    if trouble == "slow":
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
    torch.manual_seed(0)
    torch.set_num_threads(1)
    net = torch.nn.Linear(2, 1)
    optimizer = Descent(net.parameters(), lr=0.001)
    workers = {"few": 1, "iterable": 2, "uneven": 3, "long": 6}.get(trouble, 2)
    own = {"few": 0.012, "slow": 0.002, "balanced": 0.25, "long": 0.01}.get(trouble, 0.005)
    loader = DataLoader(Stream() if trouble == "iterable" else Items(trouble), batch_size=ITEMS, num_workers=workers,
                        collate_fn={"sending": Large, "not_taken": SlowToOpen}.get(trouble, stack),
                        multiprocessing_context=(sys.argv[2:] or ["fork"])[0])
    truth = {}
    for batch in loader:
        batch = getattr(batch, "items", batch)
        truth.setdefault(int(batch[0, 0]), []).append(float(batch[0, 1]))
        optimizer.zero_grad()
        loss = net(batch.float()).mean()
        loss.backward()
        optimizer.step()
        time.sleep(own)
    print(json.dumps(truth))


if __name__ == "__main__":
    main()
