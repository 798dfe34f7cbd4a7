"""THE table of torch programs: each makes a function that does one step on the GPU. One seed, no autotuning.

`size` is "small" (the step is bound by the dispatch of its operators, and quick) or "large" (bound by the GPU).
"""
import torch
from torch import nn
from torch.autograd.profiler import record_function

MODELS = {}


def model(make):
    MODELS[make.__name__] = make
    return make


def trained(net, batch, loss_of):
    """batch() gives inputs and targets."""
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3, momentum=0.9)

    def step():
        inputs, targets = batch()
        optimizer.zero_grad(set_to_none=False)
        loss = loss_of(net(inputs), targets)
        loss.backward()
        optimizer.step()
        return loss.detach()
    return step


@model
def mlp(size):
    widths = [32, 64, 64, 64, 64, 8] if size == "small" else [4096] * 6
    layers = []
    for inputs, outputs in zip(widths, widths[1:]):
        layers += [nn.Linear(inputs, outputs), nn.ReLU()]
    net = nn.Sequential(*layers[:-1]).cuda()
    rows = 16 if size == "small" else 8192
    batch = torch.randn(rows, widths[0], device="cuda"), torch.randn(rows, widths[-1], device="cuda")
    return trained(net, lambda: batch, nn.functional.mse_loss)


class Block(nn.Module):
    """Of ResNet-18: two 3x3 convolutions beside a shortcut."""

    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.relu = nn.ReLU(inplace=True)
        self.shortcut = nn.Identity()
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        y = self.relu(self.bn1(self.conv1(x)))
        return self.relu(self.bn2(self.conv2(y)) + self.shortcut(x))


@model
def resnet18(size):
    layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True),
              nn.MaxPool2d(3, 2, 1)]
    inputs = 64
    for outputs in (64, 128, 256, 512):
        layers += [Block(inputs, outputs, 1 if outputs == 64 else 2), Block(outputs, outputs, 1)]
        inputs = outputs
    net = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000)).cuda()
    count = 8 if size == "small" else 256
    # The batch comes from the host in each step, so that there are copies of known size.
    images, labels = torch.randn(count, 3, 224, 224), torch.randint(1000, (count,))
    return trained(net, lambda: (images.cuda(), labels.cuda()), nn.functional.cross_entropy)


class Layer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        parts = self.qkv(self.norm1(x)).chunk(3, -1)
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in parts)
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).flatten(2))
        return x + self.mlp(self.norm2(x))


class Gpt(nn.Module):
    def __init__(self, words, width, heads, depth, length):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Parameter(torch.zeros(length, width))
        self.layers = nn.Sequential(*(Layer(width, heads) for _ in range(depth)))
        self.head = nn.Linear(width, words, bias=False)

    def forward(self, tokens):
        return self.head(self.layers(self.words(tokens) + self.places))


def gpt_parts(size):
    """The net, a batch and its loss."""
    words, width, heads, depth, length, count = (
        (512, 128, 4, 2, 64, 4) if size == "small" else (8192, 1024, 16, 8, 1024, 16))
    net = Gpt(words, width, heads, depth, length).cuda()
    tokens = torch.randint(words, (count, length), device="cuda")

    def loss_of(out, want):
        return nn.functional.cross_entropy(out.flatten(0, 1), want.flatten())
    return net, lambda: (tokens, tokens), loss_of


@model
def gpt(size):
    return trained(*gpt_parts(size))


@model
def gpt_compiled(size):
    net, batch, loss_of = gpt_parts(size)
    return trained(torch.compile(net), batch, loss_of)


@model
def gpt_graph(size):
    """The whole step is captured once and replayed."""
    step = trained(*gpt_parts(size))
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = step()

    def replay():
        with record_function("replay"):
            graph.replay()
        return loss
    return replay


@model
def overlap(size):
    """Two streams, each with a kernel of one block that only spins, at the same time; then a copy beside them."""
    streams = [torch.cuda.Stream() for _ in range(2)]
    host = torch.randn(1 << 20).pin_memory()
    cycles = 2_000_000 if size == "small" else 20_000_000

    def step():
        for stream in streams:
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream), record_function("spin"):
                torch.cuda._sleep(cycles)
        with torch.cuda.stream(streams[1]), record_function("copy"):
            there = host.to("cuda", non_blocking=True)
        for stream in streams:
            torch.cuda.current_stream().wait_stream(stream)
        return there[0]
    return step


@model
def nvtx(size):
    """Ranges of torch.cuda.nvtx around the work of an mlp; their names say the step."""
    inner = mlp(size)
    number = 0

    def step():
        nonlocal number
        torch.cuda.nvtx.range_push("nvtx step %d" % number)
        with torch.cuda.nvtx.range("nvtx inner"):
            loss = inner()
        torch.cuda.nvtx.mark("nvtx mark")
        torch.cuda.nvtx.range_pop()
        number += 1
        return loss
    return step


@model
def triton(size):
    import triton_kernels
    return triton_kernels.step(size)
