"""USR2 with a window open writes what has been recorded so far, and the program goes on."""
import json
import os
import re
import shutil
import signal
import time

from harness import finish, load_traces, recordings, settle, start, tprof, trace_files, wait_for


def test_flush_by_signal(how, tmp_path, logdir):
    hold = tmp_path / "go"
    process = start(["train.py", 20], how, logdir=logdir, env={"TRAIN_HOLD": str(hold)},
                    options={"TPROF_SCHEDULE": "wait=1,warmup=1,active=100000"})
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGUSR2)
    wait_for(lambda: trace_files(logdir), what="the trace of the flush")
    first = load_traces(logdir)[0]
    assert first.marks()[:18] == list(range(2, 20))
    assert process.poll() is None
    hold.touch()
    result = finish(process, logdir)
    assert result.returncode == 0
    done = int(result.stdout.split()[-1])
    settle(logdir)
    everything = set()
    for trace in load_traces(logdir):
        everything.update(trace.marks())
    assert everything == set(range(2, done))


def test_no_window_or_flush_is_written_twice(tmp_path, logdir):
    """Clock stamps come every second: what was named by the first ones is found again by the last ones."""
    hold = tmp_path / "go"
    process = start(["train.py", 20], "run", logdir=logdir, env={"TRAIN_HOLD": str(hold)},
                    options={"TPROF_SCHEDULE": "wait=1,warmup=1,active=100000", "TPROF_KEEP_RECORDING": "1"})
    assert process.stdout.readline() == "ready\n"
    for count in 1, 2:
        process.send_signal(signal.SIGUSR2)
        wait_for(lambda: len(trace_files(logdir)) == count, what="the trace of the flush")
        time.sleep(1.1)
    hold.touch()
    result = finish(process, logdir)
    assert result.returncode == 0
    written = trace_files(logdir)
    assert len(written) == 3
    nested = [line for line in tprof("overview", logdir).stderr.splitlines() if "lies inside" in line]
    assert len(nested) == 2 and all(line.endswith("do not add up their figures") for line in nested), nested
    # The half page at the end is about the window, not about what was flushed of it.
    closing = re.search(r"\(span (\d), the longest; span (\d) lies inside it; span (\d) lies inside it\)", result.stderr)
    assert closing and sorted(closing.groups()) == ["1", "2", "3"], result.stderr
    steps = [worker["counted"] for worker in json.loads(tprof("overview", "--json", logdir).stdout)["workers"]]
    assert int(re.match(r"\d+", steps[int(closing.group(1)) - 1])[0]) == max(int(re.match(r"\d+", s)[0]) for s in steps)
    assert tprof("convert", logdir).returncode == 0 and trace_files(logdir) == written
    # Of a job of two processes advice is given when all has been read twice; what is said of its traces is said once.
    for path in written:
        shutil.copy(path, path.with_name("second_1" + path.name[path.name.index("."):]))
    nested = [line for line in tprof("advise", logdir).stderr.splitlines() if "lies inside" in line]
    assert len(nested) == len(set(nested)) == 4, nested



def test_a_signal_after_the_last_window_does_no_harm(how, logdir, tmp_path):
    hold = tmp_path / "go"
    process = start(["train.py", 6], how, logdir=logdir, env={"TRAIN_HOLD": str(hold)}, options={
        "TPROF_SCHEDULE": "active=2,repeat=1"})
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGUSR2)
    hold.touch()
    result = finish(process, logdir)
    assert result.returncode == 0, result.stderr
    assert len(trace_files(logdir)) == 1 and (how == "run" or "no window is open" in result.stderr)


def test_signal_none_leaves_usr2_alone(logdir, tmp_path):
    hold = tmp_path / "go"
    process = start(["train.py", 5], "preload", logdir=logdir, env={"TRAIN_HOLD": str(hold)},
                    options={"TPROF_SIGNAL": "none", "TPROF_SCHEDULE": "wait=1,active=100000"})
    assert process.stdout.readline() == "ready\n"
    os.kill(process.pid, signal.SIGUSR2)
    result = finish(process, logdir)
    assert result.returncode == -signal.SIGUSR2
    wait_for(lambda: trace_files(logdir) and not recordings(logdir), what="the trace of the killed program")
