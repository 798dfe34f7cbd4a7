"""A program that died by a signal is said to have died, before anything else is said of it."""
import json
import re
import signal

import pytest

from harness import APPS, finish, recordings, run, settle, start, tprof, trace_files, wait_for

SLOW_BATCHES = """
import os, signal, time, torch
class Slow(torch.utils.data.Dataset):
    def __len__(self): return 8
    def __getitem__(self, i): time.sleep(.2); return torch.ones(4)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=.1)
for number, batch in enumerate(torch.utils.data.DataLoader(Slow(), batch_size=1)):
    model(batch).sum().backward()
    if number == %d: os.kill(os.getpid(), signal.SIGSEGV)
    optimizer.step(); optimizer.zero_grad()
"""


def info(path):
    """(first row, the JSON object) of what tprof info says of the only file there."""
    row = re.split(r"\s{2,}", tprof("info", path).stdout.splitlines()[0])
    return row, json.loads(tprof("info", "--json", path).stdout)


@pytest.mark.parametrize("name, meaning", [
    ("SIGSEGV", "segmentation fault"), ("SIGINT", "Ctrl-C"),
    ("SIGKILL", "kill -9, a scheduler, or the kernel for lack of memory")])
def test_the_end_of_a_run_begins_with_the_death(name, meaning, logdir):
    result = run(["train.py", 4, name], "run", logdir=logdir)
    assert result.returncode == -getattr(signal, name)
    death, wrote = result.said()[:2]
    killed = "killed by %s (%s)" % (name, meaning)
    assert death.startswith("tprof: the program was %s; what follows is until then" % killed)
    assert ("without tprof" in death) == (name == "SIGSEGV")
    assert wrote.startswith("tprof: wrote ")
    row, report = info(logdir)
    assert row == ["died", killed] and report["killed_by"] == getattr(signal, name)
    assert killed in tprof("overview", logdir).stdout.replace("\n", " ")


def test_a_kept_recording_says_it_too(logdir):
    run(["train.py", 2, "SIGSEGV"], "run", logdir=logdir, run_options=["--keep-recording", "-q"])
    row, _ = info(recordings(logdir)[0].path)
    assert row == ["died", "killed by SIGSEGV (segmentation fault)"]


def test_a_program_that_ends_by_itself_has_not_died(logdir):
    result = run(["train.py", 2, "exit"], "run", logdir=logdir)
    row, report = info(logdir)
    assert row[0] == "trace" and "died" not in report and "killed" not in result.stderr


@pytest.mark.parametrize("name", ["SIGSEGV", "SIGTERM"])
def test_without_tprof_run_the_finisher_finds_out(name, logdir):
    """Its parent does not take note of its end before the trace is written: so it works on every kernel."""
    process = start(["train.py", 4, name], "preload", logdir=logdir)
    wait_for(lambda: trace_files(logdir), what="the trace")
    settle(logdir)
    finish(process, logdir)
    row, report = info(logdir)
    assert row[0] == "died" and row[1].startswith("killed by %s (" % name) and report["killed_by"] > 0


def test_whose_parent_was_quicker_has_died_at_least(logdir):
    run(["train.py", 4, "SIGSEGV"], "preload", logdir=logdir)
    wait_for(lambda: trace_files(logdir), what="the trace")
    settle(logdir)
    assert info(logdir)[0][0] == "died"


def test_a_rank_that_died_is_named_though_its_launcher_goes_on(logdir):
    """What a launcher does: it starts ranks, sees that one has died, ends the others and itself by an exit status."""
    launcher = """
import glob, os, subprocess, sys, time
first, second = (subprocess.Popen(["/usr/bin/python3", *sys.argv[2:], ending], env={**os.environ, "RANK": rank,
                 "LOCAL_RANK": rank, "WORLD_SIZE": "2"}) for rank, ending in (("0", "SIGTERM"), ("1", "SIGSEGV")))
while len(glob.glob(sys.argv[1] + "/*.gz")) < 2: time.sleep(.05)
first.wait(), second.wait()
sys.exit(1)
"""
    result = run(["-c", launcher, logdir, APPS / "train.py", 3], "run", logdir=logdir)
    assert result.returncode == 1
    assert result.said()[0].startswith("tprof: rank 1 was killed by SIGSEGV (segmentation fault); rank 0 was killed by SIGTERM")
    assert result.said()[1].startswith("tprof: wrote 2 traces ")


def test_there_is_no_advice_from_a_first_step_that_was_not_finished(tmp_path):
    for step, advised in (3, True), (0, False):
        logdir = tmp_path / str(step)
        result = run(["-c", SLOW_BATCHES % step], "run", logdir=logdir)
        assert result.said()[0].startswith("tprof: the program was killed by SIGSEGV"), result.stderr
        assert ("Steps wait for the DataLoader" in result.stderr) == advised, result.stderr
        assert ("died in its first step" in result.stderr) != advised
        worker, = json.loads(tprof("advise", "--json", logdir).stdout)["workers"]
        assert bool(worker["recommendations"]) == advised
        assert any("killed by SIGSEGV" in line for line in worker["not_known"])
        said = tprof("advise", "--fail-on", "high", logdir)
        assert said.returncode == (1 if advised else 0) and "nothing found" not in said.stdout
