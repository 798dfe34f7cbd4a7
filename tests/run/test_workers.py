"""Recordings of data-loader workers: few, small, and all there, after any number of epochs and whoever was killed."""
import contextlib
import os
import signal
import stat
import subprocess

import pytest

from finishers import finishers
from harness import HUNG, load_traces, recordings, run, settle, start, tprof, trace_files, wait_for

EPOCHS, ITEMS = 8, 8


def items_of(log):
    """The numbers of the items in the traces that `tprof convert --workers` makes, each as often as it is there."""
    done = tprof("convert", "--workers", log)
    assert done.returncode == 0, done.stderr
    return sorted(n for trace in load_traces(str(log) + "_workers") for n in trace.marks("worker:"))


def left_of(log):
    return [r for r in recordings(log) if r.helper]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run that is recorded from start to exit."""
    result = run(["epochs.py", EPOCHS], "run", logdir=tmp_path_factory.mktemp("whole") / "log")
    assert (result.returncode, result.stdout) == (0, "done\n")
    return result


def test_one_file_per_slot(whole):
    left = left_of(whole.logdir)
    assert len(left) == 2 and len(recordings(whole.logdir)) == 2, list(whole.logdir.iterdir())
    assert {r.path.name.split(".")[-2] for r in left} == {"worker0", "worker1"}
    assert sum(r.path.stat().st_size for r in left) < 1 << 20


def test_the_closing_line_says_that_they_are_there(whole):
    line = next(line for line in whole.said() if "wrote" in line)
    assert line.endswith("; 2 recordings of data-loader workers and other helpers are kept: tprof convert --workers %s"
                         % whole.logdir)


def test_all_is_there(whole):
    assert items_of(whole.logdir) == list(range(EPOCHS * ITEMS))
    traces = load_traces(str(whole.logdir) + "_workers")
    assert len({t.pid for t in traces}) == len(traces) == 2 * EPOCHS
    assert {len(t.ops("aten::add")) for t in traces} == {ITEMS // 2}
    assert len(trace_files(whole.logdir)) == 1, "extra files would change what viewers take for ranks"
    again = tprof("convert", "--workers", whole.logdir)
    assert again.returncode == 0 and "wrote 0 traces" in again.stderr


def test_commands_read_the_folded_form(whole):
    path = left_of(whole.logdir)[0].path
    shown = tprof("info", path)
    assert shown.returncode == 0 and "helpers of another process" in shown.stdout
    assert "processes              %d\n" % EPOCHS in shown.stdout
    assert tprof("info", whole.logdir).returncode == tprof("check", whole.logdir).returncode == 0
    assert len(tprof("stats", "--csv", whole.logdir).stderr) == 0
    named = tprof("stats", "--csv", path)
    assert named.returncode == 0 and "aten::add" in named.stdout


def test_what_no_window_covers_goes_away(how, logdir):
    result = run(["unwanted_batch.py"], how, logdir=logdir, options={"TPROF_SCHEDULE": "wait=2,active=2,repeat=1"})
    assert result.returncode == 0
    assert left_of(logdir) == []
    assert "--workers" not in result.stderr


def test_of_windows_only_what_they_cover(how, logdir):
    result = run(["epochs.py", EPOCHS], how, logdir=logdir, options={"TPROF_SCHEDULE": "wait=5,active=2,repeat=3"})
    assert [t.steps() for t in result.traces()] == [[5, 6], [12, 13], [19, 20]]
    left = left_of(logdir)
    assert 1 <= len(left) <= 2 and len(recordings(logdir)) == len(left)
    items = items_of(logdir)
    assert items and len(set(items)) == len(items) < EPOCHS * ITEMS


def test_a_window_that_began_long_after_the_first_keeps_its_workers(logdir, tmp_path):
    """Names that fill more than what the finisher found at its start stand before the second window's record."""
    process = start(["epochs.py", 6], "preload", logdir=logdir,
                    env={"EPOCHS_NAMES": "12000", "EPOCHS_HOLD": str(tmp_path / "go")},
                    options={"TPROF_SCHEDULE": "wait=1,active=1,skip_first_wait=1,repeat=0"})
    wait_for(lambda: len(left_of(logdir)) == 2 and all(".worker" in r.path.name for r in left_of(logdir)), what="the fold")
    (tmp_path / "go").touch()
    assert process.wait(HUNG) == 0
    process.communicate()
    settle(logdir)
    items = items_of(logdir)
    assert max(items) >= 5 * ITEMS, items


def test_a_kept_recording_stays_beside_them(logdir):
    run(["epochs.py", 2], "run", logdir=logdir, run_options=["--keep-recording"])
    assert [r.helper for r in recordings(logdir)].count(False) == 1
    assert len(left_of(logdir)) == 2
    assert items_of(logdir) == list(range(2 * ITEMS))


