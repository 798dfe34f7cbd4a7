"""Training: one batch, one update, in the orders that people write, and what stands beside it."""
import ctypes
import itertools

import torch
from torch.utils.data import DataLoader

from . import N, Setup, deeper, evaluate, held_out, look_ahead, scenario


@scenario
def plain_with_loader():
    s = Setup()
    for x, y in s.loader:
        s.train(x, y)
    return N


@scenario
def plain_with_loader_and_workers():
    s = Setup(workers=1)
    for x, y in s.loader:
        s.train(x, y)
    return N


@scenario
def iterator_by_hand_until_stop_iteration():
    s = Setup()
    batches = iter(s.loader)
    while True:
        try:
            x, y = next(batches)
        except StopIteration:
            break
        s.train(x, y)
    return N


@scenario
def epochs_over_a_loader():
    """StopIteration at the end of each epoch is not a step."""
    s = Setup(batches=4)
    for _ in range(3):
        for x, y in s.loader:
            s.train(x, y)
        s.total /= 2
    return 12


@scenario
def manual_loop():
    s = Setup()
    for _ in range(N):
        s.train(s.x, s.y)
    return N


@scenario
def manual_loop_zero_grad_last():
    s = Setup()
    for _ in range(N):
        s.forward(s.x, s.y).backward()
        s.optimizer.step()
        s.optimizer.zero_grad(set_to_none=False)
    return N


@scenario
def manual_loop_with_new_data_each_time():
    """Operators that belong to no module before each forward."""
    s = Setup()
    for _ in range(N):
        x = torch.randn(2, 4)
        x = (x - x.mean()) / x.std()
        s.train(x, s.y)
    return N


@scenario
def manual_loop_that_clips_and_schedules():
    s = Setup()
    decay = torch.optim.lr_scheduler.StepLR(s.optimizer, 3)
    for _ in range(N):
        s.optimizer.zero_grad()
        s.forward(s.x, s.y).backward()
        torch.nn.utils.clip_grad_norm_(s.net.parameters(), 1.0)
        s.optimizer.step()
        decay.step()
    return N


@scenario
def one_batch_from_a_loader_then_by_hand():
    s = Setup()
    x, y = next(iter(s.loader))
    for _ in range(N):
        s.train(x, y)
    return N


@scenario
def training_with_backwards_that_fail():
    s = Setup()
    for _ in range(N):
        try:
            s.x.sum().backward()  # nothing in it wants a gradient
        except RuntimeError:
            pass
        deeper(s.train, s.x, s.y)
    return N


@scenario
def teacher_of_each_batch():
    s = Setup()
    for x, y in s.loader:
        with torch.no_grad():
            y = y + s.other(x) + 0.1 * s.net(x)
        s.train(x, y)
    return N


class Noisy(torch.nn.Module):
    def forward(self, x):
        return x + 0.1 * torch.randn_like(x)


class WithTransforms(torch.utils.data.Dataset):
    """Its transforms are modules, as torchvision's are, and called in the training thread."""

    def __init__(self, count):
        self.transforms = torch.nn.Sequential(Noisy(), Noisy())
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        return self.transforms(torch.ones(4)), torch.ones(2)


@scenario
def modules_inside_the_loaders_fetch():
    s = Setup()
    s.loader = DataLoader(WithTransforms(2 * N), batch_size=2)
    other = DataLoader(WithTransforms(4), batch_size=2)
    evaluate(s, other)
    for x, y in s.loader:
        s.train(x, y)
    evaluate(s, other)
    return N, 2, 0


@scenario
def two_loaders_in_step():
    s, other = Setup(), Setup()
    for (x, _), (_, y) in zip(s.loader, other.loader):
        s.train(x, y)
    return N


@scenario
def a_cycled_loader():
    """After its first round it gives batches that nobody draws."""
    s = Setup(batches=4)
    for x, y in itertools.islice(itertools.cycle(s.loader), N):
        s.train(x, y)
    return N


@scenario
def a_loader_that_looks_ahead():
    s, other = Setup(batches=5), held_out()
    for epoch in range(2):
        for x, y in look_ahead(s.loader):
            s.train(x, y)
        evaluate(s, look_ahead(other))
    return N, 2, 0


@scenario
def dry_run_and_statistics_before_the_loop():
    s = Setup()
    s.net(s.x)
    s.optimizer.zero_grad()
    s.total += sum(x.mean().item() for x, y in held_out())
    for x, y in s.loader:
        s.train(x, y)
    return N


@scenario
def forwards_behind_the_loop():
    s = Setup()
    for x, y in s.loader:
        s.train(x, y)
    for _ in range(3):
        s.total += s.net(s.x).sum().item()
    return N


@scenario
def a_graph_is_traced_first():
    """No step, and no part of one."""
    s = Setup()
    torch.jit.trace(s.net, s.x)
    for x, y in s.loader:
        s.train(x, y)
    return N


@scenario
def the_scripts_own_profiler():
    """With a schedule it makes ProfilerStep#N ranges; the last step() opens one that holds nothing."""
    from torch.profiler import ProfilerActivity, profile, schedule
    s = Setup()
    with profile(activities=[ProfilerActivity.CPU], schedule=schedule(wait=1, warmup=1, active=3)) as p:
        for _ in range(N):
            s.train(s.x, s.y)
            p.step()
    return N


def end_of_step():
    """tprof_step(); nothing without tprof."""
    getattr(ctypes.CDLL(None), "tprof_step", int)()


@scenario
def tprof_step_by_ctypes():
    """Steps named by the program, over a loop that the detector would count too: never two spans for one step."""
    s = Setup()
    for _ in range(N):
        s.train(s.x, s.y)
        end_of_step()
    return N
