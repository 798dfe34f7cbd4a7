"""Shared by tests/run and tests/torch: where the build is, and the machines (torch versions) to run on."""
import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import pytest

TESTS = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(TESTS), str(TESTS / "run")]
sys.dont_write_bytecode = True

import harness  # noqa: E402  (needs the path above)
import spread  # noqa: E402

# Started in the background or under nohup, these are ignored, and the programs under test would inherit that. Workers of
# pytest-xdist, which at times are not on their main thread here, have it from the process that starts them.
if threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for ignored in (signal.SIGHUP, signal.SIGQUIT):
        signal.signal(ignored, signal.SIG_DFL)

collect_ignore = ["run/test_docs.py"]  # meson test runs it, with its own environment


def pytest_configure(config):
    config.addinivalue_line("markers", "full: slow; only with tests/all --full")
    config.addinivalue_line("markers", "everywhere: on all torches and in all ways, also in CI (spread.py)")
    config.addinivalue_line("markers", "not_on(places): where a test is skipped, so that CI runs it elsewhere (spread.py)")
    config.addinivalue_line("markers", "spread(n): of the sets of parameters, CI runs each n-th (spread.py)")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    spread.mark_what_ci_leaves_out(items)


def pytest_sessionstart(session):
    if not harness.RUN.exists() or not harness.LIBRARY.exists():
        raise pytest.UsageError("nothing built in %s: run tests/all, or set TPROF_BUILD" % harness.BUILD)


@pytest.fixture(scope="session", params=["host", "trixie", "sid"])
def torch_machine(request):
    """This machine's own torch (1.13 on Debian 12), and the ones of two Debian chroots (2.6, 2.14)."""
    return harness.machine(request.param)


@pytest.fixture(scope="session", params=["host", pytest.param("trixie", marks=pytest.mark.full), "sid"])
def outer_machine(request):
    """For what takes long: the oldest and the newest of them, the one between with --full."""
    return harness.machine(request.param)


@pytest.fixture(scope="session", params=["trixie", "sid"])
def kineto_machine(request):
    """Those with torch.profiler: Debian 12's torch is built without Kineto."""
    return harness.machine(request.param)


@pytest.fixture(params=["run", "preload"])
def how(request):
    """How the program is profiled: under tprof-run, or with nothing but LD_PRELOAD."""
    return request.param


@pytest.fixture(autouse=True)
def nothing_goes_on():
    yield
    harness.end_started()


@pytest.fixture
def namespace():
    """What stands in front of a program that has process ids of its own, as in a container."""
    words = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]
    if subprocess.run([*words, "true"], capture_output=True).returncode:
        pytest.skip("a pid namespace may not be made here")
    return words


@pytest.fixture
def logdir(tmp_path):
    return tmp_path / "log"


@pytest.fixture(scope="session")
def public_dir():
    """A directory that any user can read (pytest's own are private)."""
    path = pathlib.Path(tempfile.mkdtemp(prefix="tprof-test-", dir="/tmp"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture(scope="session")
def prefix(public_dir):
    """An installed tree: meson install into a directory of its own."""
    subprocess.run(["meson", "install", "-C", str(harness.BUILD), "--no-rebuild", "--destdir", str(public_dir / "dest")],
                   check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    found = list((public_dir / "dest").rglob("bin/tprof-run"))
    assert len(found) == 1, "meson install gave no bin/tprof-run"
    return found[0].parent.parent


@pytest.fixture(scope="session")
def compiled(public_dir):
    """compiled('name.c', ...flags) -> path of the built program or library under tests/apps."""
    done = {}

    def build(source, *flags):
        key = (source,) + flags
        if key not in done:
            shared = "-shared" in flags
            out = public_dir / ("%s_%d%s" % (pathlib.Path(source).stem, len(done), ".so" if shared else ""))
            compiler = "g++" if source.endswith(".cpp") else "gcc"
            subprocess.run([compiler, "-O1", "-g", "-fPIC" if shared else "-fPIE", "-o", str(out),
                            str(harness.APPS / source), *flags, "-lpthread", "-ldl"],
                           check=True, stdin=subprocess.DEVNULL)
            os.chmod(out, 0o755)
            done[key] = out
        return done[key]
    return build


@pytest.fixture
def started():
    """Starts programs, waits for their first line, and kills them at the end."""
    processes = []

    def begin(argv, **more):
        process = harness.start(argv, start_new_session=True, **more)
        processes.append(process)
        process.first_line = process.stdout.readline()
        assert process.first_line, process.stderr.read()
        return process
    yield begin
    for process in processes:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


@pytest.fixture
def waits(compiled):
    """A program that waits in a way that it is told, see there."""
    return compiled("stack/waits.c")


@pytest.fixture
def job(tmp_path):
    """Starts a job of tests/apps/hangs.py, returns its log directory and rank 1's process once that is about to get into
    trouble; kills all in the end."""
    started = []

    def begin(what, where="host", ranks=2, how="run", wrapper=(), **environment):
        ready, logdir = tmp_path / ("ready%d" % len(started)), tmp_path / "log"
        program = harness.start(["hangs.py", what, ready, ranks], how, logdir=logdir, where=harness.machine(where),
                                env=environment, wrapper=wrapper, start_new_session=True)
        started.append(program)
        harness.wait_for(lambda: ready.exists() or program.poll() is not None, what="the job's trouble")
        assert program.poll() is None, program.communicate()
        time.sleep(1)
        return logdir, int(ready.read_text())
    yield begin
    for program in started:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(program.pid, signal.SIGKILL)
        program.communicate()
