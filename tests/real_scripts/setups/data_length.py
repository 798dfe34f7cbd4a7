"""A data set of images.py is as long as its data, as torchvision's are, for scripts that replace them by a part."""


def before(work, spec):
    import torchvision.datasets as datasets
    for name in ("CIFAR10", "CIFAR100"):
        getattr(datasets, name).__len__ = lambda self: len(self.data)
