"""Training and inference loops on the CPU with one thing in them that tprof advise should say, or should not.

    advice.py SCENARIO        print what it did; see SCENARIOS
"""
import sys

import torch

STEPS = 12


def model():
    return torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10))


def train(batches, make=lambda parameters: torch.optim.SGD(parameters, lr=0.01)):
    torch.manual_seed(0)
    net = model()
    optimizer = make(net.parameters())
    for x, y in batches:
        optimizer.zero_grad(set_to_none=True)
        torch.nn.functional.cross_entropy(net(x), y).backward()
        optimizer.step()


class Samples(torch.utils.data.Dataset):
    def __len__(self):
        return 8 * 4

    def __getitem__(self, index):
        x = torch.full((256, 256), 1 / 256)
        for _ in range(4):
            x = x @ x
        return x[0], index % 10


def loader(epochs, **options):
    batches = torch.utils.data.DataLoader(Samples(), batch_size=8, shuffle=True, **options)
    train(batch for _ in range(epochs) for batch in batches)


def made(count=STEPS, rows=32):
    for _ in range(count):
        yield torch.ones(rows, 256), torch.zeros(rows, dtype=torch.long)


def python():
    def slow():
        for batch in made():
            sum(ord(c) for i in range(20000) for c in str(i))
            yield batch
    train(slow())


def products():
    for _ in range(STEPS):
        x = torch.ones(300, 300)  # where torch has no tuned BLAS, larger ones take a minute
        for _ in range(20):
            x = torch.mm(x, x)


def elements(write=False):
    layer = torch.nn.Linear(32, 32)
    for _ in range(STEPS):
        x, total = layer(torch.ones(32, 32)).detach(), 0.0
        for i in range(32):
            for j in range(32):
                if write:
                    x[i, j] = i * j
                else:
                    total += x[i, j].item()


def whole_tensors():
    layer = torch.nn.Linear(32, 32)
    for _ in range(STEPS):
        layer(torch.ones(32, 32)).sum().item()


def convolutions(bias):
    net = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3, bias=bias), torch.nn.BatchNorm2d(8))
    for _ in range(STEPS):
        net(torch.ones(4, 3, 32, 32)).sum().backward()


def keeping(tensors):
    kept = []

    def step():
        for batch in made(rows=512):
            kept.append(batch[0] if tensors else float(batch[0].sum()))
            yield batch
    train(step())


SCENARIOS = {
    "loaded in the process": lambda: loader(3),
    "workers started anew": lambda: loader(4, num_workers=2),
    "workers kept": lambda: loader(4, num_workers=2, persistent_workers=True),
    "slow Python": python,
    "large products": products,
    "elements read": elements,
    "elements written": lambda: elements(write=True),
    "whole tensors": whole_tensors,
    "bias before norm": lambda: convolutions(True),
    "norm without bias": lambda: convolutions(False),
    "batches kept": lambda: keeping(True),
    "numbers kept": lambda: keeping(False),
}

if __name__ == "__main__":
    torch.set_num_threads(1)
    SCENARIOS[sys.argv[1]]()
    print("done:", sys.argv[1])
