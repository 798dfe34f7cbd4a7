"""Two committed traces and what the TensorBoard plugin itself made of them: our reading must give the same.

Made from tests/golden/train.py with TPROF_SCHEDULE=wait=1,warmup=1,active=3,repeat=1; the answers by the plugin's own
code. A change in how tprof writes traces does not change these files; it is checked by `tprof check` in every test.
"""
import collections
import gzip
import json
import pathlib
import subprocess

import pytest

from harness import TPROF

GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "golden"


@pytest.fixture(params=["torch-1.13", "torch-2.14"])
def golden(request):
    path = GOLDEN / (request.param + ".1.pt.trace.json.gz")
    answers = json.loads((GOLDEN / (request.param + ".plugin.json")).read_text())
    return path, json.loads(gzip.open(path).read()), answers


def operators(trace):
    """The plugin's Operator table: ranges nested by time per thread; one that holds nothing but one of its own name
    is one call with it; user annotations and Optimizer ranges are no operators."""
    rows = collections.defaultdict(lambda: [0, 0.0, 0.0])
    ranges = [e for e in trace["traceEvents"] if e["ph"] == "X" and e["cat"] in ("cpu_op", "user_annotation")]
    by_thread = collections.defaultdict(list)
    for e in sorted(ranges, key=lambda e: (e["ts"], -e["dur"])):
        e["children"] = []
        stack = by_thread[e["tid"]]
        while stack and stack[-1]["ts"] + stack[-1]["dur"] <= e["ts"]:
            stack.pop()
        if stack:
            stack[-1]["children"].append(e)
        stack.append(e)
    nested = set()
    for e in ranges:
        while len(e["children"]) == 1 and e["children"][0]["name"] == e["name"]:
            nested.add(id(e["children"][0]))
            e["children"] = e["children"][0]["children"]
    for e in ranges:
        if id(e) in nested or e["cat"] != "cpu_op":
            continue
        row = rows[e["name"]]
        row[0] += 1
        row[1] += e["dur"]
        row[2] += e["dur"] - sum(c["dur"] for c in e["children"])
    return rows


def test_operator_table_is_the_plugins(golden):
    _, trace, answers = golden
    rows = operators(trace)
    assert set(rows) == {o["name"] for o in answers["operators"]} and len(rows) > 40
    for o in answers["operators"]:
        calls, total, own = rows[o["name"]]
        assert calls == o["calls"], o
        assert abs(total - o["host_total_duration"]) <= 1 and abs(own - o["host_self_duration"]) <= 1, (o, total, own)


def test_steps_are_the_plugins(golden):
    _, trace, answers = golden
    steps = {e["name"].split("#")[1]: e["dur"] for e in trace["traceEvents"]
             if e["name"].startswith("ProfilerStep#")}
    assert set(steps) == {row[0] for row in answers["steps"]["rows"]} == {"2", "3", "4"}
    for number, *parts in answers["steps"]["rows"]:
        assert abs(sum(map(float, parts)) - steps[number]) < 1
    assert abs(sum(steps.values()) / 3 - answers["average_step_time_us"]) < 1


def test_a_recording_of_the_first_release_stays_readable(tmp_path):
    recording = tmp_path / "golden_1.6.tprof"
    recording.write_bytes(gzip.open(GOLDEN / "torch-1.13.recording.gz").read())
    result = subprocess.run([TPROF, "convert", str(recording)], capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    path, = tmp_path.glob("*.pt.trace.json.gz")
    events = json.loads(gzip.open(path).read())["traceEvents"]
    steps = [e["name"] for e in events if e["name"].startswith("ProfilerStep#")]
    assert sorted(steps) == ["ProfilerStep#%d" % i for i in range(6)]
    assert sum(e["name"] == "my label" for e in events) == 6
    assert sum(e["name"] == "aten::addmm" and bool(e["args"]["Input Dims"]) for e in events) == 6


def test_it_passes_the_check(golden):
    path, _, answers = golden
    assert answers["views"] == ["Overview", "Operator", "Trace"]
    result = subprocess.run([TPROF, "check", str(path)], capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
