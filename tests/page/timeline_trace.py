"""A trace for the tests of the timeline, of which they know every slice.

    write(directory, needles=1000) -> [path]

Two threads and a stream: STEPS steps with OPS operators each. Every operator has a shape, a call stack, an inner operator,
a launch and a kernel; every fourth has a backward one on the other thread. Of the operators so many are needles: a third
have the word in their name, a third in their shape, a third in their call stack.
"""
import json
import pathlib

STEPS = 5
OPS = 400
EACH = 100.0  # us
MAIN, BACKWARD, STREAM = 71, 72, 7
NEEDLE = "7777777"  # a name, a size and a line can all hold it
DEVICE = {"id": 0, "name": "GPU", "totalGlobalMem": 2 ** 34, "computeMajor": 8, "computeMinor": 0, "numSms": 108,
          "maxThreadsPerMultiprocessor": 2048, "warpSize": 32}


def host(category, name, at, length, thread=MAIN, **args):
    return {"ph": "X", "cat": category, "name": name, "pid": 1, "tid": thread, "ts": at, "dur": length, "args": args}


def operator(number, at, needle):
    """`needle`: 0 in the name, 1 in an argument, 2 in the stack; None: it is none."""
    name = "aten::%s_%d" % (NEEDLE if needle == 0 else "op", number % 7)
    args = {"External id": 10 + 2 * number, "Input Dims": [[32, int(NEEDLE) if needle == 1 else 64 + number % 5], []],
            "Input type": ["float", "Scalar"],
            "Call stack": "/tmp/model.py(%s): forward\n/tmp/train.py(12): <module>"
                          % (NEEDLE if needle == 2 else number % 40)}
    link = {"correlation": 1000 + number, "External id": 11 + 2 * number}
    yield host("cpu_op", name, at, 60.0, **args)
    yield host("cpu_op", "aten::inner", at + 5, 40.0, **{"External id": 11 + 2 * number})
    yield host("cuda_runtime", "cudaLaunchKernel", at + 10, 5.0, **link)
    yield {"ph": "X", "cat": "kernel", "name": "kernel_%d" % (number % 3), "pid": 0, "tid": STREAM, "ts": at + 30,
           "dur": 20.0 + number % 50,
           "args": {**link, "device": 0, "context": 1, "stream": STREAM, "grid": [4, 1, 1], "block": [32, 1, 1],
                    "registers per thread": 8, "shared memory": 0, "blocks per SM": 0.5, "warps per SM": 1}}
    if number % 4 == 0:
        yield host("cpu_op", "autograd::back_%d" % (number % 7), at + 70, 20.0, BACKWARD, **{"External id": 9_000_000 + number})
        flow = {"cat": "fwdbwd", "name": "fwdbwd", "id": number + 1, "pid": 1}
        yield {**flow, "ph": "s", "tid": MAIN, "ts": at}
        yield {**flow, "ph": "f", "bp": "e", "tid": BACKWARD, "ts": at + 70}
    if number % 100 == 50:
        yield host("user_annotation", "mark without length", at + 62, 0)


def events(needles, zero=1000.0):
    total = STEPS * OPS
    assert needles <= total
    for step in range(STEPS):
        begin = zero + step * (OPS * EACH + 500)
        yield host("user_annotation", "ProfilerStep#%d" % step, begin, OPS * EACH + 100)
        for i in range(OPS):
            number = step * OPS + i
            # Spread over the whole time.
            is_needle = (number + 1) * needles // total > number * needles // total
            yield from operator(number, begin + 20 + i * EACH, number % 3 if is_needle else None)


def write(directory, needles=0, name="worker0.1.pt.trace.json", rank=None, zero=1000.0):
    path = pathlib.Path(directory) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    threads = [{"ph": "M", "name": "thread_name", "pid": 1, "tid": tid, "ts": 0, "args": {"name": text}}
               for tid, text in ((MAIN, "python"), (BACKWARD, "autograd"))]
    head = {"deviceProperties": [DEVICE]}
    if rank is not None:
        head["distributedInfo"] = {"backend": "nccl", "rank": rank, "world_size": 2}
    path.write_text(json.dumps({**head, "traceEvents": threads + list(events(needles, zero))}))
    return [path]


def write_many(path, threads, slices):
    """So many slices on so many threads, three of them inside of one another, in pieces: the trace is large."""
    each = slices // threads
    with open(path, "w") as out:
        out.write('{"traceEvents": [\n{"ph":"M","name":"process_name","pid":1,"tid":0,"ts":0,"args":{"name":"python"}}')
        for thread in range(threads):
            for i in range(each):
                out.write(',\n{"ph":"X","cat":"cpu_op","name":"aten::op_%d","pid":1,"tid":%d,"ts":%d,"dur":%d,"args":{}}'
                          % (i % 37, 1000 + thread, i // 3 * 100 + i % 3 * 10 + thread, 90 - i % 3 * 25))
        out.write("\n]}\n")
    return path
