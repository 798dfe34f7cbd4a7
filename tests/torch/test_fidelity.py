"""tprof's trace of a training says what torch.profiler's own trace of the same training says, line by line.

The two run in processes of their own, with one seed, and record the same steps of models.py.
"""
import concurrent.futures
import pathlib

import pytest

import compare
import harness

PROGRAM = pathlib.Path(__file__).with_name("models.py").resolve()
MODELS = ["mlp", "conv", "transformer", "labelled", "threads"]
OPTIONS = {"TPROF_SCHEDULE": harness.schedule_words(wait=1, warmup=1, active=4, repeat=1), "TPROF_PROFILE_MEMORY": "1"}


@pytest.fixture(scope="module", params=MODELS)
def traces(request, kineto_machine, tmp_path_factory):
    """(tprof's, torch.profiler's) of one model, as Outlines."""
    home = tmp_path_factory.mktemp(request.param)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        profiled = pool.submit(harness.run, [PROGRAM, request.param], "run", where=kineto_machine, logdir=home / "log",
                               options=OPTIONS)
        bare = harness.run([PROGRAM, request.param, home / "theirs.json"], where=kineto_machine)
    assert bare.returncode == 0, bare.stderr
    assert profiled.result().returncode == 0, profiled.result().stderr
    ours, = profiled.result().traces()
    return compare.Outline(ours), compare.Outline(compare.without_python_scalars(harness.Trace(home / "theirs.json")))


def test_operators_and_their_nesting(traces):
    """Names, categories, threads, order and depth, of labels and steps too."""
    ours, theirs = traces
    assert ours.trace.steps() == theirs.trace.steps() == [2, 3, 4, 5]
    compare.assert_same(ours.lines(), theirs.lines())


def test_inputs(traces):
    ours, theirs = (outline.lines(compare.facts(*compare.INPUTS)) for outline in traces)
    compare.assert_same(ours, theirs)


def test_sequence_numbers_and_forward_threads(traces):
    ours, theirs = (outline.lines(compare.facts(*compare.SEQUENCE)) for outline in traces)
    compare.assert_same(ours, theirs)


def test_each_operator_has_the_same_arguments(traces):
    ours, theirs = (outline.lines(lambda event: ", ".join(sorted(event["args"]))) for outline in traces)
    compare.assert_same(ours, theirs)


def test_links_to_backward_nodes(traces):
    """What tprof leaves out for the TensorBoard plugin's sake is counted in its ledger."""
    ours, theirs = (outline.flows() for outline in traces)
    left_out = [line for line in theirs if line not in ours]
    assert theirs and len(left_out) == traces[0].trace.ledger["fwdbwd"]["left_out"]
    compare.assert_same(ours, [line for line in theirs if line not in left_out])


def test_memory(traces):
    """Only tprof sees blocks go that are older than torch's profiler."""
    ours, theirs = (outline.memory() for outline in traces)
    assert theirs and not any(compare.OLDER in line for line in theirs)
    ours = [line for line in ours if compare.OLDER not in line]
    if "thread 1" in traces[0].threads.values():  # which thread lets go of a tensor last is a race
        ours, theirs = ([line for line in lines if " +" in line] for lines in (ours, theirs))
    compare.assert_same(ours, theirs)


def test_memory_totals_run_on(traces):
    for outline in traces:
        if "thread 1" not in outline.threads.values():
            assert not compare.total_jumps(compare.memory(outline.trace))


# --- torch 1.13 is not compared with its torch.profiler: what a step of the MLP must be, worked out by hand.
# x: 4x8, y: 4x4; Linear(8, 16), ReLU, Linear(16, 4); all float, 4 bytes each.

FORWARD = [("aten::linear", [[4, 8], [16, 8], [16]]), ("aten::relu", [[4, 16]]),
           ("aten::linear", [[4, 16], [4, 16], [4]]), ("aten::broadcast_tensors", [[[4, 4], [4, 4]]]),
           ("aten::mse_loss", [[4, 4], [4, 4], []])]
# Each operator that makes a node, the node, and the gradient that the node is called with; six nodes in a step.
NODES = [("aten::t", "TBackward0", [8, 16]), ("aten::addmm", "AddmmBackward0", [4, 16]),
         ("aten::relu", "ReluBackward0", [4, 16]), ("aten::t", "TBackward0", [16, 4]),
         ("aten::addmm", "AddmmBackward0", [4, 4]), ("aten::mse_loss", "MseLossBackward0", [])]
