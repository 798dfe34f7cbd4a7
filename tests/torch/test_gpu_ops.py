"""Operators to kernels without a GPU: gpu_ops.py on the simulated CUDA of tests/fake, on every torch.

What it launched it says itself; how long that takes stands in simops.cpp. tprof's trace of steps 3 to 5 must say the
same, with the operator, thread and call behind each piece of work.
"""
import json
import pathlib
import re
import sys
from collections import Counter

import pytest

import harness

sys.path.insert(0, str(harness.TESTS / "gpu"))
import differences  # noqa: E402  (needs the path above)
import traces  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
SIMCUDA = harness.BUILD / "tests" / "fake" / "simcuda-run"
LIBRARY = harness.BUILD / "tests" / "libsimops.so"
STEPS = [3, 4, 5]
OPTIONS = {"TPROF_SCHEDULE": harness.schedule_words(wait=2, warmup=1, active=3, repeat=1), "TPROF_PROFILE_MEMORY": "1"}
SEGMENT, BATCH, OUT, BLOCKS, THREADS = 2 << 20, 8192, 4096, 11, 512  # of gpu_ops.py
LAG_NS = 30_000_000  # a step takes this machine less time than its kernels the GPU, also when others use it
LAUNCH_LATENCY_NS = 3_000  # from a launch to its kernel's begin on an idle stream, of tests/fake/driver/timeline.cpp
ROWS = re.findall(r"^\s*KERNEL\((\w+), (\d+), (\d+), (\d+)\)", (HERE / "simops.cpp").read_text(), re.M)
KERNELS = {name: {"registers": int(registers), "shared": int(shared), "ns": int(ns)}
           for name, registers, shared, ns in ROWS}


def trained(how, where, home, env=None):
    """(trace, what the program noted) of one run under tprof."""
    argv = [SIMCUDA, "/usr/bin/python3", HERE / "gpu_ops.py", LIBRARY, how]
    result = harness.run(argv, "run", where=where, logdir=home / how, options=OPTIONS, env=env)
    assert result.returncode == 0, result.stderr
    found, = result.traces()
    return traces.Trace(found.data), json.loads(result.stdout)


@pytest.fixture(scope="module")
def waiting(cpu_machine, tmp_path_factory):
    return trained("waiting", cpu_machine, tmp_path_factory.mktemp("gpu"))


@pytest.fixture(scope="module")
def lagging(cpu_machine, tmp_path_factory):
    return trained("lagging", cpu_machine, tmp_path_factory.mktemp("gpu"), {"SIMCUDA_KERNEL_NS": str(LAG_NS)})


def of_window(noted):
    return [each for each in noted if each[0] in STEPS]


def what(event):
    """As gpu_ops.py notes it."""
    if event["cat"] == "kernel":
        return event["name"]
    return "%s %d" % ("set" if event["cat"] == "gpu_memset" else event["name"].split()[1], event["args"]["bytes"])


def operator(trace, event):
    return (trace.operator_of(event) or {"name": "nobody"})["name"]


def test_every_piece_of_work_has_the_operator_that_launched_it(waiting):
    trace, noted = waiting
    assert Counter((operator(trace, e), what(e)) for e in trace.work) == Counter((by, did) for _, by, did, _ in
                                                                               of_window(noted))


def test_its_call_lies_in_that_operator_and_an_arrow_leads_from_there(waiting):
    trace, noted = waiting
    assert differences.launches(trace) == []
    arrows = [e["ph"] for e in trace.events if e.get("cat") == "ac2g"]
    assert arrows.count("f") == len(of_window(noted)) == len(trace.work)


def test_backward_work_is_launched_by_the_backward_thread(waiting):
    trace, _ = waiting
    threads = {operator(trace, e): trace.call_of(e)["tid"] for e in trace.work}
    backward = {threads.pop("DoubledBackward"), threads.pop("simgpu::gemm_backward")}
    assert len(backward) == 1 and set(threads.values()) == {trace.calls[0]["pid"]} != backward


