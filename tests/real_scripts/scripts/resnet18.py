"""The loop of PyTorch's tutorials: torchvision's ResNet-18, transforms and a DataLoader. resnet18.py WORKERS."""
import sys

import torch
import torchvision
from torchvision import transforms

transform = transforms.Compose([transforms.Resize(448), transforms.ColorJitter(0.4, 0.4, 0.4, 0.1),
                                transforms.RandomResizedCrop(64), transforms.ToTensor(),
                                transforms.Normalize((0.5, 0.5, 0.5), (0.5, 0.5, 0.5))])
train_set = torchvision.datasets.CIFAR10(root="./data", train=True, download=True, transform=transform)
train_loader = torch.utils.data.DataLoader(train_set, batch_size=8, shuffle=True, num_workers=int(sys.argv[1]))
model = torchvision.models.resnet18()
criterion = torch.nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.001, momentum=0.9)
model.train()
for step, data in enumerate(train_loader, 0):
    inputs, labels = data
    outputs = model(inputs)
    loss = criterion(outputs, labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("trained", step + 1)
