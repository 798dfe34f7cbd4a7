"""Programs that call nn.Modules and Python functions in every way there is.

    callers.py NAME [PATH]   PATH: where torch.profiler's own trace of the same goes
"""
import asyncio
import ctypes
import gc
import json
import sys
import threading
import warnings
import weakref

import numpy as np
import torch
from torch import nn
from torch.autograd.profiler import record_function

PROGRAMS = {}
X = torch.randn(2, 4)


def program(function):
    PROGRAMS[function.__name__] = function
    return function


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.act = nn.ReLU()

    def forward(self, x):
        return self.act(self.fc(x))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.Sequential(Block(), Block())
        self.head = nn.Linear(4, 1)

    def forward(self, x):
        return self.head(self.blocks(x))


class Refuses(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        self.fc(x)
        raise ValueError("not this one")


class Again(nn.Module):
    def forward(self, x, times):
        return self(x, times - 1) if times else x + 1


class Sums(nn.Module):
    def forward(self, x):
        return x.sum()


def count(n):
    for i in range(n):
        yield i


def leaf(i):
    return len([i])


def refuse():
    raise KeyError("not this one")


async def answer(i):
    await asyncio.sleep(0)
    return leaf(i)


def work(net):
    """What is compared with torch.profiler's record of it."""
    with record_function("forward"):
        loss = net(X).sum()
    loss.backward()
    total = sum(leaf(i) for i in count(3))
    try:
        refuse()
    except KeyError:
        total += 1
    return [leaf(i) for i in sorted([3, 1, total])]


@program
def tree(theirs=None):
    net = Net()
    if theirs:
        from torch.profiler import ProfilerActivity, profile
        warnings.simplefilter("ignore")
        tprof = ctypes.CDLL(None)
        with profile(activities=[ProfilerActivity.CPU], with_stack=True) as profiler:
            tprof.tprof_start()
            work(net)
            work(net)
            tprof.tprof_stop()
        profiler.export_chrome_trace(theirs)
    else:
        work(net)
        work(net)


@program
def exceptions():
    refuses, net, silent = Refuses(), Net(), Sums()
    for call in (refuses, net, refuses):
        try:
            call(X)
        except ValueError:
            pass
    silent(X)


@program
def hooks():
    inside = Sums()
    x = X.clone().requires_grad_()
    y = nn.Linear(4, 4)(x)
    y.register_hook(lambda gradient: inside(gradient) and None)
    y.sum().backward()


@program
def recursion():
    Again()(X, 3)


@program
def threads():
    net = Net()
    threads = [threading.Thread(target=net, args=(X,)) for _ in range(2)]
    for thread in threads:
        thread.start()
        thread.join()


@program
def replicas():
    """What nn.DataParallel calls: a copy for each device, made anew for each forward."""
    net = nn.Linear(4, 4)
    for _ in range(2):
        replicas = [net._replicate_for_data_parallel() for _ in range(2)]
        for replica in replicas:
            replica.weight, replica.bias = net.weight, net.bias
            thread = threading.Thread(target=replica, args=(X,))
            thread.start()
            thread.join()


@program
def temporary():
    """Modules that live for one call; their addresses are used again."""
    seen = []
    for _ in range(50):
        module = nn.ReLU()
        module(X)
        seen.append(weakref.ref(module))
    del module
    gc.collect()
    print(sum(ref() is not None for ref in seen), "alive")


@program
def counted():
    net = Net()
    net.head.weight = nn.Parameter(net.head.weight.double())
    net.blocks[1].fc.weight = net.blocks[0].fc.weight  # shared: counts once
    net.head.to(torch.float64)
    net.head.forward = lambda x: x
    net(X)
    lazy = nn.LazyLinear(2)
    lazy(X)


class Holds(nn.Module):
    """Has a parameter and children, which it does not call."""

    def __init__(self, *children):
        super().__init__()
        self.own = nn.Parameter(torch.ones(1))
        for i, child in enumerate(children):
            self.add_module(str(i), child)

    def forward(self, x):
        return x


def family(size):
    """Modules each of which is a descendant of all of them: a parent and the children, which know it."""
    parent = Holds(*[Holds() for _ in range(size - 1)])
    members = [parent, *parent.children()]
    for child in members[1:]:
        child.parent = parent
    return members


def chain(size):
    return Holds() if size == 1 else Holds(chain(size - 1))


@program
def graphs():
    """Modules that form no tree, or a large one. Prints the parameters that each one called has."""
    sys.setrecursionlimit(10000)
    shared = Holds()
    called = [Holds(shared, Holds(shared, shared)), Holds(*[Holds() for _ in range(3000)]), chain(200), chain(600),
              *family(20)]
    for module in called + family(1000):
        module(X)
    print(json.dumps([sum(1 for _ in module.parameters()) for module in called]))


@program
def compiled():
    import torch._dynamo
    from torch._dynamo.utils import counters
    net = torch.compile(Net(), backend="eager")
    for _ in range(2):
        net(X).sum().backward()
    print(json.dumps({"breaks": dict(counters["graph_break"]), "frames": dict(counters["frames"])}))


@program
def functions():
    def recurse(n):
        return leaf(n) if n == 0 else recurse(n - 1)

    def close_early():
        for i in count(5):
            return i

    async def gather():
        return await asyncio.gather(answer(1), answer(2))

    torch.ones(1)
    recurse(3)
    list(count(2))
    close_early()
    asyncio.run(gather())
    try:
        refuse()
    except KeyError:
        leaf(0)
    thread = threading.Thread(target=leaf, args=(7,))
    thread.start()
    thread.join()


def deep(levels):
    if levels:
        return deep(levels - 1)
    with record_function("at the bottom"):
        return torch.ones(2) + 1


@program
def depth():
    sys.setrecursionlimit(20000)
    deep(500)
    deep(5000)
    leaf(1)


class MyModule(nn.Module):
    """The one of PyTorch's profiler tutorial."""

    def __init__(self, in_features, out_features):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)

    def forward(self, data, mask):
        with record_function("LINEAR PASS"):
            out = self.linear(data)
        with record_function("MASK INDICES"):
            threshold = out.sum(axis=1).mean().item()
            hi_idx = np.argwhere(mask.cpu().numpy() > threshold)
            hi_idx = torch.from_numpy(hi_idx)
        return out, hi_idx


