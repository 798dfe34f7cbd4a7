"""A program that becomes another, or several, while a window is open: each has the windows of its own steps, all of them."""
import collections
import pathlib

import pytest

from harness import run, schedule_words, windows

PROGRAM = pathlib.Path(__file__).with_name("mid_window.py").resolve()
SCHEDULES = {"steps": {"TPROF_STEPS": "2:100"}, "none": {},
             **{schedule_words(**s): s for s in (dict(active=4), dict(warmup=1, active=4), dict(wait=1, warmup=1, active=100))}}


def want(schedule, steps):
    if schedule == "steps":
        return [list(range(2, steps))]
    return windows(steps, **SCHEDULES[schedule]) if SCHEDULES[schedule] else [list(range(steps))]


@pytest.mark.parametrize("schedule", [s if i < 3 else pytest.param(s, marks=pytest.mark.full) for i, s in enumerate(SCHEDULES)])
@pytest.mark.parametrize("way", ["exec", "fork", "daemon"])
def test_no_window_is_lost(way, schedule, torch_machine, logdir):
    options = {"TPROF_SCHEDULE": schedule} if "=" in schedule else SCHEDULES[schedule]
    result = run([PROGRAM, way], "run", where=torch_machine, logdir=logdir, options=options)
    assert result.returncode == 0, result.stderr
    found = collections.defaultdict(list)
    for trace in result.traces():
        marks = [e["name"].split(":")[1:] for e in sorted(trace.ops(), key=lambda e: e["ts"]) if e["name"].startswith("mark:")]
        found[marks[0][0] if marks else "nobody"].append((trace.steps(), [int(i) for _, i in marks]))
    assert set(found) == {"first", "second"}
    for process, traces in found.items():
        steps = 12 if process == "second" else 6
        assert [s for s, _ in traces] == [marks for _, marks in traces] == want(schedule, steps), process
