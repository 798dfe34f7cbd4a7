"""The trigger hang>60s: a program that stands still is told so, its stacks are written, and a command is run."""
import contextlib
import fcntl
import os
import re
import signal
import subprocess
import time

import pytest

import flights
from flights import is_gapless, numbers, progress
from harness import TPROF, descendants, finish, load_traces, run, start, tprof, trace_files, wait_for


def reports(logdir):
    return sorted(logdir.glob("*.hang*.txt"))


def whole(path):
    """A report and its parts, of which the first is the verdict; None while it is written."""
    text = path.read_text()
    parts = re.split("^==== Stacks of all threads, ", text, flags=re.M)
    return (text, parts) if text.endswith("\n==== End of the report\n") else None


def the_report(logdir, count=1):
    wait_for(lambda: len(reports(logdir)) >= count and all(whole(r) for r in reports(logdir)), what="the report")
    return [whole(r) for r in reports(logdir)]


def watchers(logdir):
    out = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open("/proc/%s/cmdline" % pid) as file:
            out += [int(pid)] if "\0watch\0%s" % logdir in file.read() else []
    return out


def command(tmp_path):
    """What it is run with, a line each time."""
    said = tmp_path / "said"
    return said, "echo {verdict} {} >> '%s'" % said


@pytest.mark.parametrize("where", ["2.15", "1.13"])
def test_ranks_that_wait_for_one_that_sleeps(job, where, tmp_path):
    """Each writes its own stacks; one of them says who holds the others up, and runs the command."""
    said, on_hang = command(tmp_path)
    logdir, pid = job("asleep", where, TPROF_TRIGGER="hang>3s", TPROF_ON_HANG=on_hang)
    found = the_report(logdir, 2)
    wait_for(said.exists, what="the command")
    time.sleep(2)
    (line,) = said.read_text().splitlines()
    verdict, path = line.split(" ", 1)
    assert verdict == "asleep" and "sleeps in nap (hangs.py:" in open(path).read()
    assert sorted(re.match(r"Hang of process \d+, rank (\d)", text).group(1) for text, _ in found) == ["0", "1"]
    (sleeper,) = [parts for text, parts in found if text.startswith("Hang of process %d," % pid)]
    for stacks in sleeper[1:]:
        assert re.search(r"\bnap\b", stacks) and re.search(r"\brank_of_job\b", stacks)
    assert len(reports(logdir)) == 2, "a hang is reported once"


def test_jobs_that_hang_in_one_directory_have_verdicts_of_their_own(job, tmp_path):
    said, on_hang = command(tmp_path)
    for what in ("asleep", "deadlock"):
        logdir, _ = job(what, TPROF_TRIGGER="hang>10s", TPROF_ON_HANG=on_hang)
    the_report(logdir, 4)
    wait_for(lambda: len(said.read_text().splitlines()) >= 2 if said.exists() else 0, what="both commands")
    time.sleep(1)
    assert sorted(line.split()[0] for line in said.read_text().splitlines()) == ["asleep", "deadlock"]


def test_what_is_no_hang_is_not_reported(job):
    """Ranks that go on, and the process that has started them and waits."""
    logdir, _ = job("fine", TPROF_TRIGGER="hang>5s")
    time.sleep(12)
    assert not reports(logdir)


@pytest.mark.parametrize("how", ["preload", "run"])
def test_in_flight_mode_the_ring_is_written_while_it_hangs(how, tmp_path, logdir):
    process, path = flights.start(tmp_path, logdir, 0, how=how, env={"NUMBERED_SLOW": "40 25", "NUMBERED_PAUSE": "0.01"},
                                  options={"TPROF_TRIGGER": "hang>2s"})
    wait_for(lambda: trace_files(logdir), what="the trace")
    assert progress(path) == 4000, "it still hangs"
    ((text, parts),) = the_report(logdir)
    assert int(re.search(r": no step and no operator for (\d+) s\.", text)[1]) in range(2, 25) and "numbered.py" in text
    assert "No hang" not in text.split("\n\n")[1] and all("numbered.py" in stacks for stacks in parts[1:])
    wait_for(lambda: progress(path) > 5000, what="the program to go on")
    for pid in [*descendants(process.pid), process.pid]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    finish(process, logdir)
    first, last = load_traces(logdir)
    assert re.match(r"a hang: no step and no operator for \d+ s", first.ledger["trigger"]["why"])
    assert "Written because of: a hang: " in tprof("overview", first.path).stdout
    assert is_gapless(numbers(first) + numbers(last)) and numbers(first)[-1] == 3999


