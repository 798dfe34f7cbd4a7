"""A training step for the programs of this directory: step() trains once under a label mark:<i>."""
import torch
from torch.autograd.profiler import record_function

from descent import Descent

torch.manual_seed(0)
torch.set_num_threads(1)
_net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))
_optimizer = Descent(_net.parameters(), lr=0.01)
_inputs, _targets = torch.randn(4, 8), torch.randn(4, 4)
done = 0


def step(count=1):
    global done
    for _ in range(count):
        _optimizer.zero_grad()
        with record_function("mark:%d" % done):
            loss = ((_net(_inputs) - _targets) ** 2).mean()
        loss.backward()
        _optimizer.step()
        done += 1


def note(label):
    """One operator under a label, outside of training."""
    with record_function(label):
        torch.ones(2).add(1)


# The phases of the schedule wait=2,warmup=2,active=3,repeat=1 by the number of completed steps:
# before step 2 wait, 2 and 3 warm-up, 4 to 6 active, then over.
PHASES = (("wait", 1), ("warmup", 3), ("active", 5), ("over", 9))


def in_each_phase(what):
    """Trains on and calls what(phase) once in each phase, and once before any step."""
    what("start")
    for phase, steps in PHASES:
        step(steps - done)
        what(phase)
    step(2)
