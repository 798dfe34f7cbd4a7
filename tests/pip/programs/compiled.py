"""torch.compile: training with a model that the compiler has made C++ of, and made again for a batch of another size."""
import torch
from torch._dynamo.utils import counters
from truth import tell

STEPS = 12
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.GELU(), torch.nn.Linear(64, 8))
compiled = torch.compile(model, dynamic=False)
optimizer = torch.optim.Adam(model.parameters())
for step in range(STEPS):
    x = torch.randn(16 if step < 6 else 24, 32)
    loss = compiled(x).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("loss %.4f" % loss.item(), "graphs", counters["stats"]["unique_graphs"])
tell(steps=STEPS)
