"""tests/gpu without a GPU: its comparisons find what differs, its report says what failed, and the recordings of real
GPUs that are kept beside it convert to what they say of themselves."""
import copy
import gzip
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

from harness import BUILD, TESTS, machine, run, tprof

GPU = TESTS / "gpu"
sys.path.insert(0, str(GPU))
import differences  # noqa: E402  (needs the path above)
import recording  # noqa: E402
import report  # noqa: E402
import sections  # noqa: E402
import traces  # noqa: E402

SIMCUDA = BUILD / "tests" / "fake" / "simcuda-run"
RECORDINGS = sorted((GPU / "recordings").glob("*.tprof.gz"))


def range_of(cat, name, ts, dur, pid=7, tid=7, **args):
    return {"ph": "X", "cat": cat, "name": name, "ts": ts, "dur": dur, "pid": pid, "tid": tid, "args": args}


def arrow(ph, correlation, ts, pid, tid):
    return {"ph": ph, "cat": "ac2g", "name": "ac2g", "id": correlation, "ts": ts, "pid": pid, "tid": tid}


def launched(correlation, operator, call_at, name, at, dur, stream=7, grid=4, shared=0):
    """A runtime call, the kernel that it launched, and the arrow between them."""
    return [
        range_of("cuda_runtime", "cudaLaunchKernel", call_at, 2, correlation=correlation, **{"External id": operator}),
        range_of("kernel", name, at, dur, pid=0, tid=stream, correlation=correlation, device=0, stream=stream,
                 grid=[grid, 1, 1], block=[128, 1, 1], **{
                     "External id": operator, "registers per thread": 16, "shared memory": shared,
                     "blocks per SM": grid / 132, "warps per SM": grid * 4 / 132, "est. achieved occupancy %": 3}),
        arrow("s", correlation, call_at, 7, 7), arrow("f", correlation, at, 0, stream)]


def memory(ts, size, total):
    return {"ph": "i", "s": "t", "name": "[memory]", "cat": "cpu_instant_event", "pid": 7, "tid": 7, "ts": ts,
            "args": {"Device Type": 1, "Device Id": 0, "Addr": 4096, "Bytes": size, "Total Allocated": total,
                     "Total Reserved": 8192}}


def canned():
    """One step: aten::linear around aten::addmm, which launches two kernels on one stream; a third on another
    stream, beside the second, launched by aten::relu; a copy."""
    return {"tprof": {"dropped": {}}, "traceEvents": [
        range_of("user_annotation", "ProfilerStep#5", 0, 100, **{"External id": 1}),
        range_of("cpu_op", "aten::linear", 10, 40, **{"External id": 2}),
        range_of("cpu_op", "aten::addmm", 12, 30, **{"External id": 3}),
        range_of("cpu_op", "aten::relu", 60, 10, **{"External id": 4}),
        range_of("cpu_op", "aten::copy_", 80, 10, **{"External id": 5}),
        *launched(21, 3, 14, "gemm", 30, 20), *launched(22, 3, 20, "gemm", 50, 20),
        *launched(23, 4, 61, "relu", 65, 10, stream=20),
        range_of("cuda_runtime", "cudaMemcpyAsync", 82, 2, correlation=24, **{"External id": 5}),
        range_of("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 90, 4, pid=0, tid=7, correlation=24, device=0,
                 stream=7, bytes=4096, **{"External id": 5}),
        arrow("s", 24, 82, 7, 7), arrow("f", 24, 90, 0, 7), memory(13, 1024, 2048), memory(70, -1024, 1024)]}


def test_equal_traces_do_not_differ():
    mine, theirs = traces.Trace(canned()), traces.Trace(canned())
    for compare in (differences.kernels, differences.geometry, differences.attribution, differences.copies,
                    differences.streams, differences.memory):
        assert compare(mine, theirs) == []
    assert differences.launches(mine) == [] and differences.peak(mine, 2048) == []
    assert mine.steps() == [5] and len(mine.work) == 4


def only(data, name, n=0):
    return [e for e in data["traceEvents"] if e["name"] == name][n]


def without(data, name):
    data["traceEvents"].remove(only(data, name))


def rename(data):
    only(data, "gemm", 1)["name"] = "gemm2"


def other_grid(data):
    only(data, "relu")["args"]["grid"] = [5, 1, 1]


