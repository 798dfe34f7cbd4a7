"""The test suites: where they come from, their files, how one file is run, and in which modes."""
import dataclasses
import pathlib
import subprocess
import urllib.request

from harness import BUILD, HOST, REPO, TORCHES, Machine, machine, pip_environment, run

CACHE = BUILD / "host_suites"  # the build directory stands at the same path in every chroot


@dataclasses.dataclass(frozen=True, eq=False)
class Mode:
    """How a program is run: with tprof or without, and whether each Python imports torch when it starts."""
    name: str
    bare: "Mode" = None  # what it is compared with; None: it is run without tprof
    torch: bool = False
    options: dict = dataclasses.field(default_factory=dict)


BARE, BARE_TORCH = Mode("bare"), Mode("bare with torch", torch=True)


class Cpython:
    """CPython's own tests: those that tprof could get in the way of. Those that a version lacks are left out."""
    files = """test_os test_posix test_io test_socket test_signal test_threadsignals test_subprocess test_threading
test_fork1 test_asyncio test_multiprocessing_fork test_multiprocessing_forkserver test_multiprocessing_spawn
test_multiprocessing_main_handling test_concurrent_futures test_faulthandler test_gc test_sys test_sys_settrace
test_sys_setprofile test_monitoring""".split()
    # Without torch, tprof sleeps.
    modes = [Mode("dormant", BARE), Mode("recording", BARE_TORCH, True, {"TPROF_PRESET": "full"}),
             Mode("sampled", BARE_TORCH, True, {"TPROF_SAMPLE": "native"})]

    def __init__(self, where):
        self.where = where
        version = run(["-c", "import sys; print('%d.%d' % sys.version_info[:2])"], where=where).stdout.strip()
        self.version = "Python " + version
        install(HOST if where.name in TORCHES else where, "libpython%s-testsuite" % version)

    def has(self, file):
        found = "import importlib.util, sys; sys.exit(not importlib.util.find_spec('test.%s'))" % file
        return run(["-c", found], where=self.where).returncode == 0

    def command(self, file, result, mode):
        # Where a virtual machine cannot connect to itself, the tests of its sockets wait for ever.
        left_out = ["-i", "*VSOCK*"]
        if mode.torch:  # with torch, and without tprof, Python 3.11.2 dies in these: torch in a second interpreter
            left_out += ["-i", "test_clear_threads_states_after_fork", "-i", "*SubinterpThreadingTests*"]
        return ["/usr/bin/python3", "-m", "test", "--junit-xml", str(result), "--timeout", "3000", *left_out, file]

    def environment(self):
        return {}

    def directory(self, scratch):
        return scratch


class Torch:
    """PyTorch's own tests, from Debian's source package of the PyTorch that is installed; for one that pip installed, from
    the newest that Debian has: what its tests do not know of it fails bare, too."""
    files = ["test_autograd.py", "test_fx.py", "test_dataloader.py", "test_multiprocessing.py", "listed",
             *("profiler/test_%s.py" % name for name in ("profiler", "record_function", "profiler_tree",
                                                         "memory_profiler", "execution_trace", "torch_tidy"))]
    listed = ["test_jit.py", "test_nn.py"]  # of these, the 500 tests of listed.txt
    modes = [Mode("recording", BARE, options={"TPROF_PRESET": "full"}),
             Mode("sampled", BARE, options={"TPROF_SAMPLE": "native"})]

    def __init__(self, where):
        self.where = where
        pip = where.name in TORCHES and pip_environment(where.name)
        version = query(machine("sid") if pip else where, "python3-torch", "${source:Upstream-Version}")
        self.version = "PyTorch's tests of %s on %s" % (version, where.name)
        if pip:
            self.packages = unpacked_pip_packages(pip)
        else:
            install(where, "python3-pytest", "python3-hypothesis", "python3-yaml", "python3-typing-extensions",
                    "python3-psutil")
            self.packages = unpacked_expecttest()
        self.tests = unpacked_source(version) / "test"

    def has(self, file):
        return file == "listed" or (self.tests / file).exists()

    def command(self, file, result, mode):
        what = ["-p", "listed", *self.listed] if file == "listed" else [file]
        # Not the configuration of tprof's own tests, and names as listed.txt has them.
        alone = ["-c", "/dev/null", "--rootdir", str(self.tests), "-p", "no:cacheprovider"]
        return ["/usr/bin/python3", "-m", "pytest", "-q", *alone, "--junitxml", str(result), *what]

    def environment(self):
        return {"PYTHONPATH": "%s:%s:%s" % (self.packages, self.tests, pathlib.Path(__file__).parent), "CI": ""}

    def directory(self, scratch):
        return self.tests


SUITES = {"cpython": Cpython, "torch": Torch}


def install(where, *packages):
    command, environment = where.command(
        ["/usr/bin/env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-o", "DPkg::Lock::Timeout=600", "install", "-y",
         "-q", "--no-install-recommends", *packages], {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"})
    done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit("apt could not install %s:\n%s" % (" ".join(packages), done.stderr))


def query(where, package, field):
    return run(["/usr/bin/dpkg-query", "-W", "-f", field, package], where=where).stdout.strip()


def unpacked_source(version):
    """The directory with the source's tests; fetched once from the mirror that this machine uses."""
    directory = CACHE / ("pytorch-" + version)
    if not directory.exists():
        mirror = subprocess.run(["bash", "-c", ". %s/tools/setup.sh; debian_mirror" % REPO], capture_output=True,
                                text=True).stdout.strip().rstrip("/")
        part = directory.with_suffix(".part")
        part.mkdir(parents=True, exist_ok=True)
        archive = part / "orig.tar.xz"
        urllib.request.urlretrieve("%s/pool/main/p/pytorch/pytorch_%s.orig.tar.xz" % (mirror, version), archive)
        subprocess.run(["tar", "xf", archive, "-C", part, "--strip-components=1", "--wildcards", "*/test/*",
                        "*/tools/*.py", "*/torchgen/*"], check=True)
        archive.unlink()
        part.rename(directory)
    return directory


def unpacked_pip_packages(environment):
    """The directory with what PyTorch's tests need beside the packages of tests/pip."""
    directory = CACHE / pathlib.Path(environment).name
    if not directory.exists():
        # The conftest.py of those tests does not know pytest 9.
        subprocess.run([environment + "/bin/python", "-m", "pip", "install", "-q", "--target", directory, "pytest<9",
                        "hypothesis", "expecttest"], check=True, stdin=subprocess.DEVNULL)
    return directory


def unpacked_expecttest():
    """PyTorch's tests need it, and Debian 12 lacks it: trixie's package, which is plain Python."""
    directory = CACHE / "expecttest"
    if not directory.exists():
        directory.mkdir(parents=True)
        command, environment = Machine("trixie").command(
            ["/bin/sh", "-c", "cd '%s' && apt-get download python3-expecttest && dpkg-deb -x *.deb ." % directory], {})
        subprocess.run(command, env=environment, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    return next(directory.glob("usr/lib/python3*/dist-packages"))
