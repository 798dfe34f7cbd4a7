"""Training and inference loops as people write them; each says how many steps it truly made.

    scenarios.py NAME   prints {"steps": N, "evaluations": E, "inferences": I, "marks": true|false}
A scenario is a function that runs its loop over about ten iterations and returns the number of steps, or those three
numbers. Where one iteration is one step, the forward stands under a label mark:<iteration>; evaluations have no labels.
Every loop ends with work that belongs to no step of its own (loss.item(), an evaluation of a number), as real ones do.
"""
import ctypes
import itertools
import json
import sys
import threading

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

    def __init__(self, batches=N, workers=0, optimizers=True):
        torch.manual_seed(0)
        torch.set_num_threads(1)
        self.net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
        self.other = torch.nn.Linear(4, 2)
        if optimizers:
            self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.01)
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


def evaluate(s, loader, gradients=False):
    """No labels, so that it is seen where an evaluation lies."""
    s.net.eval()
    with torch.set_grad_enabled(gradients):
        for x, y in loader:
            s.total += ((s.net(x) - y) ** 2).mean().item()
    s.net.train()


def held_out():
    return Setup(batches=2, optimizers=False).loader


@scenario
def training_then_evaluation_over_the_same_loader():
    s = Setup(batches=6)
    for x, y in s.loader:
        s.train(x, y)
    with torch.no_grad():
        for x, y in s.loader:
            s.total += s.net(x).sum().item()
    return 6, 1, 0


@scenario
def evaluation_between_epochs_with_loader():
    s, other = Setup(batches=4), held_out()
    for epoch in range(3):
        for x, y in s.loader:
            s.train(x, y)
        evaluate(s, other)
    return 12, 3, 0


@scenario
def evaluation_with_gradients_on():
    s, other = Setup(batches=4), held_out()
    for epoch in range(3):
        for x, y in s.loader:
            s.train(x, y)
        evaluate(s, other, gradients=True)
    return 12, 3, 0


@scenario
def evaluation_in_mid_epoch():
    s, other = Setup(), held_out()
    for i, (x, y) in enumerate(s.loader):
        s.train(x, y)
        if i % 4 == 3:
            evaluate(s, other)
    return N, 2, 0


@scenario
def evaluation_before_training():
    """A sanity check: what was counted before is no step of the training."""
    s, other = Setup(), held_out()
    evaluate(s, other)
    for x, y in s.loader:
        s.train(x, y)
    return N, 1, 0


@scenario
def evaluation_without_a_loader_before_and_amid():
    """As nanoGPT's estimate_loss."""
    s = Setup()
    for i in range(N):
        if i % 5 == 0:
            s.net.eval()
            with torch.no_grad():
                for _ in range(6):
                    s.total += s.net(s.x).sum().item()
            s.net.train()
        s.train(s.x, s.y)
    return N, 2, 0


@scenario(marks=False)
def evaluation_inside_an_accumulated_step():
    s, other = Setup(batches=2 * N), held_out()
    for i, (x, y) in enumerate(s.loader):
        s.forward(x, y).backward()
        if i == 4:
            evaluate(s, other)
        if i % 2:
            s.optimizer.step()
            s.optimizer.zero_grad()
    return N, 1, 0


@scenario
def evaluation_of_an_averaged_model():
    """The average never trains: updating it, and calls of it without a loader, belong to the step."""
    s, other = Setup(batches=5), held_out()
    average = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
    for epoch in range(2):
        for x, y in s.loader:
            s.train(x, y)
            with torch.no_grad():
                for mean, now in zip(average.parameters(), s.net.parameters()):
                    mean.mul_(0.9).add_(now, alpha=0.1)
                s.total += average(x).sum().item()
        with torch.no_grad():
            for x, y in other:
                s.total += average(x).sum().item()
    return N, 2, 0


