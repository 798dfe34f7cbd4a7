"""A program that becomes another, or several, while a window is open: each has the windows of its own steps, all of them."""
import collections
import pathlib

import pytest

from harness import ENDINGS, run, schedule_words, windows

PROGRAM = pathlib.Path(__file__).with_name("mid_window.py").resolve()
SCHEDULES = {"steps": {"TPROF_STEPS": "2:100"}, "none": {},
             **{schedule_words(**s): s for s in (dict(active=4), dict(warmup=1, active=4), dict(wait=1, warmup=1, active=100))}}


def want(schedule, steps):
    if schedule == "steps":
        return [list(range(2, steps))]
    return windows(steps, **SCHEDULES[schedule]) if SCHEDULES[schedule] else [list(range(steps))]


@pytest.mark.spread(2)
@pytest.mark.parametrize("schedule", [s if i < 3 else pytest.param(s, marks=pytest.mark.full) for i, s in enumerate(SCHEDULES)])
@pytest.mark.parametrize("way", ["exec", "fork", "daemon"])
def test_no_window_is_lost(way, schedule, outer_machine, logdir):
    options = {"TPROF_SCHEDULE": schedule} if "=" in schedule else SCHEDULES[schedule]
    result = run([PROGRAM, way], "run", where=outer_machine, logdir=logdir, options=options)
    assert result.returncode == (3 if way == "exec" else 0), result.stderr
    check_windows(result, schedule)


@pytest.mark.full
@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("way", ["exec", "fork", "daemon"])
def test_no_window_is_lost_however_it_ends(way, ending, outer_machine, how, logdir):
    result = run([PROGRAM, way, ending], how, where=outer_machine, logdir=logdir, options={"TPROF_STEPS": "2:100"})
    assert result.returncode == (ENDINGS[ending] if way == "exec" else 0), result.stderr
    check_windows(result, "steps")


@pytest.mark.full
@pytest.mark.parametrize("ending", ENDINGS)
def test_exit_matrix(ending, outer_machine, how, logdir):
    result = run(["train.py", 60, ending], how, where=outer_machine, logdir=logdir,
                 options={"TPROF_SCHEDULE": "wait=1,warmup=1,active=1000"})
    assert (result.returncode, result.stdout) == (ENDINGS[ending], "done 60\n"), result.stderr
    assert [(t.steps(), t.marks()) for t in result.traces()] == [(list(range(2, 60)), list(range(2, 60)))]


def check_windows(result, schedule):
    found = collections.defaultdict(list)
    for trace in result.traces():
        marks = [e["name"].split(":")[1:] for e in sorted(trace.ops(), key=lambda e: e["ts"]) if e["name"].startswith("mark:")]
        found[marks[0][0] if marks else "nobody"].append((trace.steps(), [int(i) for _, i in marks]))
    assert set(found) == {"first", "second"}
    for process, traces in found.items():
        steps = 12 if process == "second" else 6
        assert [s for s, _ in traces] == [marks for _, marks in traces] == want(schedule, steps), process
