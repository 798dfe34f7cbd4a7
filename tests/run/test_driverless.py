"""Programs that ask about CUDA where there is no driver, or one without a device: they run as without tprof."""
import itertools

import pytest

from harness import BUILD, run
from real_cupti import PACKAGES, libcupti

FAKE = BUILD / "tests" / "fake"
SIMCUDA = FAKE / "simcuda-run"
APPS = BUILD / "tests" / "apps"
INJECTED = APPS / "cupti" / "injected"  # does what cuInit does, then forks and does it again


def gpu_lines(result):
    return [line for line in result.said() if "GPU" in line]


@pytest.mark.parametrize("program", [["cuda/vector_add_13", 3], ["cupti/client"]], ids=lambda words: words[0])
def test_no_function_of_cupti_is_called_without_a_driver(tmp_path, program):
    """Except by the program itself, which gets the answers that it would get."""
    log = tmp_path / "calls"
    words = [SIMCUDA, APPS / program[0], *program[1:]]
    own_calls = "client" in program[0]
    switches = {"SIMCUDA_NO_DRIVER": "1", "SIMCUPTI_LOG": str(log), "SIMCUPTI_DRIVERLESS_CRASHES": str(int(not own_calls))}
    calls = []
    for how in ("bare", "preload"):
        result = run(words, how, logdir=tmp_path / how, env=switches)
        calls.append((result.returncode, result.stdout, log.read_text() if log.exists() else ""))
        log.unlink(missing_ok=True)
    assert calls[0] == calls[1] and (calls[0][2] != "") == own_calls, result.stderr


@pytest.mark.parametrize("status", ["no driver", "100", "999"])
@pytest.mark.parametrize("version", PACKAGES)
def test_each_real_cupti_leaves_a_program_without_a_gpu_alone(tmp_path, compiled, version, status):
    environment = {"TPROF_CUPTI": str(libcupti(version)), "NO_DEVICE_STATUS": status}
    if status != "no driver":
        (tmp_path / "libcuda.so.1").symlink_to(compiled("cupti/no_device.c", "-shared"))
        environment["LD_LIBRARY_PATH"] = str(tmp_path)
    result = run([INJECTED], "preload", logdir=tmp_path / "log", env=environment)
    assert (result.returncode, result.stdout) == (0, "injected: 1\n"), result.stderr
    line, = gpu_lines(result)
    assert line.endswith("there is no CUDA driver here")


STARTS = {
    "13": ["GetVersion", "ActivityGetNextRecord", "ActivityRegisterCallbacks", "ActivityEnable", "SetThreadIdType",
           "ActivityEnable"],
    "22": ["GetVersion", "ActivityGetNextRecord", "ActivityRegisterCallbacks", "ActivityEnable", "SetThreadIdType",
           "ActivityEnable", "ActivityEnableAndDump"],
    "130001": ["GetVersion", "ActivityGetNextRecord", "ActivityRegisterCallbacks", "ActivityEnable", "SetThreadIdType",
               "ActivityEnable", "ActivityEnableAndDump", "ActivityEnableDriverApi", "ActivityEnableRuntimeApi",
               "ActivityEnableAllSyncRecords"],
}


@pytest.mark.parametrize("api, cuda", [("13", "11.0"), ("22", "12"), ("130001", "13")])
def test_with_a_driver_cupti_is_started_by_the_same_calls_as_ever(tmp_path, api, cuda):
    """Runs of one function count once; what follows the first flush depends on time."""
    log = tmp_path / "calls"
    run([SIMCUDA, "--cuda", cuda, APPS / "cuda" / ("vector_add_" + cuda.split(".")[0]), 3], "preload",
        logdir=tmp_path / "log", env={"SIMCUPTI_API": api, "SIMCUPTI_LOG": str(log)})
    names = [name for name, _ in itertools.groupby(log.read_text().split())]
    assert names[:names.index("cuptiActivityFlushAll")] == ["cupti" + name for name in STARTS[api]]


def test_a_driver_that_only_the_program_finds_is_used_from_its_cuinit_on(tmp_path):
    """It is not where the loader looks: the first CUDA call finds none, later the program opens it by its path."""
    code = ("import ctypes, sys\n"
            "runtime, memory = ctypes.CDLL('libcudart.so.13', ctypes.RTLD_GLOBAL), ctypes.c_void_p()\n"
            "print(ctypes.CDLL(None).cudaMalloc(ctypes.byref(memory), ctypes.c_size_t(64)))\n"
            "print(ctypes.CDLL(sys.argv[1]).cuInit(0))\n")
    result = run([SIMCUDA, "/usr/bin/python3", "-S", "-c", code, FAKE / "lib" / "driver" / "libcuda.so.1"], "preload",
                 logdir=tmp_path / "log", env={"SIMCUDA_NO_DRIVER": "1"})
    assert (result.returncode, result.stdout) == (0, "35\n0\n"), result.stderr
    assert [trace.ledger["capabilities"]["cuda"]["on"] for trace in result.traces()] == [True]
