"""--sample: where Python spends its time, read from outside, on each torch and its Python (3.11, 3.13, 3.14)."""
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time

import pytest

from harness import finish, recordings, run, start, tprof, unless_busy, wait_for

HERE = pathlib.Path(__file__).resolve().parent
SAMPLE = {"TPROF_SAMPLE": "python"}
ENDS = [0, -signal.SIGKILL, 128 + signal.SIGKILL]  # in a chroot it is a shell's


def python_of(result):
    """(functions, lines, notes, ledger) of the only trace."""
    assert not list(result.logdir.glob("*.samples")), list(result.logdir.iterdir())
    trace, = result.traces()
    worker, = json.loads(tprof("stats", "--by", "python", "--json", trace.path).stdout)["workers"]
    return worker["rows"], worker.get("lines", {}).get("rows", []), worker["notes"], trace.ledger["samples"]


def samplers(logdir):
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            words = path.read_bytes().split(b"\0")
            if words[1:2] == [b"sample"] and words[2].startswith(os.fsencode(logdir) + b"/"):
                found.append(int(path.parent.name))
    return found


def shares(rows, names):
    """The shares of functions in what they took together, with what they called."""
    total = {row["function"]: row["total_percent"] for row in rows}
    all_of_them = sum(total.get(name, 0) for name in names)
    return {name: 100 * total.get(name, 0) / all_of_them for name in names}


@pytest.mark.parametrize("seconds, points", [(5, 5), pytest.param(20, 2, marks=pytest.mark.full)])
def test_shares_are_those_that_the_program_measured(python_machine, logdir, seconds, points):
    result = run([HERE / "samples.py", seconds], "run", logdir=logdir, options=SAMPLE, where=python_machine)
    assert result.returncode == 0, result.stderr
    spent = json.loads(result.stdout)
    rows, lines, notes, ledger = python_of(result)
    assert ledger["hz"] == 100 and ledger["unread"] <= ledger["looks"] / 100 and ledger["failed"] <= 2, ledger
    with unless_busy(logdir):
        assert ledger["count"] >= 60 * seconds, ledger
        found = shares(rows, spent)
        for name, took in spent.items():
            assert abs(found[name] - 100 * took / sum(spent.values())) <= points, (name, found, spent)
        by_name = {row["function"]: row for row in rows}
        assert by_name["sleeps"]["on_cpu_percent"] < 40 < 80 < by_name["computes"]["on_cpu_percent"]
        assert by_name["computes"]["self_Other"] == pytest.approx(by_name["computes"]["self_percent"], abs=1)
        assert by_name["computes"]["file"].endswith("samples.py") and not any("Not sampled" in note for note in notes)


def test_the_line_that_takes_the_step_is_named(python_machine, logdir):
    result = run([HERE / "samples_slow.py"], "run", logdir=logdir, options=SAMPLE, where=python_machine)
    assert result.returncode == 0, result.stderr
    line = 1 + (HERE / "samples_slow.py").read_text().split("# the line")[0].count("\n")
    place = "samples_slow.py:%d" % line
    rows, lines, notes, ledger = python_of(result)
    with unless_busy(logdir):
        assert lines[0]["location"].endswith(place) and lines[0]["self_percent"] > 70, lines[:3]
        trace, = logdir.glob("*.json.gz")
        overview = tprof("overview", trace).stdout
        assert "% of it in " in overview and place in overview, overview
        advice = tprof("advise", trace).stdout
        assert place in advice.replace("\n", " "), advice


@pytest.mark.parametrize("ending, status", [("kill", ENDS), ("exec", [0]), ("fork", [0])])
def test_a_program_that_ends_in_any_way_leaves_its_samples(python_machine, logdir, ending, status):
    result = run([HERE / "samples.py", 3, ending], "run", logdir=logdir, options=SAMPLE, where=python_machine)
    assert result.returncode in status, (result.returncode, result.stderr)
    rows, lines, notes, ledger = python_of(result)
    with unless_busy(logdir):
        assert ledger["count"] > 100 and ledger["unread"] <= ledger["looks"] / 50, ledger
    assert not recordings(logdir)


