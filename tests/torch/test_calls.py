"""nn.Module calls and Python calls as events, on each torch: names, numbers, parents, times; and torch.profiler agrees."""
import collections
import json
import pathlib
import re

import pytest

from harness import Trace, both, python_version, run, torch_version, tprof

CALLERS = pathlib.Path(__file__).with_name("callers.py").resolve()
MODULES = {"TPROF_WITH_MODULES": "1"}
CALLS = {"TPROF_WITH_STACK": "calls"}


def record(name, where, logdir, options=MODULES, *words):
    result = run([CALLERS, name, *words], "run", where=where, logdir=logdir, options=options)
    assert result.returncode == 0 and result.stdout.endswith("ran\n"), result.stderr
    trace, = result.traces()
    assert trace.ledger["capabilities"]["with_modules"] == {"on": True, "why": ""}
    return trace, result


def calls(trace):
    """python_function events in order of their ids."""
    found = sorted((e for e in trace.ranges if e.get("cat") == "python_function"), key=lambda e: e["args"]["Python id"])
    ids = {e["args"]["Python id"] for e in found}
    assert len(ids) == len(found) and {e["args"].get("Python parent id") for e in found} <= ids | {None}
    return found


def with_parents(events, keep=lambda e: True):
    """(event, the nearest kept event among its parents or None) for each kept one."""
    by_id = {e["args"]["Python id"]: e for e in events}

    def parent(e):
        e = by_id.get(e["args"].get("Python parent id"))
        return e if e is None or keep(e) else parent(e)
    return [(e, parent(e)) for e in events if keep(e)]


def module_tree(trace):
    """"Parent_0 > Child_1" for each module call in order of begin; a root alone."""
    short = lambda e: e["name"].removeprefix("nn.Module: ")
    pairs = with_parents(calls(trace), lambda e: e["name"].startswith("nn.Module: "))
    for e, _ in pairs:
        assert e["args"]["Python module id"] == int(e["name"].rsplit("_", 1)[1])
    return [short(e) if around is None else "%s > %s" % (short(around), short(e)) for e, around in pairs]


NET = ["Net_0", "Net_0 > Sequential_0", "Sequential_0 > Block_0", "Block_0 > Linear_0", "Block_0 > ReLU_0",
       "Sequential_0 > Block_1", "Block_1 > Linear_1", "Block_1 > ReLU_1", "Net_0 > Linear_2"]


def inside(e, outer):
    return outer["ts"] <= e["ts"] and e["ts"] + e["dur"] <= outer["ts"] + outer["dur"]


def test_the_tree_of_a_model(python_machine, logdir):
    trace, _ = record("tree", python_machine, logdir)
    assert module_tree(trace) == NET + NET
    assert trace.data["with_modules"] == 1
    linear = [e for e in trace.ops("aten::linear")]
    modules = [e for e in calls(trace) if "Linear" in e["name"]]
    assert len(linear) == len(modules) == 6 and all(inside(o, m) for o, m in zip(linear, modules))
    assert all(e["tid"] == trace.pid for e in modules)


@pytest.mark.not_on("trixie", "1.13")
def test_torch_profiler_has_the_same_calls(python_machine, tmp_path, logdir):
    """Names, order and parents of every Python and builtin call and module in what both recorded."""
    if torch_version(python_machine) < (2, 7):
        pytest.skip("torch 2.6 on Python 3.13 crashes when a module is called under with_stack")
    if python_version(python_machine) < (3, 12):
        pytest.skip("Python before 3.12 has one place for a profile function, which torch.profiler takes")
    theirs_path = tmp_path / "theirs.json"
    ours, _ = record("tree", python_machine, logdir, {**CALLS, "TPROF_AUTOSTART": "0"}, theirs_path)
    theirs = Trace(theirs_path)
    assert module_tree(ours) == module_tree(theirs) == NET + NET

    def facts(trace):
        def name(e):
            text = re.sub(r" at 0x[0-9a-f]+", "", e["name"])
            match = re.match(r"(.*?)([^/]*)\((\d+)\): (.*)", text)
            if not match:
                return text
            # torch.profiler gives a generator the line at which it goes on.
            return match[2] + ": " + match[4] if match[4] in ("count", "<genexpr>") else match[2] + match[3] + match[4]
        pairs = with_parents(calls(trace))
        parents = {e["args"]["Python id"]: around for e, around in pairs}
        assert sum(e["name"].endswith(": work") for e, _ in pairs) == 2

        def in_work(e):  # not by time: a call over the begin of a step is cut there
            return e is not None and (e["name"].endswith(": work") or in_work(parents[e["args"]["Python id"]]))
        return collections.Counter((name(e), name(around)) for e, around in pairs if in_work(around))
    mine, torchs = facts(ours), facts(theirs)
    assert sum(mine.values()) > 200
    assert not torchs - mine, "only torch.profiler has: %s" % list((torchs - mine).items())[:8]
    assert not mine - torchs, "only tprof has: %s" % list((mine - torchs).items())[:8]


