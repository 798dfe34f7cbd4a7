"""Tensors in shared memory among ordinary ones: one moved there by hand, and batches from DataLoader workers."""
import torch
from torch.autograd.profiler import record_function
from torch.utils.data import DataLoader, TensorDataset


def by_hand():
    ordinary = torch.ones(1000)
    shared = torch.ones(3000)
    shared.share_memory_()
    return ordinary + shared[:1000]


def from_workers():
    for batch, in DataLoader(TensorDataset(torch.ones(60, 500)), batch_size=20, num_workers=2):
        assert batch.is_shared() and batch.mul(2).sum() == 20000


if __name__ == "__main__":  # workers may import this file
    torch.set_num_threads(1)
    with record_function("by hand"):
        by_hand()
    with record_function("from workers"):
        from_workers()
    print("ran")
