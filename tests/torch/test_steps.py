"""Steps without code: every scenario gives its true count, numbered from 0, with and without a schedule.

A program runs once per scenario, torch and schedule; the runs of one test share the machine's two cores.
"""
import ast
import concurrent.futures
import json
import pathlib

import pytest

from harness import TORCHES, run, schedule_words, torch_version, windows

PROGRAM = pathlib.Path(__file__).with_name("scenarios.py").resolve()
SCENARIOS = [node.name for loops in sorted(PROGRAM.parent.glob("loops/*.py")) for node in ast.parse(loops.read_text()).body
             if isinstance(node, ast.FunctionDef) and node.decorator_list]
SCHEDULES = [dict(active=2), dict(wait=2, warmup=1, active=2, repeat=2),
             dict(skip_first=3, wait=1, warmup=1, active=3, repeat=1), dict(warmup=2, active=1)]
NEEDS_TORCH_2 = {"amp_with_skipped_steps_with_loader": "GradScaler without CUDA",
                 "amp_with_skipped_steps_without_loader": "GradScaler without CUDA",
                 "amp_of_shards_with_skipped_steps": "GradScaler without CUDA",
                 "amp_that_skips_the_last_update": "GradScaler without CUDA",
                 "gradients_of_functions": "torch.func",
                 "an_optimizer_for_each_parameter_inside_the_backward_pass": "such hooks"}
NEEDS_GREENLET = ["inference_in_greenlets"]  # which is not among the libraries of 2.15

# What a step is shows in the second iteration: a window that begins before may hold a part of one.
KNOWN_LATE = {"gan_without_loader", "an_actor_that_is_delayed_without_loader", "gradients_thrown_away_with_loader"}


def schedules_for(scenario, where):
    """None on the oldest torch, on others one in turn; and none too of what the oldest cannot do."""
    if where.name == TORCHES[-1]:
        return [None]
    turn = SCENARIOS.index(scenario) + TORCHES.index(where.name)
    schedules = SCHEDULES[1:3] if scenario in KNOWN_LATE else SCHEDULES
    return [None] * (scenario in NEEDS_TORCH_2) + [schedules[turn % len(schedules)]]


def run_one(scenario, where, schedule, logdir):
    options = {"TPROF_SCHEDULE": schedule_words(**schedule)} if schedule else {}
    return run([PROGRAM, scenario], "preload", where=where, logdir=logdir, options=options)


def wrong(result, schedule):
    """What is not as it should be, in words; empty when all is right."""
    if result.returncode:
        return ["exit status %d: %s" % (result.returncode, result.stderr[-2000:])]
    truth = json.loads(result.stdout)
    traces = [t for t in result.traces() if not t.ledger["step"].get("before_training")]
    got = [t.steps() for t in traces]
    want = windows(truth["steps"], **schedule) if schedule else [list(range(truth["steps"]))]
    if got != want:
        return ["steps %s, not %s (source %s)" % (got, want, [t.ledger.get("step") for t in traces][:1])]
    found = []
    if not schedule:
        for kind in "evaluations", "inferences":
            count = traces[0].ledger["step"].get(kind, {}).get("count", 0)
            if count != truth[kind]:
                found.append("%d %s, not %d" % (count, kind, truth[kind]))
    if truth["marks"]:
        for trace in traces:
            if trace.marks() != trace.steps():
                found.append("labels %s in a trace of steps %s" % (trace.marks(), trace.steps()))
            spans = {int(s["name"].split("#")[1]): s for s in trace.step_spans()}
            for mark in (e for e in trace.ops() if e["name"].startswith("mark:")):
                span = spans.get(int(mark["name"][5:]))
                if span and not span["ts"] <= mark["ts"] <= span["ts"] + span["dur"]:
                    found.append("%s lies outside its step" % mark["name"])
        found += lies_outside(trace)
    return found


def lies_outside(trace):
    """What runs under a label after:<word> belongs to no step, and to the stretch behind its loop."""
    found = []
    stretches = [e for e in trace.ops() if e["name"].startswith("After the loop#")]
    for label in (e for e in trace.ops() if e["name"].startswith("after:")):
        begin, end = label["ts"], label["ts"] + label["dur"]
        found += ["%s lies in %s" % (label["name"], s["name"]) for s in trace.step_spans()
                  if s["ts"] < end and begin < s["ts"] + s["dur"]]
        if not any(s["ts"] <= begin and end <= s["ts"] + s["dur"] for s in stretches):
            found.append("%s lies in no stretch after the loop" % label["name"])
    return found


def check_steps(scenario, where, tried, tmp_path):
    if scenario in NEEDS_TORCH_2 and torch_version(where) < (2, 0):
        pytest.skip("torch %d.%d lacks %s" % (*torch_version(where), NEEDS_TORCH_2[scenario]))
    if scenario in NEEDS_GREENLET and where.name == "2.15":
        pytest.skip("greenlet is not among the libraries of 2.15")
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda i: run_one(scenario, where, tried[i], tmp_path / str(i)),
                                range(len(tried))))
    problems = ["%s: %s" % (schedule_words(**schedule) if schedule else "no schedule", problem)
                for schedule, result in zip(tried, results) for problem in wrong(result, schedule)]
    assert not problems, "\n".join(problems)


