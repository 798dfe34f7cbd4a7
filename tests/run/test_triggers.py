"""What asks for a trace before its time: tprof trigger, the signal, a slow step, no memory."""
import os
import select
import signal
import statistics
import time

import pytest

import flights
from flights import is_gapless, numbers, progress
from harness import descendants, finish, load_traces, pythons_below, recordings, run, tprof, trace_files, wait_for

PACED = {"NUMBERED_PAUSE": "0.01"}


def in_flight(tmp_path, logdir, env=PACED, **options):
    process, path = flights.start(tmp_path, logdir, 0, env=env, options=options)
    wait_for(lambda: progress(path) > 1500, what="steps")
    return process, path


def scheduled(tmp_path, logdir, schedule, env=PACED, how="preload", **options):
    process, path = flights.start(tmp_path, logdir, 0, env=env, how=how, mode="schedule",
                                  options={"TPROF_SCHEDULE": schedule, **options})
    wait_for(lambda: progress(path) > 500, what="steps")
    return process, path


def test_a_kept_recording_does_not_hold_triggers_up(tmp_path, logdir):
    process, path = in_flight(tmp_path, logdir, TPROF_KEEP_RECORDING="1")
    for count in range(1, 5):
        before = progress(path)
        wait_for(lambda: progress(path) > before + 500)
        time.sleep(1.1)  # at most one a second is taken
        process.send_signal(signal.SIGUSR2)
        wait_for(lambda: len(trace_files(logdir)) == count, what="trace %d" % count)
    process.terminate()
    finish(process, logdir)
    traces = load_traces(logdir)
    assert len(traces) == 5 and traces[-1].ledger["trigger"]["refused"] == 0


def request(*words):
    """Is repeated where a program gets no processor for so long that the command does not wait for it."""
    for _ in range(10):
        result = tprof("trigger", *words)
        if "did not take the request within 2 s" not in result.stderr:
            break
    return result


def asked(*words):
    result = request(*words)
    assert result.returncode == 0, result.stderr
    return result


def traced(logdir, count=1):
    wait_for(lambda: len(trace_files(logdir)) >= count, what="%d traces" % count)


def end(process, logdir):
    process.kill()
    return finish(process, logdir)


# --- tprof trigger

@pytest.mark.parametrize("by", ["pid", "directory"])
def test_in_flight_mode_the_ring_is_written_and_goes_on(by, tmp_path, logdir):
    process, path = in_flight(tmp_path, logdir)
    before = progress(path)
    assert asked(process.pid if by == "pid" else logdir).stdout == "asked process %d for a trace\n" % process.pid
    traced(logdir)
    end(process, logdir)
    first, last = load_traces(logdir)
    assert first.ledger["trigger"]["why"] == "tprof trigger"
    assert numbers(first)[0] == 0 and numbers(first)[-1] >= before - 1
    assert "Written because of: tprof trigger\n" in tprof("overview", first.path).stdout
    assert is_gapless(numbers(first) + numbers(last))


@pytest.mark.parametrize("by", ["pid", "directory"])
def test_a_program_in_a_container_is_asked_from_outside(by, namespace, tmp_path, logdir):
    # Process 1 of a container has no finisher: the shell is that.
    shell = ["/bin/sh", "-c", '"$@"; exit $?', "-"]
    process, path = flights.start(tmp_path, logdir, 0, env=PACED, wrapper=[*namespace, *shell])
    wait_for(lambda: progress(path) > 1500, what="steps")
    (program,) = pythons_below(process.pid)
    assert asked(program if by == "pid" else logdir).stdout == "asked process %d for a trace\n" % program
    traced(logdir)
    end(process, logdir)


def test_steps_chooses_the_last_ones_in_flight_mode(tmp_path, logdir):
    process, _ = in_flight(tmp_path, logdir)
    asked("--steps", 4, process.pid)
    traced(logdir)
    end(process, logdir)
    first = load_traces(logdir)[0]
    whole = [e for e in first.step_spans() if not e["args"].get("clipped")]
    assert is_gapless(first.steps()) and 4 <= len(first.steps()) <= 5 and len(whole) >= 4
    assert is_gapless(numbers(first)) and 400 <= len(numbers(first)) <= 501


