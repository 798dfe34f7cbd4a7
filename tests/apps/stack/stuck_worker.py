"""A data-loader worker that does not come back: its dataset sleeps."""
import time

import torch
from torch.utils.data import DataLoader, Dataset


class Stuck(Dataset):
    def __len__(self):
        return 100

    def __getitem__(self, index):
        if index > 8:
            time.sleep(1000)
        return torch.ones(3)


for batch in DataLoader(Stuck(), batch_size=4, num_workers=1):
    print("ready", flush=True)