def end_orphans(process):
    """Workers end by themselves once torch finds their program gone, but not one that is born while the program dies: it
    takes its new parent for the program, and waits for ever."""
    def workers():
        found = subprocess.run(["pgrep", "-g", str(process.pid), "-f", "epochs.py"], capture_output=True, text=True).stdout
        return {int(pid) for pid in found.split()} - {process.pid}
    with contextlib.suppress(AssertionError):
        wait_for(lambda: not workers(), 8, "the workers' end")
    for pid in workers():
        os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("killed", ["program", "everything"])
def test_sigkill_loses_nothing(killed, tmp_path, logdir):
    """Of items that are done every one is there, and once; the program's death leaves as few files as its end."""
    progress = tmp_path / "done"
    process = start(["epochs.py", 200, ITEMS, progress], "run", logdir=logdir, start_new_session=True)
    wait_for(lambda: [r for r in left_of(logdir) if ".worker" in r.path.name], 60, "the first fold")
    if killed == "everything":
        for pid in finishers(logdir):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        os.killpg(process.pid, signal.SIGKILL)
    else:
        os.kill(program_of(process.pid), signal.SIGKILL)
        end_orphans(process)
    process.communicate(timeout=HUNG)
    settle(logdir)
    done = sorted(int(line) for line in progress.read_text().split())
    items = items_of(logdir)
    assert len(set(items)) == len(items)
    assert set(done) <= set(items) and len(items) - len(done) <= 2
    if killed == "program":
        assert len(recordings(logdir)) == 2


def test_a_helper_that_was_just_born_when_the_program_was_killed_is_folded(how, logdir):
    late = float(run(["orphan.py"], how, logdir=logdir).stdout)
    settle(logdir)
    assert items_of(logdir) == [0]
    if late > 0.9:  # it is waited for for a second
        pytest.skip("the machine was busy: the helper was born %.1f s after the death" % late)
    assert [".worker0." in r.path.name for r in recordings(logdir)] == [True]


def program_of(wrapper):
    """The process that tprof-run started."""
    children = [int(pid) for pid in open("/proc/%d/task/%d/children" % (wrapper, wrapper)).read().split()]
    return children[0]


def test_a_recording_that_is_folded_and_still_there_counts_once(logdir, tmp_path):
    """As a finisher leaves it that is killed between the two."""
    process = start(["epochs.py", 4], "preload", logdir=logdir, env={"EPOCHS_BEGIN": str(tmp_path / "go")})
    os.kill(wait_for(lambda: list(finishers(logdir)))[0], signal.SIGKILL)
    (tmp_path / "go").touch()
    process.communicate(timeout=HUNG)
    own = {r.path: r.path.read_bytes() for r in recordings(logdir)}
    leader, = (r.path for r in recordings(logdir) if not r.helper)
    assert len(own) == 9
    for _ in range(2):
        assert tprof("finish", leader).returncode == 0
        left = left_of(logdir)
        assert len(recordings(logdir)) == len(left) == 2
        assert sum(r.path.stat().st_size for r in left) < 1 << 20
        for path, content in own.items():
            path.write_bytes(content)
        assert items_of(logdir) == list(range(4 * ITEMS))


def test_half_a_fold_is_not_seen(whole, tmp_path):
    """What a finisher leaves that is killed in the midst of one: a recording without a header."""
    log = tmp_path / "log"
    log.mkdir()
    for r in left_of(whole.logdir):
        text = r.path.read_bytes()
        (log / r.path.name).write_bytes(text + bytes(4096) + text[4096:9000])
    assert items_of(log) == list(range(EPOCHS * ITEMS))


def test_no_more_than_max_size(logdir):
    """What there is no room for is dropped, newest first, and counted."""
    run(["epochs.py", 6, 800], "run", logdir=logdir, options={"TPROF_MAX_SIZE": "1M"})
    left = left_of(logdir)
    assert len(left) == 2 and all(r.path.stat().st_size <= 1 << 20 for r in left)
    done = tprof("convert", "--workers", logdir)
    dropped = int(done.stderr.splitlines()[-1].split(" events, ")[1].split(" ")[0])
    assert dropped > 0, done.stderr


def test_names_that_others_have_taken_are_left_alone(tmp_path, logdir):
    victim = tmp_path / "victim"
    victim.write_text("mine\n")
    process = start(["epochs.py", 12], "run", logdir=logdir, env={"EPOCHS_BEGIN": str(tmp_path / "go")})
    leader = wait_for(lambda: [r for r in recordings(logdir) if not r.helper])[0].path
    taken = [leader.with_suffix(".worker%d.tprof" % n) for n in range(3)]
    taken[0].symlink_to(victim)
    taken[1].write_text("theirs\n")
    os.mkfifo(taken[2])
    (tmp_path / "go").touch()
    process.communicate(timeout=HUNG)
    settle(logdir)
    assert victim.read_text() == "mine\n" and taken[0].is_symlink()
    assert taken[1].read_text() == "theirs\n" and stat.S_ISFIFO(taken[2].stat().st_mode)
    for path in taken:
        path.unlink()
    assert len(left_of(logdir)) == 2
    assert items_of(logdir) == list(range(12 * ITEMS))
