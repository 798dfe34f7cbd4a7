"""Small trainings for `diff_check`: python diff_programs.py NAME STEPS PLANTED

PLANTED: by this share of the step before the processor works longer than the program asks for, before each update."""
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn

# `first` were used to choose how tprof diff decides, `second` were kept aside until that stood.
PROGRAMS = {'first': {}, 'second': {}}


def program(which):
    def add(function):
        PROGRAMS[which][function.__name__] = function
        return function
    return add


class Plant:
    """Works `share` longer."""
    share = cost = begin = spent = 0.0

    def step_begins(self):
        self.begin = time.thread_time()

    def work(self):
        self.spent = self.share * self.cost
        until = time.thread_time() + self.spent
        while time.thread_time() < until:
            pass

    def step_ends(self):
        self.cost = time.thread_time() - self.begin - self.spent


plant = Plant()


def training(model, batch, loss, optimizer=torch.optim.SGD):
    optimizer = optimizer(model.parameters(), lr=1e-3)

    def step():
        optimizer.zero_grad()
        loss(model, *batch).backward()
        plant.work()
        optimizer.step()
    return step


def squares(model, x):
    return model(x).pow(2).mean()


def classes(model, x, y):
    return F.cross_entropy(model(x), y)


@program('first')
def mlp():
    layers = [layer for _ in range(6) for layer in (nn.Linear(128, 128), nn.ReLU())]
    return training(nn.Sequential(*layers), (torch.randn(64, 128),), squares)


@program('first')
def conv():
    model = nn.Sequential(nn.Conv2d(3, 16, 3), nn.BatchNorm2d(16), nn.ReLU(), nn.Conv2d(16, 16, 3),
                          nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10))
    return training(model, (torch.randn(8, 3, 32, 32), torch.randint(0, 10, (8,))), classes)


@program('first')
def transformer():
    layer = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True)
    return training(nn.TransformerEncoder(layer, 2), (torch.randn(8, 16, 64),), squares, torch.optim.AdamW)


@program('first')
def lstm():
    return training(nn.LSTM(32, 64, batch_first=True), (torch.randn(8, 24, 32),),
                    lambda model, x: model(x)[0].pow(2).mean())


class Waves(torch.utils.data.Dataset):
    def __len__(self):
        return 100000

    def __getitem__(self, i):
        x = torch.arange(256, dtype=torch.float32)
        for _ in range(10):
            x = torch.sin(x + i)
        return x


def loading(model, optimizer, **options):
    batches = iter(torch.utils.data.DataLoader(Waves(), **options))
    optimizer = optimizer(model.parameters(), lr=1e-3)

    def step():
        batch = next(batches)
        optimizer.zero_grad()
        squares(model, batch).backward()
        plant.work()
        optimizer.step()
    return step


@program('first')
def loader():
    return loading(nn.Linear(256, 10), torch.optim.SGD, batch_size=32)


@program('first')
def optimizer():
    return training(nn.Sequential(*[nn.Linear(32, 32) for _ in range(40)]), (torch.randn(2, 32),), squares,
                    torch.optim.Adam)


@program('first')
def wide():
    model = nn.Sequential(nn.Linear(64, 512), nn.GELU(), nn.Dropout(0.1), nn.Linear(512, 64), nn.LayerNorm(64))
    return training(model, (torch.randn(128, 64),), squares, torch.optim.RMSprop)


@program('first')
def signals():
    model = nn.Sequential(nn.Conv1d(4, 32, 5), nn.ReLU(), nn.MaxPool1d(2), nn.Conv1d(32, 32, 5), nn.Flatten(),
                          nn.LazyLinear(5))
    x = torch.randn(16, 4, 64)
    model(x)
    return training(model, (x, torch.randint(0, 5, (16,))), classes)


@program('first')
def gru():
    return training(nn.GRU(16, 48, num_layers=2), (torch.randn(20, 4, 16),),
                    lambda model, x: model(x)[0].abs().mean(), torch.optim.Adam)


@program('first')
def words():
    model = nn.Sequential(nn.Embedding(5000, 32), nn.Flatten(), nn.Linear(32 * 20, 64), nn.Tanh(), nn.Linear(64, 5000))
    return training(model, (torch.randint(0, 5000, (16, 20)), torch.randint(0, 5000, (16,))), classes,
                    torch.optim.Adagrad)