# Gradients in the order in which they are ready: the last layer's bias and weight, then the first one's.
GRADIENTS = [[4], [4, 16], [16], [16, 8]]
# (bytes, operator around it): what the step allocates, less scalars (up to 8 bytes), less labels' handles.
ALLOCATED = [
    (128, "aten::empty"), (64, "aten::empty"),            # x, y
    (256, "aten::addmm"), (256, "aten::clamp_min"),       # hidden, and after ReLU
    (64, "aten::addmm"),                                  # output
    (64, "aten::mse_loss"), (64, "aten::empty"),          # loss of each element: its place, then the result
    (64, "aten::empty"),                                  # gradient of output
    (256, "aten::mm"), (256, "aten::mm"), (16, "aten::sum"),  # of hidden after ReLU, second weight, second bias
    (256, "aten::threshold_backward"),                    # of hidden
    (512, "aten::mm"), (64, "aten::sum")]                 # first weight, first bias


@pytest.fixture(scope="module")
def by_hand(tmp_path_factory):
    """The first recorded step of the MLP on torch 1.13, and the Outline it is part of."""
    result = harness.run([PROGRAM, "mlp"], "run", logdir=tmp_path_factory.mktemp("mlp"), options=OPTIONS,
                         where=harness.machine("1.13"))
    assert result.returncode == 0, result.stderr
    trace, = result.traces()
    outline = compare.Outline(trace)
    return outline, next(op for op in outline.all() if op.event["name"] == "ProfilerStep#2")


def inside(outline, parent, deep=False):
    """What was called by this operator, or under it at any depth."""
    def under(op):
        return op.parent and (op.parent is parent or deep and under(op.parent))
    return [op for op in outline.all() if under(op)]


def test_operators_by_hand(by_hand):
    outline, step = by_hand
    top = inside(outline, step)
    names = [op.event["name"] for op in top]
    first = names.index("aten::linear")
    forward = [(op.event["name"], op.event["args"]["Input Dims"]) for op in top[first:first + 5]]
    assert forward == FORWARD
    backward = [name.partition(": ")[2] for name in names if name.startswith("autograd::engine::evaluate_function: ")]
    accumulate = "torch::autograd::AccumulateGrad"
    assert backward == ["MseLossBackward0", "AddmmBackward0", accumulate, "TBackward0", accumulate, "ReluBackward0",
                        "AddmmBackward0", accumulate, "TBackward0", accumulate]
    assert names[:2] == ["aten::randn", "aten::randn"] and names[-1] == "Optimizer.step#SGD.step"
    addmm, = (op for op in inside(outline, top[first]) if op.event["name"] == "aten::addmm")
    assert {key: addmm.event["args"][key] for key in compare.INPUTS} == {
        "Input Dims": [[16], [4, 8], [8, 16], [], []], "Input type": ["float"] * 3 + ["Scalar"] * 2,
        "Input Strides": [[1], [8, 1], [1, 8], [], []], "Concrete Inputs": ["", "", "", "1", "1"]}
    gradients = [op.event["args"]["Input Dims"] for op in inside(outline, step, deep=True)
                 if op.event["name"] == accumulate]
    assert gradients == [[dims] for dims in GRADIENTS]


def test_sequence_numbers_by_hand(by_hand):
    """Two steps of six nodes came before. A node has the number of the operator that made it."""
    outline, step = by_hand
    ops = [op.event for op in inside(outline, step, deep=True)]
    for number, (name, node, gradient) in enumerate(NODES, 2 * len(NODES)):
        made, = (e for e in ops if e["name"] == node and e["args"]["Sequence number"] == number)
        assert made["args"]["Input Dims"] == [gradient] and made["args"]["Fwd thread id"] == 1
        maker = [e for e in ops if e["name"] == name and e["args"].get("Sequence number") == number]
        assert maker and maker[-1]["args"]["Fwd thread id"] == 0
    links = [line.split(" -> ") for line in outline.flows()]
    assert [(a.split()[-1], b.split()[-1]) for a, b in links] == [(name, node) for name, node, _ in NODES] * 4


def test_memory_by_hand(by_hand):
    outline, step = by_hand
    events = [e for e in compare.memory(outline.trace) if compare.nanoseconds(e) < compare.end(step.event)]
    found = [(e["args"]["Bytes"], outline.around(e)) for e in events if e["args"]["Bytes"] > 8]
    labels = "Optimizer."
    assert [(size, op.event["name"]) for size, op in found
            if not (op.parent and op.parent.event["name"].startswith(labels))] == ALLOCATED
    assert not compare.total_jumps(compare.memory(outline.trace))
