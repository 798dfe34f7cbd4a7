"""However the program ends while a window is open, its trace holds all it completed, and its exit status is its own."""
import os
import re
import signal
import time

import pytest

from finishers import finishers
from harness import APPS, ENDINGS, both, load_traces, recordings, run, settle, start, finish, tprof, trace_files, wait_for

OPEN = {"TPROF_SCHEDULE": "wait=1,warmup=1,active=1000"}


@pytest.mark.parametrize("ending", ENDINGS)
def test_exit_matrix(ending, how, logdir):
    result = run(["train.py", 60, ending], how, logdir=logdir, options=OPEN)
    assert (result.returncode, result.stdout) == (ENDINGS[ending], "done 60\n"), result.stderr
    wait_for(lambda: trace_files(logdir), what="a trace in %s" % list(logdir.iterdir()))
    settle(logdir)
    traces = load_traces(logdir)
    assert [t.steps() for t in traces] == [list(range(2, 60))]
    assert traces[0].marks() == list(range(2, 60))
    assert not recordings(logdir), "the recording is left behind"


@pytest.mark.parametrize("ending", ["fall", "_exit", "SIGKILL"])
def test_without_a_schedule(ending, how, logdir):
    result = run(["train.py", 40, ending], how, logdir=logdir)
    assert result.returncode == ENDINGS[ending]
    wait_for(lambda: trace_files(logdir), what="a trace")
    settle(logdir)
    assert [t.marks() for t in load_traces(logdir)] == [list(range(40))]


def test_killed_in_its_first_step(how, logdir):
    """The finisher is there before the first operator is recorded."""
    result = run(["train.py", 1, "SIGKILL"], how, logdir=logdir)
    assert result.returncode == -signal.SIGKILL
    trace, = result.traces()
    assert trace.marks() == [0]


@pytest.mark.parametrize("ending", ["fall", "exit", "exception", "SIGINT", "SIGTERM", "_exit"])
def test_ending_outside_a_window_keeps_the_status(ending, how, logdir):
    result = run(["train.py", 8, ending], how, logdir=logdir, options={"TPROF_SCHEDULE": "active=2,repeat=1"})
    assert (result.returncode, result.stdout) == (ENDINGS[ending], "done 8\n")
    assert [t.steps() for t in result.traces()] == [[0, 1]]


def test_stderr_of_the_program_is_untouched(logdir):
    """Under plain LD_PRELOAD a clean run adds at most lines of tprof's own."""
    bare = finish(start(["train.py", 5, "exception"]), None)  # its traceback names no file of ours
    result = run(["train.py", 5, "exception"], "preload", logdir=logdir)
    kept = [line for line in result.stderr.splitlines() if line not in result.said()]
    assert kept == bare.stderr.splitlines()


def test_tprof_run_names_the_trace_in_one_line(logdir):
    result = run(["train.py", 5], "run", logdir=logdir)
    trace = result.traces()[0]
    line, = result.said()
    assert line.startswith("tprof: wrote ") and str(trace.path) in line and "next:" in line


def test_convert_completes_what_a_killed_finisher_left(how, tmp_path, logdir):
    """SIGKILL of the program and of its finisher in one go: the recording stays, and tprof convert makes the trace."""
    hold = tmp_path / "go"
    process = start(["train.py", 30], how, logdir=logdir, options=OPEN, env={"TRAIN_HOLD": str(hold)})
    assert process.stdout.readline() == "ready\n"
    pid = wait_for(lambda: recordings(logdir), what="a recording")[0].pid
    watchers = wait_for(lambda: list(finishers(logdir)), what="the finisher")
    os.kill(pid, signal.SIGSTOP)
    for watcher in watchers:
        os.kill(watcher, signal.SIGKILL)
    os.kill(pid, signal.SIGKILL)
    finish(process, None)
    time.sleep(0.1)
    assert not trace_files(logdir) or how == "run"  # tprof-run may complete it itself
    if not trace_files(logdir):
        converted = tprof("convert", logdir)
        assert converted.returncode == 0, converted.stderr
    traces = load_traces(logdir)
    assert len(traces) == 1
    assert traces[0].marks()[:28] == list(range(2, 30))


