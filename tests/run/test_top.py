"""tprof top: what is on the screen is what the program does, it fits any terminal, and the terminal is given back."""
import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import threading
import time

import pytest

from harness import TPROF, descendants, pythons_below, recordings, settle, start, tprof, wait_for
from terminal import LEAVES, Terminal

FOREVER = "1000000"


@contextlib.contextmanager
def running(argv, logdir, options=None, how="preload", recorded=True, **more):
    """A program that is being recorded; it and what it started are killed at the end."""
    process = start(argv, how, logdir=logdir, options=options or {}, start_new_session=True, **more)
    try:
        if recorded:
            wait_for(lambda: recordings(logdir) or process.poll() is not None, what="a recording")
            assert process.poll() is None, process.stderr.read()
        yield process
    finally:
        for pid in [process.pid, *descendants(process.pid)]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.communicate()
        settle(logdir)


@pytest.fixture
def training(tmp_path):
    with running(["train.py", FOREVER], tmp_path / "log", {"TPROF_SCHEDULE": ""}, env={"TRAIN_PAUSE": "0.005"}) as process:
        process.logdir = tmp_path / "log"
        yield process


def seen(subject, *words):
    answer = tprof("top", subject, "--json", *words)
    assert answer.returncode == 0, answer.stderr
    document = json.loads(answer.stdout)
    assert document["schema"] == 1
    return document


def program_seen(subject, *words):
    programs = seen(subject, *words)["programs"]
    assert len(programs) == 1
    return programs[0]


def until_seen(subject, condition, *words, seconds=120):
    def look():
        programs = seen(subject, *words)["programs"]
        return programs if programs and condition(programs) else None
    return wait_for(look, seconds, "what tprof top is to show")


# --- once

def test_one_page_of_a_running_program(training):
    until_seen(training.pid, lambda p: p[0]["recent_step"] and p[0]["steps_per_second"])
    answer = tprof("top", training.pid, "--once")
    assert answer.returncode == 0 and not answer.stderr
    for part in ("pid %d" % training.pid, "train.py", "Step ", "/s", "mean ", "RSS ", "CPU Exec", "Other", "aten::", "Self"):
        assert part in answer.stdout, answer.stdout
    assert max(map(len, answer.stdout.splitlines())) <= 160
    narrow = tprof("top", training.logdir, "--once", env={**os.environ, "COLUMNS": "60"})
    assert max(map(len, narrow.stdout.splitlines())) <= 60


def test_figures_are_those_of_the_program(training):
    first = until_seen(training.pid, lambda p: p[0]["recent_step"])[0]
    second = program_seen(training.logdir, "--for", "2", "--interval", "0.2")
    assert second["step"] > first["step"]
    step = second["recent_step"]
    assert step["last"] - step["first"] + 1 == step["steps"]
    assert step["mean_us"] > 5000, "each step sleeps for 5 ms"
    assert sum(step["by"].values()) == pytest.approx(step["mean_us"], rel=0.01)
    assert step["by"]["other"] > 4500
    assert second["steps_per_second"] < 200
    operators = {op["name"]: op for op in second["operators"]}
    for op in operators.values():
        assert 0 <= op["self_us"] <= op["total_us"] * 1.001
    assert operators["aten::linear"]["calls"] == pytest.approx(2 * operators["aten::relu"]["calls"], abs=4)
    assert operators["aten::linear"]["self_us"] < operators["aten::linear"]["total_us"]
    assert second["rss_bytes"] > 30 << 20 and second["phase"] == "active" and not second["ended"]


def test_a_later_look_adds_only_what_is_new(training):
    """Calls of the last five seconds stay about the same, however often it looks."""
    until_seen(training.pid, lambda p: p[0]["recent_step"])
    often = program_seen(training.pid, "--for", "7", "--interval", "0.1")
    calls = {op["name"]: op["calls"] for op in often["operators"]}
    steps = often["recent_step"]["steps"]
    assert steps > 20
    assert calls["Optimizer.step#Descent.step"] == pytest.approx(steps, rel=0.35), "as many as steps in about five seconds"


