"""The plugin's GPU figures on a trace of tests/torch/gpu_ops.py (simulated CUDA), each reckoned here by hand.

Made on torch 1.13 with TPROF_SCHEDULE=wait=2,warmup=1,active=3,repeat=1 and TPROF_PROFILE_MEMORY=1; the answers by the
plugin's own code. What the GPU did in a step stands below: durations are those of simops.cpp.
"""
import json
import pathlib
import sys
from collections import defaultdict

import pytest

from harness import TESTS, tprof

sys.path.insert(0, str(TESTS / "gpu"))
import traces  # noqa: E402  (needs the path above)

GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "golden"
TRACE = GOLDEN / "gpu-ops.1.pt.trace.json.gz"
STEPS = ["3", "4", "5"]
# Kernels of one step by the operator that launches them, in us. Of the two in gemm_backward one runs beside the other.
KERNEL_US = {"simgpu::gemm": 400, "DoubledBackward": 100, "simgpu::gemm_backward": 300 + 300, "simgpu::to_host": 50,
             "simgpu::update": 100}
CALLS = {"simops_gemm_h884": 1, "simops_gemm_backward": 2, "simops_elementwise": 2, "simops_reduce": 1}  # in a step
TENSOR_CORE_US = 400  # "h884" is what the plugin knows them by


@pytest.fixture(scope="module")
def trace():
    return traces.Trace(TRACE)


@pytest.fixture(scope="module")
def answers():
    return json.loads((GOLDEN / "gpu-ops.plugin.json").read_text())


def us(event):
    return event["ts"], event["ts"] + event["dur"]


def steps_of(trace):
    return [us(e) for e in trace.ranges if e["name"].startswith("ProfilerStep#")]


def pieces(*groups):
    """Cuts the time line at every begin and end: (begin, end, [which of group k's ranges are open])."""
    edges = sorted({at for group in groups for begin, end in group for at in (begin, end)})
    for begin, end in zip(edges, edges[1:]):
        yield begin, end, [[i for i, (a, b) in enumerate(group) if a <= begin and end <= b] for group in groups]


def test_every_view_is_there_and_nothing_was_complained_of(answers):
    assert answers["views"] == ["Overview", "Operator", "Kernel", "Trace", "Memory"]
    assert not answers["warnings"] and not answers["dropped"] and not answers["problems"]
    done = tprof("check", TRACE)
    assert done.returncode == 0, done.stdout + done.stderr


def test_gpu_summary(trace, answers):
    """Utilisation, SM efficiency and occupancy of the kernels within the steps."""
    steps = steps_of(trace)
    first, last = steps[0][0], steps[-1][1]
    busy = filled = 0.0
    kernels = [us(e) for e in trace.kernels]
    blocks = [e["args"]["blocks per SM"] for e in trace.kernels]
    for begin, end, (open_kernels, inside) in pieces(kernels, [(first, last)]):
        if inside and open_kernels:
            busy += end - begin
            filled += min(1.0, sum(blocks[i] for i in open_kernels)) * (end - begin)
    weights = sum(e["dur"] for e in trace.kernels)
    occupancy = sum(e["dur"] * e["args"]["est. achieved occupancy %"] for e in trace.kernels) / weights
    summary = dict(answers["gpu_summary"])
    assert float(summary["GPU Utilization"].rstrip(" %")) == pytest.approx(100 * busy / (last - first), abs=0.01)
    assert float(summary["Est. SM Efficiency"].rstrip(" %")) == pytest.approx(100 * filled / (last - first), abs=0.01)
    assert float(summary["Est. Achieved Occupancy"].rstrip(" %")) == pytest.approx(occupancy, abs=0.01)
    share = 100 * TENSOR_CORE_US / sum(KERNEL_US.values())
    assert float(summary["Kernel Time using Tensor Cores"].rstrip(" %")) == pytest.approx(share, abs=0.1)
    assert summary["Name"] == trace.data["deviceProperties"][0]["name"]


