"""tprof stats: against torch_tb_profiler's stored answers, and what it says of input that lacks something.

The answers: golden/kineto-traces/expected.json for four traces of torch.profiler, golden/*.plugin.json for our own.
"""
import csv
import gzip
import io
import json
import pathlib
import re

import pytest

from harness import tprof

GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "golden"
TRACES = GOLDEN / "kineto-traces"
EXPECTED = json.loads((TRACES / "expected.json").read_text())["runs"]
WINDOWS = [(run, worker, span) for run, known in EXPECTED.items() for worker, spans in known["workers"].items()
           for span in spans]
MANUAL = pathlib.Path(__file__).resolve().parents[2] / "tools" / "manual" / "stats.md"
TABLE = MANUAL.read_text().split("stats:begin")[1].split("|---|")[1].split("stats:end")[0]
WORDS = re.findall(r"^\| `(\S+)` \|", TABLE, re.M)
BEYOND = ["exposed", "idle", "launch", "queue", "copy", "flops", "peak", "critical-path", "comm"]
OWN = {"gpu": "gpu.1", "gpu-ops": "gpu-ops.1", "torch-1.13": "torch-1.13.1", "torch-2.14": "torch-2.14.1"}


def stats(*words):
    done = tprof("stats", "--json", *words)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def overview(trace):
    return json.loads(tprof("overview", "--json", trace).stdout)["workers"][0]


def close(value, digits=0):
    """0.1 %, or one unit in the last printed digit."""
    return pytest.approx(value, rel=1e-3, abs=1.01 * 10 ** -digits)


def assert_same(ours, theirs, where):
    assert len(ours) == len(theirs), where
    for mine, value in zip(ours, theirs):
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            assert mine == close(value, 2 if isinstance(value, float) else 0), where
        else:
            assert str(mine) == str(value), where


def assert_rows(ours, theirs, key):
    """Each of their rows is one of ours; ties may stand in another order."""
    known = {key(row): row for row in ours}
    assert len(known) == len(ours) and theirs
    for row in theirs:
        assert_same(known[key(row)], row, row)


def operator_rows(table):
    rows = []
    for row in table["rows"]:
        values = dict(row, has_call_stack=row["has_call_stack"] == "Yes")
        rows.append([[name, values[name]] for name in values])
    return rows


def assert_operators(table, theirs):
    by_name = lambda row: tuple(value for name, value in row if name in ("name", "input_shape"))
    ours = {by_name(row): dict(row) for row in operator_rows(table)}
    assert theirs
    for row in theirs:
        mine = ours[by_name(row.items())]
        assert row.keys() <= mine.keys()  # some answers were stored without all columns
        assert_same([mine[name] for name in row], list(row.values()), row)


@pytest.fixture(scope="module", params=["op", "op+shape", "kernel", "kernel+op", "memory"])
def compat(request):
    found = stats("--plugin-compat", "--by", request.param, TRACES)
    assert found["schema"] == 1 and found["rules"] == "torch_tb_profiler"
    return request.param, {(one["run"], one["worker"], one["span"]): one for one in found["workers"]}


@pytest.mark.parametrize("window", WINDOWS, ids="-".join)
def test_every_stored_row_is_the_plugin_s(compat, window):
    by, tables = compat
    run, worker, span = window
    ours, views = tables[window], EXPECTED[run]["workers"][worker][span]
    if by.startswith("op"):
        theirs = views["Operator"]["Operation" if by == "op" else "OperationAndInputShape"]
        assert (ours["sort"], ours["n_rows"]) == (theirs["sort"], theirs["n_rows"])
        assert sum(row["has_call_stack"] == "Yes" for row in ours["rows"]) == theirs["n_with_call_stack"]
        assert sum(row["tc_eligible"] == "Yes" for row in ours["rows"]) == theirs["n_tc_eligible"]
        assert_operators(ours, theirs["rows"])
    elif by.startswith("kernel"):
        theirs = views["Kernel"]["by_kernel" if by == "kernel" else "by_kernel_and_op"]
        assert [column["title"] for column in ours["columns"]] == theirs["columns"]
        assert ours["n_rows"] == theirs["n_rows"]
        assert_rows([list(row.values()) for row in ours["rows"]], theirs["rows"], lambda row: tuple(map(str, row[:6]))
                    if by == "kernel+op" else row[0])
    else:
        theirs = views["Memory"]["statistics"]
        assert [column["title"] for column in ours["columns"][1:]] == theirs["columns"]
        for device, known in theirs["rows"].items():
            rows = [list(row.values())[1:] for row in ours["rows"] if row["device"] == device]
            assert len(rows) == known["n"]
            assert_rows(rows, known["rows"], lambda row: row[0])
        assert_curve_and_events(ours, views["Memory"])


