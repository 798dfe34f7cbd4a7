"""Traces that no program wrote on purpose: names that would run, sizes and times that would break a page.

    write("script", directory) -> the paths to report on

Each is a row of TRACES. What a name of theirs would set if a page ran it is window.HACKED.
"""
import hashlib
import json
import pathlib

HACKED = "tprof_was_hacked"
MARKUP = {
    "script": "</script><script>window.%s=1</script>" % HACKED,
    "comment": "<!--<script>window.%s=1</script>-->" % HACKED,
    "image": "<img src=x onerror=window.%s=1>" % HACKED,
    "remote": "<img src=//example.org/x.png><link rel=stylesheet href=//example.org/x.css><style>*{display:none}</style>",
    "quotes": "a\"b'c`d&quot;e\\f${window.%s=1}" % HACKED,
    "address": "javascript:window.%s=1" % HACKED,
    "data": "data:text/html,<script>window.%s=1</script>" % HACKED,
    "vscode": "vscode://file/etc/passwd:1 \" onclick=\"window.%s=1" % HACKED,
    "formula": "=HYPERLINK(\"http://example.org\")",
    "control": "a\u0000b\u0007c\u001b[31md\ne\tf\u2028g",
    "prototype": "__proto__", "constructor": "constructor", "to_string": "toString", "empty": "", "spaces": "   ",
    "emoji": "👩‍👩‍👧‍👦 🔥 naïve 日本語", "combining": "Z" + "\u0351\u0346\u0347" * 60,
    "override": "\u202egnp.exe\u202c \u2067abc\u2069 \u200f!", "pointer": "a/b~c~0/rows/0",
}
STACK = "%s/model.py(7): forward\n/tmp/a b'c/train.py(12): <module>"


def ranges(names, at=0.0):
    """One step; an operator, a module, a label, a launch and a kernel of each name."""
    events, begin = [], at
    for number, name in enumerate(names, 1):
        host = {"pid": 1, "tid": 1, "ph": "X"}
        link = {"correlation": number, "External id": number}
        events += [
            {**host, "cat": "user_annotation", "name": name, "ts": at, "dur": 40},
            {**host, "cat": "python_function", "name": "nn.Module: %s_0" % name, "ts": at + 1, "dur": 38,
             "args": {"Python id": number, "Python module id": 0}},
            {**host, "cat": "cpu_op", "name": name, "ts": at + 2, "dur": 30.5,
             "args": {"External id": number, "Input Dims": [[2, 3]], "Input type": [name], "Call stack": STACK % name}},
            {**host, "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": at + 4, "dur": 5, "args": link},
            {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": at + 12, "dur": 20.25,
             "args": {**link, "device": 0, "context": 1, "stream": 7, "grid": [4, 1, 1], "block": [32, 1, 1],
                      "registers per thread": 8, "shared memory": 0, "blocks per SM": 0.5, "warps per SM": 1,
                      "est. achieved occupancy %": 3}},
            memory(at + 3, 1024, number), memory(at + 35, -1024, number)]
        at += 50
    events.append({"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "pid": 1, "tid": 1, "ts": begin,
                   "dur": at - begin + 1})
    return events


def memory(at, size, address):
    return {"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]", "pid": 1, "tid": 1, "ts": at,
            "args": {"Device Type": 1, "Device Id": 0, "Addr": 4096 * address, "Bytes": size,
                     "Total Allocated": max(size, 0), "Total Reserved": 2 ** 21}}


