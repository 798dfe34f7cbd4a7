"""Convolutions, batch normalisation and shortcuts, by cuDNN as it is set by default; the batches come from a DataLoader."""
import torch
import torch.nn as nn
from shared import told

STEPS, BATCH, WIDTH, CLASSES = 6, 4, 16, 10


class Block(nn.Module):
    def __init__(self, before, after, stride):
        super().__init__()
        self.main = nn.Sequential(nn.Conv2d(before, after, 3, stride, 1, bias=False), nn.BatchNorm2d(after),
                                  nn.ReLU(inplace=True), nn.Conv2d(after, after, 3, 1, 1, bias=False),
                                  nn.BatchNorm2d(after))
        self.short = nn.Sequential(nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after))

    def forward(self, x):
        return torch.relu(self.main(x) + self.short(x))


def main():
    model = nn.Sequential(nn.Conv2d(3, WIDTH, 7, 2, 3), nn.BatchNorm2d(WIDTH), nn.ReLU(), nn.MaxPool2d(3, 2, 1),
                          Block(WIDTH, WIDTH, 1), Block(WIDTH, 2 * WIDTH, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                          nn.Linear(2 * WIDTH, CLASSES)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    data = torch.utils.data.TensorDataset(torch.randn(STEPS * BATCH, 3, 32, 32),
                                          torch.randint(0, CLASSES, (STEPS * BATCH,)))
    steps = 0
    for images, labels in torch.utils.data.DataLoader(data, batch_size=BATCH, pin_memory=True):
        images, labels = images.cuda(non_blocking=True), labels.cuda(non_blocking=True)
        loss = nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        steps += 1
    model.eval()
    with torch.no_grad():
        model(images)
    told(steps=steps, loss=loss.item())


if __name__ == "__main__":
    main()
