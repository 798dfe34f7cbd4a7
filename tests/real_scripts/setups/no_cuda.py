""".cuda() stays on the CPU, for scripts that name no other device."""


def before(work, spec):
    import torch
    torch.Tensor.cuda = torch.nn.Module.cuda = lambda self, *args, **kwargs: self
