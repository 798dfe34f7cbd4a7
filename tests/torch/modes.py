"""One way of looking at a model per name: what it gives, as text. It must be the same with a profiler and without.

    modes.py NAME [NAME...]   each prints results, graph texts and the operators that were dispatched
"""
import re
import sys
import warnings

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

warnings.simplefilter("ignore")
MODES = {}


def mode(function):
    MODES[function.__name__] = function
    return function


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.body = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
        self.tied = self.body[0]
        self.scale = nn.Parameter(torch.ones(3))

    def forward(self, x):
        return self.body(x) * self.scale


class Counts(TorchDispatchMode):
    """Every operator that reaches a mode below autograd."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.seen.append(str(func))
        return func(*args, **(kwargs or {}))


X = torch.linspace(-1, 1, 8).reshape(2, 4)


def training_step(net):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    loss = net(X).pow(2).mean()
    loss.backward()
    optimizer.step()
    return loss


@mode
def jit_trace():
    net = Net()
    traced = torch.jit.trace(nn.Sequential(nn.Linear(4, 8), nn.Linear(8, 3)), torch.ones(2, 4))
    whole = torch.jit.trace(net, X)
    yield traced.graph, whole.inlined_graph, whole(X)


class Twice(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = Net()

    def forward(self, x):
        return self.net(self.net(x).sum() * x)


@mode
def jit_trace_of_a_module_called_twice():
    yield torch.jit.trace(Twice(), X).inlined_graph


@mode
def jit_script():
    scripted = torch.jit.script(Net())
    yield scripted.graph, scripted(X), scripted.code


def call_backward(x):
    # type: (torch.Tensor) -> None
    torch.autograd.backward(x.sum())


@mode
def jit_script_of_a_backward_pass():
    x = X.clone().requires_grad_()
    scripted = torch.jit.script(call_backward)
    scripted(x)
    yield scripted.code, x.grad


@mode
def fx():
    traced = torch.fx.symbolic_trace(Net())
    yield traced.graph, traced.code, traced(X)


@mode
def make_fx():
    from torch.fx.experimental.proxy_tensor import make_fx
    net = Net()
    call = getattr(torch, "func", torch.nn.utils.stateless).functional_call
    for tracing in ("real", "fake", "symbolic"):
        traced = make_fx(lambda p, x: call(net, p, (x,)).sum(), tracing_mode=tracing)(dict(net.named_parameters()), X)
        yield traced.code


@mode
def export():
    if not hasattr(torch, "export"):
        return
    program = torch.export.export(Net(), (X,))
    yield program.graph_module.code, program.module()(X)


@mode
def compiled():
    if not hasattr(torch, "compile"):
        return
    for backend in ("eager", "aot_eager"):
        graphs = []
        net = Net()

        def tell(graph, inputs, backend=backend):
            graphs.append(graph.code)
            return torch._dynamo.lookup_backend(backend)(graph, inputs)

        step = torch.compile(net, backend=tell)
        for _ in range(3):
            step(X).sum().backward()
        yield len(graphs), *graphs, step(X), net.scale.grad


@mode
def inductor():
    if not hasattr(torch, "compile"):
        return
    from torch._dynamo.utils import counters
    net = Net()
    step = torch.compile(net)
    for _ in range(3):
        loss = step(X).sum()
        loss.backward()
    yield loss, net.scale.grad, dict(counters["stats"]), dict(counters["graph_break"])


@mode
def fake_tensors():
    from torch._subclasses.fake_tensor import FakeTensorMode
    with FakeTensorMode() as fakes, Counts() as counts:
        net = Net()
        out = net(fakes.from_tensor(X))
        out.sum().backward()
    yield type(out).__name__, tuple(out.shape), counts.seen


@mode
def meta_tensors():
    net = Net().to("meta")
    with Counts() as counts:
        yield net(X.to("meta")).shape, counts.seen


@mode
def functorch():
    try:
        from torch.func import functional_call, grad, jacrev, vmap
    except ImportError:
        return
    net = Net()
    parameters = dict(net.named_parameters())

    def loss(parameters, x):
        return functional_call(net, parameters, (x,)).pow(2).sum()

    with Counts() as counts:
        yield vmap(net)(X), grad(loss)(parameters, X)["scale"], jacrev(net)(X[0])
        yield vmap(grad(loss), (None, 0))(parameters, X)["scale"]
    yield counts.seen


class Told(torch.Tensor):
    """A subclass that is told of every function."""
    seen = []

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.seen.append(getattr(func, "__name__", str(func)))
        return super().__torch_function__(func, types, args, kwargs or {})


@mode
def parameters_of_a_torch_function_subclass():
    net = Net()
    net.scale = nn.Parameter(torch.ones(3).as_subclass(Told))
    Told.seen.clear()
    yield training_step(net), Told.seen


class Dispatched(torch.Tensor):
    """A wrapper that is told of every operator."""
    seen = []
    __torch_function__ = torch._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, inner):
        return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype, requires_grad=inner.requires_grad)

    def __init__(self, inner):
        self.held = inner

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        cls.seen.append(str(func))
        out = func(*[a.held if isinstance(a, cls) else a for a in args], **(kwargs or {}))
        return cls(out) if "detach" in str(func) else out


@mode
def parameters_of_a_torch_dispatch_subclass():
    net = Net()
    net.scale = nn.Parameter(Dispatched(torch.ones(3)), requires_grad=False)
    Dispatched.seen.clear()
    yield net(X).sum(), Dispatched.seen


@mode
def dispatched_operators():
    net = Net()
    with Counts() as counts:
        for _ in range(3):
            training_step(net)
    yield counts.seen, net.scale


class Functions(torch.overrides.TorchFunctionMode):
    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.seen.append(getattr(func, "__name__", str(func)))
        return func(*args, **(kwargs or {}))


@mode
def functions():
    net = Net()
    with Functions() as functions:
        for _ in range(3):
            training_step(net)
    yield functions.seen


@mode
def inference_mode():
    net = Net()
    with torch.inference_mode(), Counts() as counts:
        out = net(X)
    yield out, out.is_inference(), counts.seen


@mode
def autocast():
    net = Net()
    with torch.autocast("cpu", dtype=torch.bfloat16), Counts() as counts:
        out = net(X)
        out.float().sum().backward()
    yield out.dtype, out, net.scale.grad, counts.seen


@mode
def lazy_parameters():
    net = nn.Sequential(nn.LazyLinear(3), nn.ReLU())
    yield net(X).shape, training_step(net) is not None


@mode
def pruned_and_parametrized():
    from torch.nn.utils import parametrize, prune
    net = Net()
    prune.l1_unstructured(net.body[0], "weight", 0.5)
    parametrize.register_parametrization(net.body[2], "weight", nn.Tanh())
    with Counts() as counts:
        training_step(net)
    yield counts.seen, net(X)


if __name__ == "__main__":
    torch.set_num_threads(1)
    for name in sys.argv[1:]:
        for answers in MODES[name]():
            for answer in answers if isinstance(answers, tuple) else (answers,):
                print(re.sub(r"0x[0-9a-f]+|/[^ ]*\.py", "...", str(answer)))
        print("end of", name)