@pytest.mark.parametrize("options", [MODULES, CALLS])
def test_an_exception_ends_the_modules_it_leaves(options, python_machine, logdir):
    trace, _ = record("exceptions", python_machine, logdir, options)
    refused = ["Refuses_0", "Refuses_0 > Linear_0"]
    net = [t.replace("Linear_2", "Linear_3").replace("Linear_1", "Linear_2").replace("Linear_0", "Linear_1") for t in NET]
    assert module_tree(trace) == refused + net + refused + ["Sums_0"]
    assert not [e for e in calls(trace) if e["args"].get("tprof")]


def test_modules_in_backward_hooks(python_machine, logdir):
    trace, _ = record("hooks", python_machine, logdir)
    assert module_tree(trace) == ["Linear_0", "Sums_0"]
    sums = calls(trace)[1]
    of_thread = [e for e in trace.ops() if e["tid"] == sums["tid"]]
    nodes = [e for e in of_thread if e["name"].startswith("autograd::engine::evaluate_function: ")]
    assert [e["name"] for e in nodes if inside(sums, e)]


def test_a_module_that_calls_itself(python_machine, logdir):
    trace, _ = record("recursion", python_machine, logdir)
    assert module_tree(trace) == ["Again_0"] + ["Again_0 > Again_0"] * 3


@pytest.mark.parametrize("options", [MODULES, CALLS])
def test_modules_on_other_threads(options, python_machine, logdir):
    trace, _ = record("threads", python_machine, logdir, options)
    assert module_tree(trace) == NET + NET
    roots = [e for e in calls(trace) if e["name"] == "nn.Module: Net_0"]
    assert len({e["tid"] for e in roots}) == 2 and trace.pid not in {e["tid"] for e in roots}
    assert len({e["args"]["Python thread"] for e in roots}) == 2


def test_replicas_are_modules_of_their_own(python_machine, logdir):
    trace, _ = record("replicas", python_machine, logdir)
    assert module_tree(trace) == ["Linear_%d" % i for i in range(4)]


def test_a_dead_module_is_let_go_and_not_mistaken(python_machine, logdir):
    trace, result = record("temporary", python_machine, logdir)
    assert result.stdout.startswith("0 alive\n")
    assert module_tree(trace) == ["ReLU_%d" % i for i in range(50)]


def test_parameters_are_counted_where_they_are_plain(python_machine, logdir):
    trace, = run([CALLERS, "counted"], "preload", where=python_machine, logdir=logdir, options=MODULES).traces()
    counted = {e["name"].removeprefix("nn.Module: "): (e["args"].get("Parameters"), e["args"].get("Parameter bytes"))
               for e in calls(trace)}
    block = 4 * 4 + 4
    assert counted["Block_0"] == counted["Block_1"] == counted["Linear_0"] == (block, 4 * block)
    assert counted["ReLU_0"] == (0, 0)
    # The second weight is the first; the head is double.
    assert counted["Net_0"] == (block + 4 + 4 + 1, 4 * (block + 4) + 8 * (4 + 1))
    assert counted["LazyLinear_0"] == (None, None)
    rows = json.loads(tprof("stats", "--by", "module", "--json", logdir).stdout)["workers"][0]["rows"]
    assert {row["name"]: (row["parameters"], row["parameter_bytes"]) for row in rows}["Net_0"] == counted["Net_0"]


