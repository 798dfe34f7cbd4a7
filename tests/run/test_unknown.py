"""What a trace does not tell is a dash in text and null in JSON, never zero; and it is called by its right name."""
import json

import pytest

from harness import tprof


def x(category, name, ts, dur, pid=1, tid=1, **args):
    return {"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": args}


def trace(tmp_path, events, **head):
    path = tmp_path / "t.pt.trace.json"
    path.write_text(json.dumps({**head, "traceEvents": [x("cpu_op", "aten::mm", 0, 100)] + events}))
    return path


def shares(path):
    worker, = json.loads(tprof("overview", "--json", path).stdout)["workers"]
    return {row["category"]: (row["us"], row["percent"]) for row in worker["execution_summary"]}, worker


UNKNOWN = {
    "MTIA": [x("mtia_runtime", "runFunction", 10, 20, correlation=1),
             x("mtia_ccp_events", "pe_exe", 30, 40, pid=17, tid=5, stream=112)],
    "range profiler": [x("cuda_runtime", "cudaLaunchKernel", 10, 20, correlation=1),
                       x("cuda_profiler_range", "gemm", 30, 40, pid=0, tid=0)],
    "calls alone": [x("cuda_runtime", "cudaMemcpyAsync", 10, 20, correlation=1)],
}


@pytest.mark.parametrize("what", UNKNOWN)
def test_work_of_a_device_that_is_not_in_the_trace_is_not_zero(what, tmp_path):
    path = trace(tmp_path, UNKNOWN[what])
    summary, worker = shares(path)
    for category in ("Kernel", "Memcpy", "Memset"):
        assert summary[category] == (None, None)
    assert summary["Runtime"] == (20, 20.0) and summary["DataLoader"] == (0, 0.0)
    row, = worker["steps"]["rows"]
    assert row[1:4] == [None, None, None] and row[4] == 20
    assert any("not known" in note for note in worker["notes"])
    lines = {line.split()[0]: line.split()[1:] for line in tprof("overview", path).stdout.splitlines() if line}
    assert lines["Kernel"] == lines["Memcpy"] == lines["Memset"] == ["-", "-"]


def test_calls_that_launch_nothing_leave_nothing_unknown(tmp_path):
    summary, worker = shares(trace(tmp_path, [x("cuda_runtime", "cudaGetDeviceCount", 10, 20)]))
    assert summary["Kernel"] == (0, 0.0)
    assert any("no kernel ran" in note for note in worker["notes"])


def test_the_plugin_has_its_zeros(tmp_path):
    path = trace(tmp_path, UNKNOWN["calls alone"])
    worker, = json.loads(tprof("overview", "--json", "--plugin-compat", path).stdout)["workers"]
    assert {row["category"]: row["us"] for row in worker["execution_summary"]}["Kernel"] == 0


AMD = [x("cuda_runtime", "hipLaunchKernel", 10, 20, correlation=1),
       x("kernel", "Cijk_gemm", 40, 30, pid=0, tid=0, correlation=1, device=0, stream=0),
       {"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]", "pid": 1, "tid": 1, "ts": 50,
        "args": {"Device Type": 6, "Device Id": 0, "Addr": 4096, "Bytes": 1024, "Total Allocated": 1024,
                 "Total Reserved": 2048}}]


def test_a_gpu_of_amd_is_called_one(tmp_path):
    path = trace(tmp_path, AMD, deviceProperties=[{"id": 0, "name": "", "totalGlobalMem": 1 << 36}])
    text = tprof("overview", path).stdout
    assert "64.0 GB" in text and "its name is not in the trace" in text
    assert "properties are not" not in text and "CUPTI" not in text
    shown = tprof("stats", "--by", "memory", path).stdout
    assert "GPU0" in shown and "device type" not in shown
    worker, = json.loads(tprof("stats", "--json", path).stdout)["workers"]
    product, = [row for row in worker["rows"] if row["name"] == "aten::mm"]
    assert product["cuda_memory_usage"] == 1024 and product["cpu_memory_usage"] == 0
    assert "the GPU's name is not in this trace" in tprof("advise", path).stdout


def test_few_operations_are_shown_in_their_unit(tmp_path):
    small = x("cpu_op", "aten::mm", 200, 10, **{"Input Dims": [[4, 4], [4, 4]], "Input type": ["float", "float"]})
    path = trace(tmp_path, [small])
    shown = tprof("stats", "--by", "flops", path).stdout
    assert "128 FLOP" in shown and "12.80 MFLOP/s" in shown and "All of the steps: 128 FLOP, " in shown
    worker, = json.loads(tprof("stats", "--by", "flops", "--json", path).stdout)["workers"]
    row, = worker["rows"]
    assert row["gflop"] == pytest.approx(128e-9) and row["tflops"] == pytest.approx(12.8e-6)
