"""A training loop that prints, in each step, whether any observer is registered with torch: + or -."""
import ctypes
import os
import sys

import torch


def library():
    with open("/proc/self/maps") as maps:
        path = next(line.split()[-1] for line in maps if "/libtorch_cpu.so" in line)
    return ctypes.CDLL(path, mode=os.RTLD_NOLOAD | os.RTLD_LOCAL | os.RTLD_NOW)


def main():
    torch.set_num_threads(1)
    observed = library()._ZN2at18hasGlobalCallbacksEv
    observed.restype = ctypes.c_bool
    net = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    data = torch.utils.data.TensorDataset(torch.ones(2 * int(sys.argv[1]), 8), torch.ones(2 * int(sys.argv[1]), 1))
    seen = ""
    for inputs, targets in torch.utils.data.DataLoader(data, batch_size=2):
        with torch.autograd.profiler.record_function("label"):
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(net(inputs), targets).backward()
            optimizer.step()
        seen += "+" if observed() else "-"
    print(seen)


if __name__ == "__main__":
    main()