def assert_curve_and_events(ours, theirs, device=None):
    """`theirs` has the views by device; or, where a device is named, of that one alone."""
    assert [column["title"] for column in ours["events"]["columns"][1:]] == theirs["events"]["columns"]
    curve, events = theirs["curve"], theirs["events"]["rows"]
    counts, firsts = curve["points"], curve["first"]
    if device:
        counts, firsts, events = {device: counts}, {device: firsts}, {device: {"n": len(events), "rows": events}}
        ours = {**ours, "curve": {device: ours["curve"][device]}}
    assert {name: len(one["points"]) for name, one in ours["curve"].items()} == counts
    for name, first in firsts.items():
        for mine, point in zip(ours["curve"][name]["points"], first):
            assert mine == pytest.approx(point, rel=1e-6)
    for name, text in curve.get("metadata", {}).get("peaks", {}).items():
        assert ours["curve"][name]["peak"] == text
    for name, known in events.items():
        rows = [list(row.values())[1:] for row in ours["events"]["rows"] if row["device"] == name]
        assert len(rows) == known["n"]
        for mine, row in zip(rows, known["rows"]):
            assert_same(mine, row, row)
    if not device:
        assert {row["device"] for row in ours["events"]["rows"]} == set(events)


@pytest.mark.parametrize("name", OWN)
def test_tables_of_our_own_traces_are_the_plugin_s(name):
    answers = json.loads((GOLDEN / (name + ".plugin.json")).read_text())
    trace = GOLDEN / (OWN[name] + ".pt.trace.json.gz")
    ask = lambda by: stats("--plugin-compat", "--by", by, trace)["workers"][0]
    assert_operators(ask("op"), answers["operators"])
    for by, key, parts in (("kernel", "kernels", 1), ("kernel+op", "kernels_by_operator", 6)):
        if answers.get(key):
            ours = ask(by)
            assert [column["title"] for column in ours["columns"]] == answers[key]["columns"]
            assert_rows([list(row.values()) for row in ours["rows"]], answers[key]["rows"],
                        lambda row: tuple(map(str, row[:parts])))


def test_the_memory_view_of_our_own_traces_is_the_plugin_s():
    for name in ("gpu", "gpu-ops"):
        theirs = json.loads((GOLDEN / (name + ".plugin.json")).read_text())["memory"]
        ours = stats("--plugin-compat", "--by", "memory", GOLDEN / (OWN[name] + ".pt.trace.json.gz"))["workers"][0]
        assert_curve_and_events(ours, theirs, None if name == "gpu" else "GPU0")
        statistics = theirs["statistics"]["rows"]
        rows = statistics["GPU0"]["rows"] if name == "gpu" else statistics
        mine = {row["name"]: list(row.values())[1:] for row in ours["rows"] if row["device"] == "GPU0"}
        assert mine.keys() == {row[0] for row in rows}
        for row in rows:
            assert_same(mine[row[0]], row, row)


def test_the_module_view_is_the_plugin_s():
    theirs = json.loads((GOLDEN / "modules.plugin.json").read_text())["modules"]
    ours = stats("--plugin-compat", "--by", "module", GOLDEN / "modules.1.pt.trace.json.gz")["workers"][0]
    titles = [column["title"] for column in ours["columns"]]
    assert set(theirs["columns"]) < set(titles)

    def flat(nodes, depth=0):
        for node in nodes:
            yield depth, node
            yield from flat(node["children"], depth + 1)
    known = list(flat(theirs["data"]))
    assert len(ours["rows"]) == len(known) == 6
    for row, (depth, node) in zip(ours["rows"], known):
        assert (row["depth"], row["name"].strip()) == (depth, node["name"])
        for key in ("occurences", "operators", "host_duration", "self_host_duration", "device_duration",
                    "self_device_duration", "avg_duration"):
            assert row[key] == close(node[key]), (node["name"], key)


# --- our own rules

def test_modules_of_equal_number_are_not_one():
    """torch numbers the modules of each class for itself."""
    rows = stats("--by", "module", GOLDEN / "modules.1.pt.trace.json.gz")["workers"][0]["rows"]
    assert [row["name"].strip() for row in rows] == ["Sequential_0", "Conv2d_0", "ReLU_0", "AdaptiveAvgPool2d_0",
                                                     "Flatten_0", "Linear_0"]
    assert {row["occurrences"] for row in rows} == {3}