def other_occupancy(data):
    only(data, "relu")["args"]["est. achieved occupancy %"] = 4


def other_operator(data):
    only(data, "gemm")["args"]["External id"] = 2


def fewer_bytes(data):
    only(data, "Memcpy HtoD (Pinned -> Device)")["args"]["bytes"] = 4095


def other_stream(data):
    only(data, "relu")["args"]["stream"] = 7


@pytest.mark.parametrize("compare, change, says", [
    (differences.kernels, lambda data: without(data, "gemm"), "gemm: 1 in tprof's, 2 in the reference"),
    (differences.kernels, rename, "gemm2: 1 in tprof's, 0 in the reference"),
    (differences.geometry, other_grid, "(5, 1, 1)"),
    (differences.occupancy, other_occupancy, "'relu', 4"),
    (differences.attribution, other_operator, "gemm by aten::linear: 1 in tprof's, 0"),
    (differences.copies, fewer_bytes, "4095"),
    (differences.copies, lambda data: without(data, "Memcpy HtoD (Pinned -> Device)"), "0 in tprof's, 1"),
    (differences.streams, other_stream, "[4] in tprof's, [1, 3]"),
    (differences.memory, lambda data: without(data, "[memory]"), "1024: 0 in tprof's, 1"),
])
def test_what_differs_is_found(compare, change, says):
    changed = canned()
    change(changed)
    assert any(says in line for line in compare(traces.Trace(changed), traces.Trace(canned())))
    assert compare(traces.Trace(canned()), traces.Trace(changed)), "found in one direction only"


def test_two_empty_traces_are_no_proof():
    empty = traces.Trace({"traceEvents": []})
    assert differences.kernels(empty, empty)


def test_occupancy_beyond_what_kineto_reckons_with_is_not_compared():
    data, other = canned(), canned()
    for each, value in ((data, 25), (other, 0)):
        only(each, "relu")["args"].update({"shared memory": 50000, "est. achieved occupancy %": value})
    assert differences.occupancy(traces.Trace(data), traces.Trace(other)) == []


def no_call(data):
    without(data, "cudaMemcpyAsync")


def too_early(data):
    only(data, "gemm")["ts"] = 13


def no_arrow_out(data):
    data["traceEvents"] = [e for e in data["traceEvents"] if e.get("ph") != "s" or e["id"] != 22]


def arrow_from_elsewhere(data):
    next(e for e in data["traceEvents"] if e.get("ph") == "s" and e["id"] == 22)["ts"] = 14


def no_arrow_in(data):
    data["traceEvents"] = [e for e in data["traceEvents"] if e.get("ph") != "f" or e["id"] != 22]


def no_operator(data):
    for name in ("aten::relu", "ProfilerStep#5"):
        without(data, name)
    del only(data, "relu")["args"]["External id"]


@pytest.mark.parametrize("change, says", [
    (no_call, "Memcpy HtoD (Pinned -> Device): no call launched it"),
    (too_early, "gemm: begins before its launch"),
    (no_arrow_out, "gemm: no arrow comes in"),
    (arrow_from_elsewhere, "gemm: its arrow does not come from its launch, cudaLaunchKernel"),
    (no_arrow_in, "gemm: no arrow comes in"),
    (other_operator, "gemm: External id names aten::linear, its launch lies in aten::addmm"),
    (no_operator, "relu: cudaLaunchKernel lies in no operator"),
])
def test_a_launch_that_is_not_tied_is_found(change, says):
    data = canned()
    change(data)
    assert any(says in line for line in differences.launches(traces.Trace(data)))


def test_work_outside_of_operators_may_be_allowed():
    data = canned()
    no_operator(data)
    assert differences.launches(traces.Trace(data), everything_in_operators=False) == []


def test_amounts_have_a_limit():
    assert differences.amounts("us", 100.9, 100) == [] and differences.amounts("us", 99.1, 100) == []
    assert differences.amounts("us", 101.1, 100) and differences.amounts("us", 98.9, 100)
    assert differences.amounts("us", 1, 0) and differences.amounts("us", 0, 100)
    assert differences.peak(traces.Trace(canned()), 2100) and differences.peak(traces.Trace({"traceEvents": []}), 1)


