"""DistributedDataParallel on gloo: each rank of a job that torchrun starts."""
import time

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset
from truth import tell

torch.set_num_threads(1)
dist.init_process_group("gloo")
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))
model = torch.nn.parallel.DistributedDataParallel(model)
optimizer = torch.optim.AdamW(model.parameters())
data = TensorDataset(torch.randn(400, 64), torch.randint(0, 10, (400,)))
steps = 0
for x, y in DataLoader(data, 8, sampler=DistributedSampler(data)):
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    steps += 1
dist.all_reduce(loss := loss.detach())
if dist.get_rank() == 0:
    print("loss %.4f" % loss.item())
    tell(steps=steps, ranks=dist.get_world_size())
# gloo's threads free the last collective after the main thread went on. One that does so while Python ends makes torch
# abort ("terminate called without an active exception", pytorch/pytorch issue 190489), also without tprof: here they
# get the time that a program needs to save its model.
time.sleep(1)
dist.destroy_process_group()