def test_step_breakdown(trace, answers):
    """Each instant of a step belongs to the first of these that is busy."""
    roles = {
        "Kernel": [us(e) for e in trace.kernels],
        "Memcpy": [us(e) for e in trace.copies],
        "Memset": [us(e) for e in trace.sets],
        "Runtime": [us(e) for e in trace.of("cuda_runtime")],
        "CPU Exec": [us(e) for e in trace.operators if not e["name"].startswith("ProfilerStep#")],
    }
    columns = answers["steps"]["columns"]
    steps = steps_of(trace)
    spent = [defaultdict(float) for _ in steps]
    for begin, end, (inside, *busy) in pieces(steps, *roles.values()):
        role = next((role for role, ranges in zip(roles, busy) if ranges), "Other")
        for i in inside:
            spent[i][role] += end - begin
    assert [row[0] for row in answers["steps"]["rows"]] == STEPS
    for row, mine in zip(answers["steps"]["rows"], spent):
        for column, value in zip(columns[1:], row[1:]):
            assert float(value) == pytest.approx(mine[column], abs=1), (row[0], column)
        beside = 300  # the second kernel of gemm_backward
        assert sum(KERNEL_US.values()) - beside <= mine["Kernel"] + 1 and mine["Kernel"] < sum(KERNEL_US.values())
    average = sum(end - begin for begin, end in steps) / len(steps)
    assert answers["average_step_time_us"] == pytest.approx(average, abs=1)


def test_operators_have_the_device_times_of_their_kernels(trace, answers):
    rows = {row["name"]: row for row in answers["operators"]}
    beside = defaultdict(float)  # copies and sets count too
    for event in trace.copies + trace.sets:
        beside[trace.operator_of(event)["name"]] += event["dur"]
    assert set(beside) == {"simgpu::to_gpu", "simgpu::gemm", "simgpu::to_host"}
    for name in KERNEL_US.keys() | beside.keys():
        expected = len(STEPS) * KERNEL_US.get(name, 0) + beside[name]
        assert rows[name]["device_self_duration"] == pytest.approx(expected, abs=1), name
        assert rows[name]["calls"] == len(STEPS)
    backward = rows["autograd::engine::evaluate_function: GemmBackward"]
    assert backward["device_total_duration"] == pytest.approx(len(STEPS) * 600, abs=1)
    assert backward["device_self_duration"] == 0
    idle = [row for row in answers["operators"] if row["name"].startswith("aten::")]
    assert idle and all(row["device_total_duration"] == 0 for row in idle)


def test_kernel_table(trace, answers):
    table = answers["kernels"]
    rows = [dict(zip(table["columns"], row)) for row in table["rows"]]
    assert {row["Name"]: row["Calls"] for row in rows} == {name: n * len(STEPS) for name, n in CALLS.items()}
    for row in rows:
        mine = [e for e in trace.kernels if e["name"] == row["Name"]]
        assert row["Total Duration (us)"] == pytest.approx(sum(e["dur"] for e in mine), abs=1)
        assert row["Tensor Cores Used"] == ("Yes" if "h884" in row["Name"] else "No")
        for column, key in (("Mean Blocks Per SM", "blocks per SM"),
                            ("Mean Est. Achieved Occupancy (%)", "est. achieved occupancy %")):
            mean = sum(e["dur"] * e["args"][key] for e in mine) / sum(e["dur"] for e in mine)
            assert row[column] == pytest.approx(mean, abs=0.01), column


def test_kernels_by_operator(answers):
    table = answers["kernels_by_operator"]
    found = {(row["Name"], row["Operator"]) for row in (dict(zip(table["columns"], row)) for row in table["rows"])}
    assert found == {("simops_gemm_h884", "simgpu::gemm"), ("simops_gemm_backward", "simgpu::gemm_backward"),
                     ("simops_elementwise", "simgpu::update"), ("simops_elementwise", "DoubledBackward"),
                     ("simops_reduce", "simgpu::to_host")}


def test_memory_of_the_gpu(answers):
    """8 KiB and 4 KiB come in each step and go at its end, of 2 MiB that are reserved."""
    memory = answers["memory"]
    assert memory["devices"] == ["CPU", "GPU0"]
    megabytes = [tuple(point[1:]) for point in memory["curve"]["first"]]
    assert megabytes == [(8 / 1024, 2), (8 / 1024, 2), (12 / 1024, 2)]
    events = [dict(zip(memory["events"]["columns"], row)) for row in memory["events"]["rows"]]
    assert [(row["Operator"], row["Size (KB)"]) for row in events] == [
        ("simgpu::to_gpu", 8), ("simgpu::gemm", 4)] * len(STEPS)
    assert all(row["Release Time (ms)"] > row["Allocation Time (ms)"] for row in events)
    statistics = [dict(zip(memory["statistics"]["columns"], row)) for row in memory["statistics"]["rows"]]
    assert {row["Operator Name"]: row["Self Size Increase (KB)"] for row in statistics} == {
        "simgpu::to_gpu": 8 * len(STEPS), "simgpu::gemm": 4 * len(STEPS), "Gemm": 0}
