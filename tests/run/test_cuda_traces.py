"""Plain CUDA programs on the simulated CUDA, from the program to the trace."""
import pytest

from harness import BUILD, run

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
