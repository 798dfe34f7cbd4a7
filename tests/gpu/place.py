"""Where the checks run: the build under test, a scratch directory, and the ways to run a program there.

    place.run(argv)                        bare
    place.run(argv, how="tprof", ...)      under tprof-run, with TPROF_* options
    place.run(argv, how="witness", ...)    with witness.cpp loaded by CUDA
"""
import ctypes
import dataclasses
import functools
import importlib.util
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import traces
from report import Absent

HERE = pathlib.Path(__file__).resolve().parent
PROGRAMS = HERE / "programs"
CUDA_HOMES = [os.environ.get("CUDA_HOME", ""), "/usr/local/cuda"]
CACHES = ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR", "CUPY_CACHE_DIR")


def no_gpu():
    """Why no GPU can be used here; empty if one can."""
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return "no libcuda.so.1"
    result = cuda.cuInit(0)
    return "cuInit says %d" % result if result else ""


@dataclasses.dataclass
class Result:
    argv: list
    returncode: int
    stdout: str
    stderr: str
    seconds: float
    logdir: pathlib.Path

    def facts(self):
        """The JSON that the program printed last."""
        return json.loads(self.stdout.strip().splitlines()[-1])

    def traces(self):
        return [traces.Trace(path) for path in traces.files(self.logdir)]

    def trace(self):
        """The one trace of a program (compile workers and other helpers leave none)."""
        found = self.traces()
        if len(found) != 1:
            raise RuntimeError("%d traces; it said:\n%s" % (len(found), self.stderr[-2000:]))
        return found[0]


class Place:
    def __init__(self, build, out, quick):
        self.build, self.out, self.quick = pathlib.Path(build).resolve(), pathlib.Path(out), quick
        self.tprof, self.tprof_run = self.build / "tools" / "tprof", self.build / "tools" / "tprof-run"
        self.library = self.build / "shim" / "libtprof.so"
        self.scratch = pathlib.Path(tempfile.mkdtemp(prefix="tprof-gpu-"))
        self.count = 0

    def close(self):
        shutil.rmtree(self.scratch, ignore_errors=True)

    def directory(self, name):
        self.count += 1
        path = self.scratch / ("%03d-%s" % (self.count, name))
        path.mkdir()
        return path

    def environment(self, more=()):
        kept = {k: v for k, v in os.environ.items() if not k.startswith("TPROF_") and k != "CUDA_INJECTION64_PATH"}
        caches = {name: str(self.scratch / name.lower()) for name in CACHES}
        return {**kept, **caches, "PYTHONDONTWRITEBYTECODE": "1", "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
                **dict(more)}

    def words(self, argv):
        """A program of ours by its file name; Python's are run by this Python."""
        argv = [str(word) for word in argv]
        if argv[0].endswith(".py"):
            argv = [sys.executable, str(PROGRAMS / argv[0])] + argv[1:]
        return argv

    def run(self, argv, how="bare", options=(), timeout=300):
        words, logdir = self.words(argv), self.directory(how)
        environment = self.environment()
        if how == "tprof":
            environment.update({"TPROF_LOGDIR": str(logdir), "TPROF_EXIT_WAIT": "120", **dict(options)})
            words = [str(self.tprof_run), "--"] + words
        elif how == "witness":
            environment.update({"CUDA_INJECTION64_PATH": str(self.witness), "WITNESS_OUT": str(logdir / "counts.json")})
        begin = time.monotonic()
        process = subprocess.Popen(words, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, errors="replace", start_new_session=True)
        try:
            out, err = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
            raise RuntimeError("no end within %d s: %s\n%s" % (timeout, " ".join(words), err[-2000:])) from None
        self.log(how, words, process.returncode, out, err)
        return Result(words, process.returncode, out, err, time.monotonic() - begin, logdir)

    def must(self, argv, how="bare", **more):
        """run, of a program that has to end well."""
        result = self.run(argv, how, **more)
        if result.returncode != 0:
            raise RuntimeError("exit %d, %s: %s\n%s" % (result.returncode, how, " ".join(result.argv),
                                                        result.stderr[-3000:]))
        return result

    def log(self, how, words, returncode, out, err):
        with open(self.out / "log.txt", "a") as log:
            log.write("== %s: %s -> %s\n%s%s\n" % (how, " ".join(words), returncode, out[-2000:], err[-4000:]))

    def invalid(self, logdir):
        """What `tprof check` finds wrong with the traces of a directory."""
        checked = subprocess.run([str(self.tprof), "check", str(logdir)], stdin=subprocess.DEVNULL,
                                 capture_output=True, text=True, env=self.environment())
        return [] if checked.returncode == 0 else (checked.stdout + checked.stderr).splitlines()

    def keep(self, name, *paths):
        """Copies of traces that differ, to be looked at elsewhere."""
        kept = self.out / "differing"
        kept.mkdir(exist_ok=True)
        for i, path in enumerate(paths):
            shutil.copy(path, kept / ("%s-%d-%s" % (name, i, pathlib.Path(path).name)))

    @functools.cached_property
    def cuda_home(self):
        found = shutil.which("nvcc")
        homes = [pathlib.Path(found).resolve().parents[1]] if found else []
        homes += [pathlib.Path(home) for home in CUDA_HOMES if home]
        for home in homes:
            if (home / "bin" / "nvcc").exists():
                return home
        raise Absent("no nvcc")

    def nvcc(self, source, *flags):
        program = self.scratch / pathlib.Path(source).stem
        built = subprocess.run([str(self.cuda_home / "bin" / "nvcc"), "-O2", "-arch=native", "-o", str(program),
                                str(PROGRAMS / source), *flags], capture_output=True, text=True)
        if built.returncode != 0:
            raise RuntimeError(built.stdout + built.stderr)
        return program

    @functools.cached_property
    def witness(self):
        """witness.cpp, built against the CUPTI that is found."""
        library = self.scratch / "libwitness.so"
        for include, lib in cupti_places():
            if not (include / "cupti.h").exists() or not list(lib.glob("libcupti.so*")):
                continue
            cupti = sorted(lib.glob("libcupti.so*"))[0]
            built = subprocess.run(["g++", "-std=c++17", "-O2", "-shared", "-fPIC", "-I", str(include),
                                    "-I", "/usr/local/cuda/include", "-o", str(library), str(HERE / "witness.cpp"),
                                    str(cupti), "-Wl,-rpath," + str(lib)], capture_output=True, text=True)
            if built.returncode == 0:
                return library
            self.log("g++", built.args, built.returncode, built.stdout, built.stderr)
        raise Absent("no CUPTI that witness.cpp can be built against")


