"""What a waiting step costs is mostly torch's: each range that it is asked to tell of. Where Python announces backward
passes, user ranges are enough while waiting, and the steps are the same."""
import pathlib

import harness

PROGRAM = pathlib.Path(__file__).with_name("waiting.py").resolve()


def observed(where, logdir, schedule):
    result = harness.run([PROGRAM, "12"], "run", where=where, logdir=logdir, options={"TPROF_SCHEDULE": schedule})
    assert result.returncode == 0, result.stderr
    return result.stdout.split(), result


def test_only_user_ranges_are_heard_while_waiting(outer_machine, tmp_path):
    seen, result = observed(outer_machine, tmp_path, "wait=8,warmup=1,active=1,repeat=1")
    # After three backward passes that Python announced; warm-up and the window; and nothing behind the last one.
    assert seen[4:] == ["u"] * 4 + ["fbu"] * 2 + ["-"] * 2, seen
    trace, = result.traces()
    assert trace.steps() == [9]
    assert len(trace.ops("label")) == 1


def test_windows_that_follow_waiting_steps_are_whole(outer_machine, tmp_path):
    """Each window begins where a waiting step ends: its ranges are those of any other step."""
    seen, result = observed(outer_machine, tmp_path, "wait=3,active=1,repeat=3")
    assert seen.count("fbu") >= 3, seen
    traces = result.traces()
    assert [trace.steps() for trace in traces] == [[3], [7], [11]]
    names = [[e["name"] for e in trace.ops()] for trace in traces]
    assert len(names[0]) > 20 and names[1] == names[0], (names[0], names[1])
    for trace in traces:
        assert len(trace.ops("Optimizer.step#SGD.step")) == 1
