"""Gradient descent as an optimizer of the program's own, for programs that are started hundreds of times: the first
add_param_group or zero_grad of torch 2's own import torch._dynamo, which takes more of a processor than all else here.
Programs of tests/torch and tests/pip have torch's."""
import torch
from torch.autograd.profiler import record_function


class Descent(torch.optim.Optimizer):
    def __init__(self, parameters, lr):
        super().__init__(parameters, {"lr": lr})

    def add_param_group(self, group):
        self.param_groups.append({**self.defaults, **group})

    def zero_grad(self):
        with record_function(self._zero_grad_profile_name):  # as torch's does: by this tprof sees where a step begins
            for group in self.param_groups:
                for parameter in group["params"]:
                    parameter.grad = None

    def step(self):
        with torch.no_grad():
            for group in self.param_groups:
                for parameter in group["params"]:
                    if parameter.grad is not None:
                        parameter.sub_(parameter.grad, alpha=group["lr"])