def test_own_counts():
    trace = traces.Trace(canned())
    facts = {"kernels": {"gemm": 2, "relu": 1}, "copies": {"HtoD": [1, 4096]}, "sets": [0, 0]}
    assert differences.own_counts(trace, facts) == []
    for wrong in ({"kernels": {"gemm": 3}}, {"copies": {"HtoD": [1, 4097]}}, {"copies": {"DtoH": [1, 1]}},
                  {"sets": [1, 4096]}):
        assert len(differences.own_counts(trace, wrong)) == 1, wrong


def test_the_witness():
    trace = traces.Trace(canned())
    counts = {"kernels": {"_Z4gemmv": [2, 40000], "_Z4reluv": [1, 10000]}, "copies": {"1": [1, 4096]}, "sets": [0, 0],
              "lost": 0}
    assert differences.witnessed(trace, counts) == []
    for key, value in (("kernels", {"_Z4gemmv": [3, 1]}), ("copies", {"1": [1, 4097]}), ("copies", {"1": [2, 4096]}),
                       ("sets", [1, 1]), ("lost", 1)):
        assert differences.witnessed(trace, {**counts, key: value}), (key, value)


def test_overlap():
    data = canned()
    assert differences.overlapping(traces.Trace(data), "gemm")
    only(data, "gemm")["args"]["stream"] = 20
    only(data, "gemm")["dur"] = 21
    assert differences.overlapping(traces.Trace(data), "gemm") == []


# --- the command

