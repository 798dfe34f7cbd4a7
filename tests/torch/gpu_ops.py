"""A training on the CPU whose operators (torch.library) launch on a CUDA runtime, as those of a CUDA torch do.

    gpu_ops.py LIBSIMOPS waiting|lagging

Backward passes run on a thread of their own, like autograd's for a GPU. A kernel has BLOCKS * (number of its step + 1)
blocks. What is launched is noted: a list of [step, operator, what, stream] is printed as JSON at the end.
waiting: each step ends with the GPU idle. lagging: nothing waits before the end, and the GPU falls behind.
"""
import concurrent.futures
import ctypes
import json
import sys

import torch
from torch.autograd.profiler import record_function

STEPS = 8
THREADS, BLOCKS = 512, 11
KERNELS = ["simops_gemm_h884", "simops_gemm_backward", "simops_elementwise", "simops_reduce"]
TO_DEVICE, TO_HOST = 1, 2
SEGMENT = 2 << 20
SIDE = 1  # the stream beside the default one

# Both global: the library takes its CUDA from the runtime, which looks the library's kernels up by their names.
runtime = ctypes.CDLL("libcudart.so.13", mode=ctypes.RTLD_GLOBAL)
gpu = ctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_GLOBAL)
gpu.simops_malloc.restype = ctypes.c_void_p
gpu.simops_malloc.argtypes = gpu.simops_free.argtypes = [ctypes.c_size_t]
gpu.simops_launch.argtypes = [ctypes.c_int, ctypes.c_uint, ctypes.c_uint, ctypes.c_size_t, ctypes.c_int]
gpu.simops_copy.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int]
gpu.simops_set.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
gpu.simops_report.argtypes = [ctypes.c_void_p, ctypes.c_int64, ctypes.c_size_t, ctypes.c_size_t]
number = 0   # of the step
noted = []


def must(result):
    assert result == 0, result


def launch(operator, kernel, stream=0, shared=0):
    noted.append([number, operator, kernel, stream])
    must(gpu.simops_launch(KERNELS.index(kernel), BLOCKS * (number + 1), THREADS, shared, stream))


class Allocator:
    """One segment of the driver's memory, given out in 512-byte blocks and reported to c10 as torch's own does."""

    def __init__(self):
        self.blocks, self.allocated, self.next = {}, 0, 0
        self.segment = gpu.simops_malloc(SEGMENT)
        assert self.segment

    def get(self, nbytes):
        nbytes = -(-nbytes // 512) * 512
        address = self.segment + self.next
        self.next += nbytes
        self.blocks[address] = nbytes
        self.report(address, nbytes)
        return address

    def give_back_all(self):
        for address, nbytes in self.blocks.items():
            self.report(address, -nbytes)
        self.blocks, self.next = {}, 0

    def report(self, address, nbytes):
        self.allocated += nbytes
        gpu.simops_report(address, nbytes, self.allocated, SEGMENT)


def to_gpu(x):
    block = memory.get(x.numel() * 4)
    noted.append([number, "simgpu::to_gpu", "HtoD %d" % (x.numel() * 4), 0])
    must(gpu.simops_copy(block, x.data_ptr(), x.numel() * 4, TO_DEVICE, 0))
    return x.clone()


def gemm(x, weight):
    out = torch.mm(x, weight)
    block = memory.get(out.numel() * 4)
    noted.append([number, "simgpu::gemm", "set %d" % (out.numel() * 4), 0])
    must(gpu.simops_set(block, out.numel() * 4, 0))
    launch("simgpu::gemm", "simops_gemm_h884")
    return out


def gemm_backward(grad, x, weight):
    launch("simgpu::gemm_backward", "simops_gemm_backward")
    launch("simgpu::gemm_backward", "simops_gemm_backward", stream=SIDE)
    return torch.mm(grad, weight.t()), torch.mm(x.t(), grad)


def update(weight, grad):
    launch("simgpu::update", "simops_elementwise")
    return weight.add(grad, alpha=-0.01)


def to_host(x):
    host = torch.empty(x.numel())
    launch("simgpu::to_host", "simops_reduce", shared=2048)
    noted.append([number, "simgpu::to_host", "DtoH %d" % (x.numel() * 4), 0])
    must(gpu.simops_copy(host.data_ptr(), memory.segment, x.numel() * 4, TO_HOST, 0))
    return host


library = torch.library.Library("simgpu", "DEF")
for schema, function in {
    "to_gpu(Tensor x) -> Tensor": to_gpu,
    "gemm(Tensor x, Tensor weight) -> Tensor": gemm,
    "gemm_backward(Tensor grad, Tensor x, Tensor weight) -> (Tensor, Tensor)": gemm_backward,
    "update(Tensor weight, Tensor grad) -> Tensor": update,
    "to_host(Tensor x) -> Tensor": to_host,
}.items():
    library.define(schema)
    library.impl(schema.split("(")[0], function, "CPU")
ops = torch.ops.simgpu


class Gemm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return ops.gemm(x, weight)

    @staticmethod
    def backward(ctx, grad):
        return ops.gemm_backward(grad, *ctx.saved_tensors)


class Doubled(torch.autograd.Function):
    """Its backward node launches by itself, in no operator."""
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        launch("DoubledBackward", "simops_elementwise")
        return grad * 2


def step(batch, weight):
    x = ops.to_gpu(batch)
    with record_function("mark:%d" % number):
        loss = Doubled.apply(Gemm.apply(x, weight)).sum()
    backward_thread.submit(loss.backward).result()
    ops.to_host(loss.detach().reshape(1))
    with torch.no_grad():
        weight.copy_(ops.update(weight, weight.grad))
    memory.give_back_all()


def main():
    global number
    torch.manual_seed(0)
    torch.set_num_threads(1)
    end_of_step = getattr(ctypes.CDLL(None), "tprof_step", int)
    batch, weight = torch.randn(64, 32), torch.randn(32, 16, requires_grad=True)
    for number in range(STEPS):
        step(batch, weight)
        if sys.argv[2] == "waiting":
            must(gpu.simops_synchronize())
        end_of_step()
    must(gpu.simops_synchronize())
    print(json.dumps(noted))


memory = Allocator()
backward_thread = concurrent.futures.ThreadPoolExecutor(1)

if __name__ == "__main__":
    main()
