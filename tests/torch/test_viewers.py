"""Traces of tprof in the viewers that people install: TensorBoard with its plugin (torch_tb_profiler 0.4.3) and HTA, as pip
has them (tests/pip/viewers.txt). Jobs on real gloo, and pip's PyTorch for CUDA on the simulated CUDA, on 1 and 4 GPUs.

The plugin as published, in 2023, lacks what it was given until it was deleted: it knows neither the categories
`cuda_runtime` (so that it shows no time of the device for operators, whoever made the trace; pytorch/kineto pull request
1166) and `fwdbwd` nor user annotations. LAST makes it read these; what it says without is looked at, too.
"""
import contextlib
import gzip
import json
import os
import re
import subprocess
import time
import urllib.parse
import urllib.request

import pytest

import harness
import test_overview
import test_simulated_torch
import test_stats
from test_golden_views import assert_plugin_s, plugin_views

GPU_JOBS = {"gpt": test_simulated_torch.Program("gpt.py fused flash bfloat16"),
            "ddp": test_simulated_torch.Program("ddp.py", 4)}


def traces_of(logdirs):
    return [trace for logdir in logdirs for trace in harness.load_traces(logdir)]


def gloo_window(name, home):
    """Two steps of each rank, in a window of their own."""
    job, where = plugin_views.REAL[name]
    result = harness.run(["gloo_collectives.py", job, 2, "env"], "run", where=harness.machine(where), logdir=home / "log",
                         options={"TPROF_SCHEDULE": plugin_views.WINDOW})
    assert result.returncode == 0 and len(result.traces()) == 2, result.stderr
    return traces_of([home / "log"])


def on_gpus(name, home):
    program = GPU_JOBS[name]
    done = test_simulated_torch.start_ranks(program, harness.machine(program.where), home, "run",
                                            options={**test_simulated_torch.OPTIONS, "TPROF_WITH_MODULES": "1"})
    assert all(result.returncode == 0 for result in done), done[0].stderr
    return traces_of(result.logdir for result in done)


@pytest.fixture(scope="module", params=plugin_views.REAL)
def window(request, tmp_path_factory):
    return gloo_window(request.param, tmp_path_factory.mktemp(request.param))


@pytest.fixture(scope="module", params=[*plugin_views.REAL, *GPU_JOBS])
def job(request, tmp_path_factory):
    home = tmp_path_factory.mktemp(request.param)
    return (on_gpus if request.param in GPU_JOBS else gloo_window)(request.param, home)


def communication(trace):
    """What the plugin takes for it."""
    return [e for e in trace.ranges if e["name"].startswith(("nccl:", "gloo:")) and e.get("cat") in
            ("cpu_op", "user_annotation")]


def late(trace):
    """Those that end after their step. Torch lets the thread that waits for a collective go on before it ends the label, so
    that its end may be late by as long as the operating system holds that thread back."""
    steps = [(e["ts"], e["ts"] + e["dur"]) for e in trace.step_spans()]
    return [e for e in communication(trace) if not any(b <= e["ts"] and e["ts"] + e["dur"] <= end for b, end in steps)]


def test_every_collective_of_a_window_lies_in_a_step(window):
    """Else the plugin says "Found a communication op not belong to any step" and leaves it out."""
    for trace in window:
        steps = [(e["ts"], e["ts"] + e["dur"]) for e in trace.step_spans()]
        calls = communication(trace)
        assert len(steps) == 2 and len(calls) >= 4 and len(calls) > 2 * len(late(trace))
        assert all(any(begin <= e["ts"] <= end for begin, end in steps) for e in calls)


