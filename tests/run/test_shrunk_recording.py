"""Somebody shortens, overwrites or removes a recording while it is written: the program never notices, what tprof says
of it is true, and SIGBUS stays the program's own."""
import os
import re
import signal

import pytest

from finishers import finishers
from harness import APPS, BUILD, both, finish, load_traces, recordings, run, start, tprof, trace_files, wait_for

SIM, VECTOR_ADD = BUILD / "tests" / "fake" / "simcuda-run", BUILD / "tests" / "apps" / "cuda" / "vector_add_13"
WAYS = ["empty", "half", "rewrite", "delete", "move"]


def without_threads(text):
    """faulthandler names threads by their address."""
    return re.sub("0x[0-9a-f]{16}", "0x", text)


def reasons(result):
    return [line for line in result.said() if "recording stops here" in line]


@pytest.mark.spread(2)
@pytest.mark.parametrize("way", WAYS)
def test_the_program_goes_on(way, how, logdir):
    bare = run(["shrinks.py", way])
    result = run(["shrinks.py", way], how, logdir=logdir)
    assert (result.returncode, result.stdout) == (bare.returncode, bare.stdout), result.stderr
    assert bare.returncode == 0
    assert len(reasons(result)) == 1, result.stderr
    assert "neither torch nor CUDA" not in result.stderr
    if way == "half":
        assert recordings(logdir), "what could not be read whole is kept"
    if how == "run":
        ending = "the recording of the program is gone" if way in ("delete", "move") else "no trace was written: "
        assert ending in result.said()[-1] or way in ("half", "rewrite") and "wrote" in result.said()[-1], result.stderr


def test_what_was_recorded_before_half_of_it_went_is_written(logdir):
    result = run(["shrinks.py", "half"], "preload", logdir=logdir)
    traces = load_traces(logdir)
    assert traces and traces[-1].ledger["recording_stopped"], result.stderr
    assert traces[0].marks()


def test_traces_written_before_stay(how, logdir, tmp_path):
    hold = tmp_path / "go"
    process = start(["train.py", 8], how, logdir=logdir, env={"TRAIN_HOLD": str(hold)},
                    options={"TPROF_SCHEDULE": "wait=1,warmup=1,active=3"})
    assert process.stdout.readline() == "ready\n"
    wait_for(lambda: trace_files(logdir), what="the first trace")
    os.truncate(recordings(logdir)[0].path, 0)
    hold.touch()
    result = finish(process, logdir)
    assert result.returncode == 0 and result.stdout.startswith("done "), result.stderr
    assert len(reasons(result)) == 1, result.stderr
    assert load_traces(logdir)[0].steps() == [2, 3, 4]
    if how == "run":
        assert "wrote" in result.said()[-1], result.stderr


@pytest.mark.parametrize("way", ["empty", "half"])
def test_with_a_forked_child(way, how, logdir):
    """It has its parent's header mapped too, to follow its windows."""
    more = {"env": {"SHRINKS_FORK": "1"}}
    bare = run(["shrinks.py", way], **more)
    assert bare.stdout.startswith("child 1792\n")
    result = run(["shrinks.py", way], how, logdir=logdir, **more)
    assert (result.returncode, result.stdout) == (bare.returncode, bare.stdout), result.stderr


def test_threads_that_block_all_signals(how, logdir):
    """The kernel would kill them in spite of a handler."""
    more = {"env": {"SHRINKS_BLOCKED": "1"}}
    bare = run(["shrinks.py", "empty"], **more)
    assert bare.returncode == 0 and "waited for SIGBUS" in bare.stdout and "SIGBUS" in bare.stdout.split("blocks")[1]
    result = run(["shrinks.py", "empty"], how, logdir=logdir, **more)
    assert (result.returncode, result.stdout) == (bare.returncode, bare.stdout), result.stderr
    assert len(reasons(result)) == 1, result.stderr


def test_a_program_that_is_killed_then(how, logdir):
    result = run(["shrinks.py", "empty", "SIGKILL"], how, logdir=logdir)
    assert result.returncode == -signal.SIGKILL and result.stdout.startswith("done"), result.stderr
    if how == "run":
        assert "no trace was written: " in result.said()[-1] and "too short" in result.said()[-1], result.stderr


