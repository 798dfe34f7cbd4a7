"""Schedules on a loop of known length: which windows are written, and what stands in them."""
import os
import subprocess

import pytest

from harness import (finish, load_traces, recordings, run, schedule_words, start, tprof, trace_files, wait_for,
                     windows)


def assert_nothing_outside(trace):
    spans = trace.step_spans()
    first, last = spans[0]["ts"], spans[-1]["ts"] + spans[-1]["dur"]
    steps = [e for e in trace.ops() if not e["name"].startswith("After the loop#")]  # the program ended in the window
    outside = [e["name"] for e in steps if e["ts"] < first - 0.002 or e["ts"] + e["dur"] > last + 0.002]
    assert not outside, "events outside the steps of the window: %s" % sorted(set(outside))


def assert_marks_in_their_steps(trace):
    spans = {e["name"].split("#")[1]: e for e in trace.step_spans()}
    assert trace.marks() == trace.steps()
    for mark in trace.ops():
        if mark["name"].startswith("mark:"):
            step = spans[mark["name"][5:]]
            assert step["ts"] <= mark["ts"] and mark["ts"] + mark["dur"] <= step["ts"] + step["dur"] + 0.002, mark


def test_the_example_of_the_readme(how, tmp_path, logdir):
    ready = tmp_path / "ready"
    result = run(["train.py", 40], how, logdir=logdir, options={
        "TPROF_SCHEDULE": "skip_first=10,wait=5,warmup=1,active=3,repeat=2",
        "TPROF_ON_TRACE_READY": "echo {} {step} >>%s" % ready})
    assert (result.returncode, result.stdout) == (0, "done 40\n")
    traces = result.traces()
    assert [t.steps() for t in traces] == [[16, 17, 18], [25, 26, 27]]
    for trace in traces:
        assert_nothing_outside(trace)
        assert_marks_in_their_steps(trace)
    called = [line.rsplit(" ", 1) for line in ready.read_text().splitlines()]
    assert [path for path, _ in called] == [str(t.path) for t in traces]
    assert len({t.data["baseTimeNanoseconds"] for t in traces}) == 1
    assert sorted(p.name for p in logdir.iterdir()) == sorted(t.path.name for t in traces), "files left behind"


def test_the_command_is_given_the_traces_in_the_order_of_their_windows(tmp_path, logdir):
    """Also when several are written at a time and a later one is ready first."""
    run(["long_then_short.py"], "run", logdir=logdir, options={"TPROF_SCHEDULE": "active=1", "TPROF_KEEP_RECORDING": "1"})
    first, *_ = trace_files(logdir)
    ready = tmp_path / "ready"
    tprof("convert", "--force", "--on-trace-ready", "echo {} >>%s" % ready, logdir)
    assert ready.read_text().split() == [str(path) for path in trace_files(logdir)]
    assert len(trace_files(logdir)) == 10 and first.stat().st_size > 100_000


@pytest.mark.parametrize("schedule", [
    dict(active=2), dict(wait=1, active=1), dict(warmup=1, active=2), dict(wait=2, warmup=2, active=2, repeat=2),
    dict(skip_first=3, wait=4, warmup=1, active=2, repeat=1, skip_first_wait=1), dict(skip_first=11, active=5)],
    ids=lambda s: schedule_words(**s))
def test_the_windows_are_those_of_torch_profiler_schedule(schedule, logdir):
    result = run(["train.py", 13], "run", logdir=logdir, options={"TPROF_SCHEDULE": schedule_words(**schedule)})
    traces = result.traces()
    assert [t.steps() for t in traces] == windows(13, **schedule)
    for trace in traces:
        assert_nothing_outside(trace)
        assert_marks_in_their_steps(trace)