AS_PUBLISHED = "import tensorboard.main; tensorboard.main.run_main()"
LAST = """
from torch_tb_profiler.profiler import data, trace
known, init = trace.create_trace_event, data.RunProfileData.__init__
def create_trace_event(event, *more):
    annotation = trace.EventTypeMap.get(event.get("cat", "").lower()) == trace.EventTypes.USER_ANNOTATION
    if annotation and not event["name"].startswith("ProfilerStep#"):
        return trace.OperatorEvent(trace.EventTypes.USER_ANNOTATION, event)
    return known(event, *more)
def start(self, worker, span, trace_json):
    for event in trace_json["traceEvents"]:
        event.update({"cat": "forward_backward"} if event.get("cat") == "fwdbwd" else {})
    init(self, worker, span, trace_json)
trace.EventTypeMap["cuda_runtime"] = trace.EventTypes.RUNTIME
trace.create_trace_event, data.RunProfileData.__init__ = create_trace_event, start
""" + AS_PUBLISHED


class TensorBoard:
    """The program itself, on a directory of one run; asked as its page asks it."""

    def __init__(self, code, logdir, log):
        words = [harness.pip_environment("viewers") + "/bin/python", "-c", code, "--logdir", logdir, "--port", "0",
                 "--load_fast", "false"]
        with open(log, "w") as out:
            self.process = subprocess.Popen(words, stdout=out, stderr=subprocess.STDOUT,
                                            env={**os.environ, "TORCH_PROFILER_START_METHOD": "fork"})
        self.said = log.read_text
        self.address = self.wait(lambda: re.search(r"http://localhost:\d+", self.said())).group(0)
        self.run, = self.wait(self.loaded)

    def wait(self, what):
        deadline = time.monotonic() + harness.HUNG
        while not (found := what()):
            assert time.monotonic() < deadline and self.process.poll() is None, self.said()
            time.sleep(0.5)
        return found

    def loaded(self):
        runs = self.ask("runs")
        return not runs["loading"] and runs["runs"]

    def ask(self, word, **of):
        address = "%s/data/plugin/pytorch_profiler/%s?%s" % (self.address, word, urllib.parse.urlencode(of))
        with urllib.request.urlopen(address) as answer:
            body = answer.read()
        return json.loads(gzip.decompress(body) if body[:2] == b"\x1f\x8b" else body)

    def of(self, worker, word, **more):
        return self.ask(word, run=self.run, worker=worker, span="1", **more)


@contextlib.contextmanager
def tensorboard(code, job, home):
    """The job in TensorBoard; the directory that it looks at."""
    (home / "run").mkdir()
    for trace in job:
        (home / "run" / trace.path.name).write_bytes(trace.path.read_bytes())
    board = TensorBoard(code, home, home / "said")
    try:
        yield board, home / "run"
    finally:
        board.process.terminate()
        board.process.wait()


@pytest.fixture(scope="module")
def shown(job, tmp_path_factory):
    with tensorboard(LAST, job, tmp_path_factory.mktemp("shown")) as both:
        yield both


def ours(directory, *words):
    done = harness.tprof(*words, "--plugin-compat", "--json", directory)
    assert done.returncode == 0, done.stderr
    return {one["worker"]: one for one in json.loads(done.stdout)["workers"]}


def plain(table):
    """The rows of a chart without their tooltips."""
    kept = [i for i, column in enumerate(table["columns"]) if "name" in column]
    return {"columns": [table["columns"][i]["name"] for i in kept], "rows": [[row[i] for i in kept] for row in table["rows"]]}


@pytest.mark.full
def test_the_overview_is_what_tensorboard_shows(shown):
    board, directory = shown
    mine = ours(directory, "overview")
    assert sorted(mine) == sorted(board.ask("workers", run=board.run, view="Overview"))
    for worker, one in mine.items():
        theirs = board.of(worker, "overview")
        total, = theirs["performance"]
        assert one["configuration"] == {row["title"]: row["value"] for row in theirs["environments"]}
        assert one["average_step_time_us"] == test_overview.close(total["value"])
        assert [(part["category"], part["us"]) for part in one["execution_summary"]] == [
            (part["name"], test_overview.close(part["value"])) for part in total["children"]]
        test_overview.assert_steps(one["steps"], plain(theirs["steps"]))
        for title, value in ((row["title"], row["value"]) for row in theirs.get("gpu_metrics", {}).get("data", [])):
            assert test_overview.same_text(dict(one["gpu_summary"])[title], value), title