def cupti_places():
    """(include, lib) of the CUPTIs of this machine: those of pip's packages, which PyTorch uses, and the toolkit's."""
    spec = importlib.util.find_spec("nvidia")
    for site in map(pathlib.Path, spec.submodule_search_locations if spec else ()):
        for package in ("cu13", "cuda_cupti"):
            yield site / package / "include", site / package / "lib"
    for home in map(pathlib.Path, filter(None, CUDA_HOMES)):
        yield home / "extras" / "CUPTI" / "include", home / "extras" / "CUPTI" / "lib64"
        yield home / "include", home / "lib"
        yield home / "include", home / "lib64"


def needs(*packages):
    """Raises Absent if a Python package is missing."""
    for package in packages:
        if importlib.util.find_spec(package) is None:
            raise Absent("no Python package " + package)


def machine(place):
    """What a reader of the report has to know of this machine."""
    def said(*words):
        try:
            done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
                                  env=place.environment())
        except (OSError, subprocess.TimeoutExpired):
            return ""
        return done.stdout.strip() if done.returncode == 0 else ""

    def version(package):
        return said(sys.executable, "-c", "import %s; print(%s.__version__)" % (package, package)) \
            if importlib.util.find_spec(package) else ""

    gpu = said("nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader").splitlines()
    nvcc = [line for line in said("nvcc", "--version").splitlines() if "release" in line]
    found = {
        "GPU, driver": "; ".join(gpu), "CUDA toolkit": nvcc[0].split("release ")[1] if nvcc else "",
        "CUDA of PyTorch": said(sys.executable, "-c", "import torch; print(torch.version.cuda)"),
        "tprof": said(str(place.tprof), "--version").split("\n")[0],
        "checkout": said("git", "-C", str(HERE), "describe", "--always", "--dirty"),
        "Python": sys.version.split()[0],
    }
    found.update({package: version(package) for package in ("torch", "triton", "cupy", "jax")})
    return {key: value or "not found" for key, value in found.items()}
