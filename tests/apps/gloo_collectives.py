"""A job on gloo: gloo_collectives.py ops|ddp|join|fsdp RANKS env|spawn|started. The ranks are started as launchers do (RANK
and WORLD_SIZE set, by a parent without torch), by torch.multiprocessing.spawn, or were started by mpirun or srun, with
MASTER_ADDR and MASTER_PORT set. Prints what each rank returned."""
import os
import sys

import gloo_job

WHAT, WORLD, HOW = sys.argv[1], int(sys.argv[2]), sys.argv[3]
STEPS = 4


KEPT = []


def kept(tensor):
    """torch 2.6 waits for ever if a thread of gloo is the last one to drop a tensor while the group is destroyed: the
    one waits for the GIL, the other for that thread."""
    KEPT.append(tensor)
    return tensor


def ops(torch, dist, rank):
    """Every operator that gloo knows, in the group of all and in one of two ranks; and one that runs meanwhile."""
    pair = dist.new_group([0, 1])
    ones, zeros = (lambda *size, **more: kept(make(*size, **more)) for make in (torch.ones, torch.zeros))
    dist.all_gather_object([None] * WORLD, {"rank": rank})
    x, parts = ones(6), [zeros(6) for _ in range(WORLD)]
    dist.all_reduce(x)
    large = ones(1 << 20)
    store = dist.distributed_c10d._get_default_store()
    if rank:
        store.wait(["multiplied"])  # by rank 0, whose collective is under way
    work = dist.all_reduce(large, async_op=True)
    torch.mm(torch.ones(64, 64), torch.ones(64, 64))
    if rank == 0:
        store.set("multiplied", "yes")
    work.wait()
    dist.all_gather(parts, x)
    dist.broadcast(x, 1)
    dist.reduce(x, 0)
    dist.gather(x, parts if rank == 0 else None)
    dist.scatter(x, parts if rank == 0 else None)
    if rank < 2:
        dist.all_reduce(ones(3, dtype=torch.float64), group=pair)
    if int(torch.__version__.split(".")[0]) > 1:  # before, gloo does not know them
        dist.all_gather_into_tensor(zeros(6 * WORLD), x)
        dist.reduce_scatter_tensor(zeros(2), ones(2 * WORLD))
        dist.all_to_all_single(zeros(WORLD), ones(WORLD))
        import torch.distributed._functional_collectives as functional
        total = kept(functional.all_reduce(x, "sum", dist.group.WORLD))
        kept(getattr(total, "elem", total))
        kept(total + 1)
    dist.barrier()


def model_of(torch):
    layers = [torch.nn.Linear(64, 64) for _ in range(4)]
    return torch.nn.Sequential(*layers, torch.nn.Linear(64, 2))


def train(torch, model, batches, accumulate=1):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for i in range(batches):
        last = i % accumulate == accumulate - 1
        if i % accumulate == 0:
            optimizer.zero_grad()
        if last:
            model(torch.ones(8, 64)).sum().backward()
            optimizer.step()
        else:
            with model.no_sync():
                model(torch.ones(8, 64)).sum().backward()


def ddp(torch, dist, rank):
    """Several buckets a step; two batches are accumulated for each."""
    from torch.nn.parallel import DistributedDataParallel
    train(torch, DistributedDataParallel(model_of(torch), bucket_cap_mb=0.02), 2 * STEPS, accumulate=2)


def join(torch, dist, rank):
    """The last rank has two batches more than the others."""
    from torch.distributed.algorithms.join import Join
    from torch.nn.parallel import DistributedDataParallel
    model = DistributedDataParallel(model_of(torch))
    with Join([model]):
        train(torch, model, STEPS + 2 * (rank == WORLD - 1))


def fsdp(torch, dist, rank):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    model, mesh = model_of(torch), init_device_mesh("cpu", (WORLD,))
    for layer in model:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    train(torch, model, STEPS)


def rank_of_job(rank):
    import torch
    import torch.distributed as dist
    torch.set_num_threads(1)
    given = {} if HOW == "env" else {"rank": rank, "world_size": WORLD}
    dist.init_process_group("gloo", **given)
    globals()[WHAT](torch, dist, rank)
    gloo_job.leave(dist)


def started_as():
    """The number that mpirun or srun gave this process."""
    return next(int(os.environ[name]) for name in ("OMPI_COMM_WORLD_RANK", "SLURM_PROCID") if name in os.environ)


def main():
    if HOW == "env":
        gloo_job.start(WORLD)
        return
    import torch.multiprocessing
    gloo_job.meet()
    torch.multiprocessing.spawn(rank_of_job, nprocs=WORLD)
    print("spawned")


if __name__ == "__main__":
    if HOW == "started":
        rank_of_job(started_as())
    else:
        rank_of_job(int(os.environ["RANK"])) if HOW == "env" and "RANK" in os.environ else main()
