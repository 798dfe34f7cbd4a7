"""A training with its nn.Modules, and what the TensorBoard plugin's Module view shows of it: each figure reckoned here.

Made from tests/golden/train.py on torch 2.14 with TPROF_WITH_MODULES=1 and the schedule of test_golden.py; the answers by
the plugin's own code.
"""
import gzip
import json
import pathlib

import pytest

from harness import tprof

GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "golden"
TRACE = GOLDEN / "modules.1.pt.trace.json.gz"
STEPS = 3
CHILDREN = ["Conv2d_0", "ReLU_0", "AdaptiveAvgPool2d_0", "Flatten_0", "Linear_0"]


@pytest.fixture(scope="module")
def events():
    return [e for e in json.loads(gzip.open(TRACE).read())["traceEvents"] if e["ph"] == "X"]


@pytest.fixture(scope="module")
def answers():
    return json.loads((GOLDEN / "modules.plugin.json").read_text())


def below(events, outer):
    """The operators and modules directly in `outer`."""
    end = outer["ts"] + outer["dur"]
    found, last = [], 0
    for e in sorted(events, key=lambda e: (e["ts"], -e["dur"])):
        if e["cat"] in ("cpu_op", "python_function") and e["tid"] == outer["tid"] and e is not outer \
                and outer["ts"] <= e["ts"] and e["ts"] + e["dur"] <= end and e["ts"] >= last:
            found.append(e)
            last = e["ts"] + e["dur"]
    return found


def test_the_view_is_there_and_nothing_was_complained_of(answers):
    assert "Module" in answers["views"] and answers["complaints"] == []
    done = tprof("check", TRACE)
    assert done.returncode == 0 and "warning" not in done.stdout, done.stdout + done.stderr


def test_the_hierarchy(answers):
    root, = answers["modules"]["data"]
    assert (root["name"], root["id"]) == ("Sequential_0", 0)
    assert [c["name"] for c in root["children"]] == CHILDREN and not any(c["children"] for c in root["children"])


def test_the_figures(events, answers):
    root, = answers["modules"]["data"]
    for row in [root] + root["children"]:
        of_it = [e for e in events if e["name"] == "nn.Module: " + row["name"]]
        inside = [below(events, e) for e in of_it]
        assert row["occurences"] == len(of_it) == STEPS
        assert row["operators"] == sum(e["cat"] == "cpu_op" for found in inside for e in found)
        total = sum(e["dur"] for e in of_it)
        assert row["host_duration"] == pytest.approx(total, abs=0.01)
        assert row["self_host_duration"] == pytest.approx(
            total - sum(e["dur"] for found in inside for e in found), abs=0.01)
        assert row["device_duration"] == 0