def test_when_all_is_recorded_what_there_is_is_written(tmp_path, logdir):
    process, path = flights.start(tmp_path, logdir, 0, mode="schedule", env={"NUMBERED_SLOW": "40 600"},
                                  options={"TPROF_TRIGGER": "hang>2s"})
    wait_for(lambda: trace_files(logdir), what="the trace")
    the_report(logdir)
    time.sleep(1)
    (watcher,) = watchers(logdir)
    assert os.getpriority(os.PRIO_PROCESS, watcher) >= 0, "it has a high priority only while threads are stopped"
    process.kill()
    finish(process, logdir)
    assert numbers(load_traces(logdir)[0])[-1] == 3999


def test_with_a_schedule_that_waits_the_next_steps_are_recorded(tmp_path, logdir):
    process, path = flights.start(tmp_path, logdir, 0, mode="schedule",
                                  env={"NUMBERED_SLOW": "40 20", "NUMBERED_PAUSE": "0.01"},
                                  options={"TPROF_SCHEDULE": "wait=100000,active=3", "TPROF_TRIGGER": "hang>2s"})
    wait_for(lambda: trace_files(logdir), what="the trace")
    process.kill()
    finish(process, logdir)
    (trace,) = load_traces(logdir)
    assert len(trace.steps()) == 3 and trace.steps()[0] in (40, 41)
    assert trace.ledger["trigger"]["why"].startswith("a hang: no step and no operator for ")


def test_a_program_that_is_stopped_is_named(tmp_path, logdir):
    said, on_hang = command(tmp_path)
    process, path = flights.start(tmp_path, logdir, 0, env={"NUMBERED_PAUSE": "0.01"},
                                  options={"TPROF_TRIGGER": "hang>2s", "TPROF_ON_HANG": on_hang})
    wait_for(lambda: progress(path) > 2000, what="steps")
    process.send_signal(signal.SIGSTOP)
    the_report(logdir)
    wait_for(said.exists, what="the command")
    assert said.read_text().startswith("stopped ")
    before = progress(path)
    process.send_signal(signal.SIGCONT)
    wait_for(lambda: progress(path) > before + 1000, what="the program to go on")
    process.kill()
    finish(process, logdir)


def test_what_takes_less_than_the_limit_is_no_hang(tmp_path, logdir):
    """As a torch.save of a large file, or a download, whether it is recorded or not."""
    process, path = flights.start(tmp_path, logdir, 10000, env={"NUMBERED_SLOW": "40 4", "NUMBERED_PAUSE": "0.01"},
                                  options={"TPROF_TRIGGER": "hang>10s"})
    assert finish(process, logdir).returncode == 0
    assert not reports(logdir) and len(load_traces(logdir)) == 1


def test_a_long_evaluation_is_no_hang(tmp_path, logdir):
    """No step begins meanwhile, and nothing is recorded: its batches are signs of life."""
    (tmp_path / "evaluates.py").write_text(EVALUATES)
    done = run([tmp_path / "evaluates.py"], "preload", logdir=logdir,
               options={"TPROF_SCHEDULE": "wait=1000,active=1", "TPROF_TRIGGER": "hang>3s"})
    assert done.returncode == 0 and "evaluated" in done.stdout
    assert not reports(logdir)


