"""tprof advise and tprof diff on four traces of torch.profiler (golden/kineto-traces: one ResNet-50, loaded by no
worker process and by four), and their exit codes."""
import gzip
import json
import pathlib

import pytest

from harness import tprof

TRACES = pathlib.Path(__file__).resolve().parents[1] / "golden" / "kineto-traces"
SLOW, FAST = TRACES / "resnet50_num_workers_0", TRACES / "resnet50_num_workers_4"


def answer(*words):
    done = tprof(*words, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def trace(path, steps, loading=0.0, first_us=0):
    """A CPU trace of steps of these lengths in us, a part of each in the DataLoader."""
    events, at = [], first_us
    for number, us in enumerate(steps):
        events.append({"name": "ProfilerStep#%d" % number, "cat": "user_annotation", "ts": at, "dur": us})
        if loading:
            events.append({"name": "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", "cat": "user_annotation",
                           "ts": at, "dur": us * loading})
        events.append({"name": "aten::mm", "cat": "cpu_op", "ts": at + us * loading, "dur": us * (1 - loading) - 1})
        at += us
    for event in events:
        event.update(ph="X", pid=1, tid=1, args={})
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    return path


def test_the_data_loader_is_named_with_its_share():
    for worker in answer("advise", SLOW)["workers"]:
        first = worker["recommendations"][0]
        assert first["id"] == "DL1" and first["severity"] == "high"
        overview = [w for w in answer("overview", SLOW)["workers"] if w["span"] == worker["span"]][0]
        share = [c["percent"] for c in overview["execution_summary"] if c["category"] == "DataLoader"][0]
        assert first["share_percent"] == pytest.approx(share, abs=0.01)
        assert first["saving_us_per_step"] == pytest.approx(worker["average_step_time_us"] * share / 100, rel=1e-3)
        assert all("DataLoader" in place["name"] for place in first["evidence"])


def test_four_workers_leave_the_data_loader_alone():
    for worker in answer("advise", FAST)["workers"]:
        assert "DL1" not in [r["id"] for r in worker["recommendations"]]


def test_the_diff_tells_that_the_step_fell_and_why():
    diff = answer("diff", SLOW, FAST)
    assert diff["step"]["b_us"] < 0.9 * diff["step"]["a_us"]
    assert diff["story"].startswith("step time ") and "mostly DataLoader" in diff["story"]
    assert diff["step"]["high_us"] < 0
    fell = min((r for r in diff["rows"] if r["by"] == "category"), key=lambda r: r["delta_us"])
    assert fell["name"] == "DataLoader" and fell["b_us"] < 0.05 * fell["a_us"] and fell["high_us"] < 0
    text = tprof("diff", SLOW, FAST)
    assert text.stdout.splitlines()[0] == diff["story"]


def test_categories_of_a_diff_sum_to_the_step():
    diff = answer("diff", SLOW, FAST)
    for side in ("a_us", "b_us"):
        rows = [r[side] or 0 for r in diff["rows"] if r["by"] == "category"]
        assert sum(rows) == pytest.approx(diff["step"][side], rel=1e-6)


def test_the_same_traces_give_the_same_answer():
    assert tprof("diff", SLOW, FAST, "--csv").stdout == tprof("diff", SLOW, FAST, "--csv").stdout


def test_advice_fails_on_the_severity_asked_for(tmp_path):
    high = trace(tmp_path / "high.pt.trace.json", [1000] * 4, loading=0.3)
    moderate = trace(tmp_path / "moderate.pt.trace.json", [1000] * 4, loading=0.1)
    assert tprof("advise", high).returncode == 0
    assert tprof("advise", high, "--fail-on", "high").returncode == 1
    assert tprof("advise", moderate, "--fail-on", "high").returncode == 0
    assert tprof("advise", moderate, "--fail-on", "moderate").returncode == 1
    assert tprof("advise", high, "--fail-on", "low").returncode == 2


def test_a_finding_that_saves_nothing_is_shown_on_demand_only(tmp_path):
    path = tmp_path / "hidden.pt.trace.json"
    step = {"name": "ProfilerStep#0", "cat": "user_annotation", "ts": 0, "dur": 10000}
    loader = {"name": "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", "cat": "user_annotation", "ts": 1,
              "dur": 3000}
    kernel = {"name": "gemm", "cat": "kernel", "ts": 0, "dur": 10000, "args": {"device": 0, "stream": 7}}
    events = [{"ph": "X", "pid": 1, "tid": 1, "args": {}, **event} for event in (step, loader, kernel)]
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    assert "DL2" not in tprof("advise", path).stdout and "DL2" in tprof("advise", path, "--all").stdout
    found = {r["id"]: r["minor"] for r in answer("advise", path)["workers"][0]["recommendations"]}
    assert found["DL2"] and tprof("advise", path, "--fail-on", "high").returncode == 0


def runs(path, name, of_each):
    """Traces of several runs, each of steps of these lengths."""
    return [trace(path / ("%s%d.pt.trace.json" % (name, i)), steps) for i, steps in enumerate(of_each)]


BEFORE = [[1000, 1010, 990, 1000, 1005], [1002, 1011, 989, 1003, 1001], [995, 1007, 992, 1004, 1000]]
AFTER = [[us + 200 for us in steps] for steps in BEFORE]


def test_a_regression_fails_and_noise_does_not(tmp_path):
    before, after = runs(tmp_path, "a", BEFORE), runs(tmp_path, "b", AFTER)
    noisy = runs(tmp_path, "c", [[700, 1600, 800], [1500, 1100, 1000], [900, 1400, 1000]])
    assert tprof("diff", *before, "--vs", *after).returncode == 0
    assert tprof("diff", *before, "--vs", *after, "--fail-on-regression", "5%").returncode == 1
    assert tprof("diff", *before, "--vs", *after, "--fail-on-regression", "30%").returncode == 0
    assert tprof("diff", "--fail-on-regression", "5%", *after, "--vs", *before).returncode == 0
    done = tprof("diff", *before, "--vs", *noisy, "--fail-on-regression", "5%")
    assert done.returncode == 0 and "one of 5.0 % could have been missed" in done.stderr
    assert tprof("diff", *before, "--vs", *after, "--fail-on-regression", "much").returncode == 2


def test_a_regression_wants_three_runs_a_side_or_a_flag(tmp_path):
    before, after = runs(tmp_path, "a", BEFORE), runs(tmp_path, "b", AFTER)
    for few in (("diff", before[0], after[0]), ("diff", *before[:2], "--vs", *after)):
        done = tprof(*few, "--fail-on-regression", "5%")
        assert done.returncode == 4 and "too few runs" in done.stderr and "--few-runs" in done.stderr
        assert tprof(*few, "--fail-on-regression", "5%", "--few-runs").returncode == 1


def test_of_one_run_a_side_nothing_is_said_of_the_program(tmp_path):
    before, after = runs(tmp_path, "a", BEFORE), runs(tmp_path, "b", AFTER)
    diff = answer("diff", before[0], after[0])
    assert diff["verdict"] == "unknown" and diff["sample"] == "steps" and diff["runs"] == {"a": 1, "b": 1}
    assert any("how much runs of the same program differ is not known" in remark for remark in diff["remarks"])
    diff = answer("diff", *before, "--vs", *after)
    assert diff["verdict"] == "changed" and diff["sample"] == "runs" and diff["runs"] == {"a": 3, "b": 3}
    assert diff["step"]["delta_us"] == pytest.approx(200, abs=1)
    text = tprof("diff", *before, "--vs", *after).stdout
    assert "A: 3 runs, 15 steps; B: 3 runs, 15 steps" in text and "would have been found in four of five" in text


def test_directories_are_runs_and_windows_of_one_process_are_not(tmp_path):
    for side, of_each in (("a", BEFORE), ("b", AFTER)):
        for i, steps in enumerate(of_each):
            (tmp_path / side / str(i)).mkdir(parents=True)
            trace(tmp_path / side / str(i) / "box_1.pt.trace.json", steps)
    assert answer("diff", tmp_path / "a", tmp_path / "b")["runs"] == {"a": 3, "b": 3}
    three = [tmp_path / "a" / str(i) for i in range(3)]
    assert answer("diff", *three, "--vs", tmp_path / "b" / "0")["runs"] == {"a": 3, "b": 1}
    (tmp_path / "windows").mkdir()
    windows = [trace(tmp_path / "windows" / ("box_1.%d.pt.trace.json" % i), steps) for i, steps in enumerate(BEFORE)]
    assert answer("diff", *windows, "--vs", *three)["runs"] == {"a": 1, "b": 3}


def test_what_cannot_be_compared_is_said_in_one_line(tmp_path):
    a, b, c = runs(tmp_path, "a", BEFORE)
    for words, what in (((a,), "a comparison needs two"), ((a, b, c), "which of them are A and which are B"),
                        ((a, "--vs"), "before it and after it"), (("--vs", a), "before it and after it"),
                        ((a, "--vs", b, "--vs", c), "given twice"), ((a, a, "--vs", b, c), "given twice")):
        done = tprof("diff", *words)
        assert done.returncode == 2 and what in done.stderr and done.stderr.count("\n") == 1, (words, done.stderr)
        assert not done.stdout


def test_too_few_steps_are_no_all_clear(tmp_path):
    before, after = trace(tmp_path / "a.pt.trace.json", [1000]), trace(tmp_path / "b.pt.trace.json", [2000])
    done = tprof("diff", before, after, "--fail-on-regression", "5%", "--few-runs")
    assert done.returncode == 4 and "too few steps" in done.stderr
    assert "noise unknown" in done.stdout


def test_unreadable_and_empty_input(tmp_path):
    broken = tmp_path / "x.pt.trace.json.gz"
    broken.write_bytes(gzip.compress(b'{"traceEvents": [{"ph": "X"')[:-9])
    good = trace(tmp_path / "good.pt.trace.json", [1000] * 3)
    assert tprof("advise", broken).returncode == 3
    assert tprof("diff", broken, good).returncode == 3
    assert tprof("diff", tmp_path / "none", good).returncode == 3
    assert tprof("advise", tmp_path).returncode == 4  # one of two
    empty = tmp_path / "empty.pt.trace.json"
    empty.write_text('{"schemaVersion": 1, "traceEvents": []}')
    worker = answer("advise", empty)["workers"][0]
    assert worker["recommendations"] == [] and "nothing was recorded" in worker["not_known"][0]


def test_a_cpu_trace_says_what_is_not_known(tmp_path):
    text = tprof("advise", trace(tmp_path / "cpu.pt.trace.json", [1000, 1000])).stdout
    for what in ("no GPU work", "fewer than three steps", "no input shapes", "no memory events"):
        assert "not known: " in text and what in text


def test_peaks_of_devices_come_from_a_file(tmp_path):
    bad = tmp_path / "devices"
    bad.write_text("V100; fast\n")
    done = tprof("advise", SLOW, "--devices", bad)
    assert done.returncode == 2 and "line 1" in done.stderr
