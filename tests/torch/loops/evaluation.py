"""Training with evaluations before, between, amid and behind its epochs."""
import itertools

import torch

from . import N, Setup, evaluate, held_out, scenario


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
def evaluation_that_draws_no_more_than_it_uses():
    """As Lightning, which knows how many batches there are: their loader is never exhausted."""
    s, other = Setup(batches=N // 2), held_out()
    for _ in range(2):
        for x, y in s.loader:
            s.train(x, y)
        evaluate(s, itertools.islice(other, 2))
    return N, 2, 0


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
def evaluation_between_a_batch_and_its_use():
    s, other = Setup(), held_out()
    for i, (x, y) in enumerate(s.loader):
        if i % 4 == 2:
            evaluate(s, other)
        s.train(x, y)
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
