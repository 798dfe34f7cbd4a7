"""Calls into CUDA as the interposer records them, on the simulated runtime (tests/fake)."""
import collections
import os
import re
import subprocess

import pytest

import call_records
from harness import BUILD, LIBRARY, REPO, both, machine, run, tprof

APPS = BUILD / "tests" / "apps" / "cuda"
SIM = BUILD / "tests" / "fake" / "simcuda-run"
KEEP = {"TPROF_KEEP_RECORDING": "1"}
MAJORS = ("11", "12", "13")


def simulated(*words, env=None, **more):
    """Runs a program of tests/apps/cuda."""
    return run([SIM, *words], env=env, **more)


def recorded(tmp_path, *words, **more):
    """What `both` asserts, and the calls that each way recorded."""
    results = both([SIM, *words], tmp_path, options={**KEEP, **more.pop("options", {})}, **more)
    return {way: call_records.calls(result.logdir) for way, result in results.items() if way != "bare"}


def recording_files(logdir):
    return list(logdir.glob("*.tprof"))


def names(calls):
    return collections.Counter(call.name for call in calls)


# --- the table

def rows():
    """(name, twin) of every row of shim/hooks.def that exports a function of CUDA or NCCL."""
    text = (REPO / "shim" / "hooks.def").read_text()
    for name, twin in re.findall(r"^CUDA\((\w+), (\w+),", text, re.M):
        yield name
        if twin != "one":
            yield "%s_%s" % (name, twin)
    yield from re.findall(r"^(?:NCCL|PROFILER|ENTRY_POINT)\((\w+),", text, re.M)


def exported(library):
    said = subprocess.run(["nm", "-D", "--defined-only", str(library)], capture_output=True, text=True, check=True).stdout
    return {line.split()[-1] for line in said.splitlines()}


def test_every_row_is_exported_without_a_version():
    assert len(set(rows())) > 140
    assert set(rows()) <= exported(LIBRARY), "a version would keep callers of another CUDA away"


def test_nothing_of_cuda_is_exported_that_is_no_row():
    assert {name for name in exported(LIBRARY) if re.match(r"(__)?cuda|nccl|pnccl|cu[A-Z]", name)
            and not name.startswith("ncclProfiler_")} <= set(rows())


def test_the_rows_name_functions_that_cuda_has():
    toolkit = os.path.join(os.environ.get("CUDA_HOME", "/usr/local/cuda"), "lib64")
    libraries = [os.path.join(toolkit, name) for name in ("libcudart.so.13", "libnccl.so.2")]
    if not all(map(os.path.exists, libraries)):
        pytest.skip("no CUDA 13 toolkit with NCCL")
    real = {name.split("@")[0] for library in libraries for name in exported(library)}
    assert set(rows()) - real <= {"ncclCommGrow"}, "beside what came with NCCL 2.29"


# --- what is recorded

@pytest.mark.parametrize("major", MAJORS)
def test_every_call_with_its_payload(major, tmp_path):
    for calls in recorded(tmp_path, APPS / ("vector_add_" + major), "2").values():
        got, launch = calls, "cudaLaunchKernel"
        assert names(got) == {"cudaMalloc": 3, "cudaMemcpy": 4, "cudaMemset": 2, launch: 2, "cudaDeviceSynchronize": 2,
                              "cudaFree": 3}
        assert all(call.result == 0 and call.end > call.begin for call in got)
        assert len({call.tid for call in got}) == 1
        made = [call for call in got if call.family == "alloc"]
        assert {(call.bytes, call.device) for call in made} == {(1 << 18, 0)}
        assert [call.address for call in made] == [call.address for call in got if call.family == "free"]
        copies = [call for call in got if call.family == "copy"]
        assert [(call.bytes, call.detail) for call in copies] == [(1 << 18, 1)] * 2 + [(1 << 18, 2)] * 2
        assert [call.address for call in copies[:2]] == [call.address for call in made[:2]]
        assert {call.address for call in got if call.family == "set"} == {made[2].address}
        assert len({call.address for call in got if call.name == launch}) == 1
        assert all(call.flags == call_records.ASYNC for call in got if call.name == launch)


