"""The simulated CUDA itself (tests/fake): programs compute right on it, its records are those of the real CUPTI, and
every fault switch does what it says. Nothing of tprof is under test here."""
import ctypes
import glob
import json
import os
import re
import signal
import subprocess

import pytest

import harness

FAKE = harness.BUILD / "tests" / "fake"
LIB = FAKE / "lib"
APPS = harness.BUILD / "tests" / "apps" / "cuda"
SOURCE = harness.TESTS / "fake"
MAJORS = {"11.0": "11", "12": "12", "13": "13"}
GENERATION_COLUMNS = ["api", "cuda", "10", "1", "22", "2", "38", "36", "17", "51", "49", "50", "9", "8", "13"]
GENERATIONS = {int(row.split(",")[0]): dict(zip(GENERATION_COLUMNS, map(int, row.split(","))))
               for row in re.findall(r"^GENERATION\((.*)\)", (SOURCE / "cupti/generations.def").read_text(), re.M)}
VIRTUAL = {"SIMCUDA_CLOCK": "virtual", "SIMCUDA_START_NS": "1700000000000000000"}


def simcuda(*command, cuda="13", timeout=600, **environment):
    """Runs an app of tests/apps/cuda (by its name) on the simulated CUDA."""
    words = [str(FAKE / "simcuda-run"), "--cuda", cuda, str(APPS / command[0]), *command[1:]]
    return subprocess.run(words, env={**os.environ, **environment}, stdin=subprocess.DEVNULL, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=timeout)


def records(tmp_path, *command, api=130001, **environment):
    """The lines that the client cupti_dump prints of an app's run."""
    out = tmp_path / "records"
    result = simcuda(*command, CUDA_INJECTION64_PATH=str(FAKE / "libcupti_dump.so"), CUPTI_DUMP=str(out),
                     CUPTI_DIRECTORY=str(LIB / ("cupti-%d" % api)), SIMCUPTI_API=str(api), **environment)
    assert result.returncode == 0, result.stdout + result.stderr
    return out.read_text().splitlines()


def of(lines, word):
    return [line.split() for line in lines if line.split()[0] == word]


def value(words, name):
    return int(words[words.index(name) + 1])


def times(kernel):
    return int(kernel[2]), int(kernel[3])


# Programs ------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("cuda", MAJORS)
@pytest.mark.parametrize("app, says", [
    ("vector_add", "vector_add: 3 times 65536 elements, 0 wrong\n"),
    ("streams", "streams: 115 1040 1 2, overlapped: yes\n"),
    ("graphs", "graphs: 99\n"),
    ("allocations", "allocations: 1280 allocations, 5734400 bytes, 0 left\n"),
    ("copies", "copies: 0 wrong, 1 device\n"),
])
def test_programs_compute_right_on_each_major(app, says, cuda):
    result = simcuda("%s_%s" % (app, MAJORS[cuda]), cuda=cuda, SIMCUDA_CLOCK="virtual")
    assert (result.returncode, result.stdout, result.stderr) == (0, says, "")


@pytest.mark.parametrize("how, status", [("return", 5), ("exit", 3), ("_exit", 4), ("abort", -signal.SIGABRT),
                                         ("kill", -signal.SIGKILL)])
def test_the_program_s_exit_status_is_simcuda_run_s(how, status):
    result = simcuda("dies_13", how)
    assert (result.returncode, result.stdout) == (status, "dies: %s\n" % how)


@pytest.mark.parametrize("words, says", [([], "broken: 0 0 0, counted: 18\n"), (["unsafe"], "broken: 3 0 0, counted: 12\n")])
def test_a_call_that_a_capture_forbids_ends_it(words, says):
    assert simcuda("capture_13", "3", *words, SIMCUDA_CLOCK="virtual").stdout == says