def test_modules_in_a_graph_are_counted_or_unknown(python_machine, logdir):
    """A module below itself, in several places, very deep or with very many children: the count is right or missing."""
    trace, result = record("graphs", python_machine, logdir)
    truth = json.loads(result.stdout.splitlines()[0])
    counted = [e["args"].get("Parameters") for e in calls(trace)]
    assert truth == [3, 3001, 200, 600] + 20 * [20] and len(counted) == len(truth) + 1000
    # The deepest chain is unknown, and so are most of the 1000, each of which stands for all of them.
    assert counted[:3] == truth[:3] and counted[3] is None and counted[4:24] == truth[4:]
    assert set(counted[24:]) == {1000, None}


@pytest.mark.not_on("1.13")
def test_compiled_modules(outer_machine, tmp_path):
    """torch.compile sees nothing of it: the same graphs, no more breaks."""
    if torch_version(outer_machine) < (2, 0):
        pytest.skip("this torch has no torch.compile")
    results = both([CALLERS, "compiled"], tmp_path, where=outer_machine, options=MODULES)
    assert json.loads(results["bare"].stdout.splitlines()[0])["breaks"] == {}
    for way in results.keys() - {"bare"}:
        trace, = results[way].traces()
        assert module_tree(trace).count("OptimizedModule_0") == 2


def test_python_calls(python_machine, logdir):
    trace, _ = record("functions", python_machine, logdir, CALLS)
    assert trace.ledger["capabilities"]["python_calls"] == {"on": True, "why": ""}
    ours = [(e, around) for e, around in with_parents(calls(trace)) if str(CALLERS) in e["name"]]
    name = lambda e: re.fullmatch(r".*callers\.py\((\d+)\): (.*)", e["name"])[2]
    lines = {name(e): int(re.search(r"\((\d+)\): ", e["name"])[1]) for e, _ in ours}
    text = CALLERS.read_text().splitlines()
    for function in ("leaf", "count", "recurse", "answer", "refuse"):
        assert ("def %s(" % function) in text[lines[function] - 1], function
    counted = collections.Counter(name(e) for e, _ in ours)
    # A generator is called each time it goes on: twice and its end, once (it is closed where it stands or goes on to close).
    assert counted["recurse"] == 4 and counted["refuse"] == 1 and counted["count"] in (4, 5)
    assert counted["answer"] == 4 and counted["leaf"] == 1 + 2 + 1 + 1
    chain = [(name(e), name(around)) for e, around in ours if around and str(CALLERS) in around["name"]]
    assert chain.count(("recurse", "recurse")) == 3 and chain.count(("leaf", "recurse")) == 1
    assert chain.count(("leaf", "answer")) == 2
    lens = [around for e, around in with_parents(calls(trace)) if e["name"] == "<built-in function len>" and around]
    assert sum(around["name"].endswith(": leaf") for around in lens) == counted["leaf"]
    other, = [e for e, _ in ours if e["tid"] != trace.pid]
    assert name(other) == "leaf"


@pytest.mark.parametrize("options", [MODULES, CALLS])
def test_only_recorded_phases_are_watched(options, python_machine, logdir):
    schedule = {"TPROF_SCHEDULE": "wait=2,warmup=1,active=2,repeat=1"}
    result = run([CALLERS, "phases"], "run", where=python_machine, logdir=logdir, options={**options, **schedule})
    watched = result.stdout.split()[:8]
    trace, = result.traces()
    # A step's end is sure only when the next one does something.
    # Modules alone need nothing of the interpreter's.
    assert watched == (["0", "0", "1", "1", "1", "0", "0", "0"] if options is CALLS else ["0"] * 8), result.stdout
    assert module_tree(trace) == NET + NET
    assert trace.steps() == [3, 4]