@pytest.mark.full
def test_tensorboard_as_published_takes_every_trace(job, tmp_path):
    with tensorboard(AS_PUBLISHED, job, tmp_path) as (board, directory):
        said = json.loads(harness.tprof("stats", "--by", "op", "--json", directory).stdout)["workers"]
        operators = {one["worker"]: {row["name"]: row["calls"] for row in one["rows"]} for one in said}
        for worker, one in ours(directory, "overview").items():
            total, = board.of(worker, "overview")["performance"]
            assert one["average_step_time_us"] == test_overview.close(total["value"])
            theirs = board.of(worker, "operation/table", group_by="Operation")["data"]
            assert all(operators[worker][row["name"]] == row["calls"] for row in theirs) and theirs
            assert board.of(worker, "trace")
    assert not re.search("WARNING|ERROR|Traceback", board.said()), board.said()


@pytest.mark.full
def test_operators_are_what_tensorboard_shows(shown):
    board, directory = shown
    for worker, one in ours(directory, "stats", "--by", "op").items():
        rows = board.of(worker, "operation/table", group_by="Operation")["data"]
        for row in rows:
            row["has_call_stack"] = bool(row["has_call_stack"])
        test_stats.assert_operators(one, rows)
        assert len(rows) == len(one["rows"])


@pytest.mark.full
def test_kernels_are_what_tensorboard_shows(shown):
    board, directory = shown
    for by, word, parts in (("kernel", "Kernel", 1), ("kernel+op", "KernelNameAndOpName", 6)):
        for worker, one in ours(directory, "stats", "--by", by).items():
            if one["rows"]:
                rows = board.of(worker, "kernel/table", group_by=word)["data"]["rows"]
                test_stats.assert_rows([list(row.values()) for row in one["rows"]], rows,
                                       lambda row: tuple(map(str, row[:parts])))
                assert len(rows) == len(one["rows"])


MODULE = ["name", "occurences", "operators", "host_duration", "self_host_duration", "device_duration",
          "self_device_duration", "avg_duration"]


def nested(nodes, depth=0):
    for node in nodes:
        yield [depth, *(node[key] for key in MODULE)]
        yield from nested(node["children"], depth + 1)


@pytest.mark.full
def test_modules_are_what_tensorboard_shows(shown, job):
    board, directory = shown
    on_gpu = any(e.get("cat") == "cuda_runtime" for e in job[0].ranges)  # whose modules are recorded
    assert ("Module" in board.ask("views", run=board.run)) == on_gpu
    for worker, one in ours(directory, "stats", "--by", "module").items():
        if one["rows"]:
            theirs = list(nested(board.of(worker, "module")["data"]))
            assert len(theirs) == len(one["rows"])
            for row, known in zip(one["rows"], theirs):
                test_stats.assert_same([row[key] for key in ("depth", *MODULE)], known, known)


@pytest.mark.full
def test_memory_is_what_tensorboard_shows(shown):
    board, directory = shown
    for worker, one in ours(directory, "stats", "--by", "memory").items():
        assert bool(one["rows"]) == ("Memory" in board.ask("views", run=board.run))
        if not one["rows"]:
            continue
        theirs, curve = board.of(worker, "memory"), board.of(worker, "memory_curve")
        assert {name: board_curve["peak"] for name, board_curve in one["curve"].items()} == curve["metadata"]["peaks"]
        for device, rows in theirs["rows"].items():
            mine = {row["name"]: list(row.values())[1:] for row in one["rows"] if row["device"] == device}
            assert mine.keys() == {row[0] for row in rows}
            for row in rows:
                test_stats.assert_same(mine[row[0]], row, row)


