"""Programs on gloo as users write them: gloo_programs.py NAME[,NAME...] RANKS. Each NAME is a function below; they run one
after the other in one job. Prints what each rank returned."""
import os
import sys

import gloo_job

NAMES, WORLD = sys.argv[1].split(","), int(sys.argv[2])
STEPS = 3


def layers(torch, count=3):
    nn = torch.nn
    return nn.Sequential(*[nn.Sequential(nn.Linear(32, 32), nn.ReLU()) for _ in range(count)], nn.Linear(32, 4))


def train(torch, model, optimizer=None, batch=8):
    optimizer = optimizer or torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(STEPS):
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(torch.ones(batch, 32)), torch.zeros(batch, 4)).backward()
        optimizer.step()


# --- data parallel

def ddp_static_graph(torch, dist, rank):
    from torch.nn.parallel import DistributedDataParallel
    train(torch, DistributedDataParallel(layers(torch), static_graph=True, bucket_cap_mb=0.005))


def ddp_unused(torch, dist, rank):
    """A branch that not every step takes."""
    from torch.nn.parallel import DistributedDataParallel

    class Branches(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.common, self.first, self.second, self.calls = layers(torch), *[torch.nn.Linear(4, 4) for _ in "ab"], 0

        def forward(self, x):
            self.calls += 1
            return (self.first if self.calls % 2 else self.second)(self.common(x))
    train(torch, DistributedDataParallel(Branches(), find_unused_parameters=True, gradient_as_bucket_view=True))


def ddp_buffers(torch, dist, rank):
    """BatchNorm's buffers are broadcast in each forward pass; SyncBatchNorm needs a GPU."""
    from torch.nn.parallel import DistributedDataParallel
    nn = torch.nn
    train(torch, DistributedDataParallel(nn.Sequential(nn.Linear(32, 32), nn.BatchNorm1d(32), nn.Linear(32, 4))))


def powersgd(torch, dist, rank):
    from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook
    from torch.nn.parallel import DistributedDataParallel
    model = DistributedDataParallel(layers(torch))
    state = powerSGD_hook.PowerSGDState(dist.group.WORLD, start_powerSGD_iter=2, min_compression_rate=1)
    model.register_comm_hook(state, powerSGD_hook.powerSGD_hook)
    train(torch, model)


def zero(torch, dist, rank):
    from torch.distributed.optim import ZeroRedundancyOptimizer
    from torch.nn.parallel import DistributedDataParallel
    model = DistributedDataParallel(layers(torch))
    train(torch, model, ZeroRedundancyOptimizer(model.parameters(), optimizer_class=torch.optim.Adam, lr=0.01))


def post_local_sgd(torch, dist, rank):
    from torch.distributed.algorithms.model_averaging.averagers import PeriodicModelAverager
    model, averager = layers(torch), PeriodicModelAverager(period=1, warmup_steps=0)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(STEPS):
        optimizer.zero_grad()
        model(torch.ones(8, 32)).sum().backward()
        optimizer.step()
        averager.average_parameters(model.parameters())


# --- shards

def fsdp1(torch, dist, rank):
    from torch.distributed.fsdp import FullyShardedDataParallel, ShardingStrategy
    model = layers(torch)
    for i, layer in enumerate(model):
        model[i] = FullyShardedDataParallel(layer, device_id=torch.device("cpu"))
    train(torch, FullyShardedDataParallel(model, device_id=torch.device("cpu"),
                                          sharding_strategy=ShardingStrategy.SHARD_GRAD_OP))


def fsdp2(torch, dist, rank):
    from torch.distributed.fsdp import fully_shard
    from torch.distributed.device_mesh import init_device_mesh
    model, mesh = layers(torch), init_device_mesh("cpu", (WORLD,))
    for layer in model:
        fully_shard(layer, mesh=mesh)
    train(torch, fully_shard(model, mesh=mesh))


def hsdp(torch, dist, rank):
    """Shards in pairs, replicas across them."""
    from torch.distributed.fsdp import fully_shard
    from torch.distributed.device_mesh import init_device_mesh
    model, mesh = layers(torch), init_device_mesh("cpu", (WORLD // 2, 2), mesh_dim_names=("replicas", "shards"))
    train(torch, fully_shard(model, mesh=mesh))


def tensor_parallel(torch, dist, rank):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
    mesh = init_device_mesh("cpu", (WORLD,))
    model = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 4))
    train(torch, parallelize_module(model, mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()}))


def dtensor(torch, dist, rank):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Replicate, Shard, distribute_tensor
    mesh = init_device_mesh("cpu", (WORLD,))
    for _ in range(STEPS):
        x = distribute_tensor(torch.ones(8 * WORLD, 4), mesh, [Shard(0)])
        x.redistribute(mesh, [Replicate()])
        x.sum(0).redistribute(mesh, [Replicate()])
        x.redistribute(mesh, [Shard(1)])
        x.full_tensor()


def pipeline(torch, dist, rank):
    from torch.distributed.pipelining import PipelineStage, ScheduleGPipe
    part = torch.nn.Linear(32, 32)
    optimizer = torch.optim.SGD(part.parameters(), lr=0.01)
    stage = PipelineStage(part, rank, WORLD, torch.device("cpu"), group=dist.new_group(list(range(WORLD))))
    schedule = ScheduleGPipe(stage, n_microbatches=4, loss_fn=torch.nn.functional.mse_loss)
    for _ in range(STEPS):
        x = torch.ones(8, 32)
        optimizer.zero_grad()
        schedule.step(*([x] if rank == 0 else []), **({"target": x} if rank == WORLD - 1 else {}))
        optimizer.step()


# --- calls

