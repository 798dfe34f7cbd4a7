"""A training that calls tprof_stop() in the middle of its epochs, each followed by an evaluation."""
import ctypes

import torch

model = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
training = torch.utils.data.DataLoader(torch.randn(64, 4), batch_size=2)
evaluation = torch.utils.data.DataLoader(torch.randn(16, 4), batch_size=2)
for last in (3, 4, 5):
    for number, batch in enumerate(training):
        if number == last:  # where a window ends, if this batch is the begin of a step
            ctypes.CDLL(None).tprof_stop()
            break
        optimizer.zero_grad()
        model(batch).sum().backward()
        optimizer.step()
    with torch.no_grad():
        for batch in evaluation:
            model(batch)
print("done")
