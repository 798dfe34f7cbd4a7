"""Streams, events, the caching allocator's own account, a failed allocation, sorting and indexing."""
import torch
from shared import told


def main():
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    torch.cuda.memory._record_memory_history(max_entries=1000)
    first, second = torch.cuda.Stream(), torch.cuda.Stream(priority=-1)
    begin.record()
    with torch.cuda.stream(first):
        x = torch.zeros(1 << 20, device="cuda") + 1
    second.wait_stream(first)
    with torch.cuda.stream(second):
        x.mul(2)
        x.record_stream(second)
    end.record()
    torch.cuda.synchronize()
    snapshot = torch.cuda.memory._snapshot()
    torch.cuda.memory._record_memory_history(enabled=None)
    try:
        torch.empty(1 << 40, device="cuda")
        failed = False
    except torch.cuda.OutOfMemoryError:
        failed = True
    z = torch.randn(100, 100, device="cuda")
    with torch.cuda.nvtx.range("sorted"):
        torch.sort(z.flatten())
        torch.topk(z.flatten(), 5)
    torch.cumsum(z, 0)
    index = torch.zeros(10, dtype=torch.long, device="cuda")
    shapes = [tuple(made.shape) for made in (z[index], z[z > 0], torch.nonzero(z), torch.unique(index))]
    z.to("cpu", non_blocking=True)
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    told(later=begin.elapsed_time(end) >= 0, segments=len(snapshot["segments"]), failed=failed, shapes=shapes)


if __name__ == "__main__":
    main()
