"""tprof doctor tries a tiny model with the user's own torch, says what works, and what to do about what does not."""
import os
import re
import subprocess

import pytest

from harness import BUILD, TPROF

SIM = BUILD / "tests" / "fake" / "simcuda-run"
# A torch that can be told to die. It leaves a line in a file for each time that it is imported.
TORCH = """
import os, signal
profiled = "libtprof" in open("/proc/self/maps").read()
with open(os.environ["IMPORTS"], "a") as file:
    print(profiled, file=file)
__version__ = "9.9.9"
class version:
    cuda = "13.2"
class cuda:
    def is_available():
        return False
    def init():
        raise RuntimeError("the driver is asleep")
    def is_current_stream_capturing():
        when = os.environ["DIES"]
        if when == "always" or when == "profiled" and profiled and os.environ.get("TPROF_ACTIVITIES") != "cpu":
            os.kill(os.getpid(), signal.SIGSEGV)
class Anything:
    def __getattr__(self, name):
        return Anything()
    def __call__(self, *words, **more):
        return Anything()
nn = optim = Anything()
ones = Anything()
"""


def doctor(*pythons, before=(), env=None):
    """(exit status, {name of the check: what it said}), each finding on a line."""
    done = subprocess.run([*map(str, before), str(TPROF), "doctor", *map(str, pythons)], stdin=subprocess.DEVNULL,
                          env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "COLUMNS": "2000", **(env or {})},
                          capture_output=True, text=True, timeout=300)
    said, name = {}, ""
    for line in done.stdout.splitlines():
        name = line[:14].strip() or name
        said[name] = said.get(name, "") + line[15:] + "\n"
    return done.returncode, said


@pytest.fixture
def torch_that_dies(tmp_path):
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text(TORCH)
    imports = tmp_path / "imports"
    return lambda when: {"PYTHONPATH": str(tmp_path), "IMPORTS": str(imports), "DIES": when,
                         "PYTHONDONTWRITEBYTECODE": "1"}, imports


def program(path, *words):
    path.parent.mkdir(parents=True)
    path.write_text("#!/bin/sh\nexec %s \"$@\"\n" % " ".join(words))
    path.chmod(0o755)
    return path


def test_a_torch_that_dies_when_it_is_profiled(torch_that_dies):
    env, _ = torch_that_dies
    status, said = doctor("/usr/bin/python3", env=env("profiled"))
    assert status == 1
    assert "torch 9.9.9, for CUDA 13.2, of /usr/bin/python3" in said["profiling"]
    assert re.search(r"BAD +a tiny model was killed by SIGSEGV \(segmentation fault\) in "
                     r"torch.cuda.is_current_stream_capturing\(\); without tprof it runs. What to do: tprof-run "
                     r"--activities cpu", said["profiling"]), said


def test_a_torch_that_dies_by_itself(torch_that_dies):
    env, _ = torch_that_dies
    status, said = doctor("/usr/bin/python3", env=env("always"))
    assert status == 1 and "also without tprof: this torch does not work here" in said["profiling"]


def test_torch_is_imported_once(torch_that_dies):
    env, imports = torch_that_dies
    doctor(env=env("never"))
    assert imports.read_text() == "True\n"


def test_the_active_environment_s_python_comes_first(tmp_path):
    python = program(tmp_path / "venv/bin/python", "/usr/bin/python3")
    status, said = doctor(env={"VIRTUAL_ENV": str(tmp_path / "venv")})
    assert status == 0, said
    assert re.fullmatch(r"OK +%s \(of VIRTUAL_ENV\): Python 3\S+ with torch\n" % re.escape(str(python)), said["python"])
    assert "a tiny model was trained on the CPU, its trace has " in said["profiling"]
    assert re.search(r"^OK +ops$", said["profiling"], re.M)


def test_where_there_is_no_torch(tmp_path):
    """Without its site-packages, the system's Python has none."""
    python = program(tmp_path / "bin/python", "/usr/bin/python3", "-S", "-E")
    status, said = doctor(python)
    assert status == 0
    assert re.match(r"-- +%s: Python 3\S+ without torch" % re.escape(str(python)), said["python"])
    assert "no Python with torch found" in said["profiling"]
    status, said = doctor(python, tmp_path / "nothing")
    assert status == 1 and "nothing: No such file" in said["python"]


@pytest.mark.parametrize("env, driver", [
    ({}, r"OK +a driver answers: CUDA 13\.0, 1 GPU"),
    ({"SIMCUDA_NO_DRIVER": "1"}, r"-- +no NVIDIA driver here: neither /dev/nvidiactl nor /dev/dxg, and no libcuda.so.1"),
])
def test_what_is_said_of_cuda_is_what_a_driver_answers(env, driver, torch_that_dies):
    if os.path.exists("/dev/nvidiactl"):
        pytest.skip("a real driver is here")
    fake, _ = torch_that_dies
    _, said = doctor("/usr/bin/python3", before=[SIM], env={**fake("never"), **env})
    assert re.match(driver, said["cuda"]), said
    assert ("torch for CUDA 13.2 does not use it: the driver is asleep" in said["cuda"]) == (not env)
    assert ("libcupti" in said["cuda"]) == (not env)


@pytest.mark.parametrize("flags, driver", [
    (["-DANSWERS=100"], r"-- +libcuda.so.1 is here, but no driver answers: cuInit\(\) returns 100"),
    ([], r"BAD +libcuda.so.1 killed a program by SIGSEGV \(segmentation fault\)")])
def test_a_driver_that_does_not_answer(flags, driver, compiled, tmp_path):
    (tmp_path / "libcuda.so.1").symlink_to(compiled("driver_at_fault.c", "-shared", *flags))
    python = program(tmp_path / "bin/python", "/usr/bin/python3", "-S", "-E")
    _, said = doctor(python, env={"LD_LIBRARY_PATH": str(tmp_path)})
    assert re.match(driver, said["cuda"]) and "libcupti" not in said["cuda"], said


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
@pytest.mark.parametrize("library", [False, True])
def test_wsl2_has_a_driver_without_nvidia_s_device_files(library, tmp_path):
    devices = "mount -t tmpfs devices /dev && mknod -m 666 /dev/null c 1 3 && mknod -m 666 /dev/urandom c 1 9 && " \
              "touch /dev/dxg && exec \"$@\""
    inside = ["unshare", "-m", "/bin/sh", "-c", devices, "sh"]
    if subprocess.run([*inside, "true"], stdin=subprocess.DEVNULL, capture_output=True).returncode:
        pytest.skip("no mount namespace can be made here")
    python = program(tmp_path / "bin/python", "/usr/bin/python3", "-S", "-E")
    status, said = doctor(python, before=[*inside, SIM], env={} if library else {"SIMCUDA_NO_DRIVER": "1"})
    assert "(/dev/dxg, WSL2)" in said["cuda"] if not library else "1 GPU, /dev/dxg, WSL2" in said["cuda"]
    assert status == (0 if library else 1) and ("cannot load its libcuda.so.1" in said["cuda"]) == (not library)
