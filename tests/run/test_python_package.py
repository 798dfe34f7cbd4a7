"""The Python package tprof (tools/python), in programs that are profiled and in others."""
import re

from harness import REPO, both

PACKAGE = {"PYTHONPATH": str(REPO / "tools" / "python")}


def said(result):
    """What the calls returned."""
    return re.findall(r"^(?:step|start|stop|flush|\d) (?:True|False)$", result.stderr, re.M)


def test_steps_and_ranges_are_in_the_trace(tmp_path):
    results = both(["package_calls.py", "steps"], tmp_path, env=PACKAGE)
    assert said(results.pop("bare")) == ["step False"] * 3
    for result in results.values():
        assert said(result) == ["step True"] * 3
        (trace,) = result.traces()
        assert trace.steps() == [0, 1, 2, 3]  # the last call began one
        outer, inner, other = (trace.ops(name) for name in ("outer", "inner é", "other thread"))
        assert len(outer) == len(inner) == len(other) == len(trace.ops("decorated")) == len(trace.ops("raises")) == 3
        notes = trace.ops("note")
        for around, within, beside, note in zip(outer, inner, other, notes):
            assert around["ts"] <= within["ts"] <= beside["ts"] <= note["ts"]
            assert beside["ts"] + beside["dur"] <= within["ts"] + within["dur"] <= around["ts"] + around["dur"]
            assert around["tid"] == within["tid"] != beside["tid"] == note["tid"]


def test_start_and_stop_make_windows(tmp_path):
    results = both(["package_calls.py", "windows"], tmp_path, env=PACKAGE, options={"TPROF_AUTOSTART": "0"})
    assert "True" not in str(said(results.pop("bare")))
    for result in results.values():
        assert [trace.marks() for trace in result.traces()] == [[2, 3], [5]]
        assert said(result) == ["0 False", "1 False", "start True", "2 True", "3 True", "stop True", "4 False",
                                "start True", "5 True", "stop True", "6 False"]


def test_flush_writes_what_there_is_and_goes_on(tmp_path):
    results = both(["package_calls.py", "flush"], tmp_path, env=PACKAGE)
    assert said(results.pop("bare")) == ["flush False"]
    for result in results.values():
        assert said(result) == ["flush True"]
        marks = [trace.marks() for trace in result.traces()]  # the flush may take up what comes just after it
        assert len(marks) == 2 and all(some[:4] == [0, 1, 2, 3] for some in marks) and list(range(6)) in marks
