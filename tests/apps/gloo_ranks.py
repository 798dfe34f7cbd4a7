"""Ranks that train a small model with DistributedDataParallel on gloo: gloo_ranks.py STEPS LATE_MS [RANKS=2], where the
second one loads each batch so much later. Started as launchers do: a torch-free parent, RANK and WORLD_SIZE set."""
import os
import socket
import subprocess
import sys
import time

from gloo_job import leave

WORLD = int(sys.argv[3]) if len(sys.argv) > 3 else 2


def train(rank, steps, late):
    import torch
    import torch.distributed
    from torch.nn.parallel import DistributedDataParallel

    class Batches(torch.utils.data.Dataset):
        def __len__(self):
            return steps

        def __getitem__(self, index):
            time.sleep(late / 1000 if rank == 1 else 0)
            return torch.ones(16)

    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", rank=rank, world_size=WORLD)
    layers = torch.nn.Linear(16, 64), torch.nn.ReLU(), torch.nn.Linear(64, 4)
    model = DistributedDataParallel(torch.nn.Sequential(*layers))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for batch in torch.utils.data.DataLoader(Batches(), batch_size=1):
        optimizer.zero_grad()
        model(batch).sum().backward()
        optimizer.step()
    leave(torch.distributed)


if "RANK" in os.environ:
    train(int(os.environ["RANK"]), int(sys.argv[1]), float(sys.argv[2]))
else:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    job = {"WORLD_SIZE": str(WORLD), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "GLOO_SOCKET_IFNAME": "lo",
           "USE_LIBUV": "0"}
    ranks = [subprocess.Popen([sys.executable, *sys.argv], stdout=subprocess.DEVNULL,
                              env={**os.environ, **job, "RANK": str(rank)}) for rank in range(WORLD)]
    print([rank.wait() for rank in ranks])
