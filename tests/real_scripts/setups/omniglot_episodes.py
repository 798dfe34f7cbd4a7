"""The script's own data set of characters, in memory: 20 classes of 10 random pictures."""
import sys
import types


def before(work, spec):
    import torch

    class OmniglotDataset(torch.utils.data.Dataset):
        def __init__(self, mode="train", root="", **kwargs):
            self.y = [i // 10 for i in range(200)]
            self.x = torch.rand(200, 1, 28, 28)

        def __getitem__(self, i):
            return self.x[i], self.y[i]

        def __len__(self):
            return len(self.y)
    module = types.ModuleType("omniglot_dataset")
    module.OmniglotDataset = OmniglotDataset
    sys.modules["omniglot_dataset"] = module
