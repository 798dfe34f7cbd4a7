"""tprof export: what other programs are given is what tprof itself counts, and nothing is overwritten that must not be."""
import collections
import gzip
import json
import os
import pickle

import pytest

import speedscope
from harness import TESTS, machine, run, tprof, trace_files

GOLDEN = TESTS / "golden"
KINETO = GOLDEN / "kineto-traces" / "resnet50_num_workers_0"


def exported(to, path, directory):
    done = tprof("export", path, "--to", to, "-o", directory)
    assert done.returncode == 0, done.stderr
    file, = directory.rglob("*.speedscope.json" if to == "speedscope" else "*.memory.pickle")
    assert done.stdout.startswith("%s: " % file)
    return file, done.stdout


def table(path, word):
    workers = json.loads(tprof("stats", path, "--by", word, "--json").stdout)["workers"]
    return workers[0]


def trace_of(directory, events):
    path = directory / "made.pt.trace.json"
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    return path


def event(name, ts, dur, **more):
    return {"ph": "X", "cat": "cpu_op", "name": name, "pid": 7, "tid": 7, "ts": ts, "dur": dur, "args": {}, **more}


def kernel(name, ts, dur):
    return event(name, ts, dur, pid=0, tid=9, cat="kernel", args={"device": 0, "stream": 9})


# --- the command

@pytest.mark.parametrize("words, said", [
    ([], "--to FORMAT is missing; the formats are speedscope, memory_viz"),
    (["--to", "chrome"], "--to 'chrome' is none of speedscope, memory_viz")])
def test_a_wrong_format_is_a_line_with_all_of_them(words, said, tmp_path):
    done = tprof("export", GOLDEN / "gpu.1.pt.trace.json.gz", *words, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "") and done.stderr.startswith("tprof: " + said)
    assert done.stderr.count("\n") == 1 and not list(tmp_path.iterdir())


def test_every_trace_has_a_file_of_its_name_below_its_run(tmp_path):
    done = tprof("export", GOLDEN / "kineto-traces", "--to", "speedscope", "-o", tmp_path / "new" / "out")
    assert done.returncode == 0, done.stderr
    traces = sorted((GOLDEN / "kineto-traces").rglob("*.pt.trace.json.gz"))
    expected = {tmp_path / "new" / "out" / trace.parent.name / trace.name.replace(".pt.trace.json.gz", ".speedscope.json")
                for trace in traces}
    assert len(traces) > 2 and set(tmp_path.rglob("*.json")) == expected


def test_a_single_trace_goes_to_the_file_that_is_named_or_to_the_current_directory(tmp_path):
    trace = GOLDEN / "gpu.1.pt.trace.json.gz"
    for words in (["-o", "x.json"], []):
        assert tprof("export", trace, "--to", "speedscope", *words, cwd=tmp_path).returncode == 0
    assert (tmp_path / "x.json").read_bytes() == (tmp_path / "gpu.1.speedscope.json").read_bytes()
    two = tprof("export", trace, KINETO, "--to", "speedscope", "-o", "x.json", cwd=tmp_path)
    assert two.returncode == 2 and "give a directory" in two.stderr


def test_only_a_regular_file_is_replaced_and_only_by_a_whole_one(tmp_path):
    out = tmp_path / "x.json"
    words = ["export", GOLDEN / "gpu.1.pt.trace.json.gz", "--to", "speedscope", "-o", out]
    out.write_text("old")
    assert tprof(*words).returncode == 0 and speedscope.load(out)
    target = tmp_path / "target"
    target.write_text("stays")
    for make in (lambda: os.mkfifo(out), lambda: out.symlink_to(target)):
        out.unlink()
        make()
        done = tprof(*words)
        assert done.returncode == 2 and "is not a regular file" in done.stderr and done.stderr.count("\n") == 1
    assert target.read_text() == "stays"
    done = tprof(*words[:-1], target)
    assert done.returncode == 2 and "is no directory, and does not end in .json" in done.stderr
    empty = trace_of(tmp_path, [])
    old = tmp_path / "made.speedscope.json"
    old.write_text("old")
    assert tprof("export", empty, "--to", "speedscope", "-o", tmp_path).returncode == 3
    assert old.read_text() == "old" and not list(tmp_path.glob(".tprof-*"))


def test_a_recording_and_a_trace_of_torch_are_exported_too(tmp_path):
    recording = tmp_path / "golden_1.6.tprof"
    recording.write_bytes(gzip.open(GOLDEN / "torch-1.13.recording.gz").read())
    exported("speedscope", recording, tmp_path / "recording")
    exported("speedscope", GOLDEN / "torch-2.14.1.pt.trace.json.gz", tmp_path / "trace")


# --- speedscope