def point_to_point(torch, dist, rank):
    """A ring by batch_isend_irecv, a chain by send and recv, and the first rank that answers."""
    right, left, x = (rank + 1) % WORLD, (rank - 1) % WORLD, torch.ones(16)
    for _ in range(STEPS):
        got = torch.zeros(16)
        for work in dist.batch_isend_irecv([dist.P2POp(dist.isend, x, right), dist.P2POp(dist.irecv, got, left)]):
            work.wait()
        if rank:
            dist.recv(got, rank - 1)
        if rank < WORLD - 1:
            dist.send(x, rank + 1)
        if rank == 0:
            for _ in range(WORLD - 1):
                dist.recv(got)
        else:
            dist.send(x, 0, tag=0)


def subgroups(torch, dist, rank):
    """Rows and columns of a grid; a rank that is in no group; a group of one."""
    rows = [dist.new_group([i, i + 1]) for i in range(0, WORLD - 1, 2)]
    columns = [dist.new_group(list(range(i, WORLD, 2))) for i in range(2)]
    last = dist.new_group([WORLD - 1])
    for _ in range(STEPS):
        dist.all_reduce(torch.ones(5), group=rows[rank // 2])
        dist.all_gather([torch.zeros(3) for _ in range(dist.get_world_size(columns[rank % 2]))], torch.ones(3),
                        group=columns[rank % 2])
        if rank == WORLD - 1:
            dist.all_reduce(torch.ones(2), group=last)
        dist.barrier()
    dist.destroy_process_group(rows[rank // 2])
    again = dist.new_group(list(range(WORLD)))  # perhaps where the other one was
    dist.broadcast(torch.ones(7), 0, group=again)


def barriers(torch, dist, rank):
    for _ in range(STEPS):
        work = dist.barrier(async_op=True)
        torch.mm(torch.ones(16, 16), torch.ones(16, 16))
        work.wait()
        dist.monitored_barrier()


def objects(torch, dist, rank):
    for step in range(STEPS):
        dist.broadcast_object_list([{"step": step}, "x" * step] if rank == 0 else [None, None], src=0)
        dist.all_gather_object([None] * WORLD, {"rank": rank, "more": "y" * (100 * rank)})
        dist.gather_object({"rank": rank}, [None] * WORLD if rank == 0 else None, dst=0)
        dist.scatter_object_list([None], list(range(WORLD)) if rank == 0 else None, src=0)


def functional_autograd(torch, dist, rank):
    import torch.distributed.nn as collectives
    for _ in range(STEPS):
        x = torch.ones(4, requires_grad=True)
        y = collectives.all_reduce(x * 2) + sum(collectives.all_gather(x))
        (y + collectives.broadcast(x, 0)).sum().backward()


def functional(torch, dist, rank):
    import torch.distributed._functional_collectives as functional
    for _ in range(STEPS):
        x = torch.ones(4 * WORLD)
        functional.all_gather_tensor(x, 0, dist.group.WORLD) + 1
        functional.reduce_scatter_tensor(x, "sum", 0, dist.group.WORLD) + 1
        functional.all_to_all_single(x, None, None, dist.group.WORLD) + 1
        functional.broadcast(x, 0, dist.group.WORLD) + 1
        for y in functional.all_reduce_coalesced([x, x], "sum", dist.group.WORLD):
            y + 1
        for y in functional.all_gather_into_tensor_coalesced([x, x], dist.group.WORLD):
            y + 1


def coalesced(torch, dist, rank):
    from torch.distributed.distributed_c10d import _coalescing_manager
    for _ in range(STEPS):
        with _coalescing_manager():
            for n in (3, 5):
                dist.all_reduce(torch.ones(n))
        with _coalescing_manager():
            for n in (3, 5):
                dist.all_gather_into_tensor(torch.zeros(n * WORLD), torch.ones(n))
        with _coalescing_manager(async_ops=True) as works:
            for n in (3, 5):
                dist.reduce_scatter_tensor(torch.zeros(n), torch.ones(n * WORLD))
        works.wait()


def reduce_scatter_list(torch, dist, rank):
    """An all_reduce of gloo for each rank, one after the other or not, and another one that is not part of it."""
    for _ in range(STEPS):
        work = dist.reduce_scatter(torch.zeros(4), [torch.ones(4) for _ in range(WORLD)], async_op=True)
        dist.all_reduce(torch.ones(4))
        work.wait()


def lists(torch, dist, rank):
    """Calls that take lists of tensors, also of unequal sizes."""
    for _ in range(STEPS):
        dist.all_to_all_single(torch.zeros(WORLD * (rank + 1)), torch.ones(WORLD * (WORLD + 1) // 2),
                               [rank + 1] * WORLD, list(range(1, WORLD + 1)))
        dist.all_gather([torch.zeros(2, 3) for _ in range(WORLD)], torch.ones(2, 3))


def compiled(torch, dist, rank):
    import torch.distributed._functional_collectives as functional

    @torch.compile
    def step(x):
        y = functional.all_reduce(x * 2, "sum", dist.group.WORLD)
        return functional.all_gather_tensor(y + 1, 0, dist.group.WORLD).sum()
    for _ in range(STEPS):
        step(torch.ones(64))


def compiled_ddp(torch, dist, rank):
    from torch.nn.parallel import DistributedDataParallel
    train(torch, torch.compile(DistributedDataParallel(layers(torch))))


def rank_of_job(rank):
    import torch
    import torch.distributed as dist
    torch.set_num_threads(1)
    torch.manual_seed(0)
    dist.init_process_group("gloo", rank=rank, world_size=WORLD)
    for name in NAMES:
        globals()[name](torch, dist, rank)
    gloo_job.leave(dist)


if __name__ == "__main__":
    rank_of_job(int(os.environ["RANK"])) if "RANK" in os.environ else gloo_job.start(WORLD)
