"""How long tprof run stays when its program has ended, what goes on in the background, and what is said of it. The process
that writes traces is stopped, so that nothing here depends on how long writing takes."""
import contextlib
import fcntl
import os
import pty
import re
import signal
import subprocess
import time

import pytest

from finishers import finishers
from harness import HUNG, RUN, prepare, recordings, run, start, trace_files, wait_for


def is_locked(path):
    with open(path) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


@contextlib.contextmanager
def stopped_finisher(logdir, run_options=(), options=None, env=None, ending="exit", **more):
    """(process of tprof run, function that lets the finisher go on). The program is about to end when this begins."""
    hold = logdir.parent / "hold"
    process = start(["train.py", 4, ending], "run", logdir=logdir, run_options=run_options, options=options,
                    env={"TRAIN_HOLD": str(hold), **(env or {})}, **more)
    assert process.stdout.readline() == "ready\n"
    pid, = wait_for(lambda: list(finishers(logdir)), what="the finisher")
    wait_for(lambda: is_locked(recordings(logdir)[0].path), what="the finisher's lock")
    os.kill(pid, signal.SIGSTOP)

    def go_on():
        os.kill(pid, signal.SIGCONT)
        wait_for(lambda: trace_files(logdir), what="the trace")
    hold.touch()
    try:
        yield process, go_on
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        process.kill()
        process.communicate()


@pytest.mark.parametrize("ending, status", [("exit", 3), ("SIGTERM", -signal.SIGTERM)])
@pytest.mark.parametrize("wait", ["0", "0.5"])
def test_it_waits_no_longer_than_it_is_told(wait, ending, status, logdir):
    with stopped_finisher(logdir, ["--exit-wait", wait], ending=ending) as (process, go_on):
        out, err = process.communicate(timeout=HUNG)
        assert (process.returncode, out.startswith("done")) == (status, True)
        line, = err.splitlines()
        assert ("killed by SIGTERM" in line) == (status < 0)
        assert "in the background" in line and str(logdir) in line
        assert not trace_files(logdir)
        go_on()


def test_inf_waits_until_all_is_written(logdir):
    with stopped_finisher(logdir, ["--exit-wait", "inf"]) as (process, go_on):
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(timeout=2)
        go_on()
        _, err = process.communicate(timeout=HUNG)
        assert process.returncode == 3 and err.startswith("tprof: wrote ")


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_ends_the_wait_with_the_program_s_status(name, logdir):
    with stopped_finisher(logdir) as (process, go_on):
        assert process.stdout.readline().startswith("done")
        wait_for(lambda: b"tprof run" in b" ".join(waiting(process.pid)), what="the wait")
        process.send_signal(getattr(signal, name))
        _, err = process.communicate(timeout=HUNG)
        assert process.returncode == 3 and "in the background" in err
        go_on()


def waiting(pid):
    """[b"tprof run"] once no child of tprof run but the one that waits for the finisher is left."""
    children = open("/proc/%d/task/%d/children" % (pid, pid)).read().split()
    with contextlib.suppress(OSError):  # one has just ended
        return [b"tprof run" for child in children if b"--after" in open("/proc/%s/cmdline" % child, "rb").read()]
    return []


@pytest.mark.parametrize("name", ["SLURM_STEP_ID", "PBS_JOBID"])
def test_in_a_job_step_it_waits_until_all_is_written_and_says_so(name, logdir):
    with stopped_finisher(logdir, ["--exit-wait", "0"], env={name: "1"}) as (process, go_on):
        said = process.stderr.readline()
        assert said.startswith("tprof: waiting until the last trace is written, since this is a job step (" + name)
        go_on()
        _, err = process.communicate(timeout=HUNG)
        assert process.returncode == 3 and err.startswith("tprof: wrote ")


def test_as_process_1_it_waits_until_all_is_written(logdir):
    isolated = ["/usr/bin/unshare", "--pid", "--fork", "--mount-proc"]
    if subprocess.run([*isolated, "true"], stdin=subprocess.DEVNULL, capture_output=True).returncode:
        pytest.skip("no PID namespace can be made here")
    words, environment = prepare(["many_ops.py", 3000], "run", logdir=logdir, run_options=["--exit-wait", "0"])
    done = subprocess.run([*isolated, *words], env=environment, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=HUNG)
    assert done.returncode == 0 and "wrote" in done.stderr and len(trace_files(logdir)) == 1, done.stderr


