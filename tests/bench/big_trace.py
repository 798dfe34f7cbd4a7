"""A trace of a GPU training as torch.profiler writes it, of any number of events: big_trace.py OUT EVENTS [--rich]

--rich: with call stacks, memory, arrows from forward to backward, and times that differ from call to call.
"""
import json
import random
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


LAYERS = 60
MODULES = ["conv1", "bn1", "relu", "conv2", "bn2", "downsample", "fc", "attention", "mlp", "norm"]


def rich_groups(pick):
    """The calls of a step, the same in each: (operator, inner one, kernel, shapes, call stack, bytes)"""
    groups = []
    for layer in range(LAYERS):
        outer = ["train.py(%d): train" % (200 + layer % 3), "train.py(12): <module>"]
        for call in range(OPS_PER_STEP // LAYERS):
            module = MODULES[call % len(MODULES)]
            stack = ["torch/nn/modules/%s.py(%d): forward" % (module, 100 + call), "nn.Module: %s_%d" % (module, layer),
                     "models/net.py(%d): block%d" % (40 + layer, layer), "nn.Module: Net_0", *outer]
            width = pick.choice([64, 128, 256, 512, 1024])
            shapes = [[32, width, 7 + layer % 50, 56], [width, width, 3, 3], [], [], []]
            name = OPS[pick.randrange(len(OPS))]
            groups.append((name, name + "_impl", KERNELS[pick.randrange(len(KERNELS))], shapes, ";".join(stack),
                           512 * pick.randrange(1, 4096)))
    return groups


def rich_events(count):
    """As events(), but what follows each other in a program: four slices of each group, half a memory event."""
    pick = random.Random(1)
    groups, at, gpu_at, number, allocated = rich_groups(pick), 1000.0, 0.0, 0, 1 << 30
    alive, step = [], 0
    types = ["float", "float", "Scalar", "ScalarList", ""]

    def memory(ts, size, address):
        return {"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]", "pid": 100, "tid": 100, "ts": ts,
                "args": {"Total Reserved": 8 << 30, "Total Allocated": allocated, "Bytes": size, "Addr": address,
                         "Device Id": 0, "Device Type": 1, "Ev Idx": 0}}

    while 4 * number < count:
        begin = at
        for name, inner, kernel, shapes, stack, size in groups[:count // 4 - number]:
            number += 1
            external, length = 3_000_000 + 2 * number, round(pick.lognormvariate(2.5, 0.5), 3)
            ops = ((name, at, length), (inner, at + 0.15 * length, 0.7 * length))
            for depth, (one, ts, dur) in enumerate(ops):
                yield {"ph": "X", "cat": "cpu_op", "name": one, "pid": 100, "tid": 100, "ts": round(ts, 3),
                       "dur": round(dur, 3),
                       "args": {"External id": external + depth, "Sequence number": number, "Fwd thread id": 0,
                                "Record function id": 0, "Ev Idx": 2 * number + depth, "Input Dims": shapes,
                                "Input type": types, "Concrete Inputs": ["", "", "1", "[1, 1]", ""], "Call stack": stack}}
            link = {"External id": external + 1, "correlation": number}
            ts = at + 0.3 * length
            yield {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 100, "tid": 100,
                   "ts": round(ts, 3), "dur": round(0.25 * length, 3), "args": {**link, "cbid": 211}}
            gpu_at = max(gpu_at, ts + 3) + pick.random()
            takes = round(pick.lognormvariate(2.2, 0.8), 3)
            yield {"ph": "X", "cat": "kernel", "name": kernel, "pid": 0, "tid": 7, "ts": round(gpu_at, 3), "dur": takes,
                   "args": {**link, "queued": 0, "device": 0, "context": 1, "stream": 7, "registers per thread": 32,
                            "shared memory": 0, "blocks per SM": 0.9074074, "warps per SM": 7.259259,
                            "grid": [shapes[0][2], 1, 1], "block": [256, 1, 1], "est. achieved occupancy %": 11}}
            gpu_at += takes
            if number % 4 == 0:
                allocated += size
                alive.append((size, 0x7f0000000000 + 512 * number))
                yield memory(round(at + 0.2 * length, 3), size, alive[-1][1])
                if len(alive) > 100:
                    freed, address = alive.pop(0)
                    allocated -= freed
                    yield memory(round(at + 0.9 * length, 3), -freed, address)
            for phase, ts in (("s", at), ("f", at + 0.15 * length)) if number % 3 == 0 else ():
                yield {"ph": phase, "id": number, "pid": 100, "tid": 100, "ts": round(ts, 3), "cat": "fwdbwd",
                       "name": "fwdbwd", **({"bp": "e"} if phase == "f" else {})}
            at = round(at + length + 0.5 + pick.random(), 3)
        yield {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#%d" % step, "pid": 100, "tid": 100,
               "ts": begin, "dur": round(at - begin, 3), "args": {"External id": 1 + step}}
        step += 1


def write(path, count, rich=False):
    with open(path, "w", encoding="ascii") as out:
        out.write('{\n "schemaVersion": 1,\n "deviceProperties": [%s],\n "traceEvents": [\n' % json.dumps(DEVICE))
        out.write(json.dumps({"ph": "M", "name": "process_name", "pid": 100, "tid": 0, "args": {"name": "python"}}))
        for event in (rich_events if rich else events)(count):
            out.write(",\n" + json.dumps(event))
        out.write("\n ]\n}\n")


if __name__ == "__main__":
    write(sys.argv[1], int(sys.argv[2]), "--rich" in sys.argv[3:])
