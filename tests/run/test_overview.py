"""tprof overview and tprof steps against torch_tb_profiler's stored answers, and on bad and mixed input.

The answers: golden/kineto-traces/expected.json for four traces of torch.profiler, golden/*.plugin.json for our own.
"""
import gzip
import json
import pathlib
import shutil

import pytest

from harness import tprof

GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "golden"
TRACES = GOLDEN / "kineto-traces"
EXPECTED = json.loads((TRACES / "expected.json").read_text())["runs"]
WINDOWS = [(run, worker, span) for run, known in EXPECTED.items() for worker, spans in known["workers"].items()
           for span in spans]
# What is told apart in the plugin's sentences.
SENTENCES = {"input data loading": "data_loading", "DataParallel to do": "data_parallel", "Nccl backend": "nccl",
             "cost on communication": "communication", "low utilization": "low_utilization",
             "Tensor Cores eligible": "tensor_cores", "memory capacity": "memory"}
OWN = ["gpu", "gpu-ops", "torch-1.13", "torch-2.14"]


def answer(*words):
    done = tprof(*words)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def close(value, digits=0):
    """0.1 %, or one unit in the last printed digit."""
    return pytest.approx(value, rel=1e-3, abs=10 ** -digits)


def same_text(ours, theirs):
    """Texts such as "55.51 %" agree."""
    if theirs.endswith(" %"):
        return ours.endswith(" %") and float(ours[:-2]) == close(float(theirs[:-2]), 2)
    return ours == theirs


def assert_steps(ours, theirs):
    assert ours["columns"] == theirs["columns"]
    assert [row[0] for row in ours["rows"]] == [str(row[0]) for row in theirs["rows"]]
    for mine, row in zip(ours["rows"], theirs["rows"]):
        for value, expected in zip(mine[1:], row[1:]):
            assert value == close(expected, 2), (row[0], ours["columns"])


def assert_recommendations(ours, theirs):
    ids = [next(word for part, word in SENTENCES.items() if part in text) for text in theirs]
    assert [one["id"] for one in ours] == ids
    for one, text in zip(ours, theirs):
        for number in (value for key, value in one.items() if key.startswith("percent_of")):
            assert ("%.1f%%" % number in text) or ("%.0f%%" % number in text), text


@pytest.fixture(scope="module")
def compat():
    found = answer("overview", "--plugin-compat", "--json", TRACES)
    assert found["rules"] == "torch_tb_profiler"
    return {(one["run"], one["worker"], one["span"]): one for one in found["workers"]}


def test_runs_workers_and_spans_are_the_plugin_s(compat):
    assert sorted(compat) == sorted(WINDOWS)


@pytest.mark.parametrize("window", WINDOWS, ids="-".join)
def test_every_figure_of_the_overview_is_the_plugin_s(compat, window):
    run, worker, span = window
    ours, theirs = compat[window], EXPECTED[run]["workers"][worker][span]["Overview"]
    assert ours["configuration"] == theirs["configuration"]
    assert [title for title, _ in ours["gpu_summary"]] == [title for title, _ in theirs["gpu_summary"]]
    for (title, mine), (_, value) in zip(ours["gpu_summary"], theirs["gpu_summary"]):
        assert same_text(mine, value), (title, mine, value)
    assert ours["average_step_time_us"] == close(theirs["average_step_time_us"])
    assert [one["category"] for one in ours["execution_summary"]] == [
        one["category"] for one in theirs["execution_summary"]]
    for mine, row in zip(ours["execution_summary"], theirs["execution_summary"]):
        assert mine["us"] == close(row["us"]), row["category"]
        assert mine["percent"] == close(row["percent"], 2), row["category"]
    assert_steps(ours["steps"], theirs["steps"])
    assert_recommendations(ours["recommendations"], theirs["recommendations"])


@pytest.mark.parametrize("name", OWN)
def test_our_own_traces_show_what_the_plugin_shows(name):
    theirs = json.loads((GOLDEN / (name + ".plugin.json")).read_text())
    theirs = {**theirs, **theirs.get("overview", {})}
    trace = next(GOLDEN.glob(name + ".*.pt.trace.json.gz"))
    ours = answer("overview", "--plugin-compat", "--json", trace)["workers"][0]
    assert ours["configuration"] == theirs["configuration"]
    assert ours["average_step_time_us"] == close(theirs["average_step_time_us"])
    assert_steps(ours["steps"], theirs["steps"])
    assert_recommendations(ours["recommendations"], theirs["recommendations"])
    summary = theirs.get("gpu_summary", [])
    assert [title for title, _ in ours["gpu_summary"]] == [title for title, _ in summary]
    for (title, mine), (_, value) in zip(ours["gpu_summary"], summary):
        assert same_text(mine, value), (title, mine, value)


