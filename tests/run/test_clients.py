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
        recording = directory / "golden_1.1.tprof"
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


def test_engines_that_fold_case_can_tell_the_args_of_an_event_apart(events):
    for e in events:
        keys = [key.lower() for key in e.get("args", {})]
        assert len(keys) == len(set(keys)), e
    calls = [e for e in events if e.get("cat", "").startswith("cuda_") and e["pid"] >= 1000]
    assert all("bytes" not in e["args"] for e in calls), "[memory] has Bytes, which stands beside calls without copies too"