@pytest.mark.parametrize("trace", ["gpu-ops.1", "modules.1", "diff_a.1"])
def test_ranges_of_speedscope_are_the_slices_of_tprof(trace, tmp_path):
    path = GOLDEN / (trace + ".pt.trace.json.gz")
    file, said = exported("speedscope", path, tmp_path)
    data = speedscope.load(file)
    names = collections.Counter()
    total = collections.Counter()
    for profile in data["profiles"]:
        assert (profile["type"], profile["unit"], profile["startValue"]) == ("evented", "nanoseconds", 0)
        for frame, begin, end in speedscope.ranges(profile):
            text = data["shared"]["frames"][frame]
            name = text["name"] if "file" not in text else "%(file)s(%(line)s): %(name)s" % text
            names[name] += 1
            total[name] += end - begin
    rows = table(path, "slice")["rows"]
    expected, times = collections.Counter(), collections.Counter()
    for row in rows:
        expected[row["name"]] += row["count"]
        times[row["name"]] += round(1000 * row["total"])
    assert names == expected and total == times
    assert ", %d ranges\n" % sum(expected.values()) in said


def test_ranges_that_cross_are_in_profiles_of_their_own(tmp_path):
    path = trace_of(tmp_path, [kernel("a", 0, 10), kernel("b", 5, 10), kernel("c", 6, 2), kernel("d", 8, 20),
                               event("other", 3, 4)])
    file, _ = exported("speedscope", path, tmp_path)
    data = speedscope.load(file)
    found = {profile["name"]: sorted((data["shared"]["frames"][frame]["name"], begin, end)
                                     for frame, begin, end in speedscope.ranges(profile)) for profile in data["profiles"]}
    assert found == {"gpu 0, stream 9": [("a", 0, 10000), ("c", 6000, 8000)],
                     "gpu 0, stream 9, crossing ranges 1": [("b", 5000, 15000)],
                     "gpu 0, stream 9, crossing ranges 2": [("d", 8000, 28000)],
                     "thread 7": [("other", 3000, 7000)]}


def test_what_crosses_too_many_others_is_counted(tmp_path):
    path = trace_of(tmp_path, [kernel("k", i, 1000) for i in range(70)])
    done = tprof("export", path, "--to", "speedscope", "-o", tmp_path)
    said = "64 profiles, 64 ranges; left out, since they cross too many others: 6 ranges\n"
    assert done.returncode == 4 and done.stdout.endswith(said)


def test_functions_of_python_have_file_and_line(tmp_path):
    names = ["/a (b)/c.py(12): run", "<built-in method add>", "nn.Module: Linear_0"]
    path = trace_of(tmp_path, [event(name, 10 * i, 5, cat="python_function") for i, name in enumerate(names)])
    file, _ = exported("speedscope", path, tmp_path)
    frames = speedscope.load(file)["shared"]["frames"]
    assert frames == [{"name": "run", "file": "/a (b)/c.py", "line": 12}, {"name": names[1]}, {"name": names[2]}]


def test_samples_are_profiles_of_their_threads(tmp_path):
    result = run([TESTS / "torch" / "samples.py", 4, "fall"], "run", logdir=tmp_path / "log",
                 options={"TPROF_SAMPLE": "python"})
    path, = trace_files(result.logdir)
    file, said = exported("speedscope", path, tmp_path / "out")
    data = speedscope.load(file)
    profiles = speedscope.of_type(data, "sampled")
    samples = json.loads(gzip.open(path).read())["samples"]
    assert sum(len(profile["samples"]) for profile in profiles) == len(samples) > 30
    assert ", %d samples\n" % len(samples) in said
    found = collections.Counter()
    for profile in profiles:
        assert len(set(profile["weights"])) == 1 and profile["endValue"] == sum(profile["weights"])
        assert profile["unit"] == "nanoseconds" and 8e6 < profile["weights"][0] < 1e8  # 100 times a second, if it can
        for stack in profile["samples"]:
            found.update({data["shared"]["frames"][frame]["name"] for frame in stack})
            if stack:
                names = [data["shared"]["frames"][frame]["name"] for frame in stack]
                imports = "_call_with_frames_removed" in names  # what a module does while it is imported
                assert names[-1] != "<module>" or imports, "the outermost comes first"
    assert found["computes"] > found["calls_c"] > 0


def test_nothing_without_duration_is_hidden(tmp_path):
    marks = [{"ph": "i", "cat": "user_annotation", "s": "t", "name": "mark", "pid": 7, "tid": 7, "ts": ts, "args": {}}
             for ts in (1, 2)]
    _, said = exported("speedscope", trace_of(tmp_path, [event("a", 0, 10), *marks]), tmp_path)
    assert "1 profile, 1 range; left out, since they have no duration: 2 NVTX marks\n" in said


# --- memory_viz

@pytest.fixture(scope="module")
def snapshot(tmp_path_factory):
    """(path of the trace, of the snapshot, what the snapshot holds)"""
    directory = tmp_path_factory.mktemp("memory")
    events = json.loads(gzip.open(GOLDEN / "gpu-ops.1.pt.trace.json.gz").read())["traceEvents"]
    memory = [e for e in events if e["name"] == "[memory]"]
    path = trace_of(directory, [e for e in events if e not in memory[-20:]])
    file, _ = exported("memory_viz", path, directory / "out")
    return path, file, pickle.loads(file.read_bytes())


