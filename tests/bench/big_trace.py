"""A trace of a GPU training as torch.profiler writes it, of any number of events: big_trace.py OUT EVENTS"""
import json
import sys

OPS = ["aten::conv2d", "aten::batch_norm", "aten::relu_", "aten::linear", "aten::add_", "aten::mul", "aten::copy_"]
KERNELS = ["volta_scudnn_128x64_relu_interior_nn_v1",
           "void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor>",
           "ampere_fp16_s16816gemm_fp16_128x128_ldg8_f2f_stages_32x5_tn"]
OPS_PER_STEP = 2000
DEVICE = {"id": 0, "name": "NVIDIA A100", "totalGlobalMem": 42949672960, "computeMajor": 8, "computeMinor": 0,
          "numSms": 108, "maxThreadsPerMultiprocessor": 2048, "warpSize": 32}


def events(count):
    """An operator with an inner one, a launch and a kernel: four events of each group."""
    at, group = 1000.0, 0
    for step in range(count // (4 * OPS_PER_STEP) + 1):
        begin = at
        for _ in range(min(OPS_PER_STEP, count // 4 - group)):
            group += 1
            name, external = OPS[group % len(OPS)], 3_000_000 + 2 * group
            shapes = [[32, 64 + group % 7, 56, 56], [64, 64, 3, 3], [], [], []]
            types = ["float", "float", "Scalar", "ScalarList", ""]
            for inner in (False, True):
                yield {"ph": "X", "cat": "cpu_op", "name": name if not inner else name + "_", "pid": 100, "tid": 100,
                       "ts": round(at + 2 * inner, 3), "dur": 20.5 - 5 * inner,
                       "args": {"External id": external + inner, "Record function id": 0, "Ev Idx": 2 * group + inner,
                                "Input Dims": shapes, "Input type": types,
                                "Concrete Inputs": ["", "", "1", "[1, 1]", ""]}}
            link = {"External id": external + 1, "correlation": group}
            yield {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 100, "tid": 100,
                   "ts": round(at + 5, 3), "dur": 4.25, "args": {**link, "cbid": 211}}
            yield {"ph": "X", "cat": "kernel", "name": KERNELS[group % len(KERNELS)], "pid": 0, "tid": 7,
                   "ts": round(at + 9.125, 3), "dur": 15.0,
                   "args": {**link, "queued": 0, "device": 0, "context": 1, "stream": 7, "registers per thread": 32,
                            "shared memory": 0, "blocks per SM": 0.9074074, "warps per SM": 7.259259,
                            "grid": [98, 1, 1], "block": [256, 1, 1], "est. achieved occupancy %": 11}}
            at += 21.375
        if at > begin:
            yield {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#%d" % step, "pid": 100, "tid": 100,
                   "ts": begin, "dur": round(at - begin, 3), "args": {"External id": 1 + step}}


def write(path, count):
    with open(path, "w", encoding="ascii") as out:
        out.write('{\n "schemaVersion": 1,\n "deviceProperties": [%s],\n "traceEvents": [\n' % json.dumps(DEVICE))
        out.write(json.dumps({"ph": "M", "name": "process_name", "pid": 100, "tid": 0, "args": {"name": "python"}}))
        for event in events(count):
            out.write(",\n" + json.dumps(event))
        out.write("\n ]\n}\n")


if __name__ == "__main__":
    write(sys.argv[1], int(sys.argv[2]))