@program('first')
def pictures():
    down = [nn.Conv2d(1, 8, 3, 2, 1), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 16, 3, 2, 1), nn.ReLU()]
    up = [nn.ConvTranspose2d(16, 8, 2, 2), nn.ReLU(), nn.ConvTranspose2d(8, 1, 2, 2)]
    return training(nn.Sequential(*down, *up), (torch.randn(8, 1, 28, 28),), squares, torch.optim.AdamW)


@program('first')
def attention():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.inside, self.out = nn.Linear(48, 3 * 48), nn.Linear(48, 48)

        def forward(self, x):
            q, k, v = self.inside(x).chunk(3, -1)
            return x + self.out(torch.softmax(q @ k.transpose(1, 2) / 7, -1) @ v)
    return training(nn.Sequential(Model(), Model(), Model()), (torch.randn(4, 32, 48),), squares)


@program('first')
def accumulating():
    model = nn.Sequential(nn.Linear(100, 100), nn.Tanh(), nn.Linear(100, 10))
    batches, optimizer = torch.randn(8, 16, 100), torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)

    def step():
        optimizer.zero_grad()
        for batch in batches:
            (squares(model, batch) / len(batches)).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        plant.work()
        optimizer.step()
    return step


@program('first')
def loader_and_adam():
    model = nn.Sequential(*[nn.Linear(256, 256) for _ in range(4)])
    return loading(model, torch.optim.Adam, batch_size=8, shuffle=True)


@program('second')
def recurrent():
    return training(nn.RNN(24, 64, num_layers=2, nonlinearity='tanh'), (torch.randn(30, 6, 24),),
                    lambda model, x: model(x)[0].pow(2).mean(), torch.optim.RMSprop)


@program('second')
def depthwise():
    layers = [layer for _ in range(3) for layer in (nn.Conv2d(12, 12, 3, padding=1, groups=12), nn.Conv2d(12, 12, 1),
                                                     nn.GroupNorm(3, 12), nn.SiLU())]
    return training(nn.Sequential(*layers), (torch.randn(4, 12, 24, 24),), squares, torch.optim.Adam)


@program('second')
def bags():
    bag, head = nn.EmbeddingBag(2000, 24, mode='mean'), nn.Linear(24, 8)
    return training(nn.Sequential(bag, nn.ReLU(), head), (torch.randint(0, 2000, (32, 40)), torch.randint(0, 8, (32,))),
                    classes)


@program('second')
def mixer():
    layers = [layer for _ in range(4) for layer in (nn.LayerNorm(40), nn.Linear(40, 80), nn.GELU(), nn.Linear(80, 40))]
    return training(nn.Sequential(*layers), (torch.randn(6, 20, 40),), squares, torch.optim.AdamW)


@program('second')
def pairs():
    return training(nn.Sequential(nn.Linear(60, 120), nn.ReLU(), nn.Linear(120, 30)), (torch.randn(48, 60),),
                    lambda model, x: F.cosine_embedding_loss(model(x), model(x.flip(0)), torch.ones(48)))


@program('second')
def solid():
    model = nn.Sequential(nn.Conv3d(1, 6, 3), nn.ReLU(), nn.MaxPool3d(2), nn.Flatten(), nn.Linear(6 * 27, 4))
    return training(model, (torch.randn(4, 1, 8, 8, 8), torch.randint(0, 4, (4,))), classes, torch.optim.Adagrad)


@program('second')
def two_losses():
    body, left, right = nn.Linear(80, 80), nn.Linear(80, 5), nn.Linear(80, 80)

    def loss(model, x, y):
        inside = torch.relu(model[0](x))
        return F.cross_entropy(model[1](inside), y) + F.smooth_l1_loss(model[2](inside), x)
    return training(nn.ModuleList([body, left, right]), (torch.randn(64, 80), torch.randint(0, 5, (64,))), loss)


@program('second')
def loader_of_sorted():
    return loading(nn.Sequential(nn.Linear(256, 64), nn.Tanh(), nn.Linear(64, 1)), torch.optim.Adagrad, batch_size=16,
                   collate_fn=lambda rows: torch.stack([row.sort().values for row in rows]))


def main():
    name, steps, plant.share = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    torch.set_num_threads(1)
    step = {**PROGRAMS['first'], **PROGRAMS['second']}[name]()
    for _ in range(steps):
        plant.step_begins()
        step()
        plant.step_ends()


if __name__ == '__main__':
    main()
