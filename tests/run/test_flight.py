"""TPROF_MODE=flight: always recording, and what was recorded last is written when the program ends, however it does."""
import os
import signal
import time

import pytest

import flights
from flights import is_gapless, numbers, progress
from harness import (ENDINGS, finish, load_traces, recordings, run, settle, start, tprof, trace_files, wait_for)

# More operators than the smallest ring holds.
MANY = 400_000


@pytest.mark.parametrize("ending", ["fall", "exit", "_exit", "SIGKILL", "SIGTERM", "SIGSEGV", "SIGABRT"])
def test_what_was_recorded_last_is_written_at_every_ending(ending, how, tmp_path, logdir):
    process, path = flights.start(tmp_path, logdir, 5000, ending, how)
    result = finish(process, logdir)
    assert result.returncode == ENDINGS.get(ending, -signal.SIGABRT), result.stderr
    (trace,) = load_traces(logdir)
    assert numbers(trace) == list(range(5000)), "all fits into the ring"
    dies = ending.startswith("SIG") or ending == "_exit" and trace.ledger.get("process_ended_inside")
    assert trace.ledger["trigger"]["why"] == ("the program died" if dies else "the program ended")
    assert trace.ledger["trigger"]["dropped_steps"] == 0
    assert trace.ledger["span"]["kind"] == "flight"
    assert not recordings(logdir), "the recording is gone once all is written"


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_the_last_completed_operator_is_there_and_no_gap_before_it(number, tmp_path, logdir):
    """Killed from outside amid its work, with the ring full; SIGTERM is followed by SIGKILL, as schedulers do."""
    process, path = flights.start(tmp_path, logdir, 0)
    wait_for(lambda: progress(path) > MANY, what="more than the ring holds")
    process.send_signal(number)
    with_grace = time.monotonic() + 2
    while process.poll() is None and time.monotonic() < with_grace:
        time.sleep(0.01)
    process.kill()
    finish(process, logdir)
    done = progress(path)
    (trace,) = load_traces(logdir)
    found = numbers(trace)
    assert is_gapless(found) and found[0] > 0 and done - 1 <= found[-1] <= done
    steps = trace.steps()
    assert is_gapless(steps) and trace.ledger["trigger"]["dropped_steps"] == steps[0]
    assert not trace.ledger["dropped"]


def test_steps_whose_records_are_gone_are_counted(tmp_path, logdir):
    """So many that their own chunks, of some 13,000, were given back; two windows, the second by the program's death."""
    process, path = flights.start(tmp_path, logdir, 0, env={"NUMBERED_STEP": "4"})
    wait_for(lambda: progress(path) > 2 * MANY, what="more than the ring holds")
    process.send_signal(signal.SIGUSR2)
    cut = progress(path)
    wait_for(lambda: progress(path) > cut + 2 * MANY, what="more than the ring holds")
    process.kill()
    finish(process, logdir)
    first, second = load_traces(logdir)
    dropped = [trace.ledger["trigger"]["dropped_steps"] for trace in (first, second)]
    assert dropped[0] == first.steps()[0] > 14_000 < dropped[1]
    between = second.steps()[0] - first.steps()[-1]
    assert is_gapless(first.steps()) and is_gapless(second.steps()) and abs(between - dropped[1]) <= 2, (between, dropped)


