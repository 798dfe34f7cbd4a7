"""What torch_tb_profiler 0.4.3 makes of odd traces: each one small, its answers those of the plugin's own code."""
import json

import pytest

from harness import tprof

MODERN = 1700000000000000.0  # in microseconds since 1970, where doubles are 0.25 apart


def x(category, name, ts, dur, tid=1, pid=9, **args):
    return {"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur,
            "args": {key.replace("_", " "): value for key, value in args.items()}}


def op(name, ts, dur, id, tid=1, **args):
    return x("cpu_op", name, ts, dur, tid, External_id=id, **args)


def step(number, ts, dur, tid=1, category="user_annotation"):
    return x(category, "ProfilerStep#%d" % number, ts, dur, tid)


def call(ts, dur, correlation, id, tid=1):
    return x("cuda_runtime", "cudaLaunchKernel", ts, dur, tid, External_id=id, correlation=correlation)


def kernel(name, ts, dur, correlation, id, **args):
    return x("kernel", name, ts, dur, 7, 0, External_id=id, correlation=correlation, device=0, stream=7, **args)


def module(name, ts, dur, id, parent=None, tid=1):
    return x("python_function", "nn.Module: " + name, ts, dur, tid, Python_id=id, Python_module_id=0,
             Python_parent_id=parent)


def memory(ts, size, address, total, tid=1):
    return {"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]", "pid": 9, "tid": tid, "ts": ts,
            "args": {"Device Type": 0, "Device Id": -1, "Addr": address, "Bytes": size, "Total Allocated": total,
                     "Total Reserved": 0}}


def arrow(id, begin, end, tid=1):
    shared = {"cat": "fwdbwd", "name": "fwdbwd", "id": id, "pid": 9}
    return [{"ph": "s", "tid": 1, "ts": begin, **shared}, {"ph": "f", "bp": "e", "tid": tid, "ts": end, **shared}]


@pytest.fixture
def ask(tmp_path):
    def of(events, by, **head):
        path = tmp_path / "t.pt.trace.json"
        path.write_text(json.dumps({"schemaVersion": 1, **head, "traceEvents": events}))
        words = ["overview"] if by == "overview" else ["stats", "--by", by]
        done = tprof(*words, "--plugin-compat", "--json", path)
        assert done.returncode == 0, done.stderr
        worker, = json.loads(done.stdout)["workers"]
        return worker
    return of


def kernels(worker):
    return sorted((row["name"], row["operator"], row["calls"], row["total_duration"]) for row in worker["rows"])


# --- kernels

ALONE = [step(1, 0, 100), op("aten::mm", 10, 20, 5), kernel("gemm", 30, 8, 77, 44)]


def test_a_gpu_with_an_empty_name_has_it(ask):
    gpu = {"id": 0, "name": "", "totalGlobalMem": 1 << 34, "computeMajor": 9, "computeMinor": 4}
    assert ask(ALONE, "overview", deviceProperties=[gpu])["gpu_summary"][1] == ["Name", ""]
    del gpu["name"]
    assert ask(ALONE, "overview", deviceProperties=[gpu])["gpu_summary"][1] == ["Memory", "16.0 GB"]


# --- operators

# --- modules and backward passes

# --- memory
