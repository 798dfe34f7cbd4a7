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

def test_modules_that_begin_together_may_stand_in_any_order(ask):
    events = [step(1, 0, 100), module("Linear_0", 10, 20, 2, 1), module("Sequential_0", 10, 60, 1),
              op("aten::mm", 12, 3, 5)]
    rows = [(row["depth"], row["name"], row["operators"]) for row in ask(events, "module")["rows"]]
    assert rows == [(0, "Sequential_0", 0), (1, "Linear_0", 1)]


ENGINE = "autograd::engine::evaluate_function: MmBackward0"
BACKWARD = [step(1, 0, 1000), module("Linear_0", 10, 100, 1), op("aten::linear", 20, 60, 2),
            op("aten::mm", 20, 50, 3), op(ENGINE, 300, 100, 4, 2), op("MmBackward0", 310, 60, 5, 2),
            call(315, 4, 1, 5, 2), kernel("gemm", 400, 30, 1, 5), memory(305, 512, 64, 512, 2),
            memory(318, 1024, 128, 1536, 2), memory(50, 2048, 192, 2048), *arrow(1, 20, 310, 2)]


def test_modules_called_anew_in_the_backward_pass_do_not_count(ask):
    events = [*BACKWARD[:8], module("Linear_0", 372, 20, 7, None, 2), op("aten::mm", 374, 10, 6, 2), *BACKWARD[-2:]]
    row, = ask(events, "module")["rows"]
    assert (row["name"], row["occurences"], row["operators"], row["host_duration"]) == ("Linear_0", 1, 1, 100)


# --- memory