@pytest.mark.parametrize("ending, status", [("kill", ENDS), ("exec", [0]), ("fork", [0]), ("deep", [0]), ("threads", [0])])
def test_a_program_whose_threads_are_stopped_ends_as_it_would(logdir, ending, status):
    result = run([HERE / "samples.py", 2, ending], "run", logdir=logdir, options={"TPROF_SAMPLE": "native"})
    assert result.returncode in status, (result.returncode, result.stderr)
    rows, lines, notes, ledger = python_of(result)
    with unless_busy(logdir):
        assert ledger["count"] > 50 and ledger["stops"] > 50 and ledger["no_native"] <= ledger["count"] / 20, ledger
    assert not recordings(logdir)


def test_waits_end_as_they_do_without_sampling(logdir):
    words = [HERE / "sample_waits.py", 0.5]
    bare = run(words)
    expected = {wait: outcome for wait, (outcome, _) in json.loads(bare.stdout).items()}
    # What begins anew at each stop would never end.
    result = run(words, "run", logdir=logdir, options={"TPROF_SAMPLE": "native:200"})
    assert result.returncode == 0, result.stderr
    found = json.loads(result.stdout)
    assert {wait: outcome for wait, (outcome, _) in found.items()} == expected
    assert max(seconds for _, seconds in found.values()) < 60, found
    rows, lines, notes, ledger = python_of(result)
    with unless_busy(logdir):
        assert ledger["not_stopped"] > 50 and ledger["no_native"] <= ledger["count"] / 20, ledger
        trace, = result.traces()
        frames = trace.data["stackFrames"]
        innermost = {frames[str(s["sf"])]["name"] for s in trace.data["samples"] if s.get("not_stopped")}
        assert any("epoll_wait" in name for name in innermost), innermost
    assert any("they were not stopped" in note for note in notes), notes


def test_stacks_of_ten_thousand_frames_are_cut(python_machine, logdir):
    result = run([HERE / "samples.py", 3, "deep"], "run", logdir=logdir, options=SAMPLE, where=python_machine)
    assert result.returncode == 0, result.stderr
    rows, lines, notes, ledger = python_of(result)
    by_name = {row["function"]: row for row in rows}
    with unless_busy(logdir):
        assert by_name["computes"]["self_percent"] > 40 and by_name["deep"]["total_percent"] > 60, rows
        assert ledger["count"] > 150, ledger
    assert ledger["unread"] < ledger["looks"] / 4, ledger


def test_a_stopped_program_is_off_the_processor(logdir):
    process = start([HERE / "samples.py", 8], "preload", logdir=logdir, options=SAMPLE)
    wait_for(lambda: list(logdir.glob("*.samples")), what="the sampler")
    time.sleep(0.5)
    os.kill(process.pid, signal.SIGSTOP)
    time.sleep(1)
    os.kill(process.pid, signal.SIGCONT)
    result = finish(process, logdir)
    assert result.returncode == 0, result.stderr
    rows, lines, notes, ledger = python_of(result)
    with unless_busy(logdir):
        assert sum(row["samples"] * (100 - row["on_cpu_percent"]) / 100 for row in rows if row["samples"]) > 70


@pytest.mark.skipif(os.geteuid() != 0, reason="needs another user, whom the kernel does not let read")
def test_a_program_that_may_not_be_read_says_so():
    """One that is not dumpable, as another user than root."""
    script = "import ctypes, runpy, sys; ctypes.CDLL(None).prctl(4, 0, 0, 0, 0); sys.argv = ['samples.py', '1.5']; " \
        "runpy.run_path(%r, run_name='__main__')" % str(HERE / "samples.py")
    with tempfile.TemporaryDirectory(dir="/tmp") as directory:
        os.chmod(directory, 0o777)
        nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        if subprocess.run([*nobody, "test", "-r", str(HERE / "samples.py")]).returncode:
            pytest.skip("other users may not read this checkout")
        result = run(["-c", script], "run", logdir=pathlib.Path(directory) / "log", options=SAMPLE, wrapper=nobody,
                     env={"HOME": directory})
        assert result.returncode == 0, result.stderr
        rows, lines, notes, ledger = python_of(result)
        assert ledger["count"] == 0 and "does not let itself be read" in ledger["why_not"], ledger
        assert any("Not sampled: " in note for note in notes)