@pytest.mark.full
def test_the_distributed_view_is_what_tensorboard_shows(shown, job):
    board, directory = shown
    mine, = ours(directory, "stats", "--by", "comm").values()
    if "Distributed" not in board.ask("views", run=board.run):  # torch has no label nccl:all_reduce any more
        assert not mine["rows"] and "no Distributed view: " in " ".join(mine["notes"])
        return
    of = {name: board.ask("distributed/" + word, run=board.run, worker="All", span="1")["data"]
          for name, word in (("overlap", "overlap"), ("wait", "waittime"), ("operations", "commops"))}
    of["operations"] = {worker: table["rows"] for worker, table in of["operations"].items()}
    assert_plugin_s(mine, of)


ASK_HTA = """
import json, sys
from hta.trace_analysis import TraceAnalysis
analysis = TraceAnalysis(trace_files=dict(enumerate(sys.argv[1:])), include_last_profiler_step=True)
answer = {"events": [len(analysis.t.get_trace(rank)) for rank in sorted(analysis.t.get_all_traces())]}
if (analysis.t.get_trace(0)["stream"] >= 0).any():
    kernels = analysis.get_gpu_kernel_breakdown(visualize=False, num_kernels=10000)[1]
    answer["kernels"] = [[int(row["rank"]), row["name"], float(row["sum (us)"])] for _, row in kernels.iterrows()]
    answer["overlap"] = analysis.get_comm_comp_overlap(visualize=False)["comp_comm_overlap_pctg"].tolist()
    answer["launches"] = [len(table) for table in analysis.get_cuda_kernel_launch_stats(visualize=False).values()]
print("ANSWER", json.dumps(answer))
"""


def hta(paths):
    said = subprocess.run([harness.pip_environment("viewers") + "/bin/python", "-W", "ignore", "-c", ASK_HTA, *paths],
                          stdout=subprocess.PIPE, text=True, check=True).stdout
    return json.loads(said.split("ANSWER", 1)[1])


def kernels(trace):
    """The calls and the time of each kernel, as tprof says them."""
    worker, = json.loads(harness.tprof("stats", "--by", "kernel", "--json", "--limit", "0", trace.path).stdout)["workers"]
    return {row["name"]: (row["calls"], row["total_duration"]) for row in worker["rows"]}


@pytest.mark.full
def test_hta_says_what_tprof_says(job):
    """HTA drops what times have below a microsecond, and an event may lose two."""
    answer = hta([str(trace.path) for trace in job])
    for trace, events in zip(job, answer["events"]):
        assert events == pytest.approx(sum("dur" in e and "cat" in e for e in trace.ranges), abs=2)  # without the spans
    for rank, trace in enumerate(job if "kernels" in answer else []):
        of_hta = {name: us for at, name, us in answer["kernels"] if at == rank}
        mine = kernels(trace)
        others = {e["name"] for e in trace.ranges if e.get("cat") in ("gpu_memcpy", "gpu_memset", "cuda_sync")}
        assert mine and mine.keys() <= of_hta.keys() <= mine.keys() | others
        for name, (calls, us) in mine.items():
            assert us - 2 * calls <= of_hta[name] <= us, name


@pytest.mark.full
def test_hta_says_of_tprofs_trace_what_it_says_of_torch_profilers(job, request, tmp_path):
    if (name := request.node.callspec.params["job"]) not in GPU_JOBS:
        pytest.skip("torch.profiler is asked on GPUs")
    program = GPU_JOBS[name]
    done = test_simulated_torch.start_ranks(program, harness.machine(program.where), tmp_path, trace=True)
    assert all(result.returncode == 0 for result in done), done[0].stderr
    of_ours, of_theirs = hta([str(trace.path) for trace in job]), hta(
        [str(tmp_path / ("theirs_%d.json" % rank)) for rank in range(program.ranks)])
    count = lambda answer: sorted({(rank, name) for rank, name, _ in answer["kernels"] if "kernel" in name.lower()})
    assert count(of_ours) == count(of_theirs) and count(of_ours)
    assert of_ours["launches"] == of_theirs["launches"] and sum(of_ours["launches"]) > 100
    assert of_ours["overlap"] == of_theirs["overlap"]
