"""Training and inference loops as people write them; each says how many steps it truly made.

    scenarios.py NAME   prints {"steps": N, "marks": true|false}
A scenario is a function that runs its loop over about ten iterations and returns the number of steps. Where one
iteration is one step, the forward stands under a label mark:<iteration>. Every loop ends with work that belongs to
no step of its own (loss.item(), an evaluation of a number), as real ones do.
"""
import ctypes
import json
import sys

import torch
from torch.autograd.profiler import record_function
from torch.utils.data import DataLoader, TensorDataset

N = 10
MICRO = 4
SCENARIOS = {}
UNMARKED = set()


def scenario(function=None, *, marks=True):
    """Registers a scenario; marks=False where an iteration is not exactly one step."""
    if function is None:
        return lambda f: scenario(f, marks=marks)
    SCENARIOS[function.__name__] = function
    if not marks:
        UNMARKED.add(function.__name__)
    return function


class Setup:
    """A model, its optimizer and data, made anew for each process."""

    def __init__(self, batches=N, workers=0):
        torch.manual_seed(0)
        torch.set_num_threads(1)
        self.net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.01)
        self.other = torch.nn.Linear(4, 2)
        self.other_optimizer = torch.optim.Adam(self.other.parameters())
        self.x, self.y = torch.randn(2, 4), torch.randn(2, 2)
        data = TensorDataset(torch.randn(2 * batches, 4), torch.randn(2 * batches, 2))
        self.loader = DataLoader(data, batch_size=2, num_workers=workers)
        self.marked = 0
        self.total = 0.0

    def forward(self, x, y, net=None):
        with record_function("mark:%d" % self.marked):
            loss = (((net or self.net)(x) - y) ** 2).mean()
        self.marked += 1
        return loss

    def train(self, x, y):
        """The usual order: zero_grad, forward, backward, step, item."""
        self.optimizer.zero_grad()
        loss = self.forward(x, y)
        loss.backward()
        self.optimizer.step()
        self.total += loss.item()


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


@scenario(marks=False)
def accumulation_with_loader():
    s = Setup(batches=N * 2)
    for i, (x, y) in enumerate(s.loader):
        s.forward(x, y).backward()
        if i % 2:
            s.optimizer.step()
            s.optimizer.zero_grad()
    return N


@scenario(marks=False)
def accumulation_without_loader():
    s = Setup()
    for _ in range(N):
        for _ in range(MICRO):
            s.forward(s.x, s.y).backward()
        s.optimizer.step()
        s.optimizer.zero_grad()
    return N


@scenario
def two_optimizers_with_loader():
    s = Setup()
    for x, y in s.loader:
        s.optimizer.zero_grad()
        s.other_optimizer.zero_grad()
        (s.forward(x, y) + s.other(x).mean()).backward()
        s.optimizer.step()
        s.other_optimizer.step()
    return N


@scenario
def two_optimizers_without_loader():
    s = Setup()
    for _ in range(N):
        s.optimizer.zero_grad()
        s.other_optimizer.zero_grad()
        (s.forward(s.x, s.y) + s.other(s.x).mean()).backward()
        s.optimizer.step()
        s.other_optimizer.step()
    return N


def gan_iteration(s, x, y):
    s.optimizer.zero_grad()
    s.forward(x, y).backward()
    s.optimizer.step()
    s.other_optimizer.zero_grad()
    (s.other(x) - s.net(x).detach()).mean().backward()
    s.other_optimizer.step()


@scenario
def gan_with_loader():
    s = Setup()
    for x, y in s.loader:
        gan_iteration(s, x, y)
    return N


@scenario(marks=False)
def gan_without_loader():
    """Ambiguous by nature: each update counts (TPROF_STEP=backward:2 says otherwise)."""
    s = Setup()
    for _ in range(N // 2):
        gan_iteration(s, s.x, s.y)
    return N


def scaler():
    """A GradScaler that works without a GPU; torch 1.13 has none."""
    return torch.amp.GradScaler("cpu", init_scale=2.0)


def amp_iteration(s, scale, i, x, y):
    s.optimizer.zero_grad()
    loss = s.forward(x, y) * (float("inf") if i % 4 == 1 else 1.0)
    scale.scale(loss).backward()
    scale.step(s.optimizer)
    scale.update()


@scenario
def amp_with_skipped_steps_with_loader():
    s, scale = Setup(), scaler()
    for i, (x, y) in enumerate(s.loader):
        amp_iteration(s, scale, i, x, y)
    return N


@scenario
def amp_with_skipped_steps_without_loader():
    s, scale = Setup(), scaler()
    for i in range(N):
        amp_iteration(s, scale, i, s.x, s.y)
    return N


@scenario
def inference_with_loader():
    s = Setup()
    with torch.no_grad():
        for x, y in s.loader:
            s.forward(x, y)
    return N


@scenario
def inference_without_loader():
    s = Setup()
    s.net.eval()
    with torch.no_grad():
        for _ in range(N):
            s.forward(s.x, s.y)
    return N


@scenario
def inference_mode_without_loader():
    s = Setup()
    with torch.inference_mode():
        for _ in range(N):
            s.total += s.forward(s.x, s.y).item()
    return N


class Refuses(torch.nn.Module):
    def forward(self, x):
        raise ValueError("not this one")


def deeper(function, *arguments):
    """Calls it further down the C stack than the caller's other calls."""
    return list(map(function, *([a] for a in arguments)))[0]


@scenario
def inference_with_forwards_that_fail():
    s, refuses = Setup(), Refuses()
    with torch.no_grad():
        for _ in range(N):
            deeper(s.forward, s.x, s.y)
            try:
                refuses(s.x)
            except ValueError:
                pass
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
def training_then_evaluation_with_loader():
    s = Setup(batches=6)
    for x, y in s.loader:
        s.train(x, y)
    with torch.no_grad():
        for x, y in s.loader:
            s.forward(x, y)
    return 12


@scenario
def evaluation_between_epochs_with_loader():
    s, held_out = Setup(batches=4), Setup(batches=2).loader
    for epoch in range(3):
        for x, y in s.loader:
            s.train(x, y)
        if epoch < 2:
            s.net.eval()
            with torch.no_grad():
                for x, y in held_out:
                    s.forward(x, y)
            s.net.train()
    return 16


@scenario(marks=False)
def evaluation_between_epochs_without_loader():
    """Each evaluation forward is a step, as each evaluation batch is where there is a loader."""
    s = Setup()
    for epoch in range(3):
        if epoch:
            with torch.no_grad():
                for _ in range(3):
                    s.total += s.net(s.x).sum().item()
        for _ in range(4):
            s.train(s.x, s.y)
    return 18


def lbfgs_iteration(s, optimizer, x, y):
    def closure():
        optimizer.zero_grad()
        loss = s.forward(x, y)
        loss.backward()
        return loss
    optimizer.step(closure)


@scenario(marks=False)
def lbfgs_with_loader():
    s = Setup()
    optimizer = torch.optim.LBFGS(s.net.parameters(), max_iter=4)
    for x, y in s.loader:
        lbfgs_iteration(s, optimizer, x, y)
    return N


@scenario(marks=False)
def lbfgs_without_loader():
    s = Setup()
    optimizer = torch.optim.LBFGS(s.net.parameters(), max_iter=4)
    for _ in range(N):
        lbfgs_iteration(s, optimizer, s.x, s.y)
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




if __name__ == "__main__":
    name = sys.argv[1]
    steps = SCENARIOS[name]()
    print(json.dumps({"steps": steps, "marks": name not in UNMARKED}))
