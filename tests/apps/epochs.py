"""A training with new DataLoader workers in each epoch; each item has a label and a number of its own.

epochs.py EPOCHS [ITEMS [DONE]]: 2 workers, ITEMS items an epoch (8); DONE, a file, gets the numbers of those that are
done. EPOCHS_NAMES: so many labels of 100 characters come in the first step; EPOCHS_BEGIN, EPOCHS_HOLD: files for which
the program waits before its first epoch, and at its end.
"""
import os
import sys
import time

import torch
from torch.autograd.profiler import record_function
from torch.utils.data import DataLoader, Dataset

from descent import Descent


class Work(Dataset):
    def __init__(self, items, done):
        self.first, self.items, self.done = 0, items, done

    def __len__(self):
        return self.items

    def __getitem__(self, index):
        with record_function("worker:%d" % (self.first + index)):
            item = torch.ones(8).add(index)
        if self.done:
            os.write(self.done, b"%d\n" % (self.first + index))
        return item


def wait_for_file(variable):
    while os.environ.get(variable) and not os.path.exists(os.environ[variable]):
        time.sleep(0.02)


def main():
    torch.set_num_threads(1)
    items = int(sys.argv[2]) if len(sys.argv) > 2 else 8
    work = Work(items, os.open(sys.argv[3], os.O_WRONLY | os.O_CREAT | os.O_APPEND) if len(sys.argv) > 3 else None)
    names = int(os.environ.get("EPOCHS_NAMES", 0))
    net = torch.nn.Linear(8, 1)
    optimizer = Descent(net.parameters(), lr=0.001)
    wait_for_file("EPOCHS_BEGIN")
    for epoch in range(int(sys.argv[1])):
        work.first = epoch * items
        for batch in DataLoader(work, batch_size=2, num_workers=2):
            optimizer.zero_grad()
            net(batch).mean().backward()
            for number in range(names):
                with record_function("%0100d" % number):
                    pass
            names = 0
            optimizer.step()
    wait_for_file("EPOCHS_HOLD")
    print("done")


if __name__ == "__main__":
    main()
