"""Two streams beside the first: batches are copied ahead of their step on one, half of the model computes on the other."""
import torch
import torch.nn as nn
from shared import told

STEPS, BATCH, WIDTH = 6, 32, 128


class Ahead:
    """Batches on the device; each is copied from pinned memory while the step before it computes."""

    def __init__(self, count):
        self.left, self.stream = count, torch.cuda.Stream()
        self.copy()

    def copy(self):
        self.next = None
        if self.left:
            self.left -= 1
            with torch.cuda.stream(self.stream):
                self.next = torch.randn(BATCH, WIDTH).pin_memory().cuda(non_blocking=True)

    def __iter__(self):
        while self.next is not None:
            torch.cuda.current_stream().wait_stream(self.stream)
            batch = self.next
            batch.record_stream(torch.cuda.current_stream())
            self.copy()
            yield batch


class Halves(nn.Module):
    def __init__(self):
        super().__init__()
        self.left = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, 8))
        self.right = nn.Sequential(nn.Linear(WIDTH, 64), nn.Tanh(), nn.Linear(64, 8))
        self.beside, self.come, self.done = torch.cuda.Stream(), torch.cuda.Event(), torch.cuda.Event()

    def forward(self, x):
        self.come.record()
        with torch.cuda.stream(self.beside):
            self.come.wait()
            right = self.right(x)
            self.done.record()
        left = self.left(x)
        self.done.wait()
        return left + right


def main():
    model = Halves().cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2, momentum=0.9)
    for batch in Ahead(STEPS):
        optimizer.zero_grad()
        loss = model(batch).square().mean()
        loss.backward()
        optimizer.step()
    told(steps=STEPS, loss=loss.item())


if __name__ == "__main__":
    main()