def is_training(lines):
    """Not importing torch any more."""
    return lines and lines[0]["file"].endswith("train.py")


def test_lines_of_python_come_from_the_samples(tmp_path):
    with running(["train.py", FOREVER], tmp_path / "log", {"TPROF_SAMPLE": "python:200"}, env={"TRAIN_PAUSE": "0.02"}):
        program = until_seen(tmp_path / "log", lambda p: is_training(p[0]["lines"]))[0]
        line = program["lines"][0]
        assert line["function"] == "step", "most of the time it sleeps there"
        assert line["self"] <= line["total"] <= program["samples"]
        assert "train.py:" in tprof("top", tmp_path / "log", "--once").stdout


def test_memory_of_tensors(tmp_path):
    with running(["train.py", FOREVER], tmp_path / "log", {"TPROF_PROFILE_MEMORY": "1"}, env={"TRAIN_PAUSE": "0.005"}):
        program = until_seen(tmp_path / "log", lambda p: p[0]["memory"])[0]
        assert program["memory"][0]["device"] == "CPU"
        assert 0 < program["memory"][0]["bytes"] <= program["memory"][0]["peak_bytes"]
        assert "Tensors  CPU" in tprof("top", tmp_path / "log", "--once").stdout


# --- phases

def test_while_the_schedule_waits_it_says_when_the_next_window_comes(tmp_path):
    schedule = {"TPROF_SCHEDULE": "wait=2000,warmup=1,active=3,skip_first_wait=1"}
    with running(["train.py", FOREVER], tmp_path / "log", schedule, env={"TRAIN_PAUSE": "0.01"}):
        program = until_seen(tmp_path / "log", lambda p: p[0]["phase"] == "wait" and p[0]["steps_per_second"])[0]
        found = re.match(r"waits for window 2: step 2004, in (\d+) steps, about \d+", program["says"])
        assert found and int(found.group(1)) == pytest.approx(2004 - program["step"], abs=1)
        later = program_seen(tmp_path / "log", "--for", "2")
        assert later["step"] > program["step"], "steps go on while nothing is recorded"
        assert later["mean_steps_per_second"] > 1


def test_before_the_first_window_a_process_and_its_log_directory_are_waited_for(tmp_path):
    (tmp_path / "log").mkdir()
    (tmp_path / "other").mkdir()
    held = tmp_path / "go"
    with running(["train.py", "5"], tmp_path / "log", {"TPROF_SCHEDULE": "skip_first=100000,active=2"}, recorded=False,
                 env={"TRAIN_HOLD": str(held)}) as process:
        assert process.stdout.readline() == "ready\n"
        for subject in (process.pid, tmp_path / "log"):
            document = seen(subject)
            assert document["programs"] == []
            assert document["waits"] == "nothing is recorded so far: the schedule is skip_first=100000,active=2"
            assert "nothing is recorded so far" in tprof("top", subject, "--once").stdout
        assert "no recording of a running program" in one_line(tprof("top", tmp_path / "other", "--once"), 3)
        with Terminal([TPROF, "top", tmp_path / "log", "--interval", "0.2"], 100, 24) as t:
            t.until("nothing is recorded so far")
            process.kill()
            process.wait()
            t.until("the program that was waited for has ended").press("q")
            assert t.ended() == 0 and t.is_restored()
    assert "no recording of a running program" in one_line(tprof("top", tmp_path / "log", "--once"), 3)


def test_a_log_directory_that_is_waited_for_is_watched_once_its_program_records(tmp_path):
    (tmp_path / "log").mkdir()
    schedule = {"TPROF_SCHEDULE": "skip_first=300,active=1000000"}
    pause = {"TRAIN_PAUSE": "0.02"}
    with running(["train.py", FOREVER], tmp_path / "log", schedule, recorded=False, env=pause) as process:
        wait_for(lambda: tprof("top", tmp_path / "log", "--once").returncode == 0, what="the program")
        with Terminal([TPROF, "top", tmp_path / "log", "--interval", "0.2"], 80, 24) as t:
            t.until("nothing is recorded so far").until("pid %d" % process.pid).until("aten::").press("q")
            assert t.ended() == 0 and t.is_restored()


