"""torchvision's data sets with random pictures, so that nothing is downloaded."""


def replace(training, testing, side=64):
    import numpy
    import torch
    import torchvision.datasets as datasets
    from PIL import Image

    class Pictures(torch.utils.data.Dataset):
        size = (28, 28)

        def __init__(self, *args, train=True, split="train", transform=None, target_transform=None, **kwargs):
            self.train = train and split != "test"
            self.transform, self.target_transform = transform, target_transform
            self.n = training if self.train else testing
            self.classes = [str(i) for i in range(10)]
            self.class_to_idx = {name: i for i, name in enumerate(self.classes)}
            self.data = torch.randint(0, 255, (self.n, *self.size), dtype=torch.uint8)
            if len(self.size) == 3:
                self.data = self.data.numpy()
            self.targets = torch.arange(self.n) % 10
            self.train_data = self.test_data = self.data  # names of older versions
            self.train_labels = self.test_labels = self.targets
            self.imgs = self.samples = [(f"{i}.png", i % 10) for i in range(self.n)]

        def __len__(self):
            return self.n

        def __getitem__(self, i):
            if not 0 <= int(i) < self.n:
                raise IndexError(i)
            picture = Image.fromarray(numpy.random.RandomState(int(i)).randint(0, 255, self.size, dtype="uint8"))
            target = int(i) % 10
            return (self.transform(picture) if self.transform else picture,
                    self.target_transform(target) if self.target_transform else target)

    class Colour(Pictures):
        size = (32, 32, 3)

    class Large(Pictures):
        size = (side, side, 3)

    for name in ("MNIST", "FashionMNIST", "KMNIST", "EMNIST", "QMNIST", "Omniglot"):
        setattr(datasets, name, type(name, (Pictures,), {}))
    for name in ("CIFAR10", "CIFAR100", "SVHN"):
        setattr(datasets, name, type(name, (Colour,), {}))
    for name in ("ImageFolder", "LSUN", "STL10", "CelebA", "ImageNet"):
        setattr(datasets, name, type(name, (Large,), {}))
