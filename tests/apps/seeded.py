"""A seeded training with shuffling and dropout; prints every loss to the last bit."""
import torch
from torch.utils.data import DataLoader, TensorDataset

from descent import Descent

torch.manual_seed(7)
data = TensorDataset(torch.randn(64, 10), torch.randn(64, 3))
net = torch.nn.Sequential(torch.nn.Linear(10, 32), torch.nn.GELU(), torch.nn.Dropout(0.3), torch.nn.Linear(32, 3))
optimizer = Descent(net.parameters(), lr=0.05)
for epoch in range(3):
    for x, y in DataLoader(data, batch_size=8, shuffle=True):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(net(x), y)
        loss.backward()
        optimizer.step()
        print(epoch, loss.item().hex())
