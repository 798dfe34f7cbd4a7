"""A training loop that prints, for each step, which ranges torch is asked to tell of: some of f (operators), b (autograd
nodes) and u (user ranges), or - for none."""
import ctypes
import os
import sys

import torch

SCOPES = {"f": 0, "b": 1, "u": 7}  # at::RecordScope


def library():
    with open("/proc/self/maps") as maps:
        path = next(line.split()[-1] for line in maps if "/libtorch_cpu.so" in line)
    return ctypes.CDLL(path, mode=os.RTLD_NOLOAD | os.RTLD_LOCAL | os.RTLD_NOW)


def observed(callbacks, scope):
    """callbacks() returns an optional of some hundred bytes: for an empty one it writes zeros, or only that it is empty."""
    untouched = b"\xaa" * 4096
    answer = ctypes.create_string_buffer(untouched, len(untouched))
    callbacks(answer, scope)
    return not set(answer.raw) <= set(b"\xaa\0")


def main():
    torch.set_num_threads(1)
    callbacks = library()._ZN2at27getStepCallbacksUnlessEmptyENS_11RecordScopeE
    callbacks.argtypes, callbacks.restype = (ctypes.c_void_p, ctypes.c_int), None
    net = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    data = torch.utils.data.TensorDataset(torch.ones(2 * int(sys.argv[1]), 8), torch.ones(2 * int(sys.argv[1]), 1))
    seen = []
    for inputs, targets in torch.utils.data.DataLoader(data, batch_size=2):
        with torch.autograd.profiler.record_function("label"):
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(net(inputs), targets).backward()
            optimizer.step()
        seen.append("".join(name for name, scope in SCOPES.items() if observed(callbacks, scope)) or "-")
    print(*seen)


if __name__ == "__main__":
    main()