@pytest.fixture(scope="module")
def trace():
    return TRACES / "resnet50_num_workers_0" / "worker0.1623143089861.pt.trace.json.gz"


def test_self_times_sum_to_the_footer_and_kernels_to_theirs(trace):
    table = stats(trace)["workers"][0]
    text = tprof("stats", trace).stdout
    total = sum(row["host_self_duration"] for row in table["rows"])
    assert "Self CPU time total: %.3fs" % (total / 1e6) in text
    kernels = stats("--by", "kernel", trace)["workers"][0]["rows"]
    assert sum(row["total_percent"] for row in kernels) == pytest.approx(100)


def test_sort_takes_torch_s_words_and_names_what_there_is(trace):
    def first(*words):
        return stats(*words, trace)["workers"][0]
    assert first("--sort", "self_cpu_time_total")["sort"] == "host_self_duration"
    assert first("--sort", "cuda_time_total")["rows"][0]["device_total_duration"] == max(
        row["device_total_duration"] or 0 for row in first()["rows"])
    calls = [row["calls"] for row in first("--sort", "count", "--limit", "5")["rows"]]
    assert calls == sorted(calls, reverse=True) and len(calls) == 5
    wrong = tprof("stats", "--sort", "nonsense", trace)
    assert wrong.returncode == 2 and "self_cpu_time_total" in wrong.stderr and wrong.stdout == ""


def test_csv_is_read_back(trace):
    rows = list(csv.DictReader(io.StringIO(tprof("stats", "--csv", trace).stdout)))
    table = stats(trace)["workers"][0]
    assert [row["name"] for row in rows] == [row["name"] for row in table["rows"]]
    assert {row["worker"] for row in rows} == {"worker0"}
    assert [float(row["host_self_duration"]) for row in rows] == [row["host_self_duration"] for row in table["rows"]]


FORMULAS = ["=cmd|'/c calc'!A1", "+1+1", "-1+1", "@SUM(A1)", "\tx", "\rx"]


def test_names_in_csv_are_no_formulas(tmp_path):
    """A spreadsheet would run them. Numbers stay numbers."""
    event = {"ph": "X", "cat": "cpu_op", "pid": 1, "tid": 1, "dur": 2.0, "args": {}}
    events = [dict(event, name=name, ts=5.0 + 3 * i) for i, name in enumerate(FORMULAS)]
    step = dict(event, cat="user_annotation", name="ProfilerStep#0", ts=1.0, dur=50.0)
    path = tmp_path / "=w.1.pt.trace.json"
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": [step, *events]}))
    text = tprof("stats", "--csv", path).stdout
    rows = list(csv.DictReader(io.StringIO(text)))
    assert len(rows) == 1 + len(FORMULAS) and {row["worker"] for row in rows} == {"'=w"}
    assert not [cell for row in rows for cell in row.values() if cell and re.match(r"[=+@\t\r]|-(?![\d.]+$)", cell)]
    assert {row["name"] for row in rows} >= {"'" + name for name in FORMULAS[:4]}
    changed = tprof("diff", path, path, "--csv").stdout
    assert "'=cmd" in changed and not re.search(r'(^|,)"?[=+@]', changed, re.M)


@pytest.mark.parametrize("width", [80, 120, 200])
@pytest.mark.parametrize("by", WORDS)
def test_no_line_is_wider_than_the_terminal(trace, by, width):
    text = tprof("stats", "--by", by, trace, env={"COLUMNS": str(width), "LANG": "C.UTF-8"}).stdout
    assert text and max(map(len, text.splitlines())) <= width


@pytest.fixture
def cpu_only(tmp_path):
    path = tmp_path / "w_1.1.pt.trace.json.gz"
    event = {"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 1, "tid": 1, "ts": 10, "dur": 5,
             "args": {"External id": 1}}
    path.write_bytes(gzip.compress(json.dumps({"traceEvents": [event]}).encode()))
    return path


@pytest.mark.parametrize("by", ["op+stack", "op+shape+stack"])
def test_stacks_of_operators_are_those_of_the_plugins_view_callstack(by):
    known = json.loads((TRACES / "stacks.json").read_text())[by]
    trace = TRACES / "resnet50_num_workers_0" / "worker0.1623143089861.pt.trace.json.gz"
    rows = stats("--by", by, "--plugin-compat", trace)["workers"][0]["rows"]
    assert len(rows) == known["n_rows"]
    assert {key: sum(row[key] for row in rows) for key in known["sums"]} == known["sums"]
    for theirs in known["rows"]:
        assert any(theirs.items() <= row.items() for row in rows), theirs