def test_many_short_windows_are_followed(tmp_path):
    """Each is converted and given back within moments: what is shown are whole steps of it, or it says what it missed."""
    schedule = {"TPROF_SCHEDULE": "wait=20,warmup=1,active=4"}
    with running(["train.py", FOREVER], tmp_path / "log", schedule, env={"TRAIN_PAUSE": "0.02"}):
        program = until_seen(tmp_path / "log", lambda p: p[0]["recent_step"], "--for", "3")[0]
        step = program["recent_step"]
        assert step["steps"] <= 4 and step["first"] % 25 >= 21
        assert step["by"]["cpu"] > 0, "its operators were read"


# --- what cannot be watched

def one_line(answer, status):
    assert answer.returncode == status, answer
    assert answer.stdout == "" and answer.stderr.startswith("tprof: ") and answer.stderr.count("\n") == 1
    return answer.stderr


def test_what_cannot_be_watched_is_one_clear_line(tmp_path):
    assert "there is no process 999999999" in one_line(tprof("top", "999999999"), 3)
    assert "neither a process id nor a log directory" in one_line(tprof("top", tmp_path / "none"), 2)
    assert "holds no recording" in one_line(tprof("top", tmp_path), 3)
    assert "is not recorded by tprof" in one_line(tprof("top", os.getpid(), "--once"), 3)
    for words in (["--interval", "0"], ["--interval", "x"], ["--for", "-1"], ["--for", "nan"], []):
        one_line(tprof("top", *([os.getpid()] if words else []), *words), 2)
    damaged = tmp_path / "host_1.2.tprof"
    damaged.write_bytes(b"TPROFREC" + bytes(200))
    one_line(tprof("top", tmp_path), 3)


def test_a_run_that_has_ended_is_no_longer_watched(tmp_path):
    with running(["train.py", "20"], tmp_path / "log", {"TPROF_KEEP_RECORDING": "1"}, recorded=False) as process:
        process.wait()
        settle(tmp_path / "log")
        assert recordings(tmp_path / "log")
        assert "none of its programs is running" in one_line(tprof("top", tmp_path / "log"), 3)


# --- the screen