def able(scenario):
    without = ["1.13"] * (scenario in NEEDS_TORCH_2) + ["2.15"] * (scenario in NEEDS_GREENLET)
    return pytest.param(scenario, marks=pytest.mark.not_on(*without))


@pytest.mark.parametrize("scenario", map(able, SCENARIOS))
def test_steps(scenario, outer_machine, tmp_path):
    check_steps(scenario, outer_machine, schedules_for(scenario, outer_machine), tmp_path)


AFTER_PYTHON = """
import ctypes, torch
torch.ones(1)
start = getattr(ctypes.CDLL(None), "tprof_start", None)
if start:
    ctypes.pythonapi.Py_AtExit(start)
print("ran", flush=True)
"""


def test_a_phase_that_changes_after_the_interpreter_has_ended(torch_machine, how, logdir):
    """As a thread in C++ may do it."""
    result = run(["-c", AFTER_PYTHON], how, where=torch_machine, logdir=logdir, options={"TPROF_AUTOSTART": "0"})
    assert (result.returncode, result.stdout) == (0, "ran\n"), result.stderr


OWN_C10 = """
import ctypes, sys, torch
torch.ones(1)
own = ctypes.CDLL(sys.argv[1])
print([own.ask() for _ in range(3)])
"""


def test_a_library_with_a_c10_of_its_own_gets_it(compiled, how, logdir):
    library = compiled("own_c10.c", "-shared")
    for way in "bare", how:
        result = run(["-c", OWN_C10, library], way, logdir=logdir, options={"TPROF_AUTOSTART": "0"})
        assert (result.returncode, result.stdout) == (0, "[1, 2, 3]\n"), result.stderr


@pytest.mark.full
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_steps_with_every_schedule(scenario, outer_machine, tmp_path):
    check_steps(scenario, outer_machine, [None] + SCHEDULES, tmp_path)


@pytest.mark.parametrize("source,want", [("optimizer", 10), ("backward:2", 5), ("range:^aten::mse", 0),
                                         ("range:^mark:", 10)])
def test_steps_by_a_source_that_the_user_names(source, want, torch_machine, logdir):
    result = run([PROGRAM, "manual_loop"], "preload", where=torch_machine, logdir=logdir,
                 options={"TPROF_STEP": source})
    traces = result.traces()
    assert len(traces) == 1 and traces[0].steps() == list(range(want))
    if want:
        assert traces[0].ledger["step"]["source"], traces[0].ledger


def test_a_backward_that_fails_is_over(torch_machine, logdir):
    """Of two in an iteration the first fails; the next runs deeper in the C stack and is not part of it."""
    result = run([PROGRAM, "training_with_backwards_that_fail"], "preload", where=torch_machine, logdir=logdir,
                 options={"TPROF_STEP": "backward:2"})
    trace, = result.traces()
    assert trace.steps() == list(range(10))


def test_steps_by_the_data_loader(torch_machine, logdir):
    result = run([PROGRAM, "accumulation_with_loader"], "preload", where=torch_machine, logdir=logdir,
                 options={"TPROF_STEP": "dataloader"})
    assert [t.steps() for t in result.traces()] == [list(range(21))]


def test_the_last_batch_of_an_evaluation_counts(torch_machine, logdir):
    result = run([PROGRAM, "evaluation_that_draws_no_more_than_it_uses"], "preload", where=torch_machine, logdir=logdir)
    trace, = result.traces()
    assert trace.ledger["step"]["evaluations"]["batches"] == 4, trace.ledger["step"]


@pytest.mark.parametrize("scenario,sure", [("objectives_with_an_update_each_without_loader", True),
                                           ("gan_without_loader", False)])
def test_updates_in_turn_are_a_guess_unless_their_losses_come_first(scenario, sure, torch_machine, logdir):
    result = run([PROGRAM, scenario], "preload", where=torch_machine, logdir=logdir)
    trace, = result.traces()
    assert trace.ledger["step"]["confidence"] == ("detected" if sure else "guessed"), trace.ledger["step"]


def test_setup_belongs_to_no_step_and_the_last_step_ends_with_its_work(torch_machine, logdir):
    result = run([pathlib.Path(__file__).with_name("edges.py").resolve()], "preload", where=torch_machine, logdir=logdir)
    trace, = result.traces()
    assert trace.steps() == list(range(5))
    spans = trace.step_spans()
    assert trace.ops("setup")[0]["ts"] + trace.ops("setup")[0]["dur"] <= spans[0]["ts"]
    assert spans[-1]["dur"] < 1.9e6, "the last step lasts until the end of the process"
    for before, after in zip(spans, spans[1:]):
        assert before["ts"] + before["dur"] <= after["ts"] + 0.002, "steps overlap"


def test_a_stop_where_a_window_would_end_ends_it(torch_machine, logdir):
    result = run([PROGRAM.with_name("stopped.py")], "preload", where=torch_machine, logdir=logdir,
                 options={"TPROF_SCHEDULE": "active=3,repeat=3"})
    assert (result.returncode, result.stdout) == (0, "done\n"), result.stderr
    assert [trace.steps() for trace in result.traces()] == [[0, 1, 2]]
