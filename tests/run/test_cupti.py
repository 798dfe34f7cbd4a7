"""CUPTI's records on the simulated CUDA: what each generation delivers arrives whole, and no fault harms the program.

The library is a copy with no finisher beside it: so the recordings stay as the collector wrote them."""
import collections
import os
import pathlib
import shutil
import signal
import time

import pytest

from gpu_records import recording
from harness import BUILD, LIBRARY, recordings, run, start, wait_for

SIMCUDA = BUILD / "tests" / "fake" / "simcuda-run"
PROGRAMS = BUILD / "tests" / "apps"
STEPS, INJECTED, CLIENT = (PROGRAMS / "cupti" / name for name in ("steps", "injected", "client"))
# CUPTI's version -> CUDA's soname
GENERATIONS = {13: "11.0", 15: "11.0", 17: "11.0", 18: "11.0", 22: "12", 26: "12", 130001: "13"}


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return shutil.copy(LIBRARY, tmp_path_factory.mktemp("alone") / "libtprof.so")


def vector_add(times, cuda="13"):
    return [SIMCUDA, "--cuda", cuda, PROGRAMS / "cuda" / ("vector_add_" + cuda.split(".")[0]), times]


def steps(*arguments):
    return [SIMCUDA, STEPS, *arguments]


def profile(library, tmp_path, argv, harmless=True, **environment):
    """The program's result under tprof; compared with the bare one, which has the same faults."""
    environment = {name: str(value) for name, value in environment.items()}
    result = run(argv, env=dict(environment, LD_PRELOAD=library, TPROF_LOGDIR=str(tmp_path)))
    if harmless:
        bare = run(argv, env=environment)
        assert (result.returncode, result.stdout) == (bare.returncode, bare.stdout), result.stderr
    return result


def gpu_lines(result):
    return [line for line in result.said() if "GPU" in line]


@pytest.mark.parametrize("api", GENERATIONS)
def test_each_generation_delivers_everything(library, tmp_path, api):
    times = 6
    profile(library, tmp_path, vector_add(times, cuda=GENERATIONS[api]), SIMCUPTI_API=api)
    r = recording(tmp_path)
    assert r.capabilities["cuda"] == (True, "")
    assert r.info["cupti"].endswith("version %d" % api)
    assert not any(r.dropped.values())
    calls = collections.Counter(name for name, _ in r.named("api"))
    assert {k: calls[k] for k in ("cudaMalloc", "cudaMemcpy", "cudaMemset", "cudaLaunchKernel", "cudaDeviceSynchronize",
                                  "cudaFree")} == {"cudaMalloc": 3, "cudaMemcpy": 2 + times, "cudaMemset": times,
                                                   "cudaLaunchKernel": times, "cudaDeviceSynchronize": times, "cudaFree": 3}
    call_of = {c["correlation"]: (name, c) for name, c in r.named("api") if not c["cbid"] & 0x80000000}
    assert len(r.records["kernel"]) == times
    for name, kernel in r.named("kernel"):
        caller, call = call_of[kernel["correlation"]]
        assert (name, caller) == ("vector_add", "cudaLaunchKernel")
        assert 0 < call["begin"] < kernel["begin"] < kernel["end"] and call["tid"] > 0
        assert (kernel["gx"], kernel["bx"], kernel["registers"]) == (256, 256, 24)
    assert sorted(c["bytes"] for c in r.records["copy"]) == [4 << 16] * (2 + times)
    assert collections.Counter(c["id"] & 0xff for c in r.records["copy"]) == {1: 2, 2: times}
    assert [s["bytes"] for s in r.records["set"]] == [4 << 16] * times
    assert len(r.records["sync"]) == times
    # MEMORY2 came with CUDA 11.2
    assert len(r.records["gpu_memory"]) == (6 if api >= 15 else 0)
    device, = r.records["device"]
    assert device["name"].startswith(b"Simulated") and device["multiprocessors"] == 132
    assert (device["shared_per_block_optin"], device["shared_reserved_per_block"]) == (232448, 1024)
    assert [c["device"] for c in r.records["context"]] == [0]


