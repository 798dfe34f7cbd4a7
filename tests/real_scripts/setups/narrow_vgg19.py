"""torchvision's VGG-19 with narrow layers, no weights from the network, and ReLUs that keep their input."""


def before(work, spec):
    import types
    import torch.nn as nn
    from torchvision import models

    def vgg19(*args, **kwargs):
        layers, channels = [], 3
        for width in (8, 8, 0, 16, 16, 0, 24, 24):
            if width:
                layers += [nn.Conv2d(channels, width, 3, padding=1), nn.ReLU()]
                channels = width
            else:
                layers.append(nn.MaxPool2d(2, 2))
        return types.SimpleNamespace(features=nn.Sequential(*layers))
    models.vgg19 = vgg19
