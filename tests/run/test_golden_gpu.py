"""A GPU training written by hand (golden/gpu.cpp), and what the TensorBoard plugin itself shows of its trace. The figures
are computed here by hand from the times in golden/gpu.cpp."""
import gzip
import json
import os
import pathlib
import subprocess
import sys

import pytest

from harness import BUILD, TPROF

GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "golden"
sys.path.insert(0, str(GOLDEN))
import gpu  # noqa: E402

STEPS = 3
# Of one step: name, operator, us, blocks per SM (132 of them), occupancy % as the trace shows it.
KERNELS = [("gemm(float*, float*)", "aten::addmm", 200, 264 / 132, 25),  # 2 blocks of 256 of 2048 threads
           ("relu(float*)", "aten::relu", 100, 66 / 132, 3),             # half a block of 128: 3.1
           ("mmt(float*)", "aten::mm", 200, 528 / 132, 75),              # 4 blocks, 3 fit, of 512
           ("triton_add", "aten::add_", 50, 132 / 132, 50)]              # one block of 1024


@pytest.fixture(scope="module")
def answers():
    return json.loads((GOLDEN / "gpu.plugin.json").read_text())


def what_the_plugin_reads(path):
    trace = json.loads(gzip.open(path).read())
    keys = ("External id", "correlation", "device", "stream", "blocks per SM", "est. achieved occupancy %", "grid", "block",
            "registers per thread", "shared memory", "Bytes", "Addr", "Device Type", "Device Id", "Total Allocated",
            "Total Reserved", "Input Dims", "Input type")
    events = []
    for e in trace["traceEvents"]:
        if e["ph"] == "X" or e["name"] == "[memory]" or e.get("cat") == "fwdbwd":
            events.append([e.get(k) for k in ("ph", "cat", "name", "pid", "tid", "ts", "dur", "id")]
                          + [e.get("args", {}).get(k) for k in keys])
    return events, trace["deviceProperties"]


def test_tprof_writes_what_the_plugin_was_asked_about(tmp_path):
    fresh = gpu.make_trace(tmp_path, BUILD)
    assert what_the_plugin_reads(fresh) == what_the_plugin_reads(GOLDEN / "gpu.1.pt.trace.json.gz"), \
        "make the golden files anew: tests/golden/gpu.py"
    result = subprocess.run([TPROF, "check", str(fresh)], capture_output=True, text=True)
    assert result.returncode == 0 and "warning" not in result.stdout, result.stdout + result.stderr


@pytest.mark.skipif("TB_PLUGIN" not in os.environ or "TBCHECK" not in os.environ, reason="the plugin is not at hand")
def test_the_plugin_says_so_today(tmp_path, answers):
    gpu.make_trace(tmp_path, BUILD)
    today = gpu.ask_plugin(tmp_path)
    assert today == answers


def test_every_view_without_a_complaint(answers):
    assert answers["views"] == ["Overview", "Operator", "Kernel", "Trace", "Memory"]
    assert answers["complaints"] == []


def test_gpu_summary(answers):
    summary = dict(answers["overview"]["gpu_summary"])
    assert summary["Name"] == "NVIDIA H100 80GB HBM3" and summary["Compute Capability"] == "9.0"
    assert summary["Memory"] == "%.1f GB" % (85045411840 / 2 ** 30)
    busy = sum(us for _, _, us, _, _ in KERNELS)
    assert summary["GPU Utilization"] == "%.1f %%" % (100 * busy / 1000) == "55.0 %"
    efficiency = sum(us * min(blocks, 1) for _, _, us, blocks, _ in KERNELS) / 1000
    assert summary["Est. SM Efficiency"] == "%.1f %%" % (100 * efficiency) == "50.0 %"
    occupancy = sum(us * percent for _, _, us, _, percent in KERNELS) / busy
    assert summary["Est. Achieved Occupancy"] == "%.2f %%" % occupancy == "41.45 %"