@pytest.mark.parametrize("columns, rows", [(80, 24), (20, 5), (200, 60), (3, 2)])
def test_the_screen_neither_wraps_nor_scrolls(training, columns, rows):
    with Terminal([TPROF, "top", training.pid, "--interval", "0.2"], columns, rows) as t:
        t.until(lambda t: t.output.count(b"\x1b[2K") >= rows)
        end = time.monotonic() + 2
        while time.monotonic() < end:
            t.read(0.1)
        if columns >= 80:
            t.until("CPU Exec").until("aten::").until("q quit")
        assert not t.overflows
        t.resize(max(1, columns // 2), max(1, rows // 2))
        size = len(t.output)
        t.until(lambda t: b"\x1b[2J" in t.output[size:])
        t.until(lambda t: t.output[size:].count(b"\x1b[2K") >= max(1, rows // 2))
        t.press("q")
        assert t.ended() == 0 and t.is_restored()


def test_keys_sort_pause_and_quit(training):
    with Terminal([TPROF, "top", training.logdir, "--interval", "0.2"], 80, 24) as t:
        t.until(lambda t: re.search(r"Step \d+", t.text()))  # it has imported torch
        t.until("[Self]").press("t")
        t.until("[Total]").press("c")
        t.until("[Calls]").press("s")
        t.until("[Self]").press("p")
        t.until("PAUSED")
        step = re.search(r"Step (\d+)", t.text()).group(1)
        time.sleep(1)
        t.read(0.1)
        assert re.search(r"Step (\d+)", t.text()).group(1) == step
        t.press("p")
        t.until(lambda t: re.search(r"Step (\d+)", t.text()).group(1) != step)
        t.press("\x1b[A\x1b[Bxyz")  # no keys of ours
        t.press("q")
        assert t.ended() == 0 and t.is_restored() and not t.overflows


def test_it_ends_after_the_time_that_was_asked_for(training):
    with Terminal([TPROF, "top", training.pid, "--for", "1.5"], 80, 24) as t:
        assert t.ended() == 0 and t.is_restored()


@pytest.mark.spread(3)
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGSEGV", "SIGBUS", "SIGABRT", "SIGPIPE",
                                  "SIGUSR1", "SIGALRM", "SIGXCPU"])
def test_the_terminal_is_restored_after_each_signal(training, name):
    with Terminal([TPROF, "top", training.pid], 80, 24) as t:
        t.until("Step ")
        os.kill(t.pid, getattr(signal, name))
        assert t.ended() == -getattr(signal, name)
        assert t.is_restored(), t.output[-100:]
        assert t.output.count(LEAVES) == 1


def test_ctrl_c_ends_it(training):
    with Terminal([TPROF, "top", training.pid], 80, 24) as t:
        t.until("Step ").press("\x03")
        assert t.ended() == -signal.SIGINT and t.is_restored()


def test_ctrl_z_gives_the_terminal_back_and_fg_takes_it_again(training):
    with Terminal([TPROF, "top", training.pid], 80, 24, shell=True) as t:
        for _ in range(2):
            t.until("Step ").press("\x1a")
            t.until_stopped()
            assert t.is_restored(), t.output[-100:]
            os.write(t.go, b"g")
            t.until(lambda t: t.alternate)
        t.until("Step ").press("q")
        assert t.ended() == 0 and t.is_restored() and not t.overflows


def test_a_terminal_that_is_closed_ends_it(training):
    t = Terminal([TPROF, "top", training.pid, "--interval", "0.2"], 80, 24)
    with t:
        t.until("Step ")
        t.hang_up()
        wait_for(lambda: os.waitpid(t.pid, os.WNOHANG)[0], 60, "its end")
        t.status = 0


def test_without_a_terminal_it_prints_a_page(training):
    answer = tprof("top", training.pid)
    assert answer.returncode == 0 and "\x1b" not in answer.stdout and "Step " in answer.stdout
    with Terminal([TPROF, "top", training.pid], 80, 24, env={"TERM": "dumb"}) as t:
        assert t.ended() == 0
        assert b"\x1b" not in t.output and b"Step " in t.output


# --- what happens to the program meanwhile

def test_a_program_that_ends_is_said_to_have_ended(tmp_path):
    hold = tmp_path / "go"
    with running(["train.py", "3"], tmp_path / "log", env={"TRAIN_HOLD": str(hold)}) as process:
        with Terminal([TPROF, "top", process.pid, "--interval", "0.2"], 80, 24) as t:
            t.until("aten::")
            hold.touch()
            t.until("The program has ended")
            assert "aten::" in t.text(), "what it did last stays to be seen"
            t.press("q")
            assert t.ended() == 0 and t.is_restored() and not t.overflows


def test_a_killed_program_and_a_removed_recording_are_noticed(training):
    with Terminal([TPROF, "top", training.logdir, "--interval", "0.2"], 80, 24) as t:
        t.until("aten::")
        training.kill()
        t.until("has ended")
        t.press("q")
        assert t.ended() == 0 and t.is_restored()


@pytest.mark.parametrize("harm", ["truncate", "shorten", "remove", "overwrite"])
def test_harm_to_the_recording_does_not_end_it(training, harm):
    path = recordings(training.logdir)[0].path
    with Terminal([TPROF, "top", training.logdir, "--interval", "0.2"], 80, 24) as t:
        t.until("aten::")
        if harm == "truncate":
            os.truncate(path, 0)
        elif harm == "shorten":
            os.truncate(path, (64 << 10) + 100_000)
        elif harm == "remove":
            path.unlink()
        else:
            with path.open("r+b") as file:
                file.seek(64 << 10)
                file.write(os.urandom(2 << 20))
        for _ in range(10):
            t.read(0.2)
        if harm in ("truncate", "remove"):
            t.until("Its recording was")
        t.press("q")
        assert t.ended() == 0 and t.is_restored() and not t.overflows


def test_a_program_that_starts_later_is_found(tmp_path):
    log = tmp_path / "log"
    with running(["train.py", FOREVER], log, env={"TRAIN_PAUSE": "0.01"}) as first:
        with Terminal([TPROF, "top", log, "--interval", "0.2"], 100, 30) as t:
            t.until("aten::")
            with running(["train.py", FOREVER], log, env={"TRAIN_PAUSE": "0.01"}) as second:
                t.until("n next rank").until("> %d" % min(first.pid, second.pid))
                t.press("n")
                t.until("> %d" % max(first.pid, second.pid))
                first.kill()
            t.press("q")
            assert t.ended() == 0 and not t.overflows


# --- ranks and workers

def test_the_slow_rank_is_named(tmp_path):
    with running(["gloo_ranks.py", FOREVER, "40"], tmp_path / "log"):
        ranks = until_seen(tmp_path / "log", lambda p: len(p) == 2 and all(r["recent_step"] for r in p), "--for", "4")
        # They are read one after the other, and on a busy machine the first one may be the slow one for a while.
        ranks = until_seen(tmp_path / "log", lambda p: [r["slow"] for r in p] == [False, True] and
                           abs(p[0]["step"] - p[1]["step"]) <= 2, "--for", "4")
        assert [r["rank"] for r in ranks] == [0, 1] and [r["world_size"] for r in ranks] == [2, 2]
        assert ranks[0]["recent_step"]["by"]["communication"] > ranks[1]["recent_step"]["by"]["communication"]
        with Terminal([TPROF, "top", tmp_path / "log"], 80, 24) as t:
            t.until("slow: own").until("Communication")
            t.press("q")
            assert t.ended() == 0 and not t.overflows


def test_ranks_that_are_alike_are_not_called_slow(tmp_path):
    with running(["gloo_ranks.py", FOREVER, "0"], tmp_path / "log"):
        ranks = until_seen(tmp_path / "log", lambda p: len(p) == 2 and all(r["recent_step"] for r in p), "--for", "5")
        assert all(r["own_us"] < r["recent_step"]["mean_us"] for r in ranks)
        assert all(r["recent_step"]["by"]["communication"] > 0 for r in ranks)


def test_workers_of_a_dataloader(tmp_path):
    with running(["loaders.py", "long"], tmp_path / "log"):
        program = until_seen(tmp_path / "log", lambda p: len(p[0]["workers"]) == 6, "--for", "3")[0]
        assert [w["worker"] for w in program["workers"]] == list(range(6))
        assert "fetches" in {w["does"] for w in program["workers"]}
        page = tprof("top", tmp_path / "log", "--once").stdout
        assert re.search(r"DataLoader: 6 workers, \d fetching", page), page


def test_two_programs_in_one_directory_that_are_no_ranks_are_not_compared(tmp_path):
    log = tmp_path / "log"
    with running(["train.py", FOREVER], log, env={"TRAIN_PAUSE": "0.01"}) as first, \
            running(["train.py", FOREVER], log, env={"TRAIN_PAUSE": "0.1"}):
        programs = until_seen(log, lambda p: len(p) == 2 and all(one["recent_step"] for one in p), "--for", "4")
        assert [p["slow"] for p in programs] == [False, False]
        first.kill()


# --- containers

CONTAINER = ["unshare", "--pid", "--uts", "--fork", "--kill-child", "--mount-proc", "sh", "-c"]


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root for namespaces")
def test_a_program_in_a_container_is_found_by_its_number_outside(tmp_path):
    inside = {"wrapper": [*CONTAINER, 'hostname inside; "$@"; exit $?', "-"], "env": {"TRAIN_PAUSE": "0.01"}}
    with running(["train.py", FOREVER], tmp_path / "log", {"TPROF_SCHEDULE": ""}, **inside) as outer:
        outside = pythons_below(outer.pid)[0]
        number = pathlib.Path("/proc/%d/status" % outside).read_text().split("NSpid:")[1].split("\n")[0].split()
        assert number[0] == str(outside) and number[-1] != number[0]
        for subject in (outside, tmp_path / "log"):
            program = until_seen(subject, lambda p: p[0]["recent_step"] and p[0]["cpu"], "--for", "2")[0]
            assert program["pid"] == int(number[-1]) and not program["ended"] and program["rss_bytes"] > 30 << 20
        with Terminal([TPROF, "top", tmp_path / "log", "--interval", "0.2"], 80, 24) as t:
            t.until("aten::")
            os.kill(outside, signal.SIGKILL)
            t.until("The program has ended").press("q")
            assert t.ended() == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root for namespaces")
def test_a_program_in_another_container_is_followed_by_its_recording(training):
    """Here that container is the test's own, and tprof top is in one, where nothing of this number runs."""
    command = 'hostname beside; exec "%s" top "%s" --json --for 3' % (TPROF, training.logdir)
    def look():
        document = json.loads(subprocess.run([*CONTAINER, command], stdout=subprocess.PIPE, check=True).stdout)
        return [p for p in document["programs"] if p["recent_step"] and p["steps_per_second"]]
    program = wait_for(look, what="its steps")[0]
    assert program["pid"] == training.pid and not program["ended"]
    assert program["recent_step"]["age_us"] < 5e6 and program["rss_bytes"] is None


# --- its own cost

def status(pid, field):
    text = pathlib.Path("/proc/%d/status" % pid).read_text()
    return int(re.search(r"^%s:\s+(\d+)" % field, text, re.M).group(1))


@pytest.mark.full
def test_its_memory_and_descriptors_stay_the_same_over_many_windows(tmp_path):
    """Each step has a name of its own, each window chunks of its own, which go when its trace is written."""
    schedule = {"TPROF_SCHEDULE": "wait=1,warmup=1,active=4"}
    with running(["train.py", FOREVER], tmp_path / "log", schedule, env={"TRAIN_PAUSE": "0.002"}) as process:
        with Terminal([TPROF, "top", process.pid, "--interval", "0.1"], 80, 24) as t:
            keep = threading.Event()
            def read():
                while not keep.is_set():
                    t.read(0.1)
            reader = threading.Thread(target=read)
            reader.start()
            try:
                time.sleep(5)
                before = status(t.pid, "VmRSS"), len(os.listdir("/proc/%d/fd" % t.pid))
                time.sleep(20)
                after = status(t.pid, "VmRSS"), len(os.listdir("/proc/%d/fd" % t.pid))
            finally:
                keep.set()
                reader.join()
            assert after[0] < before[0] + 3072 and after[1] <= before[1]
            t.press("q")
            assert t.ended() == 0


def test_the_program_does_not_notice(tmp_path):
    """Same output; and tprof top opens nothing of it for writing."""
    hold = tmp_path / "go"
    with running(["train.py", "20"], tmp_path / "log", env={"TRAIN_HOLD": str(hold)}) as process:
        with Terminal([TPROF, "top", process.pid], 80, 24) as t:
            t.until("aten::")
            for descriptor in pathlib.Path("/proc/%d/fdinfo" % t.pid).iterdir():
                with contextlib.suppress(FileNotFoundError):  # it was open for a moment
                    flags = int(re.search(r"flags:\s+(\d+)", descriptor.read_text()).group(1), 8)
                    assert int(descriptor.name) <= 2 or flags & os.O_ACCMODE == os.O_RDONLY
            hold.touch()
            assert process.stdout.readline() == "ready\n"
            assert re.fullmatch(r"done \d+\n", process.stdout.readline())
            assert process.wait() == 0
