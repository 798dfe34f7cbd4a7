"""What a program sees of errors in DataLoader workers, and of queues and functions that tprof has put something before."""
import torch
from torch.utils.data import DataLoader, Dataset


class Numbers(Dataset):
    def __init__(self, bad=None):
        self.bad = bad

    def __len__(self):
        return 12

    def __getitem__(self, index):
        if index == self.bad:
            raise KeyError("item %d" % index)
        return index


def collate(items):
    if 7 in items:
        raise ValueError("planted")
    return torch.tensor(items)


def show(**options):
    try:
        for batch in DataLoader(batch_size=2, **options):
            print(batch.tolist())
    except Exception as e:
        print(type(e).__name__, e)


torch.manual_seed(0)
show(dataset=Numbers(), num_workers=2, collate_fn=collate)
show(dataset=Numbers(bad=5), num_workers=2)
show(dataset=Numbers(), num_workers=2, shuffle=True, persistent_workers=True)