def command():
    loader = importlib.machinery.SourceFileLoader("gpu_run", str(GPU / "run"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("gpu_run", loader))
    loader.exec_module(module)
    return module


class Nowhere:
    """A place in which nothing is run."""
    def log(self, *_):
        pass


def section_of(run):
    return command().done(sections.Row("name", "group", "what", run), Nowhere())


def test_without_a_gpu_it_says_so(tmp_path):
    done = subprocess.run([sys.executable, str(GPU / "run"), "--build", str(BUILD), "--out", str(tmp_path / "out")],
                          env={**os.environ, "CUDA_VISIBLE_DEVICES": ""}, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True)
    assert done.returncode == 77 and done.stdout == "" and not (tmp_path / "out").exists()
    assert done.stderr.startswith("tests/gpu/run: no GPU here (") and done.stderr.count("\n") == 1


def test_a_section_fails_is_absent_or_breaks_on_its_own(capsys):
    def absent(_, section):
        raise report.Absent("no jax")

    def broken(_, section):
        section.check("before", [])
        raise ValueError("odd")

    assert not section_of(lambda _, section: section.check("one", [])).failed
    assert section_of(lambda _, section: section.check("one", ["differs"])).verdict == "1 of 1 FAILED"
    assert section_of(lambda _, section: section.figure("cost", 3.1, "%", at_most=3)).failed
    assert not section_of(lambda _, section: section.figure("cost", 2.9, "%", at_most=3)).failed
    gone = section_of(absent)
    assert not gone.failed and gone.verdict == "absent: no jax"
    assert section_of(broken).failed and "ValueError: odd" in section_of(broken).verdict
    assert "differs" in capsys.readouterr().out


@pytest.mark.parametrize("bad, status", [(["a kernel: 1, not 2"], 1), ([], 0)])
def test_reports_are_joined_and_the_exit_status_is_theirs(tmp_path, bad, status):
    first, second = report.Section("gpt", "a GPT"), report.Section("exits", "ways to end")
    first.check("kernels", [])
    second.check("kernels", bad)
    for name, section in (("a", first), ("b", second)):
        (tmp_path / name).mkdir()
        report.write(tmp_path / name, {"GPU": "a GPU"}, [{"command": "run " + name, "date": "today", "seconds": 1,
                                                         "quick": False}], [section])
    done = subprocess.run([sys.executable, str(GPU / "run"), "--out", str(tmp_path / "both"), "--join",
                           str(tmp_path / "a" / "report.json"), "--join", str(tmp_path / "b" / "report.json")],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == status, done.stderr
    page = (tmp_path / "both" / "report.md").read_text()
    assert "run a" in page and "run b" in page and "a GPU" in page and ("a kernel: 1, not 2" in page) == bool(bad)
    machine, runs, found = report.read(tmp_path / "both" / "report.json")
    assert [section.name for section in found] == ["gpt", "exits"] and len(runs) == 2


def test_a_section_is_chosen_by_its_name_or_its_group():
    assert len({row.name for row in sections.TABLE}) == len(sections.TABLE) == len(sections.chosen([]))
    assert [row.name for row in sections.chosen(["gpt"])] == ["gpt"]
    assert [row.name for row in sections.chosen(["costs"])] == ["dispatch", "gpu_bound", "edges"]


def test_its_table_of_torch_programs_is_the_programs():
    source = (GPU / "programs" / "models.py").read_text()
    for row in sections.TABLE:
        model = getattr(row.run, "keywords", {}).get("model")
        assert model is None or "@model\ndef %s(" % model in source, row.name


# --- on the simulated CUDA: what does not need PyTorch's CUDA

@pytest.mark.skipif(not (shutil.which("nvcc") or os.path.exists("/usr/local/cuda/bin/nvcc")), reason="no nvcc")
@pytest.mark.parametrize("fault, status", [({}, 0), ({"SIMCUPTI_DROP": "7"}, 1)], ids=["sound", "records are dropped"])
def test_a_section_runs_from_building_its_program_to_the_report(fault, status, tmp_path):
    """Its own counts, CUDA's events and the witness agree with tprof's trace; they do not when CUPTI drops records."""
    done = subprocess.run([str(SIMCUDA), sys.executable, str(GPU / "run"), "--build", str(BUILD), "--out",
                           str(tmp_path), "--only", "cuda_shared", "--quick"],
                          env={**os.environ, "SIMCUDA_KERNEL_NS": "1000000", **fault}, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=300)
    assert done.returncode == status, done.stdout + done.stderr
    _, _, (section,) = report.read(tmp_path / "report.json")
    bad = {check["what"] for check in section.checks if not check["ok"]}
    assert len(section.checks) >= 6 and not section.broken
    assert bad == set() if not fault else {"nothing was dropped", "the program's own counts"} <= bad


# --- recordings of real GPUs

@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.name)
def test_a_recording_of_a_real_gpu_says_what_it_said(path, tmp_path):
    kept = tmp_path / (path.name.split(".")[0] + "_1.1.tprof")
    kept.write_bytes(gzip.open(path).read())
    assert converted_facts(kept) == json.loads(path.with_name(path.name.replace(".tprof.gz", ".json")).read_text())


def converted_facts(kept):
    done = tprof("convert", kept)
    assert done.returncode == 0, done.stdout + done.stderr
    found, = traces.files(kept.parent)
    assert tprof("check", found).returncode == 0
    trace = traces.Trace(found)
    assert differences.launches(trace) == []
    return json.loads(json.dumps(recording.facts(trace)))


def test_a_recording_that_is_kept_says_what_its_trace_said(tmp_path):
    """The way of a recording that is put there, from the simulated GPU."""
    program = [SIMCUDA, "/usr/bin/python3", TESTS / "torch" / "gpu_ops.py", BUILD / "tests" / "libsimops.so", "waiting"]
    result = run(program, "run", logdir=tmp_path / "log", options=recording.WINDOW, where=machine("host"))
    assert result.returncode == 0, result.stderr
    kept, = result.logdir.glob("*.tprof")
    (tmp_path / "copy").mkdir()
    copied = shutil.copy(kept, tmp_path / "copy" / "gpu_1.1.tprof")
    said = recording.facts(traces.Trace(traces.files(result.logdir)[0]))
    assert said["steps"] == [3, 4] and sum(said["kernels"].values()) == 12 and said["devices"]
    assert converted_facts(pathlib.Path(copied)) == json.loads(json.dumps(said))


def test_a_fact_that_changes_is_seen():
    data = {**canned(), "deviceProperties": [{"name": "a GPU"}]}
    before = recording.facts(traces.Trace(copy.deepcopy(data)))
    assert before["kernels"] == {"gemm": 2, "relu": 1} and before["launched_by"]["aten::addmm"] == 2
    assert before["bytes"] == {"copies": 4096, "sets": 0} and before["peak"] == 2048 and before["kernel_us"] == 50
    for change in (rename, other_operator, fewer_bytes):
        changed = copy.deepcopy(data)
        change(changed)
        assert recording.facts(traces.Trace(changed)) != before
