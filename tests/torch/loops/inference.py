"""Forwards without gradient: a program that only infers, and training with rollouts or requests beside it."""
import threading

import torch

from . import N, Setup, deeper, scenario


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


class Switches(torch.nn.Module):
    """Goes to another greenlet in the middle of a call."""

    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(4, 2)
        self.to = None

    def forward(self, x):
        if self.to:
            self.to.switch()
        return self.fc(x)


@scenario(marks=False)
def inference_in_greenlets():
    import greenlet
    x, net, inside = torch.ones(2, 4), Switches(), Switches()
    inside.to = greenlet.getcurrent()
    with torch.no_grad():
        for _ in range(N // 2):
            net.to = second = greenlet.greenlet(lambda: inside(x))
            net(x)  # ends while the second is in the middle of its call
            net.to = None
            second.switch()
            net(x)
    return N


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
def inference_beside_the_training():
    """On a thread of its own, begun before the training does: what it did until then is inference, the rest is not seen. While
    the first batch is drawn it waits: of a draw in the midst of another thread's call nobody can say what it is."""
    s = Setup()
    copy = torch.nn.Linear(4, 2)
    served, drawn, over = threading.Event(), threading.Event(), threading.Event()

    def serve():
        with torch.no_grad():
            for _ in range(3):
                copy(s.x)
            served.set()
            drawn.wait()
            while not over.is_set():
                copy(s.x)

    server = threading.Thread(target=serve)
    server.start()
    served.wait()
    for x, y in s.loader:
        drawn.set()
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
