"""A layer whose output selects rows of a mask: masks.py FORM, in double, float or nonzero.

double, float: the mask, of that type, is copied out of torch and searched there, and what was found is copied back.
nonzero: a float mask is searched by torch. Each forward pass begins with the label SCORE; the search is under SEARCH.
"""
import sys

import numpy
import torch
from torch.autograd.profiler import record_function

FORM = sys.argv[1]
torch.manual_seed(0)
torch.set_num_threads(1)


class Select(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.score = torch.nn.Linear(32, 8)

    def forward(self, batch, mask):
        with record_function("SCORE"):
            threshold = self.score(batch).sigmoid().mean().item()
        with record_function("SEARCH"):
            if FORM == "nonzero":
                return torch.nonzero(mask > threshold)  # inside
            copy = mask.clone()  # out
            found = numpy.argwhere(copy.numpy() > threshold)
            return torch.from_numpy(found).clone()  # back


def new_mask():
    kind = torch.float64 if FORM == "double" else torch.float32
    return torch.rand(160, 160, 40, dtype=kind)  # mask


model, batch, mask = Select(), torch.rand(64, 32), new_mask()
for _ in range(90):
    rows = model(batch, mask)
print(rows.shape[1])
