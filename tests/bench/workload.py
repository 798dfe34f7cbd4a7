"""The training loop that is measured: a small MLP with SGD and momentum on one thread, bound by dispatch and not by
arithmetic. loop(loader=True) takes its batches from a DataLoader."""
import torch


def batches(loader):
    """Batches without end."""
    torch.manual_seed(0)
    if not loader:
        inputs, targets = torch.randn(16, 32), torch.randn(16, 8)
        while True:
            yield inputs, targets
    dataset = torch.utils.data.TensorDataset(torch.randn(1024, 32), torch.randn(1024, 8))
    loader = torch.utils.data.DataLoader(dataset, batch_size=16)
    while True:
        yield from loader


def loop(loader=False):
    """A function that trains one step."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    widths = [32, 64, 64, 64, 64, 8]
    layers = []
    for inputs, outputs in zip(widths, widths[1:]):
        layers += [torch.nn.Linear(inputs, outputs), torch.nn.ReLU()]
    net = torch.nn.Sequential(*layers[:-1])
    loss_of = torch.nn.MSELoss()
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3, momentum=0.9, weight_decay=1e-4, foreach=False)
    source = batches(loader)

    def step():
        inputs, targets = next(source)
        optimizer.zero_grad()
        loss = loss_of(net(inputs), targets)
        loss.backward()
        optimizer.step()
    return step
