"""What a waiting step costs is mostly torch's: an observer, even of few ranges, is paid for at every autograd node. Where
Python tells all that steps need (3.12+), none is registered while waiting, and the steps are the same."""
import pathlib

import pytest

import harness

PROGRAM = pathlib.Path(__file__).with_name("waiting.py").resolve()


def observed(where, logdir, schedule):
    result = harness.run([PROGRAM, "12"], "run", where=where, logdir=logdir, options={"TPROF_SCHEDULE": schedule})
    assert result.returncode == 0, result.stderr
    return result.stdout.strip(), result


@pytest.fixture
def quiet_machine(torch_machine):
    if torch_machine == harness.HOST:
        pytest.skip("before Python 3.12 labels are only seen through an observer")
    return torch_machine


def test_nothing_is_registered_while_waiting(quiet_machine, tmp_path):
    seen, result = observed(quiet_machine, tmp_path, "wait=8,warmup=1,active=1,repeat=1")
    assert seen[3:8] == "-----", seen          # after three passes that Python announced
    assert seen[8:10] == "++", seen
    assert seen[10:] == "--", seen             # and none after the last window
    trace, = result.traces()
    assert trace.steps() == [9]
    assert len(trace.ops("label")) == 1


def test_windows_that_follow_quiet_steps_are_whole(quiet_machine, tmp_path):
    """Each window begins where a quiet step ends: its ranges are those of any other step."""
    seen, result = observed(quiet_machine, tmp_path, "wait=3,active=1,repeat=3")
    assert seen.count("+") >= 3
    traces = result.traces()
    assert [trace.steps() for trace in traces] == [[3], [7], [11]]
    names = [[e["name"] for e in trace.ops()] for trace in traces]
    assert len(names[0]) > 20 and names[1] == names[0], (names[0], names[1])
    for trace in traces:
        assert len(trace.ops("Optimizer.step#SGD.step")) == 1