def test_streams_and_their_handles(tmp_path):
    # The program says whether its kernels overlapped: by a clock that no other process can hold up.
    for calls in recorded(tmp_path, APPS / "streams_13", env={"SIMCUDA_CLOCK": "virtual"}).values():
        made = {call.stream for call in calls if call.name.startswith("cudaStreamCreate")}
        used = {call.stream for call in calls} - {0, 1, 2}  # but for the default streams'
        assert made and 0 not in made and used <= made
        assert {call.stream for call in calls if call.name == "cudaStreamDestroy"} <= made


def test_allocations_and_releases_pair_exactly_on_eight_threads(tmp_path):
    for result in both([SIM, APPS / "allocations_13", "40"], tmp_path, options=KEEP).values():
        if result.logdir is None:
            continue
        said = re.search(r"(\d+) allocations, (\d+) bytes", result.stdout)
        calls = call_records.calls(result.logdir)
        made = sum(call.family == "alloc" for call in calls)
        assert made == int(said.group(1)) == 8 * 40 * 8
        assert len({call.tid for call in calls}) == 8
        alive, total = {}, 0
        # an address exists from the end of what made it, and is gone at the begin of what releases it
        for call in sorted(calls, key=lambda call: call.begin if call.family == "free" else call.end):
            key = (call.flags & call_records.HOST, call.address)
            if call.family == "alloc":
                assert key not in alive, "%s gave what was not released" % call.name
                alive[key] = call.bytes
                total += call.bytes if call.name != "cudaHostRegister" else 0  # the program does not count it
            elif call.family == "free":
                assert key in alive, "%s of what nobody made" % call.name
                del alive[key]
        assert not alive and total == int(said.group(2))


def test_failing_calls_give_their_result_and_nothing_else(tmp_path):
    for calls in recorded(tmp_path, APPS / "hazards_13", "nothing").values():
        assert [(call.name, call.address, call.bytes, call.device) for call in calls] == [
            ("cudaMalloc", 0, 64, -1), ("cudaMalloc", 0, 1 << 60, -1), ("cudaFree", 12, 0, -1)]
        assert all(call.result != 0 for call in calls)


def test_a_machine_without_a_driver(tmp_path):
    for calls in recorded(tmp_path, APPS / "vector_add_13", env={"SIMCUDA_NO_DRIVER": "1"}).values():
        assert [(call.name, call.result, call.address) for call in calls] == [("cudaMalloc", 35, 0)]


def test_virtual_memory_by_the_drivers_own_functions_and_nccl(tmp_path):
    for result in both([SIM, APPS / "beyond_runtime"], tmp_path, options=KEEP).values():
        if result.logdir is None:
            continue
        handle, at = map(int, re.search(r"^handle (\d+), address (\d+)", result.stderr, re.M).groups())
        calls = [call for call in call_records.calls(result.logdir) if not call.name.startswith("cuda")]
        driver, virtual = call_records.DRIVER, call_records.DRIVER | call_records.VIRTUAL
        comm = call_records.ON_COMM
        assert [(c.name, c.family, c.flags, c.address, c.bytes, c.device, c.detail) for c in calls] == [
            ("cuMemCreate", "alloc", virtual, handle, 2 << 20, 0, 0), ("cuMemMap", "other", driver, at, 2 << 20, -1, 0),
            ("cuMemUnmap", "other", driver, at, 2 << 20, -1, 0), ("cuMemRelease", "free", virtual, handle, 0, -1, 0),
            ("ncclCommInitRank", "comm", comm, 0, 0, -1, 0), ("ncclGroupStart", "nccl", 0, 0, 0, -1, 0),
            ("ncclAllReduce", "nccl", call_records.ASYNC | comm, 0, 1000, -1, 7), ("ncclGroupEnd", "nccl", 0, 0, 0, -1, 0),
            ("ncclCommDestroy", "nccl", comm, 0, 0, -1, 0)]
        assert all(call.result == 0 for call in calls)


def test_errno_is_the_programs(tmp_path):
    for calls in recorded(tmp_path, APPS / "hazards_13", "errno").values():
        assert names(calls) == {"cudaMemset": 20000}


# --- who calls

@pytest.mark.parametrize("majors", [("13", "12"), ("12", "13"), ("11", "12", "13"), ("12",)], ids="+".join)
def test_each_local_library_reaches_its_own_runtime(majors, tmp_path):
    plugins = [APPS / ("libplugin_%s.so" % major) for major in majors]
    results = both([SIM, APPS / "load_plugins", *plugins], tmp_path, options=KEEP)
    expected = ["CUDA %s: %d" % (major, n * n) for n in (2, 3, 4) for major in majors]
    for way, result in results.items():
        assert result.stdout.splitlines() == expected
        if way != "bare":
            calls = call_records.calls(result.logdir)
            runs = 3 * len(majors)
            assert names(calls) == {"cudaMalloc": runs, "cudaMemcpy": 2 * runs, "cudaLaunchKernel": runs, "cudaFree": runs}


