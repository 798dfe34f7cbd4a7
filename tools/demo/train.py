"""A small, real training: a convolutional net learns to tell four kinds of drawn shapes apart.

It knows nothing of tprof. Run it plain, or under tprof-run.
"""
import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Shapes(Dataset):
    """16x16 pictures of a bar, a column, a square or a cross, with noise; the same ones every time."""

    def __init__(self, size):
        self.size = size

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        noise = torch.Generator().manual_seed(index)
        picture = 0.3 * torch.randn(1, 16, 16, generator=noise)
        row, column = torch.randint(2, 10, (2,), generator=noise).tolist()
        kind = index % 4
        if kind in (0, 3):
            picture[0, row + 2, column:column + 5] += 1
        if kind in (1, 3):
            picture[0, row:row + 5, column + 2] += 1
        if kind == 2:
            picture[0, row:row + 4, column:column + 4] += 1
        return picture, kind


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.AdaptiveAvgPool2d(2))
        self.classify = nn.Linear(64, 4)

    def forward(self, picture):
        return self.classify(self.features(picture).flatten(1))


def main():
    torch.manual_seed(0)
    epochs = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    loader = DataLoader(Shapes(256), batch_size=32, shuffle=True)
    net = Net()
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    loss_of = nn.CrossEntropyLoss()
    for epoch in range(epochs):
        right = 0
        total = 0.0
        for pictures, kinds in loader:
            optimizer.zero_grad()
            scores = net(pictures)
            loss = loss_of(scores, kinds)
            loss.backward()
            optimizer.step()
            total += loss.item()
            right += (scores.argmax(1) == kinds).sum().item()
        print("epoch %d: loss %.3f, %d of %d right" % (epoch, total / len(loader), right, len(loader.dataset)))


if __name__ == "__main__":
    main()
