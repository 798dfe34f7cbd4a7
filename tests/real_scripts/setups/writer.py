"""torch.utils.tensorboard's writer, without TensorBoard and without writing."""
import os
import sys
import types


class SummaryWriter:
    def __init__(self, log_dir=None, **kwargs):
        self.log_dir = log_dir or "runs"
        os.makedirs(self.log_dir, exist_ok=True)

    def __getattr__(self, name):
        return lambda *args, **kwargs: None


def before(work, spec):
    module = types.ModuleType("torch.utils.tensorboard")
    module.SummaryWriter = SummaryWriter
    sys.modules["torch.utils.tensorboard"] = module