@program
def my_module():
    model = MyModule(50, 10)
    data, mask = torch.rand(12, 50), torch.rand(50, 50, 50, dtype=torch.double)
    for _ in range(2):
        model(data, mask)


@program
def phases():
    """Prints for each step what tprof watches: the events of its sys.monitoring tool, or the profile function."""
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(8):
        net(X).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        leaf(step)
        if hasattr(sys, "monitoring"):
            tools = [i for i in range(6) if sys.monitoring.get_tool(i) == "tprof"]
            watched = any(sys.monitoring.get_events(tool) for tool in tools)
        else:
            watched = sys.getprofile()
        print(int(bool(watched)))


@program
def own_profiler():
    import cProfile
    profiler = cProfile.Profile()
    profiler.enable()
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(4):
        net(X).sum().backward()
        optimizer.step()
        leaf(step)
    profiler.disable()
    profiler.create_stats()
    calls = {"leaf": 0, "forward": 0}
    for (file, _, name), (count, *_) in profiler.stats.items():
        if file == __file__ and name in calls:
            calls[name] += count
    print(*calls.values())


@program
def restores_profiler():
    """As what looks at a call sets its own profile function and then the one of before."""
    for _ in range(3):
        leaf(1)
        before = sys.getprofile()
        sys.setprofile(lambda *_: None)
        leaf(2)
        sys.setprofile(before)
        leaf(3)
    seen = []
    train(6, lambda: seen.append(sys.getprofile()))
    for function in filter(None, seen):
        sys.setprofile(function)
    leaf(4)
    print("seen", bool(sys.getprofile()))


@program
def profiler_of_a_thread():
    """Another thread has a profiler when a window begins."""
    import cProfile
    go, done = threading.Semaphore(0), threading.Semaphore(0)
    profiler = cProfile.Profile()

    def work():
        profiler.enable()
        for i in range(8):
            go.acquire()
            leaf(i)
            done.release()
        profiler.disable()
    thread = threading.Thread(target=work)
    thread.start()
    train(8, lambda: (go.release(), done.acquire()))
    thread.join()
    profiler.create_stats()
    print(sum(count for (file, _, name), (count, *_) in profiler.stats.items() if name == "leaf"))


@program
def waits_for_its_thread():
    """The main thread waits in C while another one trains."""
    thread = threading.Thread(target=train, args=(8,))
    thread.start()
    thread.join()


def train(steps, also=lambda: None):
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(steps):
        net(X).sum().backward()
        also()
        optimizer.step()
        optimizer.zero_grad()


if __name__ == "__main__":
    PROGRAMS[sys.argv[1]](*sys.argv[2:])
    print("ran")