@pytest.mark.parametrize("name", OWN)
def test_by_our_rules_categories_sum_to_the_step(name):
    ours = answer("overview", "--json", next(GOLDEN.glob(name + ".*.pt.trace.json.gz")))["workers"][0]
    assert ours["steps"]["rows"]
    total = sum(row["us"] for row in ours["execution_summary"])
    assert total == pytest.approx(ours["average_step_time_us"], abs=len(ours["execution_summary"]))
    assert sum(row["percent"] for row in ours["execution_summary"]) == pytest.approx(100, abs=0.1)


def test_differences_are_named_and_only_where_there_are_some():
    one = answer("overview", "--explain", "--json", TRACES / "resnet50_num_workers_0")["workers"][0]
    assert one["differences"] == []
    text = tprof("overview", "--explain", GOLDEN / "gpu-ops.1.pt.trace.json.gz")
    assert text.returncode == 0


def test_the_text_shows_what_matters():
    shown = tprof("overview", TRACES / "resnet50_num_workers_0")
    assert shown.returncode == 0 and shown.stderr == ""
    for word in ("resnet50_num_workers_0", "worker0", "span 1", "span 2", "Tesla V100", "GPU Utilization 55.51 %",
                 "Average step", "DataLoader"):
        assert word in shown.stdout, word
    steps = tprof("steps", TRACES / "resnet50_num_workers_0")
    assert steps.returncode == 0
    for word in ("Step", "Total", "Kernel", "10", "average"):
        assert word in steps.stdout, word


def small_trace(path, step=1):
    events = [{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#%d" % step, "pid": 1, "tid": 1, "ts": 0,
               "dur": 100},
              {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 10, "dur": 50}]
    path.write_text(json.dumps({"traceEvents": events}))


def test_spans_are_numbered_as_texts_and_twins_are_said(tmp_path):
    for stamp in ("1000", "999", "5"):
        small_trace(tmp_path / ("w.%s.pt.trace.json" % stamp), int(stamp))
    small_trace(tmp_path / "v.pt.trace.json")
    (tmp_path / "w.5.pt.trace.json.gz").write_bytes(gzip.compress(b"{}"))
    (tmp_path / "x.trace.json").write_text("{}")
    done = tprof("overview", "--json", tmp_path)
    found = {(one["worker"], one["span"]): one["steps"]["rows"][0][0] for one in json.loads(done.stdout)["workers"]}
    assert found == {("v", "default"): "1", ("w", "1"): "1000", ("w", "2"): "5", ("w", "3"): "999"}
    assert done.returncode == 4 and "w.5.pt.trace.json.gz" in done.stderr


def test_directories_below_are_runs_of_their_own(tmp_path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    small_trace(tmp_path / "w.pt.trace.json")
    small_trace(tmp_path / "a" / "b" / "w.pt.trace.json")
    runs = [one["run"] for one in answer("overview", "--json", tmp_path)["workers"]]
    assert runs == [tmp_path.name, "a/b"]


def test_exit_codes_and_messages_of_bad_input(tmp_path):
    assert tprof("overview").returncode == 2
    for missing in (tmp_path / "nothing", tmp_path):
        done = tprof("overview", missing)
        assert done.returncode == 3 and str(missing) in done.stderr and done.stdout == ""
    whole = (GOLDEN / "gpu.1.pt.trace.json.gz").read_bytes()
    cut = tmp_path / "cut.pt.trace.json.gz"
    cut.write_bytes(whole[:len(whole) // 2])
    done = tprof("overview", "--json", tmp_path)
    assert done.returncode == 3 and "cut.pt.trace.json.gz" in done.stderr and done.stdout == ""
    assert "<fd" not in done.stderr + tprof("info", cut).stderr
    small_trace(tmp_path / "good.pt.trace.json")
    done = tprof("overview", "--json", tmp_path)
    assert done.returncode == 4 and "cut.pt.trace.json.gz" in done.stderr
    assert [one["worker"] for one in json.loads(done.stdout)["workers"]] == ["good"]


def test_nothing_to_analyse_is_said(tmp_path):
    trace = tmp_path / "e.pt.trace.json"
    trace.write_text('{"traceEvents": []}')
    one = answer("overview", "--json", trace)["workers"][0]
    assert one["average_step_time_us"] is None and one["execution_summary"] == []
    assert "no events" in one["notes"][0]


def test_a_recording_counts_where_its_trace_is_missing(tmp_path):
    recording = tmp_path / "r.tprof"
    recording.write_bytes(gzip.decompress((GOLDEN / "torch-1.13.recording.gz").read_bytes()))
    from_recording = answer("steps", "--json", tmp_path)["workers"]
    out = tmp_path / "out"
    assert tprof("convert", "--output", out, recording).returncode == 0
    from_trace = answer("steps", "--json", out)["workers"]
    assert [one["rows"] for one in from_recording] == [one["rows"] for one in from_trace]
    shutil.copy(next(out.iterdir()), tmp_path)
    again = answer("steps", "--json", tmp_path)["workers"]
    assert [(one["worker"], one["span"]) for one in again if one["run"] == tmp_path.name] == [
        (one["worker"], one["span"]) for one in from_recording]
