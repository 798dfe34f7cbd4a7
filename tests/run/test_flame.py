"""Flame graphs sum to what the other tables of `tprof stats` say of the same trace."""
import collections
import json

import pytest

from harness import TESTS, tprof

GOLDEN = TESTS / "golden"
TRACES = ["gpu-ops.1.pt.trace.json.gz", "modules.1.pt.trace.json.gz", "torch-2.14.1.pt.trace.json.gz",
          "kineto-traces/resnet50_num_workers_0"]


def worker(path, word):
    done = tprof("stats", "--by", word, "--json", path)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["workers"][0]


@pytest.fixture(params=TRACES)
def path(request):
    return GOLDEN / request.param


def tops(table):
    return [row for row in table["rows"] if row["parent"] is None]


def total(table, key):
    return sum(row[key] for row in tops(table))


def test_self_costs_of_each_tree_sum_to_its_totals(path):
    flame = worker(path, "flame")
    assert flame["rows"]
    for source in flame["rows"]:
        table = flame[source["source"]]
        assert not any(row["left_out"] for row in table["rows"])
        for column in (c["key"] for c in table["columns"] if "_total" in c["key"]):
            own = column.replace("_total", "_self")
            assert sum(row[own] for row in table["rows"]) == pytest.approx(total(table, column), abs=0.01), column
            assert source[column] == pytest.approx(total(table, column), abs=0.01)


def test_operators_are_those_of_the_table_of_operators(path):
    host, device, calls = collections.Counter(), collections.Counter(), collections.Counter()
    for row in worker(path, "flame")["operator"]["rows"]:
        if row["kind"] not in ("thread", "outside"):
            host[row["name"]] += row["host_self_duration"]
            device[row["name"]] += row.get("device_self_duration") or 0
            calls[row["name"]] += row["calls"]
    table = worker(path, "op")["rows"]
    assert table
    for row in table:
        assert host[row["name"]] == pytest.approx(row["host_self_duration"], abs=0.01), row["name"]
        assert device[row["name"]] == pytest.approx(row.get("device_self_duration") or 0, abs=0.01), row["name"]
        assert calls[row["name"]] == row["calls"], row["name"]


def test_modules_are_those_of_the_table_of_modules():
    path = GOLDEN / "modules.1.pt.trace.json.gz"
    host = collections.Counter()
    for row in worker(path, "flame")["module"]["rows"]:
        if row["kind"] == "module":
            host[row["name"].removeprefix("nn.Module: ")] += row["host_total_duration"]
    wanted = collections.Counter()
    for row in worker(path, "module")["rows"]:
        wanted[row["name"]] += row["host_total_duration"]
    assert wanted and host == pytest.approx(wanted, abs=0.01)


@pytest.mark.parametrize("path", ["gpu-ops.1.pt.trace.json.gz", "kineto-traces/resnet50_num_workers_0"])
def test_the_gpu_is_that_of_kernels_and_of_idle_time(path):
    path = GOLDEN / path
    flame = worker(path, "flame")
    kernels, counts = collections.Counter(), collections.Counter()
    for row in flame["gpu"]["rows"]:
        if row["kind"] == "kernel":
            kernels[row["name"]] += row["device_self_duration"]
            counts[row["name"]] += row["calls"]
    table = worker(path, "kernel")["rows"]
    assert kernels == pytest.approx({row["name"]: row["total_duration"] for row in table}, abs=0.01)
    assert counts == {row["name"]: row["calls"] for row in table}
    idle = sum(row["idle"] for row in worker(path, "idle")["rows"] if row["stream"] == "all")
    assert idle > 0
    for source in ("gpu", "operator"):
        assert total(flame[source], "idle_total_duration") == pytest.approx(idle, abs=0.01)


def test_bytes_are_those_of_the_table_of_memory():
    path = GOLDEN / "gpu-ops.1.pt.trace.json.gz"
    flame = worker(path, "flame")["operator"]["rows"]
    allocated = sum(row["cpu_allocated_self"] for row in flame if row["kind"] != "outside")
    wanted = sum(row["self_allocation_size"] for row in worker(path, "memory")["rows"] if row["device"] == "CPU")
    assert wanted and allocated == wanted
    assert 0 <= sum(row["cpu_kept_self"] for row in flame) <= sum(row["cpu_allocated_self"] for row in flame)


def test_the_flames_of_a_diff_are_means_of_the_steps():
    runs = [GOLDEN / "kineto-traces" / ("resnet50_num_workers_%d" % n) for n in (0, 4)]
    done = tprof("diff", "--json", *runs)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert set(found["flames"]) >= {"operator", "gpu"}
    rows = found["flames"]["operator"]["rows"]
    host = collections.Counter()
    for row in rows:
        for side in "ab":
            if row["kind"] in ("op", "label") and row[side + "_host_self_duration"] is not None:
                host[side, row["name"]] += row[side + "_host_self_duration"]
    checked = 0
    for row in found["rows"]:
        if row["by"] == "operator_host":
            for side in "ab":
                if row[side + "_us"] is not None:
                    assert host[side, row["name"]] == pytest.approx(row[side + "_us"], rel=1e-3, abs=1), row
                    checked += 1
    assert checked > 20
    for row in rows:
        assert row["delta_host_total_duration"] == pytest.approx(
            (row["b_host_total_duration"] or 0) - (row["a_host_total_duration"] or 0), abs=0.002)


def test_several_runs_of_a_side_are_their_mean():
    runs = [GOLDEN / "kineto-traces" / ("resnet50_num_workers_%d" % n) for n in (0, 4)]

    def a_total(*words):
        done = tprof("diff", "--json", *words)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["flames"]["gpu"]["rows"][0]
    one = a_total(runs[0], "--vs", runs[1])
    both = a_total(*runs, "--vs", runs[1])
    mean = (one["a_device_total_duration"] + one["b_device_total_duration"]) / 2
    assert both["a_device_total_duration"] == pytest.approx(mean, abs=0.002)