@pytest.mark.parametrize("options", [{}, {"TPROF_SCHEDULE": "wait=1,warmup=1,active=4"}], ids=["all", "schedule"])
def test_a_program_of_cuda_alone(options, how, logdir):
    """Its recording is written to by CUPTI's threads too."""
    bare = run([SIM, VECTOR_ADD, 4000])
    process = start([SIM, VECTOR_ADD, 4000], how, logdir=logdir, options=options)
    for _ in range(3):
        for recording in wait_for(lambda: recordings(logdir) or process.poll() is not None and [None]):
            if recording and process.poll() is None:
                os.truncate(recording.path, 0)
    result = finish(process, logdir)
    assert (result.returncode, result.stdout) == (bare.returncode, bare.stdout), result.stderr
    assert bare.returncode == 0


def test_the_finisher_lives_on(logdir, tmp_path):
    """And writes nothing of what it cannot read."""
    hold = tmp_path / "go"
    process = start(["train.py", 5], "preload", logdir=logdir, env={"TRAIN_HOLD": str(hold)})
    assert process.stdout.readline() == "ready\n"
    path = recordings(logdir)[0].path
    wait_for(lambda: recordings(logdir)[0].finisher, what="the finisher")
    os.truncate(path, 0)
    for word in ("info", "check", "convert"):
        said = tprof(word, path)
        assert said.returncode == (1 if word == "check" else 3), (word, said)
        assert len((said.stdout + said.stderr).splitlines()) <= 3, (word, said)
    with pytest.raises(AssertionError):
        wait_for(lambda: not list(finishers(logdir)), seconds=0.5)
    hold.touch()
    result = finish(process, logdir)
    assert result.returncode == 0 and not trace_files(logdir), result.stderr


@pytest.mark.spread(4)
@pytest.mark.parametrize("what", ["nothing", "python", "faulthandler", "ended", "ignored"])
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("by", ["fault", "sent"])
def test_a_sigbus_of_the_programs_own(what, when, by, tmp_path):
    bare = run(["own_bus.py", when, what, by])
    handled = by == "sent" and what in ("python", "ignored")
    assert bare.returncode == (0 if handled else -signal.SIGBUS)
    assert ("Fatal Python error: Bus error" in bare.stdout) == (what == "faulthandler")
    # tprof-run has no part in it but the exit status.
    for how in ["preload"] + ["run"] * (when == "after" and by == "fault"):
        result = run(["own_bus.py", when, what, by], how, logdir=tmp_path / how)
        assert (result.returncode, without_threads(result.stdout)) == (bare.returncode, without_threads(bare.stdout)), \
            result.stderr


def test_what_a_program_sees_of_sigbus(compiled, tmp_path):
    library = compiled("bus.c", "-shared", "-w")
    code = "import ctypes, torch; torch.ones(3); ctypes.CDLL('%s').bus_cases()" % library
    results = both(["-c", code], tmp_path)
    assert results["bare"].returncode == 0 and "jumped with 7" in results["bare"].stdout, results["bare"]


def test_its_own_handler_is_not_called_for_our_mapping(how, logdir):
    """One that would exit."""
    code = ("import signal, sys, os\n"
            "signal.signal(signal.SIGBUS, lambda *a: os._exit(9))\n"
            "import faulthandler; faulthandler.enable()\n"
            "sys.argv = ['shrinks.py', 'empty']\n"
            "exec(open(%r).read())\n" % str(APPS / "shrinks.py"))
    result = run(["-c", code], how, logdir=logdir)
    assert result.returncode == 0 and result.stdout.startswith("done"), result.stderr
    assert "Fatal" not in result.stderr and len(reasons(result)) == 1, result.stderr


def test_children_that_are_executed_find_sigbus_as_bare(tmp_path):
    code = ("import torch, subprocess, signal; torch.ones(3).add(1); print(subprocess.run(['/usr/bin/grep', '-E', "
            "'^Sig(Ign|Blk|Cgt)', '/proc/self/status'], env={}, capture_output=True).stdout)")
    both(["-c", code], tmp_path)
    ignoring = code.replace("signal;", "signal; signal.signal(signal.SIGBUS, signal.SIG_IGN);")
    both(["-c", ignoring], tmp_path / "ignoring")
