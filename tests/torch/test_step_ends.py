"""Steps at the edges of a loop and of a recording: where they end, how they are marked, and which ones averages count."""
import json
import pathlib

import pytest

from harness import run, tprof

PROGRAM = pathlib.Path(__file__).with_name("step_ends.py").resolve()
SCENARIOS = PROGRAM.with_name("scenarios.py")
LAST_UPDATE = "ends with its last update or call, since no other step of its loop follows"


def trace_of(word, where, logdir, **options):
    result = run([PROGRAM, word], "preload", where=where, logdir=logdir, options=options)
    if word not in ("killed", "slept"):
        assert result.returncode == 0, result.stderr
    trace, = result.traces()
    return trace


def cuts(trace):
    return {int(e["name"].split("#")[1]): e["args"]["Cut"] for e in trace.step_spans() if "Cut" in e["args"]}


def counted(trace):
    """The numbers of the steps that averages count."""
    found = json.loads(tprof("overview", trace.path, "--json").stdout)["workers"][0]
    return [int(row[0]) for row in found["steps"]["rows"]], found


def test_the_last_step_ends_with_its_update_and_is_in_no_average(torch_machine, logdir):
    trace = trace_of("sleep", torch_machine, logdir)
    assert trace.steps() == list(range(8)) and cuts(trace) == {7: LAST_UPDATE}
    last, update = trace.step_spans()[-1], trace.ops("Optimizer.step#SGD.step")[-1]
    assert 0 <= last["ts"] + last["dur"] - update["ts"] - update["dur"] < 2000, "the step ends with its update"
    rest, = [e for e in trace.ops() if e["name"] == "After the loop#0"]
    assert rest["ts"] >= last["ts"] + last["dur"] and rest["dur"] >= 0.5e6
    steps, found = counted(trace)
    assert steps == list(range(7))
    assert found["after_loop"]["count"] == 1 and found["after_loop"]["us"] >= 0.5e6
    assert any(LAST_UPDATE in note for note in found["notes"]), found["notes"]
    assert found["counted"] == "8 training steps (an update each)"
    operators = json.loads(tprof("stats", trace.path, "--json").stdout)["workers"][0]
    assert not any("After the loop" in str(row) for row in operators["rows"]), "it is nobody's own time"


def test_a_loop_of_one_step_is_measured_by_that(torch_machine, logdir):
    result = run(["-c", "import time, torch\nnet = torch.nn.Linear(4, 2)\n"
                  "o = torch.optim.SGD(net.parameters(), lr=0.1)\nnet(torch.ones(2, 4)).sum().backward()\no.step()\n"
                  "time.sleep(0.5)\ntorch.ones(4).sum()"], "preload", where=torch_machine, logdir=logdir)
    trace, = result.traces()
    steps, found = counted(trace)
    assert steps == [0] and found["average_step_time_us"] < 0.4e6


@pytest.mark.parametrize("word,mark", [("killed", "recording ended inside it"), ("slept", LAST_UPDATE)])
def test_a_killed_program(word, mark, torch_machine, logdir):
    """In a step whose update is missing; and long after a loop."""
    trace = trace_of(word, torch_machine, logdir)
    last = 8 if word == "killed" else 7
    assert trace.steps() == list(range(last + 1)) and cuts(trace) == {last: mark}
    assert counted(trace)[0] == list(range(last))


def test_a_stop_behind_the_update_ends_a_step_that_counts(torch_machine, logdir):
    trace = trace_of("stopped", torch_machine, logdir)
    assert trace.steps() == list(range(8))
    assert cuts(trace) == {7: "recording ended inside it, after its update"}
    assert trace.step_spans()[-1]["dur"] < 0.3e6 and counted(trace)[0] == list(range(8))


def test_what_is_recorded_between_two_steps_is_none(torch_machine, logdir):
    """Four steps were made before recording began in the gap behind them."""
    trace = trace_of("gap", torch_machine, logdir, TPROF_AUTOSTART="0")
    assert trace.steps() == [4, 5, 6, 7]
    assert max(e["dur"] for e in trace.step_spans()) < 0.2e6, "the gap is no step"


def test_a_step_in_which_recording_begins_is_marked(torch_machine, logdir):
    trace = trace_of("inside", torch_machine, logdir, TPROF_AUTOSTART="0")
    assert trace.steps() == [4, 5, 6, 7]
    assert cuts(trace) == {4: "recording began inside it", 7: LAST_UPDATE}
    assert counted(trace)[0] == [5, 6]


def test_batches_left_over_are_a_stretch(torch_machine, logdir):
    result = run([SCENARIOS, "batches_left_over_from_accumulation"], "preload", where=torch_machine, logdir=logdir)
    trace, = result.traces()
    left, = [e for e in trace.ops() if e["name"] == "Left over#0"]
    assert trace.steps() == list(range(10)) and not cuts(trace)
    last, after = trace.step_spans()[-1], trace.ops("after:left")[0]
    assert last["ts"] + last["dur"] <= left["ts"] + 0.002
    assert left["ts"] + left["dur"] <= after["ts"], "it ends with its loader"
    assert "never used" in trace.ledger["step"]["counted"]


def holds(outer, inner):
    return outer["ts"] <= inner["ts"] and inner["ts"] + inner["dur"] < outer["ts"] + outer["dur"] + 0.001


def test_a_label_around_an_iteration_lies_in_its_step(torch_machine, logdir):
    """Also the one around the last iteration, which goes on behind the last update."""
    trace = trace_of("labels", torch_machine, logdir)
    labels, spans = [e for e in trace.ops() if e["name"].startswith("iteration ")], trace.step_spans()
    assert len(labels) == len(spans) == 8 and cuts(trace) == {7: LAST_UPDATE}
    for label, span in zip(labels, spans):
        assert holds(span, label) and label["tid"] == span["tid"], "it is in its row"
    rest, = [e for e in trace.ops() if e["name"] == "After the loop#0"]
    assert holds(rest, trace.ops("aten::sin")[-1])
    assert trace.ledger["ranges"].get("lanes", 0) == 0, trace.ledger["ranges"]


def test_ranges_that_the_user_names_are_the_steps(torch_machine, logdir):
    trace = trace_of("labels", torch_machine, logdir, TPROF_STEP="range:^iteration")
    labels, spans = [e for e in trace.ops() if e["name"].startswith("iteration ")], trace.step_spans()
    logs, saves = trace.ops("aten::cos"), trace.ops("aten::sin")
    between = [e for e in trace.ops() if e["name"].startswith("Between the steps#")]
    rest, = [e for e in trace.ops() if e["name"] == "After the loop#0"]
    assert len(labels) == len(spans) == len(logs) == len(saves) == 8 and len(between) == 7 and not cuts(trace)
    for span, label, log in zip(spans, labels, logs):
        assert holds(span, label) and holds(span, log) and label["tid"] == span["tid"]
    for stretch, save in zip([*between, rest], saves):
        assert holds(stretch, save) and not any(holds(span, save) for span in spans)
    steps, found = counted(trace)
    assert steps == list(range(8)) and found["between"]["count"] == 7 and found["after_loop"]["count"] == 1
    operators = json.loads(tprof("stats", trace.path, "--json").stdout)["workers"][0]
    assert not any("Between the steps" in str(row) for row in operators["rows"]), "it is nobody's own time"