@scenario
def rollouts_between_epochs():
    s = Setup()
    for epoch in range(3):
        with torch.no_grad():
            for _ in range(5):
                s.total += s.net(s.x).sum().item()
        for _ in range(4):
            s.train(s.x, s.y)
    return 12, 0, 3


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


def look_ahead(loader):
    """As accelerate's loaders: each batch is drawn before the one before it is handed out."""
    batches = iter(loader)
    current = next(batches)
    for following in batches:
        yield current
        current = following
    yield current


@scenario
def a_loader_that_looks_ahead():
    s, other = Setup(batches=5), held_out()
    for epoch in range(2):
        for x, y in look_ahead(s.loader):
            s.train(x, y)
        evaluate(s, look_ahead(other))
    return N, 2, 0


@scenario(marks=False)
def micro_batches_drawn_first():
    """As the Trainer of transformers."""
    s = Setup(batches=2 * N)
    batches = look_ahead(s.loader)
    for _ in range(N):
        for x, y in [next(batches), next(batches)]:
            s.forward(x, y).backward()
        s.optimizer.step()
        s.optimizer.zero_grad()
    return N


@scenario(marks=False)
def a_critic_with_batches_of_its_own():
    s = Setup()
    for i, (x, y) in enumerate(s.loader):
        s.train(x, y)
        if i % 5 == 4:
            s.other_optimizer.zero_grad()
            s.other(x).mean().backward()
            s.other_optimizer.step()
    return N


@scenario
def parameters_updated_by_hand():
    s = Setup(optimizers=False)
    for _ in range(N):
        s.net.zero_grad()
        s.forward(s.x, s.y).backward()
        for p in s.net.parameters():
            p.data.add_(p.grad, alpha=-0.01)
    return N


@scenario
def batches_and_parameters_updated_by_hand():
    s, other = Setup(optimizers=False), held_out()
    for x, y in s.loader:
        s.forward(x, y).backward()
        with torch.no_grad():
            for p in s.net.parameters():
                p -= 0.01 * p.grad
                p.grad = None
    evaluate(s, other)
    return N, 1, 0


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
def inference_beside_the_training():
    """On a thread of its own, begun before the training does: what it did until then is inference, the rest is not seen."""
    s = Setup()
    copy = torch.nn.Linear(4, 2)
    running = threading.Semaphore(0)
    over = threading.Event()

    def serve():
        with torch.no_grad():
            while not over.is_set():
                copy(s.x)
                running.release()

    server = threading.Thread(target=serve)
    server.start()
    for _ in range(3):
        running.acquire()
    for x, y in s.loader:
        s.train(x, y)
    over.set()
    server.join()
    return N, 0, 1


@scenario
def inference_on_threads_one_after_the_other():
    s = Setup()
    s.net.eval()
    for _ in range(N):
        def request():
            with torch.no_grad():
                s.forward(s.x, s.y)
        thread = threading.Thread(target=request)
        thread.start()
        thread.join()
    return N


@scenario
def closures_with_a_loader():
    """As Lightning runs its training steps."""
    s = Setup()
    for x, y in s.loader:
        def closure():
            s.optimizer.zero_grad()
            loss = s.forward(x, y)
            loss.backward()
            return loss
        s.optimizer.step(closure)
    return N


@scenario
def an_optimizer_for_each_parameter_inside_the_backward_pass():
    s = Setup()
    optimizers = {p: torch.optim.SGD([p], lr=0.01) for p in s.net.parameters()}

    def update(p):
        optimizers[p].step()
        optimizers[p].zero_grad()

    for p in s.net.parameters():
        p.register_post_accumulate_grad_hook(update)
    for x, y in s.loader:
        s.forward(x, y).backward()
    return N


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
    truth = SCENARIOS[name]()
    steps, evaluations, inferences = (truth, 0, 0) if isinstance(truth, int) else truth
    print(json.dumps({"steps": steps, "evaluations": evaluations, "inferences": inferences,
                      "marks": name not in UNMARKED}))