def test_a_library_at_the_address_of_an_unloaded_one_reaches_its_own_runtime(tmp_path):
    """The driver is too old for the second one's runtime, which says so."""
    code = ("import ctypes, _ctypes, sys\n"
            "for file in sys.argv[1:]:\n"
            "    plugin = ctypes.CDLL(file)\n"
            "    print(plugin.plugin_run(3), flush=True)\n"
            "    _ctypes.dlclose(plugin._handle)\n")
    words = [SIM, "/usr/bin/python3", "-S", "-c", code, APPS / "libplugin_12.so", APPS / "libplugin_13.so"]
    assert both(words, tmp_path, env={"SIMCUDA_DRIVER": "12000"})["bare"].stdout.startswith("9\n")


def test_the_first_call_from_many_threads_at_once(tmp_path):
    for calls in recorded(tmp_path, APPS / "hazards_12", "threads", "8").values():
        assert names(calls) == {"cudaMalloc": 8, "cudaMemcpy": 8, "cudaDeviceSynchronize": 8, "cudaFree": 8}


def test_a_forked_child_records_for_itself(tmp_path):
    for way, result in both([SIM, APPS / "hazards_13", "fork"], tmp_path, options=KEEP).items():
        if way != "bare":
            calls = call_records.calls(result.logdir)
            assert sorted(call.bytes for call in calls if call.name == "cudaMalloc") == [1024, 2048]
            assert len({call.tid for call in calls}) == len(recording_files(result.logdir)) == 2


def test_a_child_of_vfork_leaves_its_parent_alone(tmp_path):
    for calls in recorded(tmp_path, APPS / "hazards_13", "vfork").values():
        assert names(calls) == {"cudaMalloc": 1, "cudaMemcpy": 1, "cudaDeviceSynchronize": 1, "cudaFree": 1}


def test_a_feature_probe_where_there_is_no_cuda(compiled, tmp_path):
    for way, result in both([compiled("probe.c")], tmp_path, ways=("preload",)).items():
        assert result.stdout == "CUDA is not here, errno 5\n"
        assert result.stderr == "" and not (tmp_path / way).exists()


# --- the session of a program without torch

def test_a_program_that_makes_its_own_steps(tmp_path):
    options = {**KEEP, "TPROF_SCHEDULE": "skip_first=1,active=1,repeat=1"}
    for calls in recorded(tmp_path, APPS / "hazards_13", "steps", options=options).values():
        assert [call.bytes for call in calls if call.name == "cudaMalloc"] == [100]


def test_cuda_that_is_not_wanted(tmp_path):
    for way, result in both([SIM, APPS / "vector_add_13"], tmp_path, options={"TPROF_ACTIVITIES": "cpu"}).items():
        assert way == "bare" or not list((tmp_path / way).glob("*"))


def test_a_killed_program_keeps_its_calls(tmp_path):
    result = run([SIM, APPS / "dies_13", "kill"], "preload", logdir=tmp_path, options=KEEP)
    assert result.returncode == -9
    assert names(call_records.calls(tmp_path)) == {"cudaLaunchKernel": 4, "cudaDeviceSynchronize": 1}


def test_torch_joins_a_session_that_cuda_began(tmp_path):
    script = REPO / "tests" / "apps" / "cuda" / "plugin_then_torch.py"
    plugin = APPS / "libplugin_12.so"
    for way, result in both([SIM, "/usr/bin/python3", script, plugin, 4], tmp_path, options=KEEP,
                            where=machine("host")).items():
        if way != "bare":
            trace, = result.traces()
            assert trace.marks() == trace.steps() == list(range(4))
            assert trace.ledger["capabilities"]["steps"]["on"] and trace.ledger["capabilities"]["cuda_calls"]["on"]
            assert names(call_records.calls(result.logdir))["cudaLaunchKernel"] == 2


def test_the_recording_of_a_plain_program_is_readable(tmp_path):
    run([SIM, APPS / "vector_add_13"], "preload", logdir=tmp_path, options=KEEP)
    path, = recording_files(tmp_path)
    assert tprof("info", path).returncode == 0
