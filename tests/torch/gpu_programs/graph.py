"""A whole step in a CUDA graph that is replayed, and a model whose forward and backward are graphs, without an optimizer."""
import torch
import torch.nn as nn
from shared import told

WARMUP, REPLAYS, GRAPHED = 3, 6, 4


def whole_step():
    model = nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.LayerNorm(128), nn.Linear(128, 8)).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, capturable=True, foreach=True)
    x, y = torch.randn(32, 64).cuda(), torch.randn(32, 8).cuda()

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(WARMUP):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = step()
    for i in range(REPLAYS):
        with torch.cuda.nvtx.range("replay %d" % i):
            x.copy_(torch.randn(32, 64))
            graph.replay()
    return loss


def callables():
    layer = nn.Sequential(nn.Linear(64, 64), nn.ReLU()).cuda()
    graphed = torch.cuda.make_graphed_callables(layer, (torch.randn(8, 64).cuda(),))
    for _ in range(GRAPHED):
        out = graphed(torch.randn(8, 64).cuda())
        out.sum().backward()
    return out


if __name__ == "__main__":
    of_step, of_callables = whole_step(), callables()
    told(steps=WARMUP + REPLAYS, loss=of_step.item(), out=of_callables.sum().item())
