"""Training whose steps hold several backward passes, several optimizers, or none."""
import time
import types

import torch

from . import MICRO, N, Setup, evaluate, held_out, look_ahead, scenario


@scenario(marks=False)
def accumulation_with_loader():
    s = Setup(batches=N * 2 + 1)  # the gradients of the last one are never used
    for i, (x, y) in enumerate(s.loader):
        s.forward(x, y).backward()
        if i % 2:
            s.optimizer.step()
            s.optimizer.zero_grad()
    return N


@scenario(marks=False)
def accumulation_without_loader():
    s = Setup()
    for _ in range(N):
        for _ in range(MICRO):
            s.forward(s.x, s.y).backward()
        s.optimizer.step()
        s.optimizer.zero_grad()
    return N


@scenario
def two_optimizers_with_loader():
    s = Setup()
    for x, y in s.loader:
        s.optimizer.zero_grad()
        s.other_optimizer.zero_grad()
        (s.forward(x, y) + s.other(x).mean()).backward()
        s.optimizer.step()
        s.other_optimizer.step()
    return N


@scenario
def two_optimizers_without_loader():
    s = Setup()
    for _ in range(N):
        s.optimizer.zero_grad()
        s.other_optimizer.zero_grad()
        (s.forward(s.x, s.y) + s.other(s.x).mean()).backward()
        s.optimizer.step()
        s.other_optimizer.step()
    return N


def gan_iteration(s, x, y):
    s.optimizer.zero_grad()
    s.forward(x, y).backward()
    s.optimizer.step()
    s.other_optimizer.zero_grad()
    (s.other(x) - s.net(x).detach()).mean().backward()
    s.other_optimizer.step()


@scenario
def gan_with_loader():
    s = Setup()
    for x, y in s.loader:
        gan_iteration(s, x, y)
    return N


@scenario(marks=False)
def gan_without_loader():
    """Ambiguous by nature: known as one step once both models have been updated twice."""
    s = Setup()
    for _ in range(N):
        gan_iteration(s, s.x, s.y)
    return N


@scenario(marks=False)
def an_actor_that_is_delayed_without_loader():
    """Both updates call both models, and the actor is updated in every second iteration only."""
    s = Setup()
    for i in range(N):
        out = s.net(s.x)  # it acts, with gradients
        s.other_optimizer.zero_grad()
        (s.other(s.x).mean() - out.detach().mean()).backward()
        s.other_optimizer.step()
        if i % 2:
            s.optimizer.zero_grad()
            (s.net(s.x).mean() - s.other(s.x).mean()).backward()
            s.optimizer.step()
    return N


@scenario(marks=False)
def gradients_thrown_away_with_loader():
    """An attack, whose gradients of the model are not wanted: zero_grad before each pass, and one update."""
    s = Setup()
    for x, y in s.loader:
        for _ in range(4):
            x.requires_grad_()
            s.net.zero_grad()
            s.forward(x, y).backward()
            x = (x + 0.1 * x.grad.sign()).detach()
        s.train(x, y)
    return N


