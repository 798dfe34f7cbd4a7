"""Training steps whose tasks run on other threads, observed or not: torch hands a thread's callbacks on to its tasks and
to autograd. Prints what torch's own profiler sees of a step."""
import threading
import warnings

import torch

warnings.simplefilter("ignore")  # torch.jit is deprecated


@torch.jit.script
def task(x):
    return torch.sigmoid(x)


@torch.jit.script
def forks(x):
    return torch.jit.wait(torch.jit.fork(task, x))


@torch.jit.script
def empty_task(number: int):
    return number


@torch.jit.script
def forks_empty(number: int):
    return torch.jit.wait(torch.jit.fork(empty_task, number))


def settle():
    """Gives the pool's one thread a task without tensors, begun by a thread of its own; so it has put down the one before.
    Otherwise torch's profiler crashes; and torch 2.14 hangs at exit, on Python 3.14 at least: to let go of a tensor the
    pool's thread needs the GIL, waits for ever for that of an interpreter that is gone, and exit waits for it."""
    thread = threading.Thread(target=forks_empty, args=[0])
    thread.start()
    thread.join()


def seen_by_torch(work):
    with torch.autograd.profiler.profile() as profile:
        work()
        settle()
    return sorted(e.name for e in profile.function_events)


def step(weight, optimizer):
    forks(weight)
    loss = weight.cos().sum()
    unseen = weight.exp().sum()
    print(seen_by_torch(lambda: (forks(weight), loss.backward())))
    torch.autograd._enable_record_function(False)
    forks(weight)
    unseen.backward()
    torch.autograd._enable_record_function(True)
    print(seen_by_torch(lambda: forks(weight)))
    torch.autograd._enable_record_function(False)
    print(seen_by_torch(lambda: forks(weight)))
    torch.autograd._enable_record_function(True)
    weight.sin().sum().backward()
    optimizer.step()
    optimizer.zero_grad()


torch.set_num_interop_threads(1)
weight = torch.nn.Parameter(torch.ones(3))
optimizer = torch.optim.SGD([weight], lr=0.1)
for _ in range(5):
    step(weight, optimizer)
print(weight.tolist())