def test_shapes_and_stacks_together_split_the_rows_of_each():
    trace = TRACES / "resnet50_num_workers_0" / "worker0.1623143089861.pt.trace.json.gz"
    both, shapes, stacks = (stats("--by", by, trace)["workers"][0]["rows"]
                            for by in ("op+shape+stack", "op+shape", "op+stack"))

    def calls(rows, key):
        out = {}
        for row in rows:
            out[row["name"], row["kind"], row[key]] = out.get((row["name"], row["kind"], row[key]), 0) + row["calls"]
        return out
    assert len(both) > max(len(shapes), len(stacks))
    assert calls(both, "input_shape") == calls(shapes, "input_shape")
    assert calls(both, "call_stack") == calls(stacks, "call_stack")


def test_what_was_not_recorded_is_said_not_zero(cpu_only):
    text = tprof("stats", cpu_only).stdout
    assert "CUDA" not in text.split("Self CPU time total")[0]
    assert "No GPU work was recorded" in text and "Memory: not recorded (run with --profile-memory)" in text
    assert "Input shapes: not recorded" in tprof("stats", "--by", "op+shape", cpu_only).stdout
    assert "Call stacks: not recorded" in tprof("stats", "--by", "op+stack", cpu_only).stdout
    assert "no kernel was recorded" in tprof("stats", "--by", "kernel", cpu_only).stdout
    assert "Modules: not recorded" in tprof("stats", "--by", "module", cpu_only).stdout
    row, = stats(cpu_only)["workers"][0]["rows"]
    assert "device_self_duration" not in row and "cpu_memory_usage" not in row


def test_unreadable_files_are_said_and_the_others_shown(cpu_only):
    (cpu_only.parent / "w_2.1.pt.trace.json").write_text("{")
    some = tprof("stats", cpu_only.parent)
    assert some.returncode == 4 and "aten::add" in some.stdout and "w_2" in some.stderr
    none = tprof("stats", cpu_only.parent / "w_2.1.pt.trace.json")
    assert none.returncode == 3 and none.stdout == ""


# --- beyond the plugin

def test_each_word_has_a_table_as_text_csv_and_json(trace):
    assert set(BEYOND) < set(WORDS)
    for by in WORDS:
        table = stats("--by", by, trace)["workers"][0]
        rows = list(csv.DictReader(io.StringIO(tprof("stats", "--by", by, "--csv", trace).stdout)))
        assert len(rows) == len(table["rows"]) == table["n_rows"], by
        limited = stats("--by", by, "--limit", "1", trace)["workers"][0]
        for row in limited["rows"] + table["rows"][:1]:
            row.pop("left_out", None)  # of a tree: what the limit left out below the row
        assert limited["rows"] == table["rows"][:1], by
        assert table["rows"] or table["notes"], by


def test_exposed_time_of_a_step_is_the_step(trace):
    rows = stats("--by", "exposed", trace)["workers"][0]["rows"]
    steps = {row[0]: sum(row[1:]) for row in overview(trace)["steps"]["rows"]}
    assert {row["step"] for row in rows} == {*steps, "all"}
    for row in rows:
        parts = row["computation"] + row["exposed_communication"] + row["exposed_copies"] + row["idle"]
        assert parts == pytest.approx(row["total"], abs=0.01)
        if row["step"] != "all":
            assert row["total"] == pytest.approx(steps[row["step"]], abs=0.01)


def test_the_critical_path_is_as_long_as_the_step(trace):
    worker = stats("--by", "critical-path", trace)["workers"][0]
    step = overview(trace)["average_step_time_us"]
    for rows in (worker["rows"], worker["links"]["rows"]):
        assert sum(row["time"] for row in rows) == pytest.approx(step, rel=1e-3)
        assert sum(row["share"] for row in rows) == pytest.approx(100)


def test_idle_time_has_a_cause_and_host_waits_a_reason(trace):
    worker = stats("--by", "idle", trace)["workers"][0]
    for row in worker["rows"]:
        parts = ("host_wait", "kernel_wait", "other", "device_wait", "unknown", "edges")
        assert sum(row[part] for part in parts) == pytest.approx(row["idle"], abs=0.01)
    device = worker["rows"][0]
    reasons = sum(row["time"] for row in worker["reasons"]["rows"] if row["device"] == device["device"])
    assert device["stream"] == "all" and reasons + device["launch"] == pytest.approx(device["host_wait"], abs=0.01)
    assert any(row["activity"] == "waiting for the DataLoader" for row in worker["reasons"]["rows"])