def test_step_breakdown(answers):
    # By priority: kernels 140-340, 350-450, 460-660, 670-720; copy 30-130; set 730-740. What is left of calls: 15.2-19.8
    # (4.6) and 455.2-459.8, between two kernels. What is left of operators on either thread: 10-15.2, 19.8-30, 340-350,
    # 450-455.2 and 459.8-460.
    expected = {"Kernel": 550, "Memcpy": 100, "Memset": 10, "Runtime": 4.6 + 4.6, "DataLoader": 0,
                "CPU Exec": 5.2 + 10.2 + 10 + 5.2 + 0.2}
    expected["Other"] = 1000 - sum(expected.values())
    steps = answers["overview"]["steps"]
    assert [row[0] for row in steps["rows"]] == ["0", "1", "2"]
    for row in steps["rows"]:
        assert dict(zip(steps["columns"][1:], row[1:])) == pytest.approx(expected, abs=0.01)
    assert answers["overview"]["average_step_time_us"] == 1000


def test_device_times_of_operators(answers):
    rows = {row["name"]: row for row in answers["operators"]}
    own = {operator: us for _, operator, us, _, _ in KERNELS} | {"aten::copy_": 100, "aten::zero_": 10}
    total = own | {"aten::linear": 200, "AddmmBackward0": 200,
                   "autograd::engine::evaluate_function: AddmmBackward0": 200}
    assert set(rows) == set(total)
    for name, row in rows.items():
        assert row["calls"] == STEPS
        assert row["device_self_duration"] == STEPS * own.get(name, 0), name
        assert row["device_total_duration"] == STEPS * total[name], name
    # Host self: less its children and its calls (of 4.6 us; CUPTI alone saw Triton's, of 5).
    assert rows["aten::addmm"]["host_self_duration"] == int(STEPS * (30 - 4.6))
    assert rows["aten::add_"]["host_self_duration"] == STEPS * (30 - 5)


def test_kernel_view(answers):
    columns = answers["kernels"]["columns"]
    assert columns[-2:] == ["Mean Blocks Per SM", "Mean Est. Achieved Occupancy (%)"]
    rows = {row[0]: dict(zip(columns, row)) for row in answers["kernels"]["rows"]}
    assert set(rows) == {name for name, *_ in KERNELS}
    for name, operator, us, blocks, percent in KERNELS:
        row = rows[name]
        assert (row["Calls"], row["Total Duration (us)"], row["Mean Duration (us)"]) == (STEPS, STEPS * us, us)
        assert (row["Mean Blocks Per SM"], row["Mean Est. Achieved Occupancy (%)"]) == (blocks, percent)
    columns = answers["kernels_by_operator"]["columns"]
    by_operator = {row[0]: dict(zip(columns, row)) for row in answers["kernels_by_operator"]["rows"]}
    assert {name: row["Operator"] for name, row in by_operator.items()} == {k[0]: k[1] for k in KERNELS}
    mmt = by_operator["mmt(float*)"]
    assert (mmt["Grid"], mmt["Block"], mmt["Register Per Thread"], mmt["Shared Memory"]) == (
        "[528, 1, 1]", "[512, 1, 1]", "32", "60000")


def test_memory_view(answers):
    memory = answers["memory"]
    assert memory["curve"]["metadata"]["devices"] == ["GPU0"]
    rows = {row[0]: row for row in memory["statistics"]["rows"]["GPU0"]["rows"]}
    assert rows["aten::addmm"][1:4] == [STEPS, STEPS, STEPS]   # calls, KB, KB of its own
    assert rows["aten::zero_"][2] == -STEPS
    events = memory["events"]["rows"]["GPU0"]["rows"]
    assert [e[0] for e in events] == ["aten::addmm"] * STEPS
    assert all(abs(e[4] - 0.413) < 0.01 for e in events)       # ms from 47 to 460 us
