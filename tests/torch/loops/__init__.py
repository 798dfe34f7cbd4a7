"""What the loops of this folder share: how one is registered, its model and data, an evaluation without labels."""
import torch
from torch.autograd.profiler import record_function
from torch.utils.data import DataLoader, TensorDataset

N = 10
MICRO = 4
SCENARIOS = {}
UNMARKED = set()


def scenario(function=None, *, marks=True):
    """Registers a scenario; marks=False where an iteration is not exactly one step."""
    if function is None:
        return lambda f: scenario(f, marks=marks)
    SCENARIOS[function.__name__] = function
    if not marks:
        UNMARKED.add(function.__name__)
    return function


class Setup:
    """A model, its optimizer and data, made anew for each process."""

    def __init__(self, batches=N, workers=0, optimizers=True):
        torch.manual_seed(0)
        torch.set_num_threads(1)
        self.net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
        self.other = torch.nn.Linear(4, 2)
        if optimizers:
            self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.01)
            self.other_optimizer = torch.optim.Adam(self.other.parameters())
        self.x, self.y = torch.randn(2, 4), torch.randn(2, 2)
        data = TensorDataset(torch.randn(2 * batches, 4), torch.randn(2 * batches, 2))
        self.loader = DataLoader(data, batch_size=2, num_workers=workers)
        self.marked = 0
        self.total = 0.0

    def forward(self, x, y, net=None):
        with record_function("mark:%d" % self.marked):
            loss = (((net or self.net)(x) - y) ** 2).mean()
        self.marked += 1
        return loss

    def train(self, x, y):
        """The usual order: zero_grad, forward, backward, step, item."""
        self.optimizer.zero_grad()
        loss = self.forward(x, y)
        loss.backward()
        self.optimizer.step()
        self.total += loss.item()


def deeper(function, *arguments):
    """Calls it further down the C stack than the caller's other calls."""
    return list(map(function, *([a] for a in arguments)))[0]


def evaluate(s, loader, gradients=False):
    """No labels, so that it is seen where an evaluation lies."""
    s.net.eval()
    with torch.set_grad_enabled(gradients):
        for x, y in loader:
            s.total += ((s.net(x) - y) ** 2).mean().item()
    s.net.train()


def held_out():
    return Setup(batches=2, optimizers=False).loader


def look_ahead(loader):
    """As accelerate's loaders: each batch is drawn before the one before it is handed out."""
    batches = iter(loader)
    current = next(batches)
    for following in batches:
        yield current
        current = following
    yield current