EVALUATES = """
import os, time, torch
model = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
data = torch.utils.data.DataLoader(torch.randn(64, 4), batch_size=4)
for batch in data:
    optimizer.zero_grad()
    model(batch).sum().backward()
    optimizer.step()
model.eval()
with torch.no_grad():
    end = time.monotonic() + 8
    while time.monotonic() < end:
        for batch in data:
            model(batch)
            time.sleep(0.05)
print("evaluated", flush=True)
os._exit(0)  # where others want the processors, the end of Python takes seconds without a sign of life
"""


def test_a_command_that_fails_is_named_in_the_file_without_its_text(tmp_path, logdir):
    process, path = flights.start(tmp_path, logdir, 0, env={"NUMBERED_SLOW": "40 600"},
                                  options={"TPROF_TRIGGER": "hang>1s", "TPROF_ON_HANG": "exit 7 # hidden {}"})
    wait_for(lambda: reports(logdir) and "\ntprof: on_hang failed (exit status 7)\n" in reports(logdir)[0].read_text(),
             what="the line")
    assert "hidden" not in reports(logdir)[0].read_text()
    process.kill()
    finish(process, logdir)


@contextlib.contextmanager
def watched_by_hand(tmp_path, logdir, on_hang):
    """A program that hangs, and the file of what its watcher says, which this test has started in place of its own."""
    process, _ = flights.start(tmp_path, logdir, 0, env={"NUMBERED_SLOW": "40 600"}, options={"TPROF_TRIGGER": "hang>1s"})
    (own,) = wait_for(lambda: watchers(logdir), what="the watcher")
    os.kill(own, signal.SIGKILL)
    with open(tmp_path / "said", "w") as said:
        (recording,) = logdir.glob("*.tprof")
        watcher = subprocess.Popen([TPROF, "watch", recording], stderr=said, env={**os.environ, "TPROF_ON_HANG": on_hang})
    try:
        yield tmp_path / "said"
    finally:
        process.kill()
        finish(process, logdir)
        watcher.wait()


@pytest.mark.parametrize("by", ["another file", "a link", "nothing"])
def test_nothing_is_written_to_what_has_taken_the_place_of_a_report(by, tmp_path, logdir):
    """In a directory into which others may write."""
    victim, go = tmp_path / "victim", tmp_path / "go"
    victim.write_text("mine\n")
    on_hang = "touch '%s/ready'; while [ ! -e '%s' ]; do sleep 0.1; done; exit 7 # {}" % (tmp_path, go)
    with watched_by_hand(tmp_path, logdir, on_hang) as said:
        wait_for((tmp_path / "ready").exists, what="the command")
        (report,) = reports(logdir)
        written = report.read_text()
        report.rename(tmp_path / "kept")
        if by == "another file":
            os.link(victim, report)
        elif by == "a link":
            report.symlink_to(victim)
        go.touch()
        wait_for(lambda: said.read_text() or victim.read_text() != "mine\n" or (by == "nothing" and report.exists()),
                 what="the line")
        assert said.read_text() == "tprof: %s: was removed or replaced by something else, so the rest of the report is " \
            "not written\n" % report
    assert victim.read_text() == "mine\n" and (tmp_path / "kept").read_text() == written
    assert report.exists() == (by != "nothing")


def verdict_of(tmp_path, logdir):
    """Of the only rank of a job, as its report tells it."""
    process, _ = flights.start(tmp_path, logdir, 0, options={"TPROF_TRIGGER": "hang>1s"},
                               env={"NUMBERED_SLOW": "40 600", "RANK": "0", "WORLD_SIZE": "1"})
    ((text, parts),) = the_report(logdir)
    process.kill()
    finish(process, logdir)
    return parts[0]


def test_only_its_user_may_open_the_file_of_the_verdict(tmp_path, logdir):
    assert "hang.verdict" not in verdict_of(tmp_path, logdir)
    assert (logdir / "hang.verdict").stat().st_mode & 0o7777 == 0o600 & ~umask()


@pytest.mark.parametrize("whose, why", [
    ("open to others", "others may open it"), ("of another user", "it belongs to another user"),
    ("a pipe", "it is no regular file")])