def test_the_ring_stays_within_its_budget_and_is_used(tmp_path, logdir):
    """What is not of the ring: the chunks that are prepared for it (16 MB at most), names and steps."""
    process, path = flights.start(tmp_path, logdir, 0)
    sizes, longest = [], 0
    while progress(path) < 2 * MANY:
        for recording in recordings(logdir):
            status = recording.path.stat()
            sizes.append(status.st_blocks * 512)
            longest = max(longest, status.st_size)
        assert process.poll() is None
        time.sleep(0.02)
    process.kill()
    finish(process, logdir)
    # What the ring drops late on a busy machine is there for a moment only.
    assert sorted(sizes)[len(sizes) * 9 // 10] < 36 << 20
    assert longest < 64 << 20, "chunks are used again, so the file does not grow for ever"
    found = numbers(load_traces(logdir)[0])
    bytes_each = 72  # of the record of such an operator
    # The oldest span is dropped whole. It is a sixteenth of the budget, or more where a busy machine looked at it late.
    assert is_gapless(found) and len(found) * bytes_each > 12 << 20


def test_a_ring_of_seconds_holds_them_and_little_more(tmp_path, logdir):
    process, path = flights.start(tmp_path, logdir, 0, mode="flight:5s", env={"NUMBERED_PAUSE": "0.01"})
    wait_for(lambda: progress(path), what="operators")
    time.sleep(9)
    before = progress(path)
    wait_for(lambda: progress(path) > before + 1000)  # a span ends early where its program stands still
    process.kill()
    finish(process, logdir)
    (trace,) = load_traces(logdir)
    assert is_gapless(numbers(trace)) and numbers(trace)[-1] >= progress(path) - 1
    seconds = trace.ledger["span"]["duration_ns"] / 1e9
    assert 4 < seconds < 8, seconds
    assert trace.ledger["trigger"]["dropped_steps"] > 0 and trace.ledger["trigger"]["dropped_ns"] > 0


def test_without_steps_the_newest_data_are_kept_too(tmp_path, logdir):
    process, path = flights.start(tmp_path, logdir, 0, env={"NUMBERED_STEPS": "0"})
    wait_for(lambda: progress(path) > MANY)
    process.kill()
    finish(process, logdir)
    (trace,) = load_traces(logdir)
    found = numbers(trace)
    assert is_gapless(found) and found[0] > 0 and found[-1] >= progress(path) - 1


def test_each_signal_writes_what_came_since_the_one_before(how, tmp_path, logdir):
    """Nothing is in two traces, and nothing in none; the ring has room for what comes while a busy machine writes one."""
    process, path = flights.start(tmp_path, logdir, 0, env={"NUMBERED_PAUSE": "0.005"}, how=how, mode="flight:256M")
    for count in 1, 2, 3:
        before = progress(path)
        wait_for(lambda: progress(path) > before + 2000)
        time.sleep(1.1)  # at most one a second is taken
        process.send_signal(signal.SIGUSR2)
        wait_for(lambda: len(trace_files(logdir)) == count, what="trace %d" % count)
    process.terminate()
    finish(process, logdir)
    traces = load_traces(logdir)
    assert len(traces) == 4
    found = [number for trace in traces for number in numbers(trace)]
    assert found == list(range(found[-1] + 1)) and found[-1] >= progress(path) - 1
    assert [t.ledger["trigger"]["why"] for t in traces] == 3 * ["a signal, or tprof_flush()"] + ["the program died"]


def test_nothing_new_since_the_last_trigger_is_no_further_trace(tmp_path, logdir):
    hold = tmp_path / "go"
    process, _ = flights.start(tmp_path, logdir, 1000, env={"NUMBERED_HOLD": str(hold)})
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGUSR2)
    wait_for(lambda: trace_files(logdir), what="the trace")
    hold.touch()
    assert finish(process, logdir).returncode == 0
    (trace,) = load_traces(logdir)
    assert numbers(trace) == list(range(1000))


def test_triggers_that_come_too_soon_are_counted_and_said(tmp_path, logdir):
    process, path = flights.start(tmp_path, logdir, 0, env={"NUMBERED_PAUSE": "0.005"})
    wait_for(lambda: progress(path) > 1000)
    began = time.monotonic()
    for _ in range(50):
        process.send_signal(signal.SIGUSR2)
        time.sleep(0.03)
    took = time.monotonic() - began
    process.terminate()
    result = finish(process, logdir)
    traces = load_traces(logdir)
    assert 2 <= len(traces) <= 3 + int(took), "one a second, and the end"
    if took > 25:
        pytest.skip("the machine was busy: 50 signals took %.0f s" % took)
    assert traces[-1].ledger["trigger"]["refused"] > 10
    assert "this trigger is left out and counted" in result.stderr
    found = [number for trace in traces for number in numbers(trace)]
    assert found == list(range(found[-1] + 1)), "no step fell between two traces"
    assert "refused" in tprof("info", traces[-1].path).stdout


def test_steps_that_the_ring_drops_while_traces_are_written_are_counted(tmp_path, logdir):
    """A finisher that is stopped writes nothing. Two rings wait for it, a third trigger is refused, and the ring goes
    on within its budget: what it drops is in the figures of the next trace."""
    process, path = flights.start(tmp_path, logdir, 0)
    wait_for(lambda: progress(path) > 20_000)
    finishers = wait_for(lambda: [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc")))
                                  if is_finisher(pid, logdir)], what="the finisher")
    for pid in finishers:
        os.kill(pid, signal.SIGSTOP)
    try:
        for _ in range(3):
            process.send_signal(signal.SIGUSR2)
            before = progress(path)
            wait_for(lambda: progress(path) > before + MANY)
            time.sleep(1.1)
        blocks = recordings(logdir)[0].path.stat().st_blocks * 512
    finally:
        for pid in finishers:
            os.kill(pid, signal.SIGCONT)
    process.kill()
    finish(process, logdir)
    traces = load_traces(logdir)
    assert len(traces) == 3 and blocks < 6 * 16 << 20
    last = traces[-1].ledger["trigger"]
    assert last["refused"] == 1 and last["dropped_steps"] > 0
    for trace in traces:
        assert is_gapless(numbers(trace))
    between = numbers(traces[2])[0] - numbers(traces[1])[-1] - 1
    assert between > 0 and abs(between - 100 * last["dropped_steps"]) <= 200


def is_finisher(pid, logdir):
    try:
        words = open("/proc/%d/cmdline" % pid).read().split("\0")
    except OSError:
        return False
    return "finish" in words and any(word.startswith(str(logdir)) for word in words)


