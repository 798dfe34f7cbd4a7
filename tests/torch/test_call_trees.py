"""Call trees and source lines of a real training, on each torch: backward work stands beside the line that made it."""
import json
import pathlib

import pytest

from harness import run, tprof

SCRIPT = pathlib.Path(__file__).with_name("call_trees.py").resolve()


@pytest.fixture(scope="module")
def recorded(python_machine, tmp_path_factory):
    """(lines of the script, log directory)"""
    logdir = tmp_path_factory.mktemp("trees") / "log"
    result = run([SCRIPT], "run", where=python_machine, logdir=logdir,
                 options={"TPROF_WITH_STACK": "1", "TPROF_WITH_MODULES": "1"})
    assert result.returncode == 0, result.stderr
    return list(map(int, result.stdout.split())), logdir


def rows(logdir, by):
    done = tprof("stats", "--json", "--by", by, logdir)
    assert done.returncode == 0, done.stderr
    worker, = json.loads(done.stdout)["workers"]
    return worker["rows"]


def test_backward_stands_beside_the_line_that_made_it(recorded):
    (activated, called, went_back), logdir = recorded
    lines = {row["name"].rsplit("/", 1)[-1]: row for row in rows(logdir, "line")}
    tanh = lines["call_trees.py(%d): forward" % activated]
    assert tanh["host_self_duration"] > 0 and tanh["backward_host_self_duration"] > 0
    # tanh itself, and the linear layer that it calls for its input
    assert tanh["backward_host_duration"] > tanh["backward_host_self_duration"]
    main = lines["call_trees.py(%d): main" % called]
    assert main["backward_host_duration"] > tanh["backward_host_duration"]
    assert main["calls"] >= tanh["calls"] >= 4
    # What runs below loss.backward() was made elsewhere.
    back = lines["call_trees.py(%d): main" % went_back]
    assert back["backward_host_duration"] == 0 < back["host_total_duration"]


def test_the_tree_charges_modules_with_their_backward_work(recorded):
    _, logdir = recorded
    tree = rows(logdir, "tree")
    at = {row["name"]: i for i, row in enumerate(tree)}
    net = tree[at["nn.Module: Net_0"]]
    parts = [row for row in tree if row["name"] in ("nn.Module: Linear_0", "nn.Module: Linear_1")]
    assert net["kind"] == "module" and net["calls"] == 4 and len(parts) == 2
    for part in parts:
        assert part["backward_host_duration"] > 0 and tree[part["parent"]]["name"] == "nn.Module: Net_0"
    tanh = tree[at["aten::tanh"]]
    assert tanh["calls"] == 4 and tanh["source_line"].endswith(": forward")
    assert net["backward_host_duration"] == pytest.approx(
        sum(part["backward_host_duration"] for part in parts) + tanh["backward_host_duration"], rel=1e-6)
    engine = sum(row["host_total_duration"] for row in tree if row["name"].startswith("autograd::engine::evaluate"))
    charged = sum(row["backward_host_duration"] for row in tree if row["kind"] == "thread")
    assert 0 < charged < engine  # gradients are accumulated for no forward operator


def test_two_runs_are_matched_by_their_modules(recorded):
    _, logdir = recorded
    trace, = logdir.glob("*.pt.trace.json*")
    other = logdir.parent / "other"
    other.mkdir(exist_ok=True)
    (other / trace.name).write_bytes(trace.read_bytes())
    done = tprof("diff", "--json", logdir, other)
    assert done.returncode == 0, done.stderr
    tree = json.loads(done.stdout)["tree"]["rows"]
    assert {row["where"] for row in tree} == {""}
    assert {row["delta_total_duration"] for row in tree} == {0}
    net = [row for row in tree if row["name"] == "nn.Module: Net_0"][0]
    assert net["a_calls"] == net["b_calls"] and net["a_calls"] > 0