@pytest.mark.skipif(not shutil.which("gdb"), reason="needs gdb")
def test_a_debugger_does_not_disturb_it(logdir):
    process = start([HERE / "samples.py", 4], "preload", logdir=logdir, options=SAMPLE)
    wait_for(lambda: list(logdir.glob("*.samples")), what="the sampler")
    gdb = subprocess.run(["gdb", "-p", str(process.pid), "-batch", "-ex", "shell sleep 1", "-ex", "detach"],
                         stdin=subprocess.DEVNULL, capture_output=True, text=True)
    result = finish(process, logdir)
    assert result.returncode == 0 and gdb.returncode == 0, (result.stderr, gdb.stderr)
    rows, lines, notes, ledger = python_of(result)
    assert not ledger["failed"], ledger
    with unless_busy(logdir):
        assert ledger["count"] > 250, ledger


def test_a_killed_sampler_costs_samples_only(logdir):
    process = start([HERE / "samples.py", 2], "preload", logdir=logdir, options=SAMPLE)
    sampler, = wait_for(lambda: samplers(logdir), what="the sampler")
    os.kill(sampler, signal.SIGKILL)
    result = finish(process, logdir)
    assert result.returncode == 0 and len(result.traces()) == 1, result.stderr
    assert not list(logdir.glob("*.samples"))


def test_windows_have_the_samples_of_their_steps(logdir):
    options = {**SAMPLE, "TPROF_SCHEDULE": "wait=20,warmup=1,active=20,repeat=2"}
    result = run([HERE / "samples.py", 5], "run", logdir=logdir, options=options)
    traces = result.traces()
    assert len(traces) == 2 and not list(logdir.glob("*.samples"))
    for trace in traces:
        begin, end = trace.step_spans()[0]["ts"], trace.step_spans()[-1]["ts"] + trace.step_spans()[-1]["dur"]
        inside = [s for s in trace.data["samples"] if begin <= s["ts"] <= end]
        with unless_busy(logdir):
            assert len(inside) >= 0.7 * (end - begin) / 1e4, (len(inside), trace.ledger["samples"])
        is_cut = len(trace.steps()) < 20  # the program ended in the window, behind that step
        assert sum(s["ts"] < begin or (s["ts"] > end and not is_cut) for s in trace.data["samples"]) <= 3


def test_native_frames_are_inside_of_the_python_function_that_called_them(python_machine, logdir):
    """sorted() of a list of characters is nearly all list.sort() and comparisons; a sleep is in clock_nanosleep."""
    result = run([HERE / "samples.py", 5], "run", logdir=logdir, options={"TPROF_SAMPLE": "native:50"},
                 where=python_machine)
    assert result.returncode == 0, result.stderr
    spent = json.loads(result.stdout)
    trace, = result.traces()
    worker, = json.loads(tprof("stats", "--by", "python", "--json", trace.path).stdout)["workers"]
    ledger, natives = trace.ledger["samples"], {row["function"]: row for row in worker["natives"]["rows"]}
    with unless_busy(logdir):
        assert ledger["no_native"] <= ledger["count"] / 20 and ledger["stops"] >= 20 * 5, ledger
        # How long the program was stopped depends on what else runs; tests/bench measures it.
        assert 0 < ledger["cpu_ns"] < 5e9 * 0.1 and ledger["stopped_ns"] > 0, ledger
        found = shares(worker["rows"], spent)
        for name, took in spent.items():
            assert abs(found[name] - 100 * took / sum(spent.values())) <= 8, (name, found, spent)
    by_name = {row["function"]: row for row in worker["rows"]}
    in_sleep = re.compile("nanosleep|select|libc.*no symbol")  # in a chroot libc is stripped
    assert in_sleep.search(by_name["sleeps"]["native"]), by_name["sleeps"]
    assert any(in_sleep.search(name) for name in natives), natives
    assert any("were stopped" in note for note in worker["notes"]), worker["notes"]
    assert {frame["category"] for frame in trace.data["stackFrames"].values()} == {"python", "native"}


def test_without_the_option_nothing_is_read(logdir):
    result = run([HERE / "samples.py", 0.5], "run", logdir=logdir)
    trace, = result.traces()
    assert "samples" not in trace.data and "samples" not in trace.ledger
    assert "run with --sample python" in tprof("stats", "--by", "python", trace.path).stdout


@pytest.mark.parametrize("value", ["natives", "python:0", "python:2000"])
def test_a_wrong_value_is_one_line(logdir, value):
    result = run(["-c", "print(1)"], "run", logdir=logdir, run_options=["--sample", value])
    assert result.returncode == 2 and len(result.said()) == 1 and value in result.stderr
