"""The disk of the log directory fills up: the program never notices, and what was written stays readable."""
import os
import shutil
import subprocess

import pytest

import quick
from harness import APPS, BUILD, LIBRARY, finish, load_traces, recordings, run, start, tprof, trace_files


@pytest.fixture
def small_disk(tmp_path):
    """An 8 MiB tmpfs."""
    path = tmp_path / "disk"
    path.mkdir()
    if os.geteuid() != 0:
        pytest.skip("needs root to mount a tmpfs")
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tprof-test", str(path)]).returncode:
        pytest.skip("no tmpfs can be mounted here")
    yield path
    subprocess.run(["umount", "-l", str(path)], check=True)


def test_a_full_disk_in_mid_run(how, small_disk, tmp_path):
    quick.takes_long()
    result = run(["many_ops.py", 60000], how, logdir=small_disk)
    assert (result.returncode, result.stdout) == (0, "done 60000\n"), result.stderr
    assert len([line for line in result.said() if "disk is" in line]) == 1, result.stderr
    larger = tmp_path / "larger"
    shutil.copytree(small_disk, larger)
    if not trace_files(larger):
        assert recordings(larger), "neither trace nor recording"
        converted = tprof("convert", larger)
        assert converted.returncode in (0, 4), converted.stderr
    traces = load_traces(larger)
    assert sum(len(t.marks()) for t in traces) > 100
    assert sum(t.ledger["dropped"].get("disk_full", 0) for t in traces) > 0, [t.ledger for t in traces]


def test_who_could_not_write_traces_does_not_say_that_they_are_written(small_disk):
    """In a log directory of its own choice, which the closing line names."""
    process = start(["many_ops.py", 60000], env={"LD_PRELOAD": str(LIBRARY)}, cwd=small_disk)
    result = finish(process, None)
    assert (result.returncode, result.stdout) == (0, "done 60000\n"), result.stderr
    logdir, = (small_disk / "tprof_log").iterdir()
    assert recordings(logdir) and not trace_files(logdir), "the rest of the disk has no room for a trace"
    assert result.said()[-1].startswith("tprof: not all traces are written yet; to write them: tprof convert ")


def test_a_trace_that_could_not_be_written_while_the_program_ran_is_missed_at_its_end(small_disk):
    program = """
import time, torch
model = torch.nn.Linear(2, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(6):
    model(torch.ones(2)).sum().backward()
    optimizer.step()
    if step == 2:
        try:
            with open("filler", "wb", buffering=0) as filler:
                while filler.write(bytes(4096)): pass
        except OSError:
            pass
time.sleep(3)  # the window is over, and its trace is tried
"""
    process = start(["-c", program], env={"LD_PRELOAD": str(LIBRARY), "TPROF_SCHEDULE": "active=4,repeat=1"}, cwd=small_disk)
    result = finish(process, None)
    assert result.returncode == 0, result.stderr
    logdir, = (small_disk / "tprof_log").iterdir()
    assert recordings(logdir) and not trace_files(logdir)
    assert result.said()[-1].startswith("tprof: not all traces are written yet; to write them: tprof convert ")


def test_a_disk_that_is_full_from_the_start(how, small_disk):
    with open(small_disk / "filler", "wb") as filler:
        try:
            while True:
                filler.write(bytes(65536))
        except OSError:
            pass
    result = run(["train.py", 20, "exit"], how, logdir=small_disk)
    assert (result.returncode, result.stdout) == ((3, "done 20\n") if result.returncode != 2 else (2, "")), result.stderr
    assert len(result.said()) >= 1


def test_max_size_bounds_the_recording(logdir):
    result = run(["many_ops.py", 60000], "preload", logdir=logdir, options={"TPROF_MAX_SIZE": "8M"})
    assert (result.returncode, result.stdout) == (0, "done 60000\n")
    traces = result.traces()
    assert sum(t.ledger["dropped"].get("over_budget", 0) for t in traces) > 0
    assert traces[0].marks()


def test_windows_are_written_in_time_though_the_machine_is_busy(logdir):
    """At idle priority nothing would be written, and in the end nothing more recorded."""
    one = str(min(os.sched_getaffinity(0)))
    busy = [subprocess.Popen(["taskset", "-c", one, "sh", "-c", "while :; do :; done"]) for _ in range(2)]
    try:
        result = run(["train.py", 300], "run", logdir=logdir, wrapper=["taskset", "-c", one], timeout=600,
                     env={"TRAIN_PAUSE": "0.05"}, options={
                         "TPROF_SCHEDULE": "wait=1,active=1", "TPROF_MAX_SIZE": "64M"})
    finally:
        for process in busy:
            process.kill()
            process.wait()
    assert result.returncode == 0 and not [line for line in result.said() if "TPROF_MAX_SIZE" in line], result.stderr
    traces = load_traces(logdir)
    assert len(traces) == 150 and not any(trace.ledger["dropped"] for trace in traces)


@pytest.mark.spread(2)
@pytest.mark.parametrize("kilobytes", [30, 100, 700, 4000])
def test_a_limit_on_the_size_of_files(kilobytes, how, logdir):
    """A program that leaves SIGXFSZ as it is would die of it: the recording's growth must not send it."""
    sim, program = BUILD / "tests" / "fake" / "simcuda-run", BUILD / "tests" / "apps" / "cuda" / "vector_add_13"
    limited = ["/bin/bash", "-c", 'ulimit -f "$0" && exec "$@"', str(kilobytes)]
    bare = run([*limited, sim, program, 20000])
    result = run([*limited, sim, program, 20000], how, logdir=logdir, options={"TPROF_EXIT_WAIT": "20"})
    assert bare.returncode == 0 and (result.returncode, result.stdout) == (0, bare.stdout), result.stderr
    assert any("ulimit -f" in line or "File too large" in line for line in result.said()), result.stderr
    if kilobytes >= 700:  # room for a recording; in 700 for nothing but its ledger
        traces = result.traces()
        assert sum(t.ledger["dropped"].get("disk_full", 0) for t in traces) > 0
    if kilobytes >= 4000:
        assert any(e["cat"] == "cuda_runtime" for t in traces for e in t.ranges)


def test_a_schedule_without_room_says_so_and_does_not_fill_the_directory(how, logdir):
    words = ["/bin/bash", "-c", 'ulimit -f 700 && exec "$@"', "-", "/usr/bin/python3", APPS / "train.py", 60]
    result = run(words, how, logdir=logdir, options={"TPROF_SCHEDULE": "warmup=1,active=2"})
    assert (result.returncode, result.stdout) == (0, "done 60\n")
    traces = result.traces()
    assert 1 <= len(traces) <= 2 and traces[-1].ledger["dropped"]["disk_full"] > 0