def test_a_profiler_of_the_programs_own_keeps_working(python_machine, logdir):
    result = run([CALLERS, "own_profiler"], "run", where=python_machine, logdir=logdir,
                 options={**CALLS, "TPROF_SCHEDULE": "wait=1,active=2"})
    assert result.stdout.splitlines()[0] == "4 %d" % (4 * 3), result.stdout + result.stderr
    trace, = result.traces()
    if python_version(python_machine) < (3, 12):
        assert "profile function of its own" in trace.ledger["capabilities"]["python_calls"]["why"]
        assert not trace.ledger["capabilities"]["python_calls"]["on"]
        assert module_tree(trace) and all(e["name"].startswith("nn.Module: ") for e in calls(trace))
    else:
        assert trace.ledger["capabilities"]["python_calls"]["on"] and calls(trace)


def of_leaf(trace):
    return [e for e in calls(trace) if e["name"].endswith(": leaf")]


def test_a_program_that_restores_the_profile_function_gets_ours_back(python_machine, logdir):
    result = run([CALLERS, "restores_profiler"], "run", where=python_machine, logdir=logdir, options=CALLS)
    assert result.returncode == 0 and result.stdout.endswith("ran\n"), result.stderr
    by_profile = python_version(python_machine) < (3, 12)
    assert sum(len(of_leaf(trace)) for trace in result.traces()) == (7 if by_profile else 10)


def test_a_profile_function_that_is_restored_after_the_window_does_nothing(python_machine, logdir):
    options = {**CALLS, "TPROF_SCHEDULE": "wait=1,active=2,repeat=1"}
    trace, result = record("restores_profiler", python_machine, logdir, options)
    assert trace.steps() == [1, 2] and not of_leaf(trace) and "seen False" in result.stdout


def test_the_profiler_of_another_thread_stays(python_machine, logdir):
    result = run([CALLERS, "profiler_of_a_thread"], "run", where=python_machine, logdir=logdir,
                 options={**CALLS, "TPROF_SCHEDULE": "wait=1,active=2,repeat=1"})
    assert result.stdout.splitlines()[0] == "8", result.stdout + result.stderr
    trace, = result.traces()
    assert module_tree(trace) == NET + NET


@pytest.mark.parametrize("options", [MODULES, CALLS])
def test_a_main_thread_that_waits_in_c_loses_no_modules(options, python_machine, logdir):
    trace, _ = record("waits_for_its_thread", python_machine, logdir,
                      {**options, "TPROF_SCHEDULE": "wait=2,active=2,repeat=1"})
    assert trace.steps() == [2, 3] and module_tree(trace) == NET + NET
    if options is CALLS:
        python_calls = trace.ledger["capabilities"]["python_calls"]
        assert not python_calls["on"] and "the main thread waited" in python_calls["why"]


def test_operators_below_500_python_calls_stay(python_machine, logdir):
    """And below 5000, of which not all are followed. `tprof check` says that no row is too deep."""
    trace, _ = record("depth", python_machine, logdir, CALLS)
    assert len(trace.ops("at the bottom")) == 2
    assert len([e for e in trace.ops("aten::add") if any(inside(e, b) for b in trace.ops("at the bottom"))]) == 2
    dropped = trace.ledger["dropped"]
    assert dropped["folded_deep"] >= 2 * 400
    deep = [e for e in calls(trace) if e["name"].endswith(": deep")]
    assert len(deep) + dropped["folded_deep"] + trace.ledger.get("process_dropped", {}).get("too_deep", 0) >= 5000
    assert [e for e in calls(trace) if e["name"].endswith(": leaf")][-1]["args"]["Python parent id"]


def test_the_tutorials_module(python_machine, logdir):
    trace, _ = record("my_module", python_machine, logdir)
    assert module_tree(trace) == ["MyModule_0", "MyModule_0 > Linear_0"] * 2
    modules = calls(trace)
    for label, count in (("LINEAR PASS", 2), ("MASK INDICES", 2)):
        labels = trace.ops(label)
        assert len(labels) == count
        for around in labels:
            assert any(inside(around, m) for m in modules if "MyModule" in m["name"])
    assert sum(any(inside(m, around) for around in trace.ops("LINEAR PASS")) for m in modules if "Linear" in m["name"]) == 2
