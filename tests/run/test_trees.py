"""Trees of calls, source lines, and modules and timelines as torch_tb_profiler has them.

golden/trees.plugin.json is what the plugin's own code says of two traces: golden/lightning, whose operators are named as
those of PyTorch Lightning's profiler, and golden/diff_a of torch.profiler 2.14 with modules and backward passes. Modules:
depth, name, and the figures of MODULES; timeline: depth, name, begin and end since the trace's first event; all in us.
"""
import json
import pathlib
import subprocess

import pytest

from harness import TPROF

GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "golden"
ANSWERS = json.loads((GOLDEN / "trees.plugin.json").read_text())["traces"]
MODULES = ("occurences", "operators", "host_duration", "self_host_duration", "device_duration", "self_device_duration",
           "avg_duration")
TREES = [GOLDEN / (name + ".1.pt.trace.json.gz") for name in ("gpu-ops", "modules", "torch-1.13", "torch-2.14", "diff_b")]


def stats(trace, *words):
    result = subprocess.run([TPROF, "stats", str(trace), "--json", *words], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    worker, = json.loads(result.stdout)["workers"]
    return worker


def close(value):
    return pytest.approx(value, rel=1e-3, abs=0.01)


@pytest.mark.parametrize("name, by", [("lightning", "lightning"), ("diff_a", "module")])
def test_modules_are_the_plugins(name, by):
    rows = stats(GOLDEN / (name + ".1.pt.trace.json.gz"), "--plugin-compat", "--by", by)["rows"]
    known = ANSWERS[name]["modules"]
    assert len(rows) == len(known) >= 5
    for row, (depth, module, *figures) in zip(rows, known):
        assert (row["depth"], row["name"]) == (depth, module)
        assert [row[key] for key in MODULES] == close(figures), module


@pytest.mark.parametrize("name", ANSWERS)
def test_the_timeline_is_the_plugins(name):
    rows = stats(GOLDEN / (name + ".1.pt.trace.json.gz"), "--plugin-compat", "--by", "timeline")["rows"]
    known = ANSWERS[name]["timeline"]
    assert [(row["depth"], row["name"]) for row in rows] == [(depth, text) for depth, text, _, _ in known]
    for row, (_, text, begin, end) in zip(rows, known):
        assert (row["begin"], row["end"]) == (pytest.approx(begin, abs=0.01), pytest.approx(end, abs=0.01)), text


# --- our own rules

def test_lightning_needs_no_word_in_the_trace_and_modules_are_no_operators():
    mine = stats(GOLDEN / "lightning.1.pt.trace.json.gz", "--by", "lightning")["rows"]
    for row, (depth, module, calls, operators, host, self_host, device, self_device, mean) in zip(
            mine, ANSWERS["lightning"]["modules"]):
        assert (row["depth"], row["name"], row["occurrences"], row["operators"]) == (depth, module, calls, operators)
        assert row["host_total_duration"] == close(host) and row["device_self_duration"] == close(self_device)
        assert row["device_total_duration"] == close(device) and row["mean_duration"] == close(mean)
    assert len(mine) == 5


@pytest.mark.parametrize("trace", TREES, ids=lambda path: path.name.split(".1.pt")[0])
def test_a_tree_holds_all_of_the_operators_time(trace):
    tree, table = stats(trace, "--by", "tree"), stats(trace, "--by", "op")
    rows = tree["rows"]
    inside = [0] * len(rows)
    own = 0
    for i, row in enumerate(rows):
        if row["kind"] == "thread":
            assert row["parent"] is None and row["host_self_duration"] is None
            continue
        own += row["host_self_duration"]
        assert row["parent"] < i and row["depth"] == rows[row["parent"]]["depth"] + 1
        inside[row["parent"]] += row["host_total_duration"]
    for row, sum_inside in zip(rows, inside):
        assert sum_inside <= row["host_total_duration"] + 0.01, row
    of_operators = sum(row["host_self_duration"] for row in table["rows"])
    if any(row["kind"] == "python" for row in rows):
        assert own > of_operators  # Python calls outside of steps have time of their own
    else:
        assert own == pytest.approx(of_operators, rel=1e-6)
    for kind in ("op", "call"):  # what lies in Python calls is the same as without them
        assert sum(row["host_self_duration"] for row in rows if row["kind"] == kind) == pytest.approx(
            sum(row["host_self_duration"] for row in table["rows"] if row["kind"] == kind), rel=1e-3)
    if "device_self_duration" in rows[0]:
        assert sum(row["device_self_duration"] or 0 for row in rows) == pytest.approx(
            sum(row["device_self_duration"] or 0 for row in table["rows"]))


@pytest.mark.parametrize("trace", [TREES[1], TREES[2], TREES[3], TREES[4]], ids=lambda p: p.name.split(".1.pt")[0])
def test_backward_passes_are_charged_once_or_counted_as_not_charged(trace):
    tree = stats(trace, "--by", "tree")
    engine = [row for row in tree["rows"] if row["name"].startswith("autograd::engine::evaluate_function")]
    total = sum(row["host_total_duration"] for row in engine)
    charged = sum(row["backward_host_duration"] for row in tree["rows"] if row["kind"] == "thread")
    note, = [note for note in tree["notes"] if note.startswith("Backward passes that no forward")]
    value = note.rsplit(" ", 1)[1]
    rest = float(value[:-2]) * {"us": 1, "ms": 1e3}[value[-2:]]
    assert charged > 0 and charged + rest == pytest.approx(total, rel=1e-3)
    names = {row["name"] for row in tree["rows"] if row["backward_host_duration"] > 0 and row["kind"] == "op"}
    assert any(name.endswith("linear") or name.endswith("addmm") for name in names)


def test_siblings_come_by_their_time_and_limits_say_what_they_leave_out():
    whole = stats(TREES[3], "--by", "tree")["rows"]
    for a, b in zip(whole, whole[1:]):
        if a["parent"] == b["parent"] and a["depth"] == b["depth"]:
            assert a["host_total_duration"] >= b["host_total_duration"]
    cut = stats(TREES[3], "--by", "tree", "--limit", "10")
    assert len(cut["rows"]) == 10 and "10 of %d rows" % len(whole) in cut["notes"][0]
    assert sum(row["left_out"] for row in cut["rows"]) == len(whole) - 10
    flat = stats(TREES[3], "--by", "tree", "--depth", "2")["rows"]
    assert {row["depth"] for row in flat} == {0, 1}
    assert sum(row["left_out"] for row in flat) == len(whole) - len(flat)


def test_a_tree_reads_as_one_at_80_columns():
    result = subprocess.run([TPROF, "stats", "--by", "tree", TREES[1]], capture_output=True, text=True,
                            env={"COLUMNS": "80", "LC_ALL": "C.UTF-8"})
    lines = result.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    place = {}
    for line in lines:
        place.setdefault(line.split("  ")[0] if not line.startswith(" ") else line.strip().split("  ")[0],
                         len(line) - len(line.lstrip()))
    assert place["ProfilerStep*"] < place["nn.Module: Sequential_0"] < place["nn.Module: Conv2d_0"] < place["aten::conv2d"]


def test_lines_hold_all_of_the_operators_time():
    trace = GOLDEN / "kineto-traces/resnet50_num_workers_0/worker0.1623143089861.pt.trace.json.gz"
    lines, table = stats(trace, "--by", "line"), stats(trace, "--by", "op")
    work = sum(row["host_self_duration"] for row in table["rows"] if row["kind"] in ("op", "label", "call"))
    known = sum(row["host_self_duration"] for row in lines["rows"])
    note, = [note for note in lines["notes"] if note.startswith("Self CPU time of operators")]
    rest = float(note.split(", ")[1].split("ms")[0])
    assert known + rest * 1e3 == pytest.approx(work, rel=1e-5) and 0 < known < work
    script = {row["name"]: row for row in lines["rows"]}["resnet50_profiler_api.py(46): <module>"]
    assert script["host_self_duration"] == 0 and script["host_total_duration"] > 2e5 and script["calls"] > 1000
    for row in lines["rows"]:
        assert row["host_self_duration"] <= row["host_total_duration"] + 0.01
        assert row["self_calls"] <= row["calls"]


def test_modules_have_means_and_classes():
    found = stats(GOLDEN / "diff_b.1.pt.trace.json.gz", "--by", "module")
    for row in found["rows"]:
        assert row["host_mean_duration"] == close(row["host_total_duration"] / row["occurrences"])
        assert row["mean_duration"] == row["host_mean_duration"]  # nothing ran on a GPU
    classes = {row["name"]: row for row in found["classes"]["rows"]}
    linear = [row for row in found["rows"] if row["name"].startswith("Linear_")]
    assert classes["Linear"]["modules"] == len(linear) == 3
    for key in ("occurrences", "operators", "host_total_duration", "host_self_duration"):
        assert classes["Linear"][key] == close(sum(row[key] for row in linear))
    assert classes["Block"]["modules"] == 2


def test_what_was_not_recorded_is_said():
    notes = stats(TREES[2], "--by", "line")["notes"]
    assert notes == ["Source lines: not recorded (run with --with-stack)"]
    assert "no ranges of its profiler" in stats(TREES[2], "--by", "lightning")["notes"][0]
