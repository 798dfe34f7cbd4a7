"""What is recorded of operators, on each torch: names, inputs, sequence numbers, links; and torch.profiler agrees."""
import collections
import json
import pathlib

import pytest

import compare
from harness import Trace, run, torch_version, tprof

pytestmark = pytest.mark.everywhere
ZOO = pathlib.Path(__file__).with_name("zoo.py").resolve()
NAMES = ZOO.with_name("names.py")
SHORT_THREADS = ZOO.with_name("short_threads.py")


@pytest.fixture(scope="module")
def zoo(torch_machine, tmp_path_factory):
    """The one trace of zoo.py."""
    result = run([ZOO], "run", where=torch_machine, logdir=tmp_path_factory.mktemp("zoo"))
    assert (result.returncode, result.stdout) == (0, "ran\n"), result.stderr
    trace, = result.traces()
    return trace


def inside(trace, label):
    outer, = trace.ops(label)
    thread = outer["pid"]  # the main one, also of a label that crosses a step and so stands on a lane beside it
    return [e for e in trace.ops() if e is not outer and e["tid"] == thread and
            not e["name"].startswith("After the loop#") and outer["ts"] <= e["ts"] < outer["ts"] + outer["dur"]]


def only(events, name, **arguments):
    found = [e for e in events if e["name"] == name and all(e["args"].get(k) == v for k, v in arguments.items())]
    assert len(found) == 1, (name, [e["args"] for e in events if e["name"] == name])
    return found[0]["args"]


def test_inputs_of_known_operators(zoo):
    events = inside(zoo, "known")
    mm = only(events, "aten::mm")
    assert (mm["Input Dims"], mm["Input type"], mm["Input Strides"]) == \
        ([[3, 4], [4, 5]], ["float", "float"], [[4, 1], [5, 1]])
    add = only(events, "aten::add")
    assert add["Input Dims"] == [[2, 2], [2, 2], []]
    assert (add["Input type"], add["Concrete Inputs"]) == (["float", "float", "Scalar"], ["", "", "3"])
    cat = only(events, "aten::cat")
    assert (cat["Input Dims"], cat["Input type"][0], cat["Concrete Inputs"]) == \
        ([[[2, 2], [2, 3]], []], "TensorList", ["", "1"])
    transposed = only(events, "aten::contiguous")
    assert (transposed["Input Dims"][0], transposed["Input Strides"][0], transposed["Input type"][0]) == \
        ([3, 2], [1, 3], "double")
    assert only(events, "aten::sum")["Input type"][0] == "long int"
    assert only(events, "aten::any")["Input type"][0] == "bool"
    assert any(e["args"]["Input type"][:1] == ["c10::Half"] for e in events if e["name"] == "aten::to")


def test_memory_without_shapes_is_recorded_and_said_to_be(torch_machine, tmp_path):
    """Whatever else is switched off, it is known whether reports arrive."""
    options = {"TPROF_PROFILE_MEMORY": "1", "TPROF_RECORD_SHAPES": "0"}
    trace, = run([ZOO], "preload", where=torch_machine, logdir=tmp_path, options=options).traces()
    assert compare.memory(trace)
    assert trace.ledger["capabilities"]["profile_memory"] == {"on": True, "why": ""}
    assert trace.data["profile_memory"] == 1 and "record_shapes" not in trace.data


def test_categories_and_ids(zoo):
    assert {e["cat"] for e in zoo.ops() if e["name"] in ("zoo", "known", "elsewhere")} == {"user_annotation"}
    assert {e["cat"] for e in zoo.ops() if e["name"].startswith("aten::")} == {"cpu_op"}
    ids = [e["args"]["External id"] for e in zoo.ops()]
    assert len(ids) == len(set(ids))
    assert all(isinstance(e["tid"], int) for e in zoo.ops())
    assert zoo.ops("elsewhere")[0]["tid"] != zoo.ops("zoo")[0]["tid"]


def test_backward_is_linked_to_forward(zoo):
    """Sequence numbers meet, and each flow runs from an operator to its backward node."""
    starts = {e["id"]: e for e in zoo.events if e.get("cat") == "fwdbwd" and e["ph"] == "s"}
    ends = {e["id"]: e for e in zoo.events if e.get("cat") == "fwdbwd" and e["ph"] == "f"}
    assert starts and starts.keys() == ends.keys()
    at = collections.defaultdict(list)
    for op in zoo.ops():
        at[(op["tid"], op["ts"])].append(op)
    pairs = collections.Counter()
    for number, start in starts.items():
        forward = at[(start["tid"], start["ts"])]
        backward = at[(ends[number]["tid"], ends[number]["ts"])]
        assert forward and backward, "a flow that starts or ends at no operator"
        sequences = {e["args"].get("Sequence number") for e in forward} & \
                    {e["args"].get("Sequence number") for e in backward}
        assert sequences - {None, -1}
        pairs[backward[-1]["name"]] += 1
    assert pairs["ConvolutionBackward0"] == 6 and pairs["AddmmBackward0"] == 6
    nodes = [e for e in zoo.ops() if e["name"].startswith("autograd::engine::evaluate_function: ")]
    assert nodes and all(e["args"].get("Fwd thread id", 0) >= 0 for e in nodes)