def test_on_a_terminal_it_shows_that_it_goes_on(logdir):
    ours, theirs = pty.openpty()
    try:
        with stopped_finisher(logdir, stderr=theirs) as (process, go_on):
            text = b""
            while b"\rtprof: writing the last trace: 0.0 MB, " not in text:
                text += os.read(ours, 4096)
            go_on()
            while b"\r\033[Ktprof: wrote " not in text:
                text += os.read(ours, 4096)
            assert process.wait(timeout=HUNG) == 3
    finally:
        os.close(ours)
        os.close(theirs)


def test_quiet_says_nothing_of_it(logdir):
    with stopped_finisher(logdir, ["-q", "--exit-wait", "0"], env={"SLURM_STEP_ID": ""}) as (process, go_on):
        time.sleep(2.5)
        go_on()
        assert process.communicate(timeout=HUNG)[1] == ""


@pytest.mark.parametrize("command", ["overview", "stats", "convert"])
def test_commands_wait_for_what_is_being_written(command, logdir):
    with stopped_finisher(logdir, ["--exit-wait", "0"]) as (process, go_on):
        process.communicate(timeout=HUNG)
        reader = subprocess.Popen([RUN.parent / "tprof", command, logdir], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True)
        assert "its last trace is being written; waiting for it" in reader.stderr.readline()
        go_on()
        out, err = reader.communicate(timeout=HUNG)
        assert reader.returncode == 0 and (out or command == "convert"), err
        assert len(trace_files(logdir)) == 1


def test_what_a_killed_finisher_left_is_finished(logdir):
    with stopped_finisher(logdir) as (process, _):
        pid, = finishers(logdir)
        os.kill(pid, signal.SIGKILL)
        _, err = process.communicate(timeout=HUNG)
        assert process.returncode == 3 and err.startswith("tprof: wrote ") and len(trace_files(logdir)) == 1


@pytest.mark.parametrize("user", ["root", "ordinary"])
def test_only_what_is_written_while_the_program_runs_has_idle_priority(user, logdir, tmp_path):
    """An ordinary user cannot take idle priority back: the last trace would wait for all other work on the machine."""
    if user == "root" and os.getuid() != 0:
        pytest.skip("needs root")
    hold, ready = tmp_path / "hold", tmp_path / "ready"
    ordinary = ["setpriv", "--bounding-set=-sys_nice", "--inh-caps=-sys_nice"] if os.getuid() == 0 else []
    began = time.monotonic()
    process = start(["train.py", 4], "run", logdir=logdir, env={"TRAIN_HOLD": str(hold)},
                    wrapper=ordinary if user == "ordinary" else (),
                    options={"TPROF_SCHEDULE": "active=100", "TPROF_ON_TRACE_READY": "chrt -p $$ >>%s" % ready})
    assert process.stdout.readline() == "ready\n"
    wait_for(lambda: ready.exists() and ready.read_text(), what="a trace that is written meanwhile")
    waited_s = time.monotonic() - began
    finisher, = finishers(logdir)
    at_the_end = os.sched_getscheduler(finisher)  # of its first thread, which writes what the end leaves
    hold.touch()
    process.communicate()
    policies = re.findall("SCHED_[A-Z]+", ready.read_text())
    assert policies[0] == "SCHED_IDLE" or waited_s > 10, "what has waited for ten seconds is written at the usual priority"
    assert at_the_end == os.SCHED_OTHER


@pytest.mark.parametrize("way", ["rm -f {log}/*.tprof", "mv {log}/*.tprof {away}", "rm -rf {log}"])
def test_a_recording_that_went_is_said_to_be_gone(way, logdir, tmp_path):
    away = tmp_path / "away"
    away.mkdir()
    script = "import os, torch; torch.ones(2) + 1; os.system(%r)" % way.format(log=logdir, away=away)
    result = run(["-c", script], "run", logdir=logdir)
    assert result.returncode == 0
    line = result.stderr.splitlines()[-1]
    assert line.startswith("tprof: nothing was recorded: the recording of the program is gone"), line


