"""Operators that throw C++ exceptions through every frame between torch and Python."""
import torch

import loop

caught = 0
for i in range(20):
    loop.step()
    for bad in (lambda: torch.mm(torch.ones(2, 3), torch.ones(2, 3)), lambda: torch.ones(2).view(3),
                lambda: torch.ones(2, requires_grad=True).mul(2).backward()):
        try:
            bad()
        except RuntimeError:
            caught += 1


class Fails(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        return x * 1

    @staticmethod
    def backward(context, gradient):
        raise ValueError("from inside backward")


try:
    Fails.apply(torch.ones(2, requires_grad=True)).sum().backward()
except ValueError as error:
    print(error)
loop.step()
loop.note("after")
print("caught", caught)
