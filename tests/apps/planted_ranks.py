"""A job of two ranks on gloo, one of which may be slower than the other: planted_ranks.py WHERE SEED STEPS [SHARE=0.2]

WHERE: nowhere, loader, python, operator, network. The slow rank, and how much each step differs from the next, follow
from SEED. The delay is SHARE of a step of about 30 ms. On the network it is the slow rank that gets what the others send
later (slow_reads.c, named by SLOW_READS). Prints the slow rank, -1 for none."""
import os
import random
import socket
import subprocess
import sys
import time

from gloo_job import leave

WHERE, SEED, STEPS = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
SHARE = float(sys.argv[4]) if len(sys.argv) > 4 else 0.2
SLOW = -1 if WHERE == "nowhere" else random.Random(SEED).randrange(2)
STEP_S = 0.03
READS = 12  # of an all-reduce of two ranks


def train(rank):
    import torch
    import torch.distributed

    from descent import Descent

    chance = random.Random(1000 * SEED + rank)
    late = lambda where: SHARE * STEP_S if (rank, where) == (SLOW, WHERE) else 0
    some = lambda seconds: seconds * chance.uniform(0.85, 1.15)

    class Batches(torch.utils.data.Dataset):
        def __len__(self):
            return STEPS

        def __getitem__(self, index):
            time.sleep(some(0.006) + late("loader"))
            return torch.ones(64)

    library = torch.library.Library("planted", "DEF")
    library.define("work(Tensor x) -> Tensor")

    def work(x):
        time.sleep(some(0.010) + late("operator"))
        return x.clone()
    library.impl("work", work, "CPU")

    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", rank=rank, world_size=2)
    model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 8))
    optimizer = Descent(model.parameters(), lr=0.01)
    for batch in torch.utils.data.DataLoader(Batches(), batch_size=1):
        optimizer.zero_grad()
        torch.ops.planted.work(batch)
        model(batch).sum().backward()
        time.sleep(some(0.006) + late("python"))
        flat = torch.cat([p.grad.flatten() for p in model.parameters()])
        torch.distributed.all_reduce(flat)
        optimizer.step()
    leave(torch.distributed)


if "RANK" in os.environ:
    train(int(os.environ["RANK"]))
else:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    ranks = []
    for rank in range(2):
        job = {**os.environ, "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "RANK": str(rank),
               "GLOO_SOCKET_IFNAME": "lo", "USE_LIBUV": "0", "OMP_NUM_THREADS": "1"}
        if WHERE == "network" and rank == SLOW:
            job["LD_PRELOAD"] = " ".join(filter(None, [job.get("LD_PRELOAD"), os.environ["SLOW_READS"]]))
            job["SLOW_READS_US"] = str(int(SHARE * STEP_S * 1e6 / READS))
        ranks.append(subprocess.Popen([sys.executable, *sys.argv], stdout=subprocess.DEVNULL, env=job))
    codes = [rank.wait() for rank in ranks]
    print(SLOW if codes == [0, 0] else codes)
