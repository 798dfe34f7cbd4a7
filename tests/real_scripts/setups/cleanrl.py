"""tyro in small (a dataclass from the command line), and a TensorBoard writer that writes nothing."""
import sys
import types


def cli(settings_class):
    settings = settings_class()
    words = iter(sys.argv[1:])
    for word in words:
        name = word[2:].replace("-", "_")
        if name.startswith("no_"):
            setattr(settings, name[3:], False)
        else:
            setattr(settings, name, type(getattr(settings, name))(next(words)))
    return settings


class SummaryWriter:
    def __init__(self, *args, **kwargs):
        pass

    def add_scalar(self, *args):
        pass

    add_text = add_scalar

    def close(self):
        pass


def before(work, spec):
    tyro = types.ModuleType("tyro")
    tyro.cli = cli
    tensorboard = types.ModuleType("torch.utils.tensorboard")
    tensorboard.SummaryWriter = SummaryWriter
    sys.modules.update({"tyro": tyro, "torch.utils.tensorboard": tensorboard})
