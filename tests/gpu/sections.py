"""THE table of what is checked on a GPU: name, group, what it says, the function that does it."""
import functools
from collections import namedtuple

import comparisons
import costs
import exits
import recording

Row = namedtuple("Row", "name group what run")


def torch(name, what, **more):
    return Row(name, "programs", what, functools.partial(comparisons.torch_program, model=name, **more))


TABLE = [
    Row("doctor", "programs", "tprof doctor", comparisons.doctor),
    torch("resnet18", "ResNet-18, against torch.profiler"),
    torch("gpt", "a small GPT, eager, against torch.profiler"),
    torch("gpt_compiled", "... under torch.compile"),
    torch("gpt_graph", "... as one CUDA graph"),
    torch("triton", "a Triton kernel in an operator and by hand"),
    Row("overlap", "programs", "two streams that overlap", comparisons.overlap),
    Row("nvtx", "programs", "NVTX ranges; as steps; windows by cudaProfilerStart", comparisons.nvtx),
    Row("cuda", "programs", "CUDA C++, static runtime, graph", comparisons.cuda_program),
    Row("cuda_shared", "programs", "CUDA C++, shared runtime", comparisons.shared_cuda_program),
    Row("cupy", "programs", "CuPy", comparisons.cupy),
    Row("jax", "programs", "JAX", comparisons.jax),
    Row("coexistence", "programs", "a script with its own torch.profiler", comparisons.coexistence),
    Row("exits", "exits", "ways to end, with the GPU idle and busy", exits.exits),
    Row("dispatch", "costs", "overhead, dispatch-bound", costs.dispatch_bound),
    Row("gpu_bound", "costs", "overhead, GPU-bound", costs.gpu_bound),
    Row("edges", "costs", "the program's pause at the edges of a window", costs.edges),
    Row("recording", "recording", "a small recording for tests/gpu/recordings", recording.recording),
]
WORDS = sorted({row.name for row in TABLE} | {row.group for row in TABLE})


def chosen(only):
    return [row for row in TABLE if not only or row.name in only or row.group in only]