@scenario
def a_derivative_in_eval_mode_with_loader():
    """In each step, and in an evaluation of each epoch."""
    s = Setup(batches=N // 2)

    def attacked(x, y):
        s.net.eval()
        x.requires_grad_()
        out = x + 0.1 * torch.autograd.grad(((s.net(x) - y) ** 2).mean(), x)[0].sign()
        s.net.train()
        return out.detach()

    for _ in range(2):
        for x, y in s.loader:
            s.train(attacked(x, y), y)
        for x, y in held_out():
            attacked(x, y)
    return N, 2, 0


def scaler():
    """A GradScaler that works without a GPU; torch 1.13 has none."""
    return torch.amp.GradScaler("cpu", init_scale=2.0)


def amp_iteration(s, scale, i, x, y):
    s.optimizer.zero_grad()
    loss = s.forward(x, y) * (float("inf") if i % 4 == 1 else 1.0)
    scale.scale(loss).backward()
    scale.step(s.optimizer)
    scale.update()


@scenario
def amp_with_skipped_steps_with_loader():
    s, scale = Setup(), scaler()
    for i, (x, y) in enumerate(s.loader):
        amp_iteration(s, scale, i, x, y)
    return N


@scenario
def amp_with_skipped_steps_without_loader():
    s, scale = Setup(), scaler()
    for i in range(N):
        amp_iteration(s, scale, i, s.x, s.y)
    return N


@scenario
def amp_of_shards_with_skipped_steps():
    """FSDP's scaler has an update() of its own."""
    import torch.distributed as dist
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    from torch.distributed.fsdp.sharded_grad_scaler import ShardedGradScaler
    s, scale = Setup(), ShardedGradScaler("cpu", init_scale=2.0, process_group=dist.group.WORLD)
    for i, (x, y) in enumerate(s.loader):
        amp_iteration(s, scale, i, x, y)
    time.sleep(1)  # else torch may abort as it ends, see leave() in tests/apps/gloo_job.py
    dist.destroy_process_group()
    return N


def cuda_graph():
    """One that does nothing when it is replayed: here is no GPU to capture work of."""
    torch._C._CUDAGraph.replay = lambda self: None
    try:
        graph = object.__new__(torch.cuda.CUDAGraph)
    except TypeError:  # in a build for CUDA it is a class of C++
        graph = torch._C._CUDAGraph.__new__(torch.cuda.CUDAGraph)
        torch._C._CUDAGraph._has_graph_exec = True  # there a property
    graph.__dict__.update(_tracker=None, _retained=types.SimpleNamespace(sync_before_fire=False), _has_graph_exec=True,
                          _replay_start_hooks={}, _replay_end_hooks={})
    return graph


@scenario(marks=False)
def whole_steps_as_a_cuda_graph():
    """Two steps as they are, while it would be captured; then it reads each batch from where that is copied to."""
    s, graph = Setup(), cuda_graph()
    for i, (x, y) in enumerate(s.loader):
        if i < 2:
            s.train(x, y)
        else:
            s.x.copy_(x)
            graph.replay()
    return N


@scenario(marks=False)
def micro_batches_drawn_first():
    """As the Trainer of transformers."""
    s = Setup(batches=2 * N)
    batches = look_ahead(s.loader)
    for _ in range(N):
        for x, y in [next(batches), next(batches)]:
            s.forward(x, y).backward()
        s.optimizer.step()
        s.optimizer.zero_grad()
    return N


@scenario(marks=False)
def a_critic_with_batches_of_its_own():
    s = Setup()
    for i, (x, y) in enumerate(s.loader):
        s.train(x, y)
        if i % 5 == 4:
            s.other_optimizer.zero_grad()
            s.other(x).mean().backward()
            s.other_optimizer.step()
    return N


@scenario
def parameters_updated_by_hand():
    s = Setup(optimizers=False)
    for _ in range(N):
        s.net.zero_grad()
        s.forward(s.x, s.y).backward()
        for p in s.net.parameters():
            p.data.add_(p.grad, alpha=-0.01)
    return N


@scenario
def batches_and_parameters_updated_by_hand():
    s, other = Setup(optimizers=False), held_out()
    for x, y in s.loader:
        s.forward(x, y).backward()
        with torch.no_grad():
            for p in s.net.parameters():
                p -= 0.01 * p.grad
                p.grad = None
    evaluate(s, other)
    return N, 1, 0


def by_hand(parameters, gradients):
    with torch.no_grad():
        for p, g in zip(parameters, gradients):
            p -= 0.01 * g


@scenario
def gradients_asked_for_and_an_update_by_hand():
    """Of a module; torch.autograd.grad returns them, so that nothing is cleared."""
    s = Setup(optimizers=False)
    parameters = list(s.net.parameters())
    for _ in range(N):
        by_hand(parameters, torch.autograd.grad(s.forward(s.x, s.y), parameters))
    return N


def plain_loss(weights, x, y):
    return ((torch.relu(x @ weights[0]) @ weights[1] - y) ** 2).mean()


def plain_weights():
    return [torch.randn(4, 8, requires_grad=True), torch.randn(8, 2, requires_grad=True)]


@scenario(marks=False)
def gradients_of_plain_tensors_and_an_update_by_hand():
    s, weights = Setup(optimizers=False), plain_weights()
    for _ in range(N):
        by_hand(weights, torch.autograd.grad(plain_loss(weights, s.x, s.y), weights))
    return N


@scenario(marks=False)
def gradients_of_plain_tensors_and_an_update_by_hand_with_loader():
    s, weights = Setup(optimizers=False), plain_weights()
    for x, y in s.loader:
        by_hand(weights, torch.autograd.grad(plain_loss(weights, x, y), weights))
    return N


@scenario
def a_gradient_penalty_and_an_update_by_hand():
    s = Setup(optimizers=False)
    parameters = list(s.net.parameters())
    for _ in range(N):
        x = s.x.clone().requires_grad_()
        loss = s.forward(x, s.y)
        slope, = torch.autograd.grad(loss, x, create_graph=True)
        (loss + (slope.norm() - 1) ** 2).backward()
        by_hand(parameters, [p.grad for p in parameters])
        for p in parameters:
            p.grad = None
    return N


@scenario(marks=False)
def a_gradient_penalty_of_plain_tensors_and_an_update_by_hand():
    s, weights = Setup(optimizers=False), plain_weights()
    for _ in range(N):
        x = s.x.clone().requires_grad_()
        loss = plain_loss(weights, x, s.y)
        slope, = torch.autograd.grad(loss, x, create_graph=True)
        by_hand(weights, torch.autograd.grad(loss + (slope.norm() - 1) ** 2, weights))
    return N


@scenario(marks=False)
def gradients_of_functions():
    """torch.func gives the gradients of each pass a graph."""
    s = Setup(optimizers=False)
    weights = [w.detach() for w in plain_weights()]
    for _ in range(N):
        gradients = torch.func.grad(plain_loss)(weights, s.x, s.y)
        weights = [w - 0.01 * g for w, g in zip(weights, gradients)]
    return N


@scenario(marks=False)
def inner_updates_by_hand_and_an_optimizer():
    """Learning to learn: the weights that it starts from are what is trained."""
    s, weights = Setup(optimizers=False), plain_weights()
    optimizer = torch.optim.SGD(weights, lr=0.01)
    for _ in range(N):
        fast = weights
        for _ in range(3):
            slopes = torch.autograd.grad(plain_loss(fast, s.x, s.y), fast, create_graph=True)
            fast = [w - 0.01 * g for w, g in zip(fast, slopes)]
        optimizer.zero_grad()
        plain_loss(fast, s.x, s.y).backward()
        optimizer.step()
    return N


@scenario
def objectives_with_an_update_each_without_loader():
    """All losses are computed before the first update."""
    s = Setup()
    for _ in range(N):
        losses = s.forward(s.x, s.y), s.other(s.x).mean()
        for loss, optimizer in zip(losses, (s.optimizer, s.other_optimizer)):
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return N


@scenario
def closures_with_a_loader():
    """As Lightning runs its training steps."""
    s = Setup()
    for x, y in s.loader:
        def closure():
            s.optimizer.zero_grad()
            loss = s.forward(x, y)
            loss.backward()
            return loss
        s.optimizer.step(closure)
    return N


@scenario
def an_optimizer_for_each_parameter_inside_the_backward_pass():
    s = Setup()
    optimizers = {p: torch.optim.SGD([p], lr=0.01) for p in s.net.parameters()}

    def update(p):
        optimizers[p].step()
        optimizers[p].zero_grad()

    for p in s.net.parameters():
        p.register_post_accumulate_grad_hook(update)
    for x, y in s.loader:
        s.forward(x, y).backward()
    return N


def lbfgs_iteration(s, optimizer, x, y):
    def closure():
        optimizer.zero_grad()
        loss = s.forward(x, y)
        loss.backward()
        return loss
    optimizer.step(closure)


@scenario(marks=False)
def lbfgs_with_loader():
    s = Setup()
    optimizer = torch.optim.LBFGS(s.net.parameters(), max_iter=4)
    for x, y in s.loader:
        lbfgs_iteration(s, optimizer, x, y)
    return N


@scenario(marks=False)
def lbfgs_without_loader():
    s = Setup()
    optimizer = torch.optim.LBFGS(s.net.parameters(), max_iter=4)
    for _ in range(N):
        lbfgs_iteration(s, optimizer, s.x, s.y)
    return N
