"""A job on gloo in which rank 1 gets into trouble: hangs.py WHAT READY [RANKS=2]. Before that, rank 1 writes its process id
to the file READY. `save` and `download` are no trouble: they only take long; the address is in READY_URL."""
import os
import sys
import threading
import time

import gloo_job

WHAT, READY = sys.argv[1], sys.argv[2]
WORLD = int(sys.argv[3]) if len(sys.argv) > 3 else 2
LONG = 1000


def nap():
    time.sleep(LONG)


def asleep(torch, dist, x):
    nap()


def signalled(torch, dist, x):
    """The test sends a signal meanwhile."""


def deadlock(torch, dist, x):
    first, second = threading.Lock(), threading.Lock()
    both = threading.Barrier(2)

    def take(one, other):
        with one:
            both.wait()
            with other:
                pass
    threads = [threading.Thread(target=take, args=pair) for pair in ((first, second), (second, first))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


class Slow:
    def __len__(self):
        return 8

    def __getitem__(self, index):
        if index == 3:
            nap()
        return index


def loader(torch, dist, x):
    for _ in torch.utils.data.DataLoader(Slow(), num_workers=2):
        pass


def zombie(torch, dist, x):
    """A child that nobody waits for, and then the loader."""
    if not os.fork():
        os._exit(0)
    loader(torch, dist, x)


TRAINS = """
import time, torch
model = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
while True:
    optimizer.zero_grad()
    model(torch.randn(4, 4)).sum().backward()
    optimizer.step()
    time.sleep(0.01)
"""


def parent(torch, dist, x):
    """Another program that trains, and inherits the variables of this rank."""
    import subprocess
    subprocess.Popen([sys.executable, "-c", TRAINS])
    nap()


def save(torch, dist, x):
    large, path = torch.zeros(8 << 20), os.path.join(os.path.dirname(READY), "large.pt")
    end = time.monotonic() + LONG
    while time.monotonic() < end:
        torch.save(large, path)


def download(torch, dist, x):
    import urllib.request
    urllib.request.urlopen(os.environ["READY_URL"]).read()


def skip(torch, dist, x):
    """Leaves out the next all_reduce, and comes to the one in the other group."""
    return True


def rank_of_job(rank):
    import torch
    import torch.distributed as dist
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    other = dist.new_group(list(range(WORLD)))
    x = torch.ones(4)
    try:
        for step in range(LONG):
            skips = False
            if step == 20 and rank == 1:
                with open(READY + ".part", "w") as ready:
                    ready.write(str(os.getpid()))
                os.rename(READY + ".part", READY)
                skips = globals()[WHAT](torch, dist, x)
            if not skips:
                dist.all_reduce(x)
            dist.all_reduce(x, group=other)
            time.sleep(0.01)
            if WHAT == "fine":
                time.sleep(0.05)
    except RuntimeError:  # the other rank has gone
        nap()


def fine(torch, dist, x):
    pass


if __name__ == "__main__":
    rank_of_job(int(os.environ["RANK"])) if "RANK" in os.environ else gloo_job.start(WORLD)