def test_ranges_that_are_open_for_long_have_their_ends(tmp_path, logdir):
    """A range goes on while the ring goes from span to span; its end is in another one."""
    program = ("import torch; from torch.autograd.profiler import record_function as label\n"
               "x = torch.zeros(1)\n"
               "with label('outer'):\n"
               "    for i in range(60000): x.fill_(i)\n"
               "x.fill_(-1)\n")
    result = run(["-c", program], "preload", logdir=logdir, options={"TPROF_MODE": "flight:16M"})
    assert result.returncode == 0, result.stderr
    (trace,) = load_traces(logdir)
    (outer,) = trace.ops("outer")
    adds = sorted(trace.ops("aten::fill_"), key=lambda e: e["ts"])
    assert trace.ledger["ranges"] == {"clipped": 0, "unfinished": 0, "clamped": 0, "lanes": 0}
    assert adds[-2]["ts"] <= outer["ts"] + outer["dur"] <= adds[-1]["ts"]


@pytest.mark.spread(4)
@pytest.mark.parametrize("value, why", [
    ("fligth", "is not schedule, flight"), ("flight:", "must be a size"), ("flight:1M", "from 16M to 4G"),
    ("flight:8G", "from 16M to 4G"), ("flight:60", "must be a size"), ("flight:0s", "from 1s to 86400s"),
    ("flight:-1s", "from 1s"), ("flight:1.5s", "from 1s"), ("flight:99999999999999999999s", "must be a"),
    ("flight:64M:60s", "must be a"), ("flights", "is not schedule, flight"), ("FLIGHT", "is not schedule, flight")])
def test_values_that_make_no_sense_are_refused_with_one_line(value, why, logdir):
    refused = run(["-c", "print('runs')"], "run", logdir=logdir, options={"TPROF_MODE": value})
    assert refused.returncode == 2 and refused.stdout == "" and why in refused.stderr
    assert len(refused.said()) == 1 and "TPROF_MODE" in refused.stderr
    goes_on = run(["-c", "import torch; print('runs')"], "preload", logdir=logdir, options={"TPROF_MODE": value})
    assert goes_on.returncode == 0 and goes_on.stdout == "runs\n" and why in goes_on.stderr


@pytest.mark.parametrize("options, names", [
    ({"TPROF_SCHEDULE": "active=1"}, ["TPROF_MODE=flight", "TPROF_SCHEDULE"]),
    ({"TPROF_STEPS": "1:2"}, ["TPROF_MODE=flight", "TPROF_STEPS"]),
    ({"TPROF_WINDOW": "cudaProfilerApi"}, ["TPROF_MODE=flight", "TPROF_WINDOW"]),
    ({"TPROF_MAX_SIZE": "64M"}, ["TPROF_MODE=flight", "TPROF_MAX_SIZE", "1024M"])])
def test_options_that_exclude_each_other_are_refused(options, names, logdir):
    refused = run(["-c", "print('runs')"], "run", logdir=logdir, options={"TPROF_MODE": "flight", **options})
    assert refused.returncode == 2 and refused.stdout == "" and len(refused.said()) == 1
    assert all(name in refused.stderr for name in names), refused.stderr


def test_workers_keep_no_more_than_their_program(tmp_path, logdir):
    """Workers of a DataLoader live as long as the program; what they keep goes with the ring of their program."""
    program = tmp_path / "loads.py"
    program.write_text(
        "import sys, torch\n"
        "class Data(torch.utils.data.IterableDataset):\n"
        "    def __iter__(self):\n"
        "        x = torch.zeros(1)\n"
        "        while True:\n"
        "            for i in range(8000): x.fill_(i)\n"
        "            yield x\n"
        "x = torch.zeros(1)\n"
        "for n, batch in enumerate(torch.utils.data.DataLoader(Data(), num_workers=2)):\n"
        "    for i in range(2000): x.fill_(i)\n"
        "    print(n, flush=True)\n")
    process = start([program], "preload", logdir=logdir, options={"TPROF_MODE": "flight:16M"})
    largest = {}
    for line in process.stdout:
        for recording in recordings(logdir):
            if recording.helper and recording.path.exists():
                largest[recording.pid] = max(largest.get(recording.pid, 0), recording.path.stat().st_blocks * 512)
        if int(line) == 150:
            break
    process.kill()
    process.stdout.close()
    process.wait()
    settle(logdir)
    assert len(largest) == 2 and max(largest.values()) < 36 << 20, largest
    (trace,) = load_traces(logdir)
    assert trace.ops("aten::fill_") and trace.ledger["trigger"]["dropped_ns"] > 0


def test_memory_of_the_program_does_not_grow_with_the_ring(tmp_path, logdir):
    process, path = flights.start(tmp_path, logdir, 0)

    def resident():
        with open("/proc/%d/statm" % process.pid) as file:
            return int(file.read().split()[1]) * 4096

    wait_for(lambda: progress(path) > MANY)
    before, threads = resident(), len(os.listdir("/proc/%d/task" % process.pid))
    descriptors = len(os.listdir("/proc/%d/fd" % process.pid))
    wait_for(lambda: progress(path) > 3 * MANY)
    assert resident() < before + (24 << 20)
    assert len(os.listdir("/proc/%d/task" % process.pid)) == threads
    assert len(os.listdir("/proc/%d/fd" % process.pid)) == descriptors
    process.kill()
    finish(process, logdir)