def test_two_majors_and_local_libraries_in_one_process():
    result = simcuda("load_plugins", *(str(APPS / ("libplugin_%s.so" % major)) for major in ("12", "13")))
    assert result.stdout.splitlines() == ["CUDA 12: 4", "CUDA 13: 4", "CUDA 12: 9", "CUDA 13: 9", "CUDA 12: 16",
                                          "CUDA 13: 16"]


def test_driver_api_alone_and_a_runtime_that_is_linked_in():
    assert simcuda("driver_launch").stdout == "driver_launch: 132 SMs, 0 wrong\n"
    assert simcuda("vector_add_static").stdout == "vector_add: 3 times 65536 elements, 0 wrong\n"


@pytest.mark.skipif(not (APPS / "vector_add_cu_shared").exists(), reason="no nvcc when this was built")
def test_nvcc_s_programs_run_unmodified(tmp_path):
    result = simcuda("vector_add_cu_shared")
    assert (result.returncode, result.stdout) == (0, "vector_add.cu: sm_90, 0 wrong\n")
    lines = records(tmp_path, "vector_add_cu_shared", **VIRTUAL)
    launches = [words[1] for words in of(lines, "runtime") if "Launch" in words[1]]
    assert launches == ["__cudaLaunchKernel_v13000"] * 2 + ["cudaLaunchKernelExC_v11060", "__cudaLaunchKernel_v13000",
                                                            "cudaGraphLaunch_v10000"]
    assert [words[1] for words in of(lines, "kernel")] == ["_Z10vector_addPKfS0_Pfi"] + ["_Z5scaleIfEvPT_S0_i"] * 3


def test_simcuda_run_refuses_what_it_does_not_know_and_keeps_the_environment():
    run = str(FAKE / "simcuda-run")
    for words, api in (([], "13"), (["--cuda", "10", "true"], "13"), (["true"], "19")):
        assert subprocess.run([run, *words], env={**os.environ, "SIMCUPTI_API": api},
                              stderr=subprocess.PIPE).returncode == 2
    shown = subprocess.run([run, "env"], env={"PATH": os.environ["PATH"], "LD_LIBRARY_PATH": "/mine", "LD_PRELOAD": ""},
                           stdout=subprocess.PIPE, text=True).stdout
    assert re.search(r"^LD_LIBRARY_PATH=.*/tests/fake/lib:.*:/mine$", shown, re.M) and "\nLD_PRELOAD=\n" in "\n" + shown


