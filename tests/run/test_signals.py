"""Signals belong to the program."""
import os
import signal
import subprocess
import time

import pytest

from finishers import finishers
from harness import TESTS, both, finish, load_traces, recordings, run, start, trace_files, wait_for

PHASED = {"TPROF_SCHEDULE": "wait=2,warmup=2,active=3,repeat=1"}


@pytest.mark.spread(3)
@pytest.mark.parametrize("mode", ["handlers", "getsignal"])
@pytest.mark.parametrize("options", [PHASED, {}], ids=["schedule", "everything"])
def test_handlers_of_the_program(mode, options, tmp_path):
    for way, result in both(["own_signals.py", mode], tmp_path, options=options).items():
        if way != "bare":
            assert len(result.traces()) == 1


def test_an_ignored_hangup_stays_ignored(tmp_path):
    results = both(["own_signals.py", "ignored"], tmp_path, options=PHASED, wrapper=["/usr/bin/nohup"])
    assert results["bare"].stdout.count("True") == 5


def test_ctrl_c_comes_once(how, logdir):
    """A terminal sends SIGINT to the whole foreground process group: tprof-run must not send it again."""
    master, slave = os.openpty()

    def own_terminal():
        import fcntl
        import termios
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    process = start(["interrupts.py"], how, logdir=logdir, stdin=slave, preexec_fn=own_terminal)
    os.close(slave)
    assert process.stdout.readline() == "ready\n"
    os.write(master, b"\x03")
    result = finish(process, logdir)
    os.close(master)
    assert (result.returncode, result.stdout) == (0, "interrupts 1\n"), result.stderr
    assert len(load_traces(logdir)) == 1


def test_a_signal_to_the_group_comes_once(logdir):
    """As a Jupyter server interrupts a kernel, and as timeout and srun end a job."""
    process = start(["interrupts.py"], "run", logdir=logdir, start_new_session=True)
    assert process.stdout.readline() == "ready\n"
    os.killpg(process.pid, signal.SIGINT)
    result = finish(process, logdir)
    assert (result.returncode, result.stdout) == (0, "interrupts 1\n"), result.stderr


def test_a_signal_to_all_that_is_called_tprof_ends_the_program(logdir, tmp_path):
    process = start(["train.py", 5], "run", run_options=["-o", logdir], env={"TRAIN_HOLD": str(tmp_path / "never")})
    assert process.stdout.readline() == "ready\n"
    subprocess.run(["pkill", "-TERM", "-f", "run -o %s" % logdir], check=True)
    assert finish(process, logdir).returncode == -signal.SIGTERM


def test_a_signal_after_one_to_the_group_is_passed_on(logdir, tmp_path):
    process = start(["train.py", 5], "run", logdir=logdir, env={"TRAIN_HOLD": str(tmp_path / "never")},
                    start_new_session=True)
    assert process.stdout.readline() == "ready\n"
    os.killpg(process.pid, signal.SIGWINCH)
    time.sleep(0.2)
    process.send_signal(signal.SIGTERM)
    assert finish(process, logdir).returncode == -signal.SIGTERM


def test_a_closed_terminal_ends_the_program(how, logdir, tmp_path):
    """Of which tprof-run, or the program, leads the session: ssh -t, tmux, kubectl exec -it."""
    master, slave = os.openpty()

    def own_terminal():
        import fcntl
        import termios
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    process = start(["train.py", 5], how, logdir=logdir, env={"TRAIN_HOLD": str(tmp_path / "never")}, stdin=slave,
                    preexec_fn=own_terminal)
    os.close(slave)
    assert process.stdout.readline() == "ready\n"
    os.close(master)
    assert finish(process, logdir).returncode == -signal.SIGHUP
    assert load_traces(logdir)[0].marks()[:5] == list(range(5))


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT"])
def test_a_signal_to_tprof_run_ends_the_program_with_it(name, logdir, tmp_path):
    process = start(["train.py", 5], "run", logdir=logdir, env={"TRAIN_HOLD": str(tmp_path / "never")},
                    start_new_session=True)
    assert process.stdout.readline() == "ready\n"
    process.send_signal(getattr(signal, name))
    result = finish(process, logdir)
    assert result.returncode == -getattr(signal, name), result.stderr
    assert load_traces(logdir)[0].marks()[:5] == list(range(5))