def test_back_to_back_windows_are_whole(logdir):
    """What the windows of active=2 hold together is what a run without a schedule holds."""
    split = run(["train.py", 12], "preload", logdir=logdir / "split", options={"TPROF_SCHEDULE": "active=2"}).traces()
    whole = run(["train.py", 12], "preload", logdir=logdir / "whole").traces()
    assert len(split) == 6 and len(whole) == 1

    def in_steps(traces):
        names = []
        for trace in traces:
            spans = trace.step_spans()
            begin, end = spans[0]["ts"], spans[-1]["ts"] + spans[-1]["dur"]
            names += [e["name"] for e in trace.ops() if begin <= e["ts"] < end]
        return sorted(names)
    assert in_steps(split) == in_steps(whole)


def test_no_schedule_records_every_step(how, logdir):
    traces = run(["train.py", 9], how, logdir=logdir).traces()
    assert [t.steps() for t in traces] == [list(range(9))]
    assert_marks_in_their_steps(traces[0])


def test_steps_option(logdir):
    traces = run(["train.py", 12], "run", logdir=logdir, run_options=["--steps", "4:7"]).traces()
    assert [t.steps() for t in traces] == [[4, 5, 6]]
    assert_nothing_outside(traces[0])


def test_schedule_as_an_option_of_tprof_run(logdir):
    traces = run(["train.py", 8], "run", logdir=logdir,
                 run_options=["--schedule", "wait=2,warmup=1,active=2,repeat=1"]).traces()
    assert [t.steps() for t in traces] == [[3, 4]]


def test_a_process_that_ends_in_warmup_writes_nothing(how, logdir):
    result = run(["train.py", 5], how, logdir=logdir, options={"TPROF_SCHEDULE": "wait=2,warmup=10,active=3"})
    assert (result.returncode, result.stdout) == (0, "done 5\n")
    assert not logdir.exists() or not list(logdir.iterdir())


def test_a_process_that_ends_in_wait_writes_nothing(how, logdir):
    result = run(["train.py", 3], how, logdir=logdir, options={"TPROF_SCHEDULE": "wait=8,warmup=1,active=3"})
    assert result.returncode == 0
    assert not logdir.exists() or not list(logdir.iterdir())


def test_a_process_that_ends_in_active_writes_what_it_has(how, logdir):
    result = run(["train.py", 6], how, logdir=logdir, options={"TPROF_SCHEDULE": "wait=2,warmup=1,active=30"})
    assert [t.steps() for t in result.traces()] == [[3, 4, 5]]


def test_worker_name_with_step_number(logdir):
    result = run(["train.py", 12], "run", logdir=logdir, options={
        "TPROF_SCHEDULE": "wait=2,warmup=1,active=2,repeat=2", "TPROF_WORKER_NAME": "trace_{step}"})
    assert [t.path.name.split(".")[0] for t in result.traces()] == ["trace_5", "trace_10"]


def test_traces_without_gzip(logdir):
    result = run(["train.py", 4], "run", logdir=logdir, options={"TPROF_USE_GZIP": "0"})
    assert [t.path.name.endswith(".pt.trace.json") for t in result.traces()] == [True]


def test_a_label_over_the_end_of_each_window_holds_no_room(logdir):
    """A chunk of half a megabyte for each would fill TPROF_MAX_SIZE in the end. At most 16 MB are kept for new records."""
    process = start(["label_over_edges.py", 40], "run", logdir=logdir, stdin=subprocess.PIPE,
                    options={"TPROF_SCHEDULE": "wait=2,warmup=1,active=2"})
    assert process.stdout.readline() == "trained\n"
    recording, = recordings(logdir)
    wait_for(lambda: len(trace_files(logdir)) >= 79, what="the traces of all windows but the last")
    wait_for(lambda: os.stat(recording.path).st_blocks * 512 < 24 << 20, what="their room to be given back")
    assert finish(process, logdir).returncode == 0
    traces = load_traces(logdir)
    assert len(traces) == 80 and sum(len(t.ops("over the edge")) for t in traces) >= 39