def test_programs_run_on_it_under_tprof_run(tmp_path):
    bare = simcuda("vector_add_13")
    traced = subprocess.run([str(harness.RUN), "--logdir", str(tmp_path), "--", str(FAKE / "simcuda-run"),
                             str(APPS / "vector_add_13")], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    assert (traced.returncode, traced.stdout) == (bare.returncode, bare.stdout)


def test_nccl_s_functions_are_weak_names_of_pnccl_s():
    symbols = subprocess.run(["nm", "-D", str(LIB / "libnccl.so.2")], stdout=subprocess.PIPE, text=True).stdout
    weak = set(re.findall(r" W (nccl\w+)", symbols))
    strong = set(re.findall(r" T (pnccl\w+)", symbols))
    assert len(weak) > 15 and strong == {"p" + name for name in weak}
    version = ctypes.c_int()
    assert ctypes.CDLL(str(LIB / "libnccl.so.2")).ncclGetVersion(ctypes.byref(version)) == 0 and version.value > 20000


def test_a_child_launches_though_cupti_s_thread_held_a_lock_at_the_fork(tmp_path):
    """The kernel's record comes 20 ms behind it and wants a buffer, which takes a second; meanwhile the program forks."""
    lines = records(tmp_path, "call_chain", "fork", "100", SIMCUPTI_LATE_NS="20000000", CUPTI_SLOW_MS="1000",
                    CUPTI_BUFFER_BYTES="256")
    assert len(of(lines, "kernel")) == 1


# Time and records ----------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("app", ["vector_add_13", "graphs_13", "copies_13", "driver_launch"])
def test_virtual_time_gives_identical_records_twice(app, tmp_path):
    first, second = (records(tmp_path, app, **VIRTUAL) for _ in range(2))
    assert len(first) > 20 and first == second


def test_streams_overlap_and_the_default_stream_waits_for_all(tmp_path):
    kernels = of(records(tmp_path, "streams_13", **VIRTUAL), "kernel")
    assert len(kernels) == 12
    by_stream = {}
    for kernel in kernels:
        by_stream.setdefault(value(kernel, "stream"), []).append(times(kernel))
    for stream in by_stream.values():
        assert all(a[1] <= b[0] for a, b in zip(sorted(stream), sorted(stream)[1:]))
    default = by_stream[7]
    first, second = sorted(by_stream, key=lambda stream: -len(by_stream[stream]))[:2]
    assert (len(by_stream[first]), len(by_stream[second]), len(default)) == (5, 4, 1)
    assert any(a[0] < b[1] and b[0] < a[1] for a in by_stream[first] for b in by_stream[second])
    assert max(by_stream[first])[0] >= max(by_stream[second])[1], "the fifth kernel waited for the event"
    assert default[0][0] >= max(end for stream in (first, second) for _, end in by_stream[stream])


def test_a_client_s_clock_counts_what_it_likes(tmp_path):
    """Its records speak in it, and the machine does not run by it: the kernels take a millisecond of real time each."""
    lines = records(tmp_path, "streams_13", CUPTI_TICKS="1", SIMCUDA_KERNEL_NS="1000000")
    (_, end), = of(lines, "ticks")
    for kernel in of(lines, "kernel"):
        begin, finish = times(kernel)
        assert 0 < begin < finish <= int(end) and finish - begin == pytest.approx(2_500_000, rel=0.01)


def test_graph_nodes_follow_their_dependencies(tmp_path):
    lines = records(tmp_path, "graphs_13", **VIRTUAL)
    launches = [value(words, "corr") for words in of(lines, "runtime") if words[1] == "cudaGraphLaunch_v10000"]
    assert len(launches) == 3
    for launch in launches:
        nodes = [kernel for kernel in of(lines, "kernel") if value(kernel, "corr") == launch]
        adds = [times(node) for node in nodes if node[1] == "add"]
        sums = [times(node) for node in nodes if node[1] == "sum"]
        assert len(adds) == 4 and len(sums) == 1 and len({value(node, "node") for node in nodes}) == 5
        assert len({value(node, "graph") for node in nodes}) == 1 and sums[0][0] >= max(end for _, end in adds)
    only_graphs = records(tmp_path, "graphs_13", CUPTI_KINDS="10,51", **VIRTUAL)
    assert len(of(only_graphs, "graph")) == 3 and not of(only_graphs, "kernel")


def test_allocations_pair_under_eight_threads(tmp_path):
    lines = of(records(tmp_path, "allocations_13"), "memory")
    live, seen = {}, 0
    for words in sorted(lines, key=lambda words: int(words[7])):
        if words[1] == "alloc":
            assert words[4] not in live
            live[words[4]] = words[6]
            seen += 1
        else:
            assert live.pop(words[4]) == words[6]
    assert seen == 8 * 20 * 7 and not live


def test_copies_between_two_devices_are_of_their_own_kind(tmp_path):
    lines = records(tmp_path, "copies_13", SIMCUDA_DEVICES="2", **VIRTUAL)
    (peer,) = of(lines, "memcpy2")
    assert (value(peer, "from"), value(peer, "to"), value(peer, "bytes")) == (0, 1, 2048)
    assert len(of(lines, "device")) == 2 and len(of(lines, "context")) == 2
    assert not of(records(tmp_path, "copies_13", **VIRTUAL), "memcpy2")


def test_only_work_enqueued_with_its_kind_on_is_recorded(tmp_path):
    lines = records(tmp_path, "vector_add_13", CUPTI_KINDS="1")
    assert len(of(lines, "memcpy")) == 5 and not of(lines, "kernel") and not of(lines, "runtime")


def test_subscribers_are_called_at_both_ends_of_a_call(tmp_path):
    lines = records(tmp_path, "vector_add_13", CUPTI_SUBSCRIBE="1")
    assert int(of(lines, "callbacks")[0][1]) == 2 * len(of(lines, "runtime")) > 0
    assert int(of(lines, "resources")[0][1]) == len(of(lines, "context")) + len(of(lines, "stream")) == 2


@pytest.mark.parametrize("api", GENERATIONS)
def test_each_generation_tells_the_same_events(api, tmp_path):
    cuda = {11: "11.0", 12: "12", 13: "13"}[GENERATIONS[api]["cuda"] // 1000]
    lines = records(tmp_path, "graphs_" + MAJORS[cuda], api=api, cuda=cuda, **VIRTUAL)
    assert lines[0] == "cupti %d" % api
    missing = {"enable %s: 21" % kind for kind in ("49", "50") if GENERATIONS[api][kind] == 0}
    assert {line for line in lines if line.startswith(("enable", "buffer"))} == missing
    assert (len(of(lines, "kernel")), len(of(lines, "memset")), len(of(lines, "memcpy"))) == (15, 5, 1)
    assert of(lines, "kernel") == of(records(tmp_path, "graphs_13", **VIRTUAL), "kernel")


# The same as the real one --------------------------------------------------------------------------------------------

def probe(library):
    """What probe_cupti.py finds, in a process that has no driver."""
    environment = {key: text for key, text in os.environ.items() if key != "LD_LIBRARY_PATH"}
    result = subprocess.run(["/usr/bin/python3", str(SOURCE / "probe_cupti.py"), str(library)], env=environment,
                            stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(result.stdout)


def simulated(api):
    (library,) = (LIB / ("cupti-%d" % api)).iterdir()
    return probe(library)


def real_libraries():
    places = [os.environ.get("CUDA_HOME", "/usr/local/cuda") + "/lib64", "/usr/local/cuda*/extras/CUPTI/lib64",
              "/usr/local/cuda*/lib64", "/usr/lib/x86_64-linux-gnu",
              "/usr/lib/python3*/site-packages/nvidia/*/lib", "/usr/local/lib/python3*/*-packages/nvidia/*/lib"]
    found = {os.path.realpath(path) for place in places for path in glob.glob(place + "/libcupti.so.*")}
    return sorted(found)


@pytest.mark.parametrize("api", GENERATIONS)
def test_each_generation_steps_over_its_own_record_lengths(api):
    found = simulated(api)
    assert found["version"] == api
    for kind, length in GENERATIONS[api].items():
        if kind.isdigit():
            assert found["bytes"][kind] == length, "kind " + kind


@pytest.mark.parametrize("library", real_libraries() or [None])
def test_lengths_names_and_answers_are_the_real_library_s(library):
    if library is None:
        pytest.skip("no libcupti of NVIDIA's here")
    real = probe(library)
    if real["version"] not in GENERATIONS:
        pytest.skip("CUPTI %d is not among the simulated generations" % real["version"])
    ours = simulated(real["version"])
    known = {kind: length for kind, length in ours["bytes"].items() if length}
    assert len(known) >= 20 and known == {kind: real["bytes"][kind] for kind in known}
    shared = {cbid for cbid in ours["names"] if cbid in real["names"]}
    assert len(shared) > 150 and {cbid: ours["names"][cbid] for cbid in shared} == \
        {cbid: real["names"][cbid] for cbid in shared}
    assert set(ours["exports"]) == set(real["exports"])
    if not os.path.exists("/dev/nvidiactl"):
        assert ours["driverless"] == real["driverless"]


# Faults --------------------------------------------------------------------------------------------------------------

def test_every_switch_is_in_the_readme():
    switches = re.findall(r"^SWITCH\((\w+)", (SOURCE / "switches.def").read_text(), re.M)
    text = (SOURCE / "README.md").read_text()
    assert len(switches) > 15 and [name for name in switches if "`%s`" % name not in text] == []


@pytest.mark.parametrize("environment", [{"SIMCUDA_NO_DRIVER": "1"}, {"SIMCUDA_DRIVER": "12040"}])
def test_without_a_driver_or_with_an_old_one_calls_give_35(environment):
    result = simcuda("vector_add_13", **environment)
    assert result.returncode == 1 and result.stdout.startswith("cudaMalloc(&da, n * 4): 35 CUDA driver version is")


def test_an_old_driver_refuses_a_newer_cupti(tmp_path):
    lines = records(tmp_path, "vector_add_12", cuda="12", SIMCUDA_DRIVER="12040")
    assert lines == ["cupti 130001"] + ["enable %d: 15" % kind for kind in
                                        (9, 37, 8, 10, 1, 22, 2, 5, 4, 38, 36, 17, 49, 50, 39)]


def test_a_call_of_the_program_fails_when_told_so():
    result = simcuda("vector_add_13", SIMCUDA_FAIL="cudaMalloc:2")
    assert (result.returncode, result.stdout) == (1, "cudaMalloc(&db, n * 4): 2 out of memory\n")
    result = simcuda("vector_add_13", SIMCUDA_FAIL="cudaFree:1,cudaLaunchKernel:3:719")
    assert result.stdout.endswith(": 719 unspecified launch failure\n")


def test_a_function_that_the_driver_lacks_is_told_by_the_status_alone():
    """An error of the call would stay as the last one, and be taken for that of a later launch."""
    code = ("import ctypes; c = ctypes.CDLL('libcudart.so.13'); f, s = ctypes.c_void_p(), ctypes.c_int(); "
            "print(c.cudaGetDriverEntryPointByVersion(b'cuNoSuch', ctypes.byref(f), 12000, 0, ctypes.byref(s)), f.value, "
            "s.value, c.cudaGetLastError())")
    told = simcuda("/usr/bin/python3", "-c", code, SIMCUDA_STUBS="1")
    assert (told.stdout, told.stderr) == ("0 None 1 0\n", "simulated CUDA: no cuNoSuch\n")


def test_memory_runs_out():
    assert "2 out of memory" in simcuda("vector_add_13", SIMCUDA_MEMORY="600000").stdout


def test_another_tool_holds_cupti(tmp_path):
    lines = records(tmp_path, "vector_add_13", SIMCUPTI_BUSY="subscriber", CUPTI_SUBSCRIBE="1")
    assert lines[1:3] == ["subscribe: 39", "held by Nsight Systems"] and len(of(lines, "kernel")) == 3
    lines = records(tmp_path, "vector_add_13", SIMCUPTI_BUSY="all")
    assert "enable 10: 39" in lines and not of(lines, "kernel")


def test_no_permission_and_kinds_that_are_refused(tmp_path):
    assert "enable 10: 35" in records(tmp_path, "vector_add_13", SIMCUPTI_FORBIDDEN="1")
    lines = records(tmp_path, "vector_add_13", SIMCUPTI_REFUSE="17,10")
    assert {"enable 17: 27", "enable 10: 27"} <= set(lines) and of(lines, "memcpy") and not of(lines, "kernel")


def test_records_are_dropped_and_counted_or_lost(tmp_path):
    whole = [line for line in records(tmp_path, "vector_add_13", **VIRTUAL) if line.startswith(("kernel", "mem"))]
    dropped = records(tmp_path, "vector_add_13", SIMCUPTI_DROP="4", **VIRTUAL)
    lost = records(tmp_path, "vector_add_13", SIMCUPTI_LOSE="4", **VIRTUAL)
    assert dropped[-1] == "dropped 2" and not of(lost, "dropped")
    for lines in (dropped, lost):
        assert len(whole) - len([line for line in lines if line.startswith(("kernel", "mem"))]) == 2


def test_times_are_zero_or_too_early(tmp_path):
    kernels = of(records(tmp_path, "vector_add_13", SIMCUPTI_ZERO_TIME="1", **VIRTUAL), "kernel")
    assert [times(kernel) for kernel in kernels] == [(0, 0)] * 3
    right = of(records(tmp_path, "vector_add_13", **VIRTUAL), "kernel")
    early = records(tmp_path, "vector_add_13", SIMCUPTI_EARLY_NS="500000", **VIRTUAL)
    assert [times(kernel)[0] + 500000 for kernel in of(early, "kernel")] == [times(kernel)[0] for kernel in right]
    launch = [int(words[2]) for words in of(early, "runtime") if words[1] == "cudaLaunchKernel_v7000"]
    assert times(of(early, "kernel")[0])[0] < launch[0]


def test_unfinished_work_comes_with_force_alone(tmp_path):
    late = {"SIMCUPTI_LATE_NS": "10000000000", "CUPTI_KINDS": "10"}
    assert not of(records(tmp_path, "vector_add_13", **late), "kernel")
    kernels = of(records(tmp_path, "vector_add_13", CUPTI_FORCE="1", **late), "kernel")
    assert len(kernels) == 3 and all(begin > 0 and end == 0 for begin, end in map(times, kernels))


def test_records_of_the_device_come_in_the_opposite_order(tmp_path):
    late = {"SIMCUPTI_LATE_NS": "100000000", "CUPTI_KINDS": "10", "CUPTI_FORCE": "1", **VIRTUAL}
    right, turned = (records(tmp_path, "vector_add_13", **late, **more) for more in ({}, {"SIMCUPTI_SHUFFLE": "1"}))
    assert of(turned, "kernel") == of(right, "kernel")[::-1]


def test_buffers_small_slow_per_thread_or_none(tmp_path):
    whole = sorted(records(tmp_path, "vector_add_13", **VIRTUAL))
    small = records(tmp_path, "vector_add_13", CUPTI_BUFFER_BYTES="512", SIMCUPTI_SLOW_NS="1000000", **VIRTUAL)
    assert sorted(small) == whole
    lines = [records(tmp_path, "allocations_13", CUPTI_KINDS="5", SIMCUPTI_PER_THREAD=on) for on in "01"]
    assert len(lines[0]) == len(lines[1]) > 2000
    none = records(tmp_path, "vector_add_13", CUPTI_BUFFER_BYTES="0", **VIRTUAL)
    assert len(none) == 2 and int(of(none, "dropped")[0][1]) > 40
    result = simcuda("vector_add_13", SIMCUPTI_NULL_CRASHES="1", CUPTI_BUFFER_BYTES="0", CUPTI_DUMP=str(tmp_path / "x"),
                     CUDA_INJECTION64_PATH=str(FAKE / "libcupti_dump.so"), CUPTI_DIRECTORY=str(LIB / "cupti-130001"))
    assert result.returncode == -signal.SIGABRT


def test_unknown_kinds_and_a_broken_iterator(tmp_path):
    assert "buffer ends with 21" in records(tmp_path, "vector_add_13", SIMCUPTI_EXTRA_KIND="9999")
    lines = records(tmp_path, "vector_add_13", SIMCUPTI_EXTRA_KIND="27")
    assert "kind 27" in lines and len(of(lines, "kernel")) == 3
    assert "buffer ends with 999" in records(tmp_path, "vector_add_13", SIMCUPTI_BAD_NEXT="error")
    assert len(records(tmp_path, "vector_add_13", SIMCUPTI_BAD_NEXT="stuck", CUPTI_KINDS="10")) > 1000


def test_slow_kernels_take_real_time(tmp_path):
    kernels = of(records(tmp_path, "vector_add_13", "2", SIMCUDA_KERNEL_NS="20000000"), "kernel")
    assert [end - begin for begin, end in map(times, kernels)] == [20000000] * 2