def test_a_signal_does_not_end_a_finisher_that_has_just_begun(logdir, tmp_path):
    """The signals of a scheduler come at any time, also before it has handlers for them."""
    hold = tmp_path / "go"
    process = start(["train.py", 5], "preload", logdir=logdir, env={"TRAIN_HOLD": str(hold)})
    while process.poll() is None and not recordings(logdir):
        pass
    begun = None
    while process.poll() is None and not begun:
        begun = next(finishers(logdir), None)
    for number in 5 * [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGXFSZ]:
        os.kill(begun, number)
    wait_for(lambda: recordings(logdir)[0].finisher == begun, what="the finisher at work")

    def blocks_nothing():  # but for the moments in which libc starts a thread or a command
        blocked, = (line for line in open("/proc/%d/status" % begun) if line.startswith("SigBlk:"))
        return int(blocked.split()[1], 16) == 0
    wait_for(blocks_nothing, what="a finisher that blocks no signals for the commands that it runs")
    hold.touch()
    assert finish(process, logdir).returncode == 0 and len(load_traces(logdir)) == 1


def test_a_signal_handler_that_forks_holds_nothing_up(compiled, logdir):
    """It interrupts the program at any moment, also amid what another thread of the library waits for."""
    program = compiled("forks_in_handler.c", "-I%s" % (TESTS.parent / "include"))
    result = run([program, 300], "preload", logdir=logdir,
                 options={"TPROF_SCHEDULE": "wait=1,warmup=1,active=2"})
    assert (result.returncode, result.stdout) == (0, "done\n"), result.stderr


def test_sigkill_of_tprof_run_alone_leaves_a_working_program(logdir, tmp_path):
    hold = tmp_path / "go"
    process = start(["train.py", 5], "run", logdir=logdir, env={"TRAIN_HOLD": str(hold)})
    assert process.stdout.readline() == "ready\n"
    process.kill()
    process.wait()
    hold.touch()
    wait_for(lambda: trace_files(logdir), what="the trace of the program that went on, or was ended with its wrapper")


def as_pid_1(words_of_unshare, argv, how, logdir):
    if os.geteuid() != 0 or subprocess.run([*words_of_unshare, "true"], stderr=subprocess.DEVNULL).returncode:
        pytest.skip("no PID namespace can be made here")
    return run(argv, how, logdir=logdir, wrapper=words_of_unshare)


@pytest.mark.parametrize("ending,status", [("fall", 0), ("exit", 3), ("exception", 1), ("_exit", 5)])
def test_as_pid_1(ending, status, how, logdir):
    """In a container: tprof-run is PID 1, or the preloaded program is; all die with it."""
    result = as_pid_1(["unshare", "-p", "-f", "--mount-proc"], ["train.py", 12, ending], how, logdir)
    assert (result.returncode, result.stdout) == (status, "done 12\n"), result.stderr
    assert [t.steps() for t in load_traces(logdir)] == [list(range(12))]


@pytest.mark.parametrize("name", ["SIGTERM", "SIGKILL", "SIGSEGV"])
def test_tprof_run_as_pid_1_turns_a_signal_into_128_plus_n(name, logdir):
    """PID 1 cannot die by a signal of its own."""
    result = as_pid_1(["unshare", "-p", "-f", "--mount-proc"], ["train.py", 12, name], "run", logdir)
    assert (result.returncode, result.stdout) == (128 + getattr(signal, name), "done 12\n"), result.stderr
    assert [t.marks() for t in load_traces(logdir)] == [list(range(12))]


def test_waiting_for_any_child_sees_only_ones_own(tmp_path):
    for options in (PHASED, {}):
        results = both(["only_children.py"], tmp_path / str(len(options)), options=options)
        assert results["bare"].stdout == "".join(p + " True\n" for p in ("start", "wait", "warmup", "active", "over"))


@pytest.mark.parametrize("mode,says", [("raises", "Stop()\n"), ("interrupts", "KeyboardInterrupt()\n"),
                                       ("fails", "to the end\n")])
def test_of_what_is_raised_inside_our_own_code_the_program_gets_its_handlers_alone(mode, says, python_machine, logdir):
    assert run(["handled.py", mode], where=python_machine).stdout == "to the end\n"
    result = run(["handled.py", mode], "preload", where=python_machine, logdir=logdir, options=PHASED)
    assert (result.returncode, result.stdout) == (0, says), result.stderr
