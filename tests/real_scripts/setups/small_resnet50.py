"""torchvision's ResNet-50 with one narrow block a stage: a size, as it takes minutes on two cores otherwise."""


def before(work, spec):
    from torchvision.models import resnet

    def resnet50(*args, **kwargs):
        return resnet.ResNet(resnet.Bottleneck, [1, 1, 1, 1], width_per_group=8)
    resnet.resnet50 = resnet50
