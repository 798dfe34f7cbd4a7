"""Hogwild: the parent makes a model and waits, two processes train it."""
import torch
import torch.multiprocessing

from descent import Descent


def train(model):
    optimizer = Descent(model.parameters(), lr=0.01)
    for _ in range(12):
        optimizer.zero_grad()
        model(torch.ones(2, 4)).mean().backward()
        optimizer.step()


if __name__ == "__main__":
    shared = torch.nn.Linear(4, 2).share_memory()
    torch.nn.init.normal_(shared.weight)
    processes = [torch.multiprocessing.Process(target=train, args=(shared,)) for _ in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
