"""Small trainings that are the same in every process: one seed, one thread, no garbage collection.

    models.py NAME              trains
    models.py NAME OUT          trains inside torch.profiler with SCHEDULE, which writes OUT
    models.py NAME OUT 1:3 6:8  the same with a profiler started before step 1 and stopped before step 3, and one
                                from 6 to 8: they write OUT.0 and OUT.1

Each step ends with tprof_step() when tprof is there.
"""
import collections
import contextlib
import ctypes
import gc
import sys
import time

import torch
from torch import nn
from torch.autograd.profiler import record_function
from torch.utils.checkpoint import checkpoint

STEPS = 9
SCHEDULE = dict(wait=1, warmup=1, active=4, repeat=1)
MODELS = {}


def model(make):
    MODELS[make.__name__] = make
    return make


def train(optimizer, loss):
    optimizer.zero_grad()
    loss().backward()
    optimizer.step()


@model
def mlp():
    net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)

    def step():
        x, y = torch.randn(4, 8), torch.randn(4, 4)
        train(optimizer, lambda: nn.functional.mse_loss(net(x), y))
    return step


@model
def conv():
    net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(inplace=True), nn.MaxPool2d(2), nn.Dropout(0.2),
                        nn.Flatten(), nn.Linear(36, 5))
    optimizer = torch.optim.Adam(net.parameters())

    def step():
        x, y = torch.randn(2, 3, 8, 8).to(memory_format=torch.channels_last), torch.tensor([0, 3])
        train(optimizer, lambda: nn.functional.cross_entropy(net(x), y))
    return step


@model
def transformer():
    words = nn.Embedding(20, 16)
    block = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
    optimizer = torch.optim.AdamW([*words.parameters(), *block.parameters()], foreach=True)

    def step():
        x = torch.randint(20, (2, 7))
        train(optimizer, lambda: block(words(x), src_key_padding_mask=x == 0).pow(2).mean())
    return step


class Scaled(torch.autograd.Function):
    """A node written in Python."""
    @staticmethod
    def forward(ctx, x, by):
        ctx.by = by
        return x * by

    @staticmethod
    def backward(ctx, grad):
        with record_function("in backward"):
            return grad * ctx.by, None


class Labelled(nn.Module):
    """Labels in labels, in the backward pass too; a checkpoint, and a gradient of a gradient."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(6, 6), nn.Linear(6, 1)

    def part(self, x):
        with record_function("part"):
            return Scaled.apply(self.first(x).tanh(), 3.0)

    def forward(self, x):
        with record_function("forward"):
            with record_function("checkpointed", "some words"):
                out = self.second(checkpoint(self.part, x, use_reentrant=True))
            slope, = torch.autograd.grad(self.second(self.part(x)).sum(), x, create_graph=True)
            with record_function("empty"):
                pass
            return out.mean() + slope.norm()


@model
def labelled():
    net = Labelled()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

    def step():
        with record_function("training step"):
            x = torch.randn(3, 6, requires_grad=True)
            train(optimizer, lambda: net(x))
    return step


@model
def threads():
    """Half of the forward runs on a thread of torch's own pool, its backward on the main thread."""
    torch.set_num_interop_threads(1)
    scripted = torch.jit.CompilationUnit("""
def elsewhere(x, weight):
    return torch.relu(torch.mm(x, weight))

def fork(x, weight):
    return torch.jit.fork(elsewhere, x, weight)
""")
    weight = torch.randn(4, 4, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.1)

    def step():
        x = torch.randn(2, 4)
        train(optimizer, lambda: (scripted.fork(x, weight).wait() + torch.mm(x, weight)).sum())
        time.sleep(0.02)  # the pool's thread ends its range only after it has handed over the result
    return step


def profiler(out, **more):
    from torch.profiler import ProfilerActivity, profile
    return profile(activities=[ProfilerActivity.CPU], record_shapes=True, profile_memory=True,
                   on_trace_ready=lambda p: p.export_chrome_trace(out), **more)


def old_profiler(out):
    """That of a torch built without Kineto. It writes one line for each event. Of events that have the name of the one
    around them torch keeps only one; as it tells what lies inside of what by microseconds, which one is chance."""
    class Lines(torch.autograd.profiler.profile):
        def stop(self):
            torch.autograd.profiler_util.EventList._remove_dup_nodes = lambda events: None
            self.__exit__(None, None, None)
            with open(out, "w") as file:
                for e in sorted(self.function_events, key=lambda e: e.id):
                    print(e.name, e.input_shapes, e.sequence_nr, e.thread, file=file)
    return Lines(record_shapes=True, profile_memory=True, use_kineto=False)


def stretches(out, words):
    """{step: [what to call before it]} for words like 1:3."""
    todo = collections.defaultdict(list)
    make = profiler if torch.autograd.kineto_available() else old_profiler
    for i, word in enumerate(words):
        begin, end = map(int, word.split(":"))
        p = make("%s.%d" % (out, i))
        todo[begin].append(getattr(p, "start", p.__enter__))
        todo[end].append(p.stop)
    return todo


def main(name, out=None, *words):
    torch.manual_seed(0)
    torch.set_num_threads(1)
    gc.disable()  # a collection would free tensors at other moments
    end_of_step = getattr(ctypes.CDLL(None), "tprof_step", int)
    step = MODELS[name]()
    todo = stretches(out, words)
    scheduled = profiler(out, schedule=torch.profiler.schedule(**SCHEDULE)) if out and not words else None
    with scheduled or contextlib.nullcontext():
        for i in range(STEPS):
            for call in todo[i]:
                call()
            step()
            end_of_step()
            if scheduled:
                scheduled.step()
        for call in todo[STEPS]:
            call()


if __name__ == "__main__":
    main(*sys.argv[1:])