def test_a_window_holds_what_its_steps_launched_whenever_it_ran(lagging):
    """Warm-up's work and that of later steps run inside the window, and the window's own runs on behind it."""
    trace, noted = lagging
    assert trace.steps() == STEPS
    assert Counter((e["args"]["grid"][0] // BLOCKS - 1, e["name"]) for e in trace.kernels) == Counter(
        (number, did) for number, _, did, _ in of_window(noted) if did in KERNELS)
    end = max(traces.end_ns(e) for e in trace.ranges if e["name"].startswith("ProfilerStep#"))
    assert sum(traces.begin_ns(e) > end for e in trace.kernels) > 5, "the GPU did not lag; the test shows nothing"


def test_durations_and_figures_are_the_simulated_ones(waiting, lagging):
    trace, _ = waiting
    sms = trace.data["deviceProperties"][0]["numSms"]
    for kernel in trace.kernels:
        true, args = KERNELS[kernel["name"]], kernel["args"]
        assert round(kernel["dur"] * 1000) == true["ns"], kernel
        assert args["registers per thread"] == true["registers"] and args["block"] == [THREADS, 1, 1]
        dynamic = 2048 if kernel["name"] == "simops_reduce" else 0
        assert args["shared memory"] == true["shared"] + dynamic and args["grid"][1:] == [1, 1]
        # One block of 512 threads fits at least on an SM of 2048; there are fewer blocks than SMs.
        blocks = args["grid"][0] / sms
        assert args["blocks per SM"] == pytest.approx(blocks, rel=1e-6) and blocks < 1
        assert args["est. achieved occupancy %"] == int(100 * blocks * THREADS / 2048 + 0.5)
    assert {round(e["dur"] * 1000) for e in lagging[0].kernels} == {LAG_NS}


def test_streams_are_tracks_and_may_overlap(waiting):
    trace, noted = waiting
    aside = [e for e in trace.kernels if e["name"] == "simops_gemm_backward"]
    by_stream = Counter(e["args"]["stream"] for e in trace.work)
    assert sorted(by_stream.values()) == sorted(Counter(stream for *_, stream in of_window(noted)).values())
    _, (side, _) = by_stream.most_common()
    assert all(e["tid"] == e["args"]["stream"] and e["pid"] == 0 for e in trace.work)
    # Nothing else is on the side stream: its kernel never waits for its twin, however late this machine launched it.
    late = [traces.begin_ns(e) - traces.end_ns(trace.call_of(e)) for e in aside if e["args"]["stream"] == side]
    assert len(late) == len(STEPS) and max(late) <= LAUNCH_LATENCY_NS


def test_calls_appear_once_with_what_they_are(waiting):
    trace, noted = waiting
    launches = [call for call in trace.calls if "Launch" in call["name"]]
    assert len(launches) == sum(did in KERNELS for _, _, did, _ in of_window(noted))
    correlations = [call["args"]["correlation"] for call in trace.calls]
    assert len(set(correlations)) == len(correlations)
    assert Counter(call["name"].split("_v")[0] for call in trace.calls)["cudaMemcpyAsync"] == 2 * len(STEPS)


def test_gpu_memory_is_that_of_the_allocator(waiting):
    trace, _ = waiting
    found = [(e["args"]["Bytes"], e["args"]["Total Allocated"], e["args"]["Total Reserved"], e["args"]["Device Id"])
             for e in trace.memory()]
    one_step = [(BATCH, BATCH, SEGMENT, 0), (OUT, BATCH + OUT, SEGMENT, 0), (-BATCH, OUT, SEGMENT, 0),
                (-OUT, 0, SEGMENT, 0)]
    assert found == one_step * len(STEPS)
    around = [(trace.around({**e, "dur": 0}) or {"name": ""})["name"] for e in trace.memory()]
    assert around[0] == "simgpu::to_gpu" and around[1] == "simgpu::gemm"


def test_nothing_is_lost_and_the_device_is_described(waiting, lagging):
    for trace, _ in (waiting, lagging):
        ledger = trace.data["tprof"]
        assert not any(ledger["dropped"].values())
        device, = trace.data["deviceProperties"]
        assert device["name"] and device["totalGlobalMem"] > 0 and device["numSms"] > 0


def test_the_program_is_as_bare(cpu_machine, tmp_path):
    argv = [SIMCUDA, "/usr/bin/python3", HERE / "gpu_ops.py", LIBRARY, "waiting"]
    harness.both(argv, tmp_path, where=cpu_machine, options=OPTIONS)
