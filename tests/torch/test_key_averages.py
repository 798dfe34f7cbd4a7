"""tprof stats on a trace of torch.profiler against what its own key_averages() said of that very run."""
import json
import pathlib

import pytest

from harness import run, tprof

SCRIPT = pathlib.Path(__file__).with_name("key_averages.py").resolve()
NANOSECOND = 1e-3  # in us; torch sums floats


@pytest.fixture(scope="module")
def both(kineto_machine, tmp_path_factory):
    """(directory of the trace, torch's answers)"""
    directory = tmp_path_factory.mktemp("averages")
    result = run([SCRIPT, directory], where=kineto_machine)
    assert result.returncode == 0, result.stderr
    return directory, json.loads((directory / "answers.json").read_text())


def stats(directory, *words):
    done = tprof("stats", "--json", *words, directory)
    assert done.returncode == 0, done.stderr
    worker, = json.loads(done.stdout)["workers"]
    return worker


def test_counts_are_exact_and_times_equal_to_the_nanosecond(both):
    directory, answers = both
    ours = {row["name"]: row for row in stats(directory)["rows"]}
    theirs = {row["name"]: row for row in answers["by_name"] if row["name"] != "[memory]"}
    assert ours.keys() == theirs.keys()
    assert len(theirs) > 30
    for name, row in theirs.items():
        assert ours[name]["calls"] == row["calls"], name
        limit = NANOSECOND * row["calls"]
        assert ours[name]["host_self_duration"] == pytest.approx(row["host_self_us"], abs=limit), name
        assert ours[name]["host_total_duration"] == pytest.approx(row["host_total_us"], abs=limit), name


def test_memory_is_torch_s(both):
    directory, answers = both
    ours = {row["name"]: row for row in stats(directory)["rows"]}
    allocated = 0
    for row in answers["by_name"]:
        if row["name"] == "[memory]":  # torch's row for what lies in no operator
            continue
        assert ours[row["name"]]["cpu_memory_usage"] == row["cpu_memory_usage"], row["name"]
        assert ours[row["name"]]["self_cpu_memory_usage"] == row["self_cpu_memory_usage"], row["name"]
        allocated += row["self_cpu_memory_usage"] != 0
    assert allocated > 5


def test_rows_by_shape(both):
    directory, answers = both
    ours = {}
    for row in stats(directory, "--by", "op+shape")["rows"]:
        ours[row["name"], row["input_shape"]] = row["calls"]
    theirs = {}
    for row in answers["by_shape"]:
        if row["name"] != "[memory]":
            theirs[row["name"], row["shapes"]] = theirs.get((row["name"], row["shapes"]), 0) + row["calls"]
    lists = {key for key in theirs if "cat" in key[0]}  # torch shows no sizes of lists of tensors here
    assert {key: ours.get(key) for key in theirs if key not in lists} == \
        {key: count for key, count in theirs.items() if key not in lists}


def test_the_footer_is_torch_s(both):
    directory, answers = both
    line, = [line for line in tprof("stats", directory).stdout.splitlines() if line.startswith("Self CPU time total: ")]
    value = line.rsplit(" ", 1)[1]
    us = float(value[:-2]) * {"us": 1, "ms": 1e3}[value[-2:]]
    assert us == pytest.approx(answers["self_cpu_time_total_us"], rel=1e-3)
