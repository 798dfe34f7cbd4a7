"""Plain CUDA programs on the simulated CUDA, from the program to the trace."""
import collections

import pytest

from harness import BUILD, both, run

APPS = BUILD / "tests" / "apps" / "cuda"
SIM = BUILD / "tests" / "fake" / "simcuda-run"


@pytest.fixture
def trace(tmp_path):
    """Of a program that launches through the driver's API, as Triton does."""
    result = run([SIM, APPS / "driver_launch"], "run", logdir=tmp_path)
    assert result.returncode == 0, result.stderr
    found, = result.traces()
    return found


def test_launches_through_the_driver_are_calls_with_their_work(trace):
    calls = {e["args"]["correlation"]: e for e in trace.ranges
             if e["cat"] == "cuda_runtime" and "correlation" in e["args"]}
    kernels = [e for e in trace.ranges if e["cat"] == "kernel"]
    assert [e["name"] for e in kernels] == ["triple", "triple"]
    assert sorted(calls[e["args"]["correlation"]]["name"] for e in kernels) == ["cuLaunchKernel", "cuLaunchKernelEx"]
    for kernel in kernels:
        assert calls[kernel["args"]["correlation"]]["ts"] <= kernel["ts"]


def test_virtual_memory_calls_of_the_driver_are_shown(trace):
    shown = {e["name"] for e in trace.ranges if e["cat"] == "cuda_driver"}
    assert {"cuMemCreate", "cuMemMap", "cuMemUnmap", "cuMemRelease"} <= shown


@pytest.mark.parametrize("graph", ["node", "graph"])
def test_captures_of_graphs_are_not_disturbed(graph, tmp_path):
    """By a call of ours that a capture forbids, on any thread. The program runs long enough for all of them."""
    results = both([SIM, APPS / "capture_13", 1000], tmp_path, options={
        "TPROF_PRESET": "full", "TPROF_WITH_STACK": "calls,native", "TPROF_GRAPH": graph})
    assert results["bare"].stdout == "broken: 0 0 0, counted: 6000\n"
    for way in results.keys() - {"bare"}:
        assert sum(e["cat"] == "cuda_runtime" and e["name"] == "cudaGraphLaunch"
                   for trace in results[way].traces() for e in trace.ranges) == 3000


def test_threads_that_live_for_a_moment_take_little_room(tmp_path):
    """300 of them, one after the other: the next one writes on where the one before ended, and each has its own calls."""
    result = run([SIM, APPS / "capture_13", 100], "run", logdir=tmp_path, options={"TPROF_MAX_SIZE": "16M"})
    trace, = result.traces()
    assert trace.ledger["dropped"] == {}
    by_thread = collections.Counter(e["tid"] for e in trace.ranges if e["cat"] == "cuda_runtime")
    of_main = by_thread.pop(trace.pid)
    assert of_main > 2000 and sorted(by_thread.values()) == [1] * 300