def test_allocations_and_releases_are_those_of_tprof(snapshot):
    path, _, data = snapshot
    events = table(path, "memory")["events"]["rows"]
    allocated = collections.Counter((row["address"], row["size"]) for row in events if row["allocation_time"] is not None)
    released = collections.Counter((row["address"], row["size"]) for row in events if row["release_time"] is not None)
    found = collections.defaultdict(collections.Counter)
    for trace in data["device_traces"]:
        for one in trace:
            found[one["action"]][one["addr"], one["size"]] += 1
    assert sum(allocated.values()) > 20 and found["alloc"] == allocated
    assert found["free_requested"] == found["free_completed"] == released


def test_blocks_at_the_end_are_those_not_released(snapshot):
    path, _, data = snapshot
    alive = sorted((row["address"], row["size"]) for row in table(path, "memory")["events"]["rows"]
                   if row["allocation_time"] is not None and row["release_time"] is None)
    found = [(block["address"], block["size"]) for segment in data["segments"] for block in segment["blocks"]
             if block["state"] == "active_allocated"]
    assert sorted(found) == alive and alive
    for segment in data["segments"]:
        at = segment["address"]
        for block in segment["blocks"]:
            assert block["address"] == at
            at += block["size"]
        assert at == segment["address"] + segment["total_size"]


def test_frames_are_the_operators_around_an_allocation(snapshot):
    path, _, data = snapshot
    first = next(row for row in table(path, "memory")["events"]["rows"] if row["operator"] and row["caller"])
    frames = next(one["frames"] for trace in data["device_traces"] for one in trace
                  if one["action"] == "alloc" and one["addr"] == first["address"])
    assert [frame["name"] for frame in frames[:2]] == [first["operator"], first["caller"]]
    assert frames[0]["filename"] == "operator" and frames[0]["line"] == 0


def memory_event(address, size, ts, device=1, index=1, **more):
    return {"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]", "pid": 7, "tid": 7, "ts": ts,
            "args": {"Addr": address, "Bytes": size, "Device Type": device, "Device Id": index, "Total Allocated": 1,
                     "Total Reserved": 2, **more}}


def test_gpus_keep_their_numbers_and_the_host_comes_after_them(tmp_path):
    path = trace_of(tmp_path, [
        event("aten::empty", 0, 10), memory_event(0x7f00_0000_0000, 512, 1),
        memory_event(0x7f00_0000_0200, 1024, 2, **{"Call stack": "/x.py(3): f;/x.py(9): <module>"}),
        memory_event(0x7f00_0000_0000, -512, 3), memory_event(64, 4096, 4, device=0, index=-1)])
    file, said = exported("memory_viz", path, tmp_path)
    data = pickle.loads(file.read_bytes())
    assert [[one["action"] for one in trace] for trace in data["device_traces"]] == [
        [], ["alloc", "alloc", "free_requested", "free_completed"], ["alloc"]]
    assert "GPU1 is device 1; CPU is device 2" in said and "3 allocations, 1 release, 2 blocks at the end" in said
    assert data["device_traces"][1][1]["frames"] == [
        {"name": "aten::empty", "filename": "operator", "line": 0}, {"name": "f", "filename": "/x.py", "line": 3},
        {"name": "<module>", "filename": "/x.py", "line": 9}]
    gpu, host = data["segments"]
    assert (gpu["device"], gpu["total_size"], gpu["allocated_size"]) == (1, 1536, 1024)
    assert [(block["state"], block["size"]) for block in gpu["blocks"]] == [("inactive", 512), ("active_allocated", 1024)]
    assert (host["device"], host["total_size"]) == (2, 4096)


def test_a_trace_without_memory_events_says_how_to_get_them(tmp_path):
    done = tprof("export", GOLDEN / "modules.1.pt.trace.json.gz", "--to", "memory_viz", "-o", tmp_path)
    assert done.returncode == 3 and "holds no memory events (run with --profile-memory)" in done.stderr
    done = tprof("export", KINETO, "--to", "memory_viz", "-o", tmp_path)
    assert done.returncode == 3 and "no addresses (torch before 1.10)" in done.stderr and not list(tmp_path.iterdir())


ASK = """
import pickle, sys
from torch.cuda import _memory_viz as viz
data = pickle.load(open(sys.argv[1], "rb"))
print(viz.trace(data).count(" = MEM[") + viz.trace(data).count(" = seg_"))
viz.segsum(data)
for plot in (viz.trace_plot, viz.segment_plot):
    assert "snapshot.pickle" in plot(pickle.load(open(sys.argv[1], "rb")))
lines = []
viz.memory(data, lines.append), viz.segments(data, lines.append)
print(all(";active_allocated;" in text for text in lines))
"""


@pytest.mark.parametrize("where", ["2.6", pytest.param("2.15", marks=pytest.mark.full)])
def test_torchs_own_functions_take_the_snapshot(snapshot, where):
    _, file, data = snapshot
    said = run(["-c", ASK, file], where=machine(where))
    assert said.returncode == 0, said.stderr
    allocations = sum(one["action"] == "alloc" for trace in data["device_traces"] for one in trace)
    assert said.stdout.split() == [str(allocations), "True"]