def test_the_optimizer_and_its_ranges(zoo):
    assert len(zoo.ops("Optimizer.step#Adam.step")) == 6
    assert len(zoo.ops("Optimizer.zero_grad#Adam.zero_grad")) == 6


def test_metadata(zoo):
    data = zoo.data
    assert data["schemaVersion"] == 1 and data["displayTimeUnit"] in ("ms", "ns")
    assert isinstance(data["baseTimeNanoseconds"], int) and data["record_shapes"] == 1
    assert [e["name"] for e in zoo.ranges if e.get("cat") == "Trace"] == ["PyTorch Profiler (0)"]
    named = {e["name"] for e in zoo.events if e["ph"] == "M"}
    assert {"process_name", "process_sort_index", "thread_name", "thread_sort_index"} <= named
    ledger = zoo.ledger
    assert ledger["seen"] == ledger["written"] + sum(ledger["dropped"].values())
    assert sum(ledger["dropped"].values()) == 0 and "rank" not in json.dumps(ledger)
    assert ledger["capabilities"]["ops"]["on"]


def test_children_lie_within_their_parents(zoo):
    """By integer nanoseconds: an operator that crosses its parent's end would be dropped by the plugin."""
    for tid in {e["tid"] for e in zoo.ops()}:
        spans = sorted(((round(e["ts"] * 1000), -round((e["ts"] + e["dur"]) * 1000), e["name"])
                        for e in zoo.ops() if e["tid"] == tid))
        stack = []
        for begin, minus_end, name in spans:
            while stack and stack[-1][0] <= begin:
                stack.pop()
            assert not stack or -minus_end <= stack[-1][0], (name, "crosses the end of", stack[-1][1])
            stack.append((-minus_end, name))


def test_torch_profiler_agrees(torch_machine, tmp_path, logdir):
    """Both record the same run: the same operators with the same inputs, in the same number."""
    if torch_version(torch_machine) < (2, 0):
        pytest.skip("compared with torch.profiler of torch 2")
    theirs_path = tmp_path / "theirs.json"
    result = run([ZOO, "compare", theirs_path], "run", where=torch_machine, logdir=logdir)
    assert result.returncode == 0, result.stderr
    ours, = result.traces()
    theirs = Trace(theirs_path)
    describe = compare.facts(*compare.INPUTS, *compare.SEQUENCE)

    def facts(trace):
        return collections.Counter((e["name"], e["cat"], describe(e)) for e in inside(trace, "zoo"))
    mine, torchs = facts(ours), facts(theirs)
    assert not torchs - mine, "only torch.profiler has: %s" % list((torchs - mine).items())[:5]
    assert not mine - torchs, "only tprof has: %s" % list((mine - torchs).items())[:5]


@pytest.mark.parametrize("shapes", ["1", "0"])
def test_flops_are_known_where_inputs_are(torch_machine, tmp_path, shapes):
    options = {"TPROF_WITH_FLOPS": "1", "TPROF_RECORD_SHAPES": shapes}
    trace, = run([ZOO], "preload", where=torch_machine, logdir=tmp_path, options=options).traces()
    assert trace.ledger["capabilities"]["with_flops"]["on"] == (shapes == "1")
    worker, = json.loads(tprof("stats", "--by", "flops", "--json", tmp_path).stdout)["workers"]
    products = [row["gflop"] * 1e9 for row in worker["rows"]
                if (row["name"], row["input_shape"]) == ("aten::mm", "[[3, 4], [4, 5]]")]
    assert products == (pytest.approx([2 * 3 * 4 * 5]) if shapes == "1" else [])


def test_each_range_has_the_name_it_was_given(torch_machine, tmp_path):
    """Names are remembered by where they stand, or by what they say: neither may be taken for another."""
    result = run([NAMES], "run", where=torch_machine, logdir=tmp_path)
    assert result.returncode == 0, result.stderr
    trace, = result.traces()
    names = [e["name"] for e in sorted(trace.ops(), key=lambda e: e["ts"])]
    used = result.stdout.splitlines()
    assert [name for name in names if not name.startswith("aten::")] == used
    assert names.count("aten::ones") == len(used)


def test_threads_that_follow_one_another(torch_machine, tmp_path):
    """What is kept of a thread is taken over by the next one: nothing of the first may be taken for its own."""
    result = run([SHORT_THREADS], "run", where=torch_machine, logdir=tmp_path)
    assert (result.returncode, result.stdout) == (0, "ran\n"), result.stderr
    trace, = result.traces()
    assert len(trace.ops("aten::sgn")) == 5 * 4
    assert len(trace.ops("aten::linear")) == 5 * 7