def test_a_verdict_whose_lock_others_may_hold_is_not_waited_for(whose, why, tmp_path, logdir):
    logdir.mkdir(exist_ok=True)
    path = logdir / "hang.verdict"
    if whose == "a pipe":
        os.mkfifo(path, 0o600)
    else:
        path.touch()
        path.chmod(0o644 if whose == "open to others" else 0o600)
    if whose == "of another user":
        if os.geteuid() != 0:
            pytest.skip("only root gives files away")
        os.chown(path, 65534, 65534)
    with contextlib.ExitStack() as held:
        if path.is_file():
            fcntl.flock(held.enter_context(open(path)), fcntl.LOCK_EX)
        said = verdict_of(tmp_path, logdir)
    assert "%s is not used (%s): this rank has looked by itself" % (path, why) in said, said


def test_the_watcher_ends_with_its_program(tmp_path, logdir):
    process, path = flights.start(tmp_path, logdir, 3000, env={"NUMBERED_PAUSE": "0.01"}, options={"TPROF_TRIGGER": "hang>1s"})
    assert finish(process, logdir).returncode == 0

    wait_for(lambda: not watchers(logdir), 60, "the watcher's end")


FORKS = """
import os, time, torch
from torch.utils.data import DataLoader
class Stuck:
    def __len__(self): return 64
    def __getitem__(self, i):
        if i >= 32: time.sleep(600)
        return torch.ones(1)
for batch in DataLoader(Stuck(), batch_size=4, num_workers=2):
    torch.add(batch, 1)
"""


@pytest.mark.parametrize("mode", [{"TPROF_MODE": "flight:16M"}, {}], ids=["flight", "whole run"])
def test_a_program_that_waits_for_what_it_has_forked_writes_its_trace(mode, tmp_path, logdir):
    """Our thread in it ended for the fork, and no step comes that starts it again."""
    (tmp_path / "forks.py").write_text(FORKS)
    process = start([tmp_path / "forks.py"], "preload", logdir=logdir, options={"TPROF_TRIGGER": "hang>3s", **mode},
                    start_new_session=True)
    wait_for(lambda: trace_files(logdir), what="the trace")
    ((text, parts),) = the_report(logdir)
    assert text.split("\n\n")[1].startswith("Process %d waits for a data-loader worker" % process.pid), text
    assert all(re.search(r"\b__getitem__\b", stacks) for stacks in parts[1:]), "stacks of the workers, too"
    os.killpg(process.pid, signal.SIGKILL)
    finish(process, logdir)
    assert load_traces(logdir)[0].ops("aten::add")


def test_the_watcher_outlives_signals_to_the_whole_job(tmp_path, logdir):
    """As a scheduler sends them; what is written belongs to the user, with usual permissions."""
    process, path = flights.start(tmp_path, logdir, 0, env={"NUMBERED_SLOW": "100 600", "NUMBERED_PAUSE": "0.03"},
                                  options={"TPROF_TRIGGER": "hang>2s"})
    (watcher,) = wait_for(lambda: watchers(logdir), what="the watcher")
    for number in (signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2, signal.SIGHUP, signal.SIGINT):
        os.kill(watcher, number)
    the_report(logdir)
    (report,) = reports(logdir)
    assert report.stat().st_mode & 0o7777 == 0o666 & ~umask()
    process.kill()
    finish(process, logdir)


def umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


@pytest.mark.parametrize("option, value, why", [
    ("TPROF_TRIGGER", "hang>0s", "from 1 to 86400 whole seconds"), ("TPROF_TRIGGER", "hang>5", "from 1 to 86400 whole seconds"),
    ("TPROF_TRIGGER", "hang", "is not file, oom, step>1.5x or hang>60s"),
    ("TPROF_ON_HANG", "true", "needs TPROF_TRIGGER=hang>60s")])
def test_wrong_words_are_refused_before_the_start(option, value, why, logdir):
    done = run(["train.py", "1"], "run", logdir=logdir, options={option: value})
    assert done.returncode == 2 and why in done.stderr
