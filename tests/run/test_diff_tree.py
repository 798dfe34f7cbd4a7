"""The Diff view of torch_tb_profiler beside `tprof diff`'s tree, and the rules of our own.

golden/diff.plugin.json is what the plugin's own code says of three pairs of traces: ResNet-50 by torch 1.8 with 0 and
with 4 loader workers, two windows each; and two trainings by torch.profiler of torch 2.14 with modules and backward
passes, the second with a block more and another optimizer. A row of it: depth, then for each side the name, the durations
(host, device, total), and the sums of calls and host self times of the operators inside, in microseconds.
"""
import json
import pathlib
import subprocess

import pytest

from harness import TPROF

GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "golden"
PAIRS = json.loads((GOLDEN / "diff.plugin.json").read_text())["pairs"]
MEASURES = ("host_total_duration", "device_total_duration", "host_self_duration", "device_self_duration")


def diff(*words):
    result = subprocess.run([TPROF, "diff", *map(str, words), "--json"], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def close(value):
    return pytest.approx(value, rel=1e-3, abs=0.01)


@pytest.fixture(scope="module", params=PAIRS)
def pair(request):
    known = PAIRS[request.param]
    a, b = GOLDEN / known["a"], GOLDEN / known["b"]
    return known, diff("--plugin-compat", a, b), diff(a, b)


def test_each_node_of_the_plugins_tree(pair):
    known, ours, _ = pair
    assert ours["rules"] == "torch_tb_profiler"
    assert len(ours["tree"]["rows"]) == len(known["nodes"]) > 10
    inside = {}
    for row in ours["totals"]["rows"]:
        for side in "ab":
            sums = inside.setdefault((row["node"], side), [0, 0])
            sums[0] += row[side + "_calls"] or 0
            sums[1] += row[side + "_host_self_duration"] or 0
    for row, (depth, *sides) in zip(ours["tree"]["rows"], known["nodes"]):
        assert row["depth"] == depth
        assert [row["name"], row["b_name"]] == [side[0] for side in sides]
        for letter, (_, host, device, total, calls, self_host) in zip("ab", sides):
            mine = [row[letter + key] or 0 for key in
                    ("_host_total_duration", "_device_total_duration", "_total_duration")]
            assert mine == close([host, device, total]), row
            assert inside.get((row["node"], letter), [0, 0]) == close([calls, self_host]), row


def test_each_operator_of_the_plugins_table(pair):
    known, ours, _ = pair
    rows = {row["name"]: row for row in ours["totals"]["rows"] if row["node"] == 0}
    sides = known["totals_of_all"]
    assert rows.keys() == sides["left"].keys() | sides["right"].keys()
    for letter, theirs in zip("ab", (sides["left"], sides["right"])):
        for name, row in rows.items():
            mine = [row["%s_%s" % (letter, key)] or 0 for key in ("calls",) + MEASURES]
            assert mine == close(theirs.get(name, [0] * 5)), name


def test_bars_add_up_and_leave_out_what_the_plugins_chart_leaves_out(pair):
    _, ours, _ = pair
    for top in ours["tree"]["rows"][:1]:
        bars = [r for r in ours["tree"]["rows"] if r["parent"] == top["node"] and r["bar"]]
        assert bars and not any(r["name"].startswith(("aten::", "CompositeNodes")) for r in bars)
        for side in "ab":
            assert bars[-1][side + "_accumulated"] == close(sum(r[side + "_total_duration"] for r in bars))
        assert bars[-1]["delta_accumulated"] == close(bars[-1]["b_accumulated"] - bars[-1]["a_accumulated"])


# --- our own rules

def test_the_tree_is_per_step_and_says_what_the_rows_say(pair):
    _, _, ours = pair
    rows = ours["tree"]["rows"]
    assert rows[0]["name"] == "Step" and rows[0]["parent"] is None
    by_name = {}
    for row in rows:
        if row["kind"] in ("op", "label"):
            for side in "ab":
                by_name.setdefault(row["name"], {"a": 0, "b": 0})[side] += row[side + "_host_self_duration"] or 0
    known = {row["name"]: row for row in ours["rows"] if row["by"] == "operator_host"}
    totals = {row["name"]: row for row in ours["totals"]["rows"]}
    assert by_name.keys() == totals.keys()
    modules = any(row["kind"] == "module" for row in rows)
    for name, sums in by_name.items():
        for side in "ab":
            assert sums[side] == close(totals[name][side + "_host_self_duration"] or 0)
            if not modules:  # a label's own time is without the modules in it
                assert sums[side] == close(known[name][side + "_us"] or 0)
                assert totals[name][side + "_calls"] == pytest.approx(known[name][side + "_calls"])


def test_children_lie_in_their_parents(pair):
    _, _, ours = pair
    rows = ours["tree"]["rows"]
    for i, row in enumerate(rows):
        if row["parent"] is None:
            continue
        assert row["parent"] < i and row["depth"] == rows[row["parent"]]["depth"] + 1
        for side in "ab":
            outer = rows[row["parent"]][side + "_host_total_duration"] or 0
            assert (row[side + "_host_total_duration"] or 0) <= outer * 1.001 + 0.01, row


def test_what_is_on_one_side_only_is_kept_and_null_on_the_other(pair):
    known, _, ours = pair
    alone = [row for row in ours["tree"]["rows"] if row["where"]]
    for row in alone:
        there, away = ("a", "b") if row["where"] == "only in A" else ("b", "a")
        assert row[there + "_calls"] > 0 and row[away + "_calls"] is None
        assert row[away + "_host_total_duration"] is None
    if "diff_a" in known["a"]:
        names = {(row["where"], row["name"]) for row in alone}
        assert ("only in A", "Optimizer.step#SGD.step") in names
        assert ("only in B", "Optimizer.step#Adam.step") in names
        assert ("only in B", "nn.Module: Block_1") in names


def test_the_plugin_compares_one_trace_with_one():
    runs = GOLDEN / "kineto-traces"
    refused = subprocess.run([TPROF, "diff", "--plugin-compat", runs / "resnet50_num_workers_0",
                              runs / "resnet50_num_workers_4"], capture_output=True, text=True)
    assert refused.returncode == 2 and "2 traces" in refused.stderr