# What a fault costs: {kind of record: how many there are}, {reason: dropped}, or a word of the one line said.
TIMES = 30
WHOLE = {"kernel": TIMES, "set": TIMES, "copy": TIMES + 2}
FAULTS = {
    "another subscriber": (dict(SIMCUPTI_BUSY="subscriber"), WHOLE, {}),
    "kinds refused": (dict(SIMCUPTI_REFUSE="49,38"), dict(WHOLE, gpu_memory=0, sync=0), {}),
    "late": (dict(SIMCUPTI_LATE_NS=200000000), WHOLE, {}),
    "early": (dict(SIMCUPTI_EARLY_NS=50000), WHOLE, {}),
    "shuffled": (dict(SIMCUPTI_SHUFFLE=1), WHOLE, {}),
    "no null buffer": (dict(SIMCUPTI_NULL_CRASHES=1), WHOLE, {}),
    "buffers per thread": (dict(SIMCUPTI_PER_THREAD=1), WHOLE, {}),
    "a known other kind": (dict(SIMCUPTI_EXTRA_KIND=11), WHOLE, {}),
    "slow": (dict(SIMCUPTI_SLOW_NS=300000000), WHOLE, {}),
    "no times": (dict(SIMCUPTI_ZERO_TIME=3), WHOLE, {}),
    "dropped": (dict(SIMCUPTI_DROP=3), {"kernel": TIMES, "set": 0, "copy": TIMES + 2}, {"gpu_dropped": TIMES}),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_costs_no_more_than_it_must(library, tmp_path, fault):
    switches, records, dropped = FAULTS[fault]
    result = profile(library, tmp_path, vector_add(TIMES), **switches)
    r = recording(tmp_path)
    assert ({kind: len(r.records[kind]) for kind in records},
            {reason: n for reason, n in r.dropped.items() if n}) == (records, dropped), result.stderr
    assert r.capabilities["cuda"] == (True, "") and not gpu_lines(result)
    odd = r.info.get("cupti.odd_records", "")
    assert ("without times 30" in odd) == (fault == "no times")
    assert (odd != "" and "before their launch 0" not in odd) == (fault == "early")


def test_what_was_dropped_ends_no_window_before_the_rest_has_come(tmp_path):
    """Every third record is dropped: all of its sets."""
    code = ("import ctypes, sys, time\n"
            "me, plugin = ctypes.CDLL(None), ctypes.CDLL(sys.argv[1])\n"
            "for times in (60, 5):\n"
            "    me.cudaProfilerStart()\n"
            "    for _ in range(times): plugin.plugin_run(4)\n"
            "    me.cudaProfilerStop()\n"
            "    time.sleep(2)\n")
    result = run([SIMCUDA, "/usr/bin/python3", "-S", "-c", code, PROGRAMS / "cuda" / "libplugin_13.so"], "preload",
                 logdir=tmp_path, env={"SIMCUPTI_DROP": "3", "SIMCUPTI_LATE_NS": "800000000"},
                 options={"TPROF_WINDOW": "cudaProfilerApi", "TPROF_EXIT_WAIT": "60"})
    assert result.returncode == 0, result.stderr
    found = [collections.Counter(e.get("cat") for e in trace.ranges) for trace in result.traces()]
    assert [sum(one[cat] for cat in ("kernel", "gpu_memcpy")) for one in found] == [120, 10], found


REFUSALS = {
    "held": (dict(SIMCUPTI_BUSY="all", SIMCUPTI_BUSY_NAME="Some Tool"), "in use by Some Tool"),
    "forbidden": (dict(SIMCUPTI_FORBIDDEN=1), "NVreg_RestrictProfilingToAdminUsers=0"),
    "refused": (dict(SIMCUPTI_REFUSE=10), "error 27"),
    "unreadable": (dict(SIMCUPTI_BAD_NEXT="error"), "cannot be read"),
    "stuck": (dict(SIMCUPTI_BAD_NEXT="stuck"), "cannot be read"),
    "named and absent": (dict(TPROF_CUPTI="/nowhere/libcupti.so"), "/nowhere/libcupti.so"),
}


@pytest.mark.parametrize("refusal", REFUSALS)
def test_what_cannot_be_had_is_said_in_one_line(library, tmp_path, refusal):
    switches, word = REFUSALS[refusal]
    result = profile(library, tmp_path, vector_add(5), **switches)
    line, = gpu_lines(result)
    assert word in line


def test_nothing_is_loaded_and_said_when_cuda_is_not_asked_for(library, tmp_path):
    result = profile(library, tmp_path, vector_add(5), TPROF_ACTIVITIES="cpu")
    assert not gpu_lines(result)
    if list(tmp_path.glob("*.tprof")):
        assert not recording(tmp_path).records["kernel"]


def test_a_buffer_that_cannot_be_read_is_counted(library, tmp_path):
    profile(library, tmp_path, vector_add(TIMES), SIMCUPTI_EXTRA_KIND=200)
    if list(tmp_path.glob("*.tprof")):  # calls that were interposed
        assert recording(tmp_path).dropped["gpu_dropped"] > 0


def kernels_by_step(r, window):
    return collections.Counter(k["gx"] - 1 for k in r.records["kernel"] if k["window"] == window)


@pytest.mark.parametrize("kernel_ns", [0, 40_000_000])
def test_work_belongs_to_the_window_in_which_it_was_launched(library, tmp_path, kernel_ns):
    """Each kernel takes longer than its step: the windows' work ends long after they do, and when the next one runs."""
    profile(library, tmp_path, steps(12, 3), TPROF_SCHEDULE="wait=1,warmup=1,active=2,repeat=2",
            SIMCUDA_KERNEL_NS=kernel_ns)
    r = recording(tmp_path)
    assert [w["state"] for w in r.windows] == [3, 3]  # sealed
    assert not any(r.dropped.values())
    for window, active in enumerate([(2, 3), (6, 7)]):
        found = kernels_by_step(r, window)
        assert all(found[step] == 3 for step in active), found
        launches = [k for k in r.records["api"] if k["window"] == window and r.names[k["id"]] == "cudaLaunchKernel"]
        assert {k["correlation"] for k in r.records["kernel"] if k["window"] == window and k["gx"] - 1 in active} \
            <= {k["correlation"] for k in launches}
    assert kernels_by_step(r, 0)[0] == 0  # it was not on yet


def test_without_warm_up_the_first_launch_of_a_window_is_seen(library, tmp_path):
    profile(library, tmp_path, steps(8, 3, "drain"), TPROF_SCHEDULE="wait=2,active=2,repeat=2")
    r = recording(tmp_path)
    for window, active in enumerate([(2, 3), (6, 7)]):
        assert all(kernels_by_step(r, window)[step] == 3 for step in active)


def test_work_that_takes_too_long_is_counted_and_not_waited_for(library, tmp_path):
    begin = time.monotonic()
    profile(library, tmp_path, steps(4, 2), TPROF_SCHEDULE="active=2,repeat=1", SIMCUDA_KERNEL_NS=4_000_000_000,
            harmless=False)
    assert 4.5 < time.monotonic() - begin < 120, "it waits five seconds"
    r = recording(tmp_path)
    assert r.windows[0]["state"] == 3
    # Four launches; one has ended within the wait.
    assert kernels_by_step(r, 0)[0] + kernels_by_step(r, 0)[1] + r.dropped["gpu_late"] >= 4
    assert r.dropped["gpu_late"] >= 2


def test_launches_whose_record_never_comes_are_counted(library, tmp_path):
    profile(library, tmp_path, steps(4, 10, "drain"), SIMCUPTI_LOSE=4)
    r = recording(tmp_path)
    assert len(r.records["kernel"]) == 30 and r.dropped["gpu_late"] == 10


def test_what_was_delivered_survives_sigkill(library, tmp_path):
    process = start(steps(1000, 3, "drain"), env={"LD_PRELOAD": library, "TPROF_LOGDIR": str(tmp_path)})
    wait_for(lambda: recordings(tmp_path) and recording(tmp_path).records["kernel"], what="kernels delivered")
    process.send_signal(signal.SIGKILL)
    process.communicate()
    r = recording(tmp_path)
    # Calls come in their order, so a kernel whose call is not there yet was launched behind all that are.
    calls = {c["correlation"] for c in r.records["api"]}
    assert all(k["correlation"] in calls or k["correlation"] > max(calls, default=0) for k in r.records["kernel"])


@pytest.mark.parametrize("switches", [{}, {"SIMCUPTI_PER_THREAD": 1}, {"SIMCUPTI_SHUFFLE": 1}, {"TPROF_ACTIVITIES": "cpu"},
                                      {"TPROF_DISABLE": 1}], ids=str)
def test_a_profiler_of_the_program_s_own_keeps_its_complete_trace(library, tmp_path, switches):
    """The client prints what it got: the same as without tprof, on its own clock, before, between and behind its rounds."""
    profile(library, tmp_path, [SIMCUDA, CLIENT], **switches)
    if "TPROF_ACTIVITIES" not in switches and "TPROF_DISABLE" not in switches:
        r = recording(tmp_path)
        assert len(r.records["kernel"]) == 50 + 2 * 130 + 20
        assert sum(name == "cudaLaunchKernel" for name, _ in r.named("api")) == 50 + 2 * 130 + 20
        assert not any(r.dropped.values())


@pytest.mark.parametrize("slow_ns", [0, 50_000_000])
@pytest.mark.parametrize("windows", ["wait=1,warmup=1,active=1,repeat=3", "active=1,wait=1,repeat=2"])
def test_switching_windows_does_not_disturb_the_client(library, tmp_path, windows, slow_ns):
    """Nor when tprof's flush is handing over while the client's own comes."""
    profile(library, tmp_path, [SIMCUDA, CLIENT, "steps"], TPROF_SCHEDULE=windows, SIMCUPTI_SLOW_NS=slow_ns)


def test_a_constructor_that_makes_a_step_does_not_meet_the_loading_of_cupti(library, tmp_path):
    """It holds the loader's lock; the thread that makes the step in which records begin holds tprof's."""
    result = profile(library, tmp_path, [SIMCUDA, PROGRAMS / "cupti" / "constructor",
                                         PROGRAMS / "cupti" / "libwith_constructor.so"], TPROF_SCHEDULE="wait=1,active=40")
    assert result.stdout == "constructor: done\n"
    assert len(recording(tmp_path).records["kernel"]) > 0


NAMES = ("CUDA_INJECTION64_PATH", "NCCL_PROFILER_PLUGIN")


@pytest.mark.parametrize("function", ["getenv", "secure_getenv"])
@pytest.mark.parametrize("value", ["", "/opt/other/libtool.so"])
def test_the_driver_and_nccl_are_told_of_us_unless_they_are_told_of_another_tool(library, tmp_path, value, function):
    code = ("import ctypes, os\n"
            "get = ctypes.CDLL(None).%s\n"
            "get.restype = ctypes.c_char_p\n"
            "for name in %r: print(get(name.encode()).decode())\n"
            "os.environ.update(%s='own')\n"
            "print(get(%r), get(b'HOME') is not None, get(b'NO_SUCH_NAME'))\n" % (function, NAMES, NAMES[0], NAMES[0].encode()))
    result = run(["-c", code], env=dict({name: value for name in NAMES if value}, LD_PRELOAD=library,
                                        TPROF_LOGDIR=str(tmp_path)))
    assert result.stdout == "%s\n%s\nb'own' True None\n" % (value or library, value or library), result.stderr


def test_no_program_inherits_what_the_driver_and_nccl_are_told(library, tmp_path):
    """In a container the file may be missing. An empty value stays empty."""
    code = "import os, subprocess; print(subprocess.check_output(['env'], text=True), dict(os.environ))"
    for environment in ({}, {NAMES[0]: ""}):
        result = run(["/bin/sh", "-c", "env; /usr/bin/python3 -c \"$0\"", code],
                     env=dict(environment, LD_PRELOAD=library, TPROF_LOGDIR=str(tmp_path)))
        assert result.returncode == 0 and "LD_PRELOAD=%s\n" % library in result.stdout
        assert [name for name in NAMES if name in result.stdout] == list(environment)


def toolkit():
    path = pathlib.Path(os.environ.get("CUDA_HOME", "/usr/local/cuda")) / "lib64" / "libcupti.so.13"
    return path if path.exists() else None


@pytest.mark.skipif(not toolkit(), reason="the real libcupti of CUDA 13 is not here")
@pytest.mark.skipif(os.path.exists("/dev/nvidiactl"), reason="this machine has a driver")
def test_the_real_library_without_a_driver_costs_little_and_is_given_up(library, tmp_path):
    costs = []
    for cupti in ("/nowhere/libcupti.so.13", str(toolkit())):
        cheapest = [1e9, 1e9, 1e9]
        for i in range(4):
            result = run([INJECTED], env={"LD_PRELOAD": library, "TPROF_LOGDIR": str(tmp_path / str(i)),
                                                       "TPROF_CUPTI": cupti})
            assert (result.returncode, result.stdout) == (0, "injected: 1\n"), result.stderr
            assert len(gpu_lines(result)) == 1, result.stderr
            line, = [line for line in result.stderr.splitlines() if line.startswith("cost ")]
            cheapest = list(map(min, cheapest, map(float, line.split()[1:])))
        costs.append(cheapest)
    (first, second, kib), (real_first, real_second, real_kib) = costs
    assert real_first - first < 20  # ms of CPU; about 1 on a quiet machine
    assert max(second, real_second) < 0.1
    assert real_kib - kib < 5 << 10