@pytest.mark.parametrize("schedule", ["wait=9,active=1", "warmup=9,active=1", "wait=2,warmup=5,active=1", ""])
def test_no_recording_is_said_to_be_gone_where_none_was(schedule, logdir):
    script = "import torch" if not schedule else "import torch; x = torch.ones(2, requires_grad=True)\n" \
             "o = torch.optim.SGD([x], .1)\nfor i in range(4): x.sum().backward(); o.step()"
    result = run(["-c", script], "run", logdir=logdir, options={"TPROF_SCHEDULE": schedule} if schedule else {})
    assert "is gone;" not in result.stderr and "nothing was recorded" in result.stderr, result.stderr
    assert not schedule or "the program made 4 training steps" in result.stderr


# --- tprof run --report

def no_page(logdir, why):
    return "tprof: the page was not written, since %s; tprof report %s -o %s/report.html writes it" % (
        why, logdir, logdir)


def test_the_page_is_waited_for_longer_than_traces(logdir):
    with stopped_finisher(logdir, ["--report", "--exit-wait", "0"]) as (process, go_on):
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(timeout=2)
        go_on()
        _, err = process.communicate(timeout=HUNG)
        assert process.returncode == 3 and "tprof: wrote %s/report.html (" % logdir in err, err


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_who_does_not_wait_for_the_page_is_told_how_to_write_it(name, logdir):
    with stopped_finisher(logdir, ["--report"]) as (process, go_on):
        assert process.stdout.readline().startswith("done")
        wait_for(lambda: b"tprof run" in b" ".join(waiting(process.pid)), what="the wait")
        process.send_signal(getattr(signal, name))
        _, err = process.communicate(timeout=HUNG)
        assert process.returncode == 3 and no_page(logdir, "tprof-run was interrupted") in err.splitlines(), err
        go_on()


@contextlib.contextmanager
def held_page(logdir, tmp_path):
    """(process of tprof run, recording, its lock): the page waits for a recording that is locked as by a finisher."""
    run(["train.py", 2], "run", logdir=tmp_path / "other", run_options=["--keep-recording"])
    recording, = (tmp_path / "other").glob("*.tprof")
    logdir.mkdir(exist_ok=True)
    held = logdir / recording.name
    held.write_bytes(recording.read_bytes())
    with open(held) as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        process = start(["train.py", 4, "exit"], "run", logdir=logdir, run_options=["--report"])
        try:
            for line in process.stderr:
                if "%s: its last trace is being written" % held in line:
                    break
            yield process, held, lock
        finally:
            process.kill()
            process.communicate()


def test_a_page_that_takes_long_is_seen_to_go_on_and_is_written(logdir, tmp_path):
    with held_page(logdir, tmp_path) as (process, _, lock):
        line = process.stderr.readline()
        assert re.fullmatch(r"tprof: writing the page, \d\d+ s since the program has ended\n", line), line
        fcntl.flock(lock, fcntl.LOCK_UN)
        rest = process.stderr.read()
        assert process.wait() == 3 and "tprof: wrote %s/report.html (" % logdir in rest, rest


@pytest.mark.parametrize("whom, name, why", [
    ("tprof-run", "SIGTERM", "tprof-run was interrupted"), ("tprof-run", "SIGINT", "tprof-run was interrupted"),
    ("its child", "SIGINT", "tprof-run was interrupted"),  # as from a terminal, which signals both
    ("its child", "SIGKILL", "the process that makes it was killed by SIGKILL"),
], ids=str)
def test_a_page_that_is_not_written_is_said_to_be_missing(whom, name, why, logdir, tmp_path):
    with held_page(logdir, tmp_path) as (process, _, _):
        child, = open("/proc/%d/task/%d/children" % (process.pid, process.pid)).read().split()
        os.kill(process.pid if whom == "tprof-run" else int(child), getattr(signal, name))
        lines = process.stderr.read().splitlines()
        assert process.wait() == 3
        assert lines[-1].startswith("tprof: the page was not written, since " + why), lines
        assert lines[-1].endswith("; tprof report %s -o %s/report.html writes it" % (logdir, logdir)), lines
        assert not (logdir / "report.html").exists()
