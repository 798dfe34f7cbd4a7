"""How loops end, and what follows them. After each loop comes work under a label after:<word>, which belongs to no step:
it lies behind the last one, in a stretch "After the loop"."""
import inspect
import io
import time
import types

import torch
from torch.autograd.profiler import record_function

from . import N, Setup, evaluate, held_out, look_ahead, scenario
from .updates import amp_iteration, cuda_graph, scaler


def captures_nothing():
    """Captures of graphs do nothing from now on: here is no GPU. What watches their calls still sees them."""
    class Stub:
        def closed(self, *arguments, **more):
            return __class__ and None

        def plain(self, *arguments, **more):
            return None
    for name in "capture_begin", "capture_end":
        function = inspect.unwrap(vars(torch.cuda.CUDAGraph)[name])
        function.__code__ = (Stub.closed if function.__code__.co_freevars else Stub.plain).__code__


def after(word, s):
    with record_function("after:" + word):
        s.total += s.x.sum().item()


@scenario
def a_loader_then_a_save():
    s = Setup()
    for x, y in s.loader:
        s.train(x, y)
        with record_function("body"):
            s.total /= 2
    torch.save(s.net.state_dict(), io.BytesIO())
    after("save", s)
    return N


@scenario
def a_sleep_after_the_loop():
    s = Setup()
    for _ in range(N):
        s.train(s.x, s.y)
    time.sleep(0.3)
    after("sleep", s)
    return N


@scenario
def an_evaluation_long_after_the_loop():
    s = Setup()
    for _ in range(N):
        s.train(s.x, s.y)
    time.sleep(0.1)
    after("sleep", s)
    evaluate(s, held_out())
    return N, 1, 0


@scenario
def gaps_between_epochs():
    s = Setup(batches=5)
    for _ in range(2):
        for x, y in s.loader:
            s.train(x, y)
        time.sleep(0.05)
        after("epoch", s)
    return N


@scenario
def gaps_between_epochs_that_are_drawn_ahead():
    s = Setup(batches=5)
    for _ in range(2):
        for x, y in look_ahead(s.loader):
            s.train(x, y)
        time.sleep(0.05)
        after("epoch", s)
    return N


@scenario
def a_break_out_of_the_loader():
    s = Setup(batches=2 * N)
    for i, (x, y) in enumerate(s.loader):
        if i == N:
            break
        s.train(x, y)
    time.sleep(0.05)
    after("break", s)
    return N


@scenario
def an_exception_that_ends_the_loop():
    s = Setup(batches=2 * N)
    try:
        for x, y in s.loader:
            s.train(x, y)
            if s.marked == N:
                raise StopIteration
    except StopIteration:
        time.sleep(0.05)
        after("exception", s)
    return N


@scenario
def two_optimizers_then_a_sleep():
    s = Setup()
    for _ in range(N):
        s.other_optimizer.zero_grad()
        s.other(s.x).sum().backward(retain_graph=True)
        s.optimizer.zero_grad()
        s.forward(s.x, s.y).backward()
        s.optimizer.step()
        s.other_optimizer.step()
    time.sleep(0.05)
    after("optimizers", s)
    return N


@scenario(marks=False)
def lbfgs_then_a_sleep():
    s = Setup()
    optimizer = torch.optim.LBFGS(s.net.parameters(), max_iter=3)

    def closure():
        optimizer.zero_grad()
        loss = s.forward(s.x, s.y)
        loss.backward()
        return loss
    for _ in range(N):
        optimizer.step(closure)
    time.sleep(0.05)
    after("lbfgs", s)
    return N


@scenario(marks=False)
def a_gan_of_five_to_one_then_a_sleep():
    """Its critic has five batches for each of the generator: each batch is a step."""
    s = Setup()
    for i, (x, y) in enumerate(s.loader):
        s.other_optimizer.zero_grad()
        s.other(x).mean().backward()
        s.other_optimizer.step()
        if i % 5 == 4:
            s.train(x, y)
    time.sleep(0.05)
    after("gan", s)
    return N


@scenario
def amp_that_skips_the_last_update():
    s, scale = Setup(), scaler()
    for i in range(N):
        amp_iteration(s, scale, 1 if i == N - 1 else 0, s.x, s.y)
    time.sleep(0.05)
    after("amp", s)
    return N


@scenario
def by_hand_without_an_optimizer_then_a_sleep():
    s = Setup(optimizers=False)
    for _ in range(N):
        s.net.zero_grad()
        s.forward(s.x, s.y).backward()
        with torch.no_grad():
            for p in s.net.parameters():
                p -= 0.01 * p.grad
    time.sleep(0.05)
    after("hand", s)
    return N


@scenario(marks=False)
def a_whole_step_is_captured_and_replayed():
    """Three steps as they are, one that is captured, which does nothing, and the rest as its replays."""
    s, graph = Setup(), cuda_graph()
    captures_nothing()
    torch._C._CUDAGraph.replay = lambda self: s.x.add_(1)
    for _ in range(3):
        s.train(s.x, s.y)
    graph.capture_begin()
    s.train(s.x, s.y)
    graph.capture_end()
    for _ in range(N - 3):
        graph.replay()
    time.sleep(0.05)
    after("graph", s)
    return N


@scenario(marks=False)
def graphed_callables():
    """As torch.cuda.make_graphed_callables does it: warmed up and captured before, then forward and backward replay."""
    s, forward, backward = Setup(), cuda_graph(), cuda_graph()
    captures_nothing()

    class Graphed(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, *parameters):
            forward.replay()
            return x.sum(1, keepdim=True) * parameters[0].sum()

        @staticmethod
        def backward(ctx, gradient):
            backward.replay()
            return None, *(torch.ones_like(p) for p in s.net.parameters())
    for graph in forward, backward:
        graph.capture_begin()
        s.net(s.x).sum().backward()
        graph.capture_end()
    s.net.forward = types.MethodType(lambda self, x: Graphed.apply(x, *self.parameters()), s.net)
    for _ in range(N):
        s.train(s.x, s.y)
    time.sleep(0.05)
    after("callables", s)
    return N


@scenario(marks=False)
def batches_left_over_from_accumulation():
    s = Setup(batches=2 * N + 1)
    for i, (x, y) in enumerate(s.loader):
        s.forward(x, y).backward()
        if i % 2:
            s.optimizer.step()
            s.optimizer.zero_grad()
    after("left", s)
    return N
