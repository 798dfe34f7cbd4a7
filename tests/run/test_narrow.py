"""What commands print fits 80 columns, and rows that differ look different there."""
import os
import pathlib
import re

import pytest

from harness import tprof

GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "golden"
RESNET = GOLDEN / "kineto-traces" / "resnet50_num_workers_0" / "worker0.1623143089861.pt.trace.json.gz"
TRACES = [RESNET, GOLDEN / "gpu-ops.1.pt.trace.json.gz", GOLDEN / "modules.1.pt.trace.json.gz"]
MANUAL = (GOLDEN.parents[1] / "tools" / "manual" / "stats.md").read_text()
TABLE = MANUAL.split("<!-- stats:begin -->")[1].split("<!-- stats:end -->")[0]
WORDS = re.findall(r"^\| `(\w[\w+-]*)` \|", TABLE, re.M)


def at_80(*words, utf8=True, env=()):
    environment = {**os.environ, "COLUMNS": "80", "LC_ALL": "C.UTF-8" if utf8 else "C", **dict(env)}
    return tprof(*words, env=environment).stdout.splitlines()


def too_wide(lines):
    """All but single words, which nothing can break: links."""
    return [line for line in lines if len(line) > 80 and len(line.split()) > 1]


@pytest.mark.parametrize("trace", TRACES, ids=lambda path: path.name[:8])
@pytest.mark.parametrize("command", ["overview", "steps", "advise"])
def test_sentences_wrap(command, trace):
    lines = at_80(command, trace)
    assert len(lines) > 3 and not too_wide(lines), too_wide(lines)


def test_doctor_wraps_behind_its_own_column():
    lines = at_80("doctor", "/no/such/python/anywhere/in/any/directory/of/this/machine/that/has/a/long/name")
    assert not too_wide(lines)
    assert [line for line in lines if line.startswith(" " * 20)]


@pytest.mark.parametrize("utf8", [True, False])
@pytest.mark.parametrize("by", WORDS)
def test_tables_fit(by, utf8):
    for trace in TRACES:
        lines = at_80("stats", "--by", by, trace, utf8=utf8)
        assert lines and not too_wide(lines), too_wide(lines)


def test_launches_of_one_kernel_by_one_operator_do_not_look_alike():
    lines = at_80("stats", "--by", "kernel+op", "--limit", 0, RESNET)
    begin = next(i for i, line in enumerate(lines) if line.startswith("───"))
    titles = lines[begin - 1].split()
    assert "Grid" in titles and "Name" in titles
    rows = lines[begin + 1:]
    rows = rows[:next(i for i, row in enumerate(rows) if row.startswith("Kernel time total"))]
    calls = lines[begin - 1].index("Calls")
    names = [row[:calls].rstrip() for row in rows]
    assert len(names) > 100 and len(set(names)) == len(names), sorted(n for n in names if names.count(n) > 1)


def test_stacks_are_whole_below_their_rows():
    lines = at_80("stats", "--by", "op+stack", "--limit", 10, RESNET)
    assert any(re.match(r"    resnet50_profiler_api\.py\(\d+\): <module>$", line) for line in lines), lines


def test_a_table_of_nothing_says_nothing_of_width():
    lines = at_80("stats", "--by", "kernel", GOLDEN / "torch-2.14.1.pt.trace.json.gz")
    assert lines[1:] == ["GPU: no kernel was recorded"]


def test_kernel_time_is_no_fault_and_waiting_is():
    text = "\n".join(at_80("overview", RESNET, env={"CLICOLOR_FORCE": "1"}))
    color = {name: re.search(r"^%s .*?\033\[([\d;]+)m *[\d.]+%%" % name, text, re.M) for name in ("Kernel", "DataLoader")}
    assert (color["Kernel"].group(1), color["DataLoader"].group(1)) == ("1", "1;31"), text
