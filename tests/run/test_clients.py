"""What viewers and libraries that are not at hand here need of a trace, as their own code reads it."""
import gzip
import json
import pathlib
import subprocess
import sys

import pytest

from harness import BUILD, TPROF

GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "golden"
sys.path.insert(0, str(GOLDEN))
import gpu  # noqa: E402


@pytest.fixture(scope="module", params=["gpu", "cpu"])
def events(request, tmp_path_factory):
    directory = tmp_path_factory.mktemp(request.param)
    if request.param == "gpu":
        path = gpu.make_trace(directory, BUILD)
    else:
        recording = directory / "golden_1.6.tprof"
        recording.write_bytes(gzip.open(GOLDEN / "torch-1.13.recording.gz").read())
        subprocess.run([TPROF, "convert", str(recording)], check=True, capture_output=True)
        path, = directory.glob("*.pt.trace.json.gz")
    return json.loads(gzip.open(path).read())["traceEvents"]


def test_speedscope_finds_every_row_by_number(events):
    """It files complete events by the numbers of their pid and tid, and looks their rows up as they are written."""
    whole = [e for e in events if e["ph"] in "XBE"]
    assert whole and all(type(e[key]) is int for e in whole for key in ("pid", "tid"))


def test_the_profilers_own_span_has_a_row_with_a_name(events):
    span, = [e for e in events if e["name"] == "PyTorch Profiler (0)"]
    named = {e["name"]: e["args"] for e in events if e["ph"] == "M" and (e["pid"], e["tid"]) == (span["pid"], span["tid"])}
    assert named["process_name"] == {"name": "Spans"} and named["thread_name"] == {"name": "PyTorch Profiler"}
    assert all(e["pid"] != span["pid"] for e in events if e["ph"] == "X" and e is not span)


def test_htas_overlay_finds_the_event_for_its_table_of_names(events):
    """_overlay_frequent_patterns_with_trace: one event, of any phase, named like it and with this pid."""
    assert len([e for e in events if "PyTorch Profiler" in e["name"] and e["pid"] == "Spans"]) == 1


def test_the_plugin_can_add_its_counters(tmp_path):
    """torch_tb_profiler 0.4.3 takes the last bracket of a trace of GPUs for the end of its events and adds to them there."""
    directory = tmp_path / "runs[1]"
    directory.mkdir()
    text = gzip.open(gpu.make_trace(directory, BUILD)).read()
    found = json.loads(text[:text.rfind(b"]")] + b', {"ph": "C"}]}')["traceEvents"]
    assert found == json.loads(text)["traceEvents"] + [{"ph": "C"}]


def test_engines_that_fold_case_can_tell_the_args_of_an_event_apart(events):
    for e in events:
        keys = [key.lower() for key in e.get("args", {})]
        assert len(keys) == len(set(keys)), e
    calls = [e for e in events if e.get("cat", "").startswith("cuda_") and e["pid"] >= 1000]
    assert all("bytes" not in e["args"] for e in calls), "[memory] has Bytes, which stands beside calls without copies too"


def union(spans):
    length, end = 0.0, float("-inf")
    for begin, finish in sorted(spans):
        length += max(0.0, finish - max(begin, end))
        end = max(end, finish)
    return length


def test_counters_of_gpus_are_the_time_in_which_their_kernels_ran(events):
    """Viewers hold a value until the next one; torch_tb_profiler's names, without its first value of 1."""
    kernels = [e for e in events if e.get("cat") == "kernel"]
    counters = [e for e in events if e["ph"] == "C"]
    assert {e["pid"] for e in counters} == {e["args"]["device"] for e in kernels}
    span, = [e for e in events if e["name"] == "PyTorch Profiler (0)"]
    begin, end = span["ts"], span["ts"] + span["dur"]
    for device in {e["pid"] for e in counters}:
        own = [e for e in counters if e["name"] == "GPU %d Utilization" % device]
        times, values = [e["ts"] for e in own], [e["args"]["GPU Utilization"] for e in own]
        assert times == sorted(times) and 11 <= len(own) <= 101 and (times[0], values[-1]) == (begin, 0)
        assert times[-1] == pytest.approx(end) and all(0 <= value <= 1 for value in values)
        busy = union((max(begin, e["ts"]), min(end, e["ts"] + e["dur"])) for e in kernels
                     if e["args"]["device"] == device and e["ts"] < end and e["ts"] + e["dur"] > begin)
        assert sum((b - a) * v for a, b, v in zip(times, times[1:], values)) == pytest.approx(busy, abs=0.01)
        filled = [e["args"]["Est. SM Efficiency"] for e in counters if e["name"] == "GPU %d Est. SM Efficiency" % device]
        states = any("blocks per SM" in e["args"] for e in kernels if e["args"]["device"] == device)
        assert len(filled) == (len(own) if states else 0) and all(0 <= value <= 1 for value in filled)
        assert all(f <= v + 1e-9 for f, v in zip(filled, values))