def test_convert_of_a_finished_directory_changes_nothing(logdir):
    result = run(["train.py", 6], "run", logdir=logdir, options={"TPROF_KEEP_RECORDING": "1"})
    before = {p.name: p.stat().st_mtime_ns for p in trace_files(logdir)}
    assert len(before) == 1 and recordings(logdir) and result.returncode == 0
    assert tprof("convert", logdir).returncode == 0
    assert {p.name for p in trace_files(logdir)} == set(before)


@pytest.mark.parametrize("code,schedule,said", [
    ("import no_such_module", "", "the program ended with status 1 before it used torch or CUDA"),
    ("raise SystemExit(2)", "", "the program ended with status 2 before it used torch or CUDA"),
    ("import os; os.kill(os.getpid(), 9)", "", "it died before it used torch or CUDA"),
    ("import torch; raise SystemExit(4)", "wait=3,active=2",
     "the program ended with status 4 before step 3, the first to be recorded"),
    ("pass", "", "the program used neither torch nor CUDA")])
def test_why_nothing_was_recorded(code, schedule, said, logdir):
    result = run(["-c", code], "run", logdir=logdir, options={"TPROF_SCHEDULE": schedule} if schedule else {})
    line = result.stderr.splitlines()[-1]
    assert line.startswith("tprof: ") and "nothing was recorded: " + said in line


def test_a_recording_that_was_replaced_is_named(tmp_path, logdir):
    replace = "import glob, os; open('%s', 'w').write('no recording'); [os.replace('%s', r) for r in glob.glob('%s/*.tprof')]"
    junk = tmp_path / "junk"
    result = run(["-c", "import loop; loop.step(4); " + replace % (junk, junk, logdir)], "run", logdir=logdir,
                 env={"PYTHONPATH": str(APPS)})
    assert result.returncode == 0
    line = [line for line in result.stderr.splitlines() if "no trace was written" in line or "nothing was recorded" in line][-1]
    assert "no trace was written" in line and ".tprof" in line, result.stderr


@pytest.mark.parametrize("way", ["_exit", "_Exit", "quick_exit", "handlers"])
def test_ends_while_another_thread_holds_the_loaders_lock(way, tmp_path, compiled):
    """That thread is in the constructor of a library, and stays there."""
    library = compiled("slow_library.c", "-shared")
    results = both([compiled("ends_beside_dlopen.c"), library, way], tmp_path)
    assert (results["bare"].returncode, results["bare"].stdout) == (3, "loading\n")


def test_a_watchdog_ends_a_program_that_hangs_in_an_import(tmp_path, compiled):
    results = both(["watchdog.py", compiled("slow_library.c", "-shared")], tmp_path)
    assert results["bare"].returncode == 1
    for way in results.keys() - {"bare"}:
        trace, = results[way].traces()
        assert trace.marks() == [0, 1, 2]


@pytest.mark.parametrize("words,how,seconds", [(["_exit", "fork"], "preload", 1), (["exit"], "run", 10)],
                         ids=["_exit", "exit"])
def test_a_log_directory_that_does_not_answer_delays_forks_and_the_end_only(words, how, seconds, logdir, compiled):
    result = run([compiled("stalled_disk.c", "-rdynamic"), *words], how, logdir=logdir)
    ended = time.monotonic()
    assert (result.returncode, result.stdout) == (3, "stalled\n"), result.stderr
    slack = 60  # of a busy machine; the disk would never answer
    assert all(float(f) < 1 + slack for f in re.findall(r"forked after (\S+)", result.stderr)), result.stderr
    ends, = re.findall(r"ends at (\S+)", result.stderr)
    assert ended - float(ends) < seconds + slack
    trace, = result.traces()
    assert len(trace.ops("work")) >= 100