def test_flops_say_what_part_of_the_time_they_are_of(trace):
    worker = stats("--by", "flops", "--limit", "0", trace)["workers"][0]
    coverage = {row["of"]: row for row in worker["coverage"]["rows"]}
    kernels = coverage["kernels"]
    rows, missing = worker["rows"], worker["without_flops"]["rows"]
    assert 0 < sum(row["time"] for row in rows if row["on"] == "GPU") < kernels["known"]  # copies are known to take none
    assert kernels["known"] + sum(row["kernel_time"] for row in missing) == pytest.approx(kernels["time"], abs=1)
    own = coverage["operators themselves"]
    assert own["known"] + sum(row["host_self_duration"] for row in missing) == pytest.approx(own["time"], abs=1)
    said = next(note for note in worker["notes"] if note.startswith("All of the steps:"))
    assert f'{kernels["known_percent"]:.1f} % of the kernel time' in said


def test_flops_need_a_peak_to_be_compared_with(trace, tmp_path):
    by_default = stats("--by", "flops", trace)["workers"][0]
    assert by_default["rows"][0]["gflop"] > 0
    peaks = tmp_path / "peaks"
    peaks.write_text("V100; 900; 7.8; 15.7; 0; 125; 0\n")
    half = tmp_path / "half"
    half.write_text("V100; 450; 3.9; 7.85; 0; 62.5; 0\n")
    first = stats("--by", "flops", "--devices", peaks, trace)["workers"][0]["rows"]
    second = stats("--by", "flops", "--devices", half, trace)["workers"][0]["rows"]
    for one, two in zip(first, second):
        if one["roof_percent"] is not None:
            assert two["roof_percent"] == pytest.approx(2 * one["roof_percent"])
    assert any(row["roof_percent"] for row in first)


def test_beyond_says_what_would_tell_more(cpu_only):
    said = {by: tprof("stats", "--by", by, cpu_only).stdout for by in BEYOND}
    for by in ("exposed", "idle", "launch", "queue"):
        assert "--activities cuda" in said[by], by
    assert "--record-shapes" in said["flops"] and "--profile-memory" in said["peak"]
    assert "no collective" in said["comm"] and "Copies: none" in said["copy"]


def test_the_plugin_has_no_table_of_them(trace):
    for by in set(BEYOND) - {"comm"}:
        refused = tprof("stats", "--plugin-compat", "--by", by, trace)
        assert refused.returncode == 2 and "--by " + by in refused.stderr


def test_collectives_are_put_together_over_the_ranks_of_a_run(tmp_path):
    """Rank 1 comes 300 us late to each of two all-reduces, which then take 100 us."""
    for rank, late in ((0, 0), (1, 300)):
        events = [{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#0", "pid": 1, "tid": 1, "ts": 0,
                   "dur": 5000}]
        for at in (1000, 3000):
            events += [{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1,
                        "ts": at + late - 10, "dur": 5, "args": {"correlation": at}},
                       {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_f32", "pid": 0, "tid": 7,
                        "ts": at + late, "dur": 400 - late,
                        "args": {"correlation": at, "device": 0, "stream": 7, "Collective name": "allreduce",
                                 "In msg nelems": 1000, "Out msg nelems": 1000, "dtype": "Float", "Group size": 2,
                                 "Process Group Name": "0"}}]
        (tmp_path / ("rank%d_1.1.pt.trace.json" % rank)).write_text(json.dumps({"traceEvents": events}))
    worker, = stats("--by", "comm", tmp_path)["workers"]
    assert (worker["worker"], worker["span"]) == ("all ranks", "1")
    row, = worker["rows"]
    assert (row["calls"], row["ranks"], row["total_size"]) == (4, 2, 8000)
    assert (row["total_latency"], row["data_transfer"], row["waiting"]) == (1000, 400, 600)
    first, second = worker["ranks"]["rows"]
    assert (first["worker"], first["waiting"], first["waited_for"]) == ("rank0_1", 600, 0)
    assert (second["worker"], second["waiting"], second["waited_for"]) == ("rank1_1", 0, 600)
    shown = tprof("stats", "--by", "comm", tmp_path).stdout
    assert "all ranks" in shown and "rank1_1" in shown
    alone, = stats("--by", "comm", tmp_path / "rank0_1.1.pt.trace.json")["workers"]
    assert alone["rows"][0]["waiting"] is None and any("one rank only" in note for note in alone["notes"])