def operator(at, length, name="aten::mm"):
    return {"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 1, "ts": at, "dur": length, "args": {}}


def only(kinds, names=("aten::mm", "aten::add")):
    return [e for e in ranges(names) if e.get("cat") in kinds]


def device(name="GPU", **more):
    return {"deviceProperties": [{"id": 0, "name": name, "totalGlobalMem": 2 ** 34, "computeMajor": 8, "computeMinor": 0,
                                  "numSms": 108, "maxThreadsPerMultiprocessor": 2048, "warpSize": 32}], **more}


def save(directory, events, head=None, name="worker0.1.pt.trace.json"):
    path = pathlib.Path(directory) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    data = json.dumps({**(head or {}), "traceEvents": events}, ensure_ascii=False)
    path.write_bytes(data.encode("utf-8", "surrogateescape"))
    return [path]


def markup(directory):
    """Every hostile name wherever a trace holds one, its own file's and directory's name too."""
    names = list(MARKUP.values())
    threads = [{"ph": "M", "name": kind, "pid": 1, "tid": 1, "ts": 0, "args": {"name": MARKUP["image"]}}
               for kind in ("process_name", "thread_name", "process_labels")]
    head = device(MARKUP["script"], host_name=MARKUP["image"], traceName=MARKUP["script"],
                  distributedInfo={"backend": MARKUP["script"], "rank": 0, "world_size": 1})
    where = pathlib.Path(directory) / ("<img src=x onerror=window.%s=1>" % HACKED)
    return save(where, ranges(names) + threads, head, "'\"><b onmouseover=window.%s=1>.1.pt.trace.json" % HACKED)


def ranks(directory, count=512):
    """Every rank takes part in two collectives; rank 7 comes late."""
    paths = []
    for rank in range(count):
        late = 40.0 if rank == 7 else 0.0
        events = [{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#%d" % step, "pid": 1, "tid": 1,
                   "ts": 200.0 * step, "dur": 200.0} for step in range(2)]
        for step in range(2):
            events += [operator(200.0 * step + 1, 50 + late, "aten::linear"),
                       {"ph": "X", "cat": "user_annotation", "name": "gloo:all_reduce", "pid": 1, "tid": 1,
                        "ts": 200.0 * step + 60 + late, "dur": 100 - late}]
        head = {"distributedInfo": {"backend": "gloo", "rank": rank, "world_size": count}}
        paths += save(directory, events, head, "rank%03d.1.pt.trace.json" % rank)
    return paths


def stacks(directory, count=30000):
    """One operator, called from very many places."""
    events = [{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "pid": 1, "tid": 1, "ts": 0, "dur": 10.0 * count}]
    for number in range(count):
        caller = hashlib.sha1(str(number).encode()).hexdigest()
        stack = "/tmp/model.py(7): forward\n/tmp/%s.py(1): <module>" % caller
        events.append({**operator(10.0 * number, 5), "args": {"Call stack": stack}})
    return save(directory, events)


TEMPLATE = "void at::native::kernel<" + ", ".join("std::tuple<float, %d>" % i for i in range(3000)) + ">(int)"
assert len(TEMPLATE) > 65536

# Invalid UTF-8 goes through surrogateescape: "\udcff" is the byte 0xff.
TRACES = {
    "markup": markup,
    "broken_utf8": lambda d: save(d, ranges(["a\udcff\udcfeb", "\udcc3(", "ok \udced\udca0\udc80"]), device()),
    "template": lambda d: save(d, ranges([TEMPLATE, TEMPLATE + " const"]), device()),
    "no_events": lambda d: save(d, []),
    "one_event": lambda d: save(d, [operator(5, 10)]),
    "one_step": lambda d: save(d, [operator(0, 5)] + [e for e in ranges([]) if e["ph"] == "X"]),
    "ten_thousand_names": lambda d: save(d, ranges(["aten::op_%05d" % i for i in range(10000)]), device()),
    "negative_times": lambda d: save(d, [operator(-5e6, 100), operator(-10, 3), operator(20, 0), operator(30, -7)]),
    "huge_times": lambda d: save(d, [operator(0, 100), operator(8e15, 500.0, "aten::late"),
                                     operator(9e14, 3e14, "aten::long")]),
    "the_future": lambda d: save(d, ranges(["aten::mm"], at=4.1e15),
                                 device(schemaVersion=99, baseTimeNanoseconds=4 * 10 ** 18, new={"unknown": [1]})),
    "long_file_names": lambda d: save(pathlib.Path(d) / ("run_" + "R" * 200), ranges(["aten::mm"]), device("D" * 300),
                                      "w" * 200 + ".1.pt.trace.json"),
    "cpu_only": lambda d: save(d, only(("cpu_op", "user_annotation", "python_function", "cpu_instant_event"))),
    "gpu_only": lambda d: save(d, only(("kernel",)), device()),
    "many_ranks": ranks, "many_stacks": stacks,
}


def write(name, directory):
    return TRACES[name](directory)