@pytest.mark.parametrize("words, count", [([], 3), (["--steps", 7], 7)])
def test_with_a_schedule_the_next_steps_are_recorded(words, count, tmp_path, logdir):
    process, path = scheduled(tmp_path, logdir, "wait=100000,active=3", TPROF_TRIGGER="file")
    before = progress(path) // 100
    asked(*words, process.pid)
    after = progress(path) // 100
    traced(logdir)
    end(process, logdir)
    (trace,) = load_traces(logdir)
    steps = trace.steps()
    assert is_gapless(steps) and len(steps) == count and before <= steps[0] <= after + 2
    assert trace.ledger["trigger"]["why"] == "tprof trigger" and trace.ledger["span"]["kind"] == "window"


def test_windows_of_the_schedule_stay_where_they_are(tmp_path, logdir):
    process, path = scheduled(tmp_path, logdir, "wait=397,active=3", TPROF_TRIGGER="file")
    for _ in range(3):
        # In a window of the schedule a request writes that one, and opens none: it is asked for long before.
        wait_for(lambda: 1 <= progress(path) // 100 % 400 < 100)
        before = progress(path) // 100
        asked(process.pid)
        wait_for(lambda: progress(path) // 100 > before + 440)
    end(process, logdir)
    traces = load_traces(logdir)
    by_schedule = [t.steps() for t in traces if "trigger" not in t.ledger]
    by_trigger = [t.steps() for t in traces if "trigger" in t.ledger]
    assert len(by_trigger) == 3
    for steps in by_schedule[:-1]:
        assert [step % 400 for step in steps] == [397, 398, 399]
    assert [t.ledger["span"]["window"] for t in traces] == list(range(len(traces)))


def test_a_schedule_that_is_over_still_listens(tmp_path, logdir):
    process, path = scheduled(tmp_path, logdir, "active=2,repeat=1", TPROF_TRIGGER="file")
    traced(logdir)
    asked(process.pid)
    traced(logdir, 2)
    end(process, logdir)
    first, second = load_traces(logdir)
    assert len(first.steps()) == len(second.steps()) == 2 and second.steps()[0] >= 5


def test_a_program_that_does_not_listen_is_not_asked(tmp_path, logdir):
    process, path = scheduled(tmp_path, logdir, "wait=2,active=100000")
    refused = tprof("trigger", logdir)
    assert refused.returncode == 3 and "does not listen; start it with" in refused.stderr
    assert not list(logdir.glob("*.trigger*"))
    end(process, logdir)


@pytest.mark.parametrize("words, code, why", [
    (["0"], 2, "neither a process id"), (["/nowhere"], 2, "neither a process id nor a log directory"), ([], 2, ""),
    (["999999999"], 3, "process 999999999"),
    (["--steps", "0", "1"], 2, "--steps"), (["--steps", "many", "1"], 2, "--steps"),
    (["--steps", "1000001", "1"], 2, "--steps")])
def test_wrong_words_are_refused(words, code, why):
    refused = tprof("trigger", *words)
    assert refused.returncode == code and why in refused.stderr and refused.stdout == ""


def test_a_directory_without_a_running_program_is_named(tmp_path):
    refused = tprof("trigger", tmp_path)
    assert refused.returncode == 3 and "holds no recording of a running program" in refused.stderr


# --- files that others may have put there

def hostile(kind, path, tmp_path):
    if kind == "link":
        (tmp_path / "target").write_text("steps 0\n")
        path.symlink_to(tmp_path / "target")
    elif kind == "dangling":
        path.symlink_to(tmp_path / "nothing")
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "directory":
        path.mkdir()
    else:
        made = tmp_path / "made"
        made.write_text({"command": "steps 1; touch /tmp/x\n", "huge": "steps " + "9" * 5000, "negative": "steps -1\n",
                         "empty": "", "binary": "\0\0\0\0steps 0\n"}.get(kind, "steps 0\n"))
        made.chmod(0o622 if kind == "writable" else 0o600)
        if kind == "owner":
            os.chown(made, 12345, 12345)
        if kind == "hardlink":
            os.link(made, tmp_path / "other")
        made.rename(path)  # at once: a file that is good for a moment would be taken


@pytest.mark.spread(4)
@pytest.mark.parametrize("kind", ["link", "dangling", "pipe", "directory", "writable", "owner", "hardlink", "command",
                                  "huge", "negative", "empty", "binary"])
def test_a_file_that_is_no_request_of_this_user_is_left_alone(kind, tmp_path, logdir):
    if kind == "owner" and os.geteuid():
        pytest.skip("only root can give a file to another user")
    process, path = in_flight(tmp_path, logdir)
    (recording,) = recordings(logdir)
    file = recording.path.with_name(recording.path.name + ".trigger")
    assert not select.select([process.stderr], [], [], 0)[0], "what it says is to be about the file"
    hostile(kind, file, tmp_path)
    wait_for(lambda: select.select([process.stderr], [], [], 0)[0], what="what it says of the file")
    before = progress(path)
    wait_for(lambda: progress(path) > before + 3000)
    assert not trace_files(logdir) and os.path.lexists(file)
    file.rmdir() if kind == "directory" else file.unlink()
    asked(process.pid)
    traced(logdir)
    result = end(process, logdir)
    left_alone = [line for line in result.said() if "is left alone: " in line]
    assert len(left_alone) == 1, result.stderr
    assert len(load_traces(logdir)) == 2


# --- the signal

def test_the_signal_opens_a_window_where_none_is_open(how, tmp_path, logdir):
    process, path = scheduled(tmp_path, logdir, "wait=100000,active=3", how=how)
    assert not recordings(logdir)
    process.send_signal(signal.SIGUSR2)
    traced(logdir)
    process.terminate()
    result = finish(process, logdir)
    (trace,) = load_traces(logdir)
    assert is_gapless(trace.steps()) and len(trace.steps()) == 3
    assert trace.ledger["trigger"]["why"] == "a signal, or tprof_flush()"
    assert "no window is open" not in result.stderr


# --- rules
# On a busy machine another step than the one that is slow on purpose may be the first that a rule finds slow.

SLOW = {**PACED, "NUMBERED_SLOW": "40 3"}


def slow_step(trace):
    why = trace.ledger["trigger"]["why"]
    assert why.startswith("a slow step: step ") and " times the median" in why
    return int(why.split(": step ")[1].split()[0])


def test_a_slow_step_is_in_the_trace_that_it_asked_for(tmp_path, logdir):
    process, path = flights.start(tmp_path, logdir, 0, env=SLOW, options={"TPROF_TRIGGER": "step>30x"})
    traced(logdir)
    end(process, logdir)
    first = load_traces(logdir)[0]
    spans = first.step_spans()
    longest = max(spans, key=lambda e: e["dur"])
    assert longest["name"] == "ProfilerStep#%d" % slow_step(first)
    assert longest["dur"] > 20 * statistics.median(e["dur"] for e in spans)


def test_a_slow_step_opens_a_window_of_the_schedule(tmp_path, logdir):
    process, path = scheduled(tmp_path, logdir, "wait=100000,active=3", env=SLOW, TPROF_TRIGGER="step>30x")
    traced(logdir)
    end(process, logdir)
    (trace,) = load_traces(logdir)
    steps, slow = trace.steps(), slow_step(trace)
    assert is_gapless(steps) and len(steps) == 3 and slow < steps[0] <= slow + 30


def test_no_memory_asks_for_a_trace(tmp_path, logdir):
    """On the host torch's allocator reports it only where memory is profiled."""
    process, path = flights.start(tmp_path, logdir, 0, env={**PACED, "NUMBERED_OOM": "20"},
                                  options={"TPROF_TRIGGER": "oom", "TPROF_PROFILE_MEMORY": "1"})
    traced(logdir)
    end(process, logdir)
    assert load_traces(logdir)[0].ledger["trigger"]["why"] == "out of memory: %d bytes on the host" % (1 << 58)


# --- ranks of a job

def ranks(tmp_path, logdir, mode, options):
    started = []
    for rank in 0, 1:
        place = tmp_path / str(rank)
        place.mkdir()
        started.append(flights.start(place, logdir, 0, mode=mode, options=options,
                                     env={**PACED, "RANK": str(rank), "WORLD_SIZE": "2"}))
    wait_for(lambda: min(progress(path) for _, path in started) > 500, what="steps of both")
    return started


@pytest.mark.parametrize("mode, options", [
    ("schedule", {"TPROF_SCHEDULE": "wait=1000000,active=3", "TPROF_TRIGGER": "file"}), ("flight:16M", {})])
def test_ranks_take_the_same_steps_when_one_is_asked(mode, options, tmp_path, logdir):
    started = ranks(tmp_path, logdir, mode, options)
    time.sleep(1.5)  # both know how many steps they make in a second
    asker = max(0, 1, key=lambda rank: progress(started[rank][1]))  # nothing keeps them together, as collectives would
    other = 1 - asker
    for count in range(2, 22, 2):  # on a busy machine, the other may learn of it too late: it says so, and is asked again
        asked(started[asker][0].pid)
        traced(logdir, count)
        last = {trace.data["distributedInfo"]["rank"]: trace for trace in load_traces(logdir)}
        assert last[asker].ledger["trigger"]["why"] == "tprof trigger"
        why = last[other].ledger["trigger"]["why"]
        assert why.startswith("another rank: rank %d, for step " % asker)
        if "past" not in why:
            break
        time.sleep(1.5)
    for process, _ in started:
        process.kill()
    for process, _ in started:
        finish(process, logdir)
    step = int(why.split()[-1])
    if mode == "schedule":
        assert last[0].steps() == last[1].steps() == [step, step + 1, step + 2]
    else:
        assert last[0].steps()[-1] in (step - 1, step) and last[1].steps()[-1] in (step - 1, step)


def test_a_rank_that_is_past_the_step_says_so(tmp_path, logdir):
    started = ranks(tmp_path, logdir, "flight:16M", {})
    time.sleep(0.5)
    (logdir / "ranks.trigger").write_text("rank 7 step 1 steps 0 at 12345\n")
    (logdir / "ranks.trigger").chmod(0o600)
    traced(logdir, 2)
    for process, _ in started:
        process.kill()
    for process, _ in started:
        finish(process, logdir)
    said = [trace.ledger["trigger"]["why"] for trace in load_traces(logdir)]
    assert said.count("another rank: rank 7, for step 1, which this rank was past") == 2, said


# --- rates

def test_a_second_request_within_a_second_is_refused_and_said(tmp_path, logdir):
    process, _ = in_flight(tmp_path, logdir)
    for count in range(2, 42, 2):
        begin = time.monotonic()
        asked(process.pid)
        refused = request(process.pid)
        if refused.returncode or time.monotonic() - begin < 1:
            break
        traced(logdir, count)  # the second one came too late, and was taken
        time.sleep(1.1)
    assert refused.returncode == 3 and "left this trigger out" in refused.stderr
    end(process, logdir)
    assert load_traces(logdir)[-1].ledger["trigger"]["refused"] == 1


@pytest.mark.full
def test_a_thousand_triggers_leak_nothing(tmp_path, logdir):
    process, path = in_flight(tmp_path, logdir, env={"NUMBERED_PAUSE": "0.002"}, TPROF_ON_TRACE_READY="rm {}")

    def held():
        with open("/proc/%d/statm" % process.pid) as file:
            resident = int(file.read().split()[1]) * 4096
        return (len(os.listdir("/proc/%d/fd" % process.pid)), len(os.listdir("/proc/%d/task" % process.pid)),
                len(descendants(process.pid)), resident)

    def trigger(count):
        for _ in range(count):
            process.send_signal(signal.SIGUSR2)
            time.sleep(1.05)

    trigger(20)
    before = held()
    blocks = recordings(logdir)[0].path.stat().st_blocks * 512
    trigger(980)
    after = held()
    assert after[:3] == before[:3] and after[3] < before[3] + (16 << 20)
    assert recordings(logdir)[0].path.stat().st_blocks * 512 < blocks + (16 << 20)
    end(process, logdir)


# --- values

@pytest.mark.parametrize("value, why", [
    ("step", "is not file, oom, step>1.5x or hang>60s"), ("step>1x", "above 1"), ("step>1.5", "above 1"),
    ("step>nanx", "above 1"), ("hang", "is not file"), ("file,", "is not file"), ("oom step>2x", "is not file"),
    ("step>1e99x", "above 1")])
def test_values_that_make_no_sense_are_refused_with_one_line(value, why, logdir):
    refused = run(["-c", "print('runs')"], "run", logdir=logdir, options={"TPROF_TRIGGER": value, "TPROF_MODE": "flight"})
    assert refused.returncode == 2 and refused.stdout == "" and why in refused.stderr and len(refused.said()) == 1


def test_triggers_need_flight_mode_or_a_schedule(logdir):
    refused = run(["-c", "print('runs')"], "run", logdir=logdir, options={"TPROF_TRIGGER": "file"})
    assert refused.returncode == 2 and "TPROF_TRIGGER needs TPROF_MODE=flight or a TPROF_SCHEDULE" in refused.stderr
