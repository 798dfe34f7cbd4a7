"""Shared by tests/run and tests/torch: where the build is, and the machines (torch versions) to run on."""
import contextlib
import os
import pathlib
import resource
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
import quick  # noqa: E402
import spread  # noqa: E402

# Started in the background or under nohup, these are ignored, and the programs under test would inherit that. Workers of
# pytest-xdist, which at times are not on their main thread here, have it from the process that starts them.
if threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for ignored in (signal.SIGHUP, signal.SIGQUIT):
        signal.signal(ignored, signal.SIG_DFL)

collect_ignore = ["run/test_docs.py"]  # meson test runs it, with its own environment


def pytest_addoption(parser):
    parser.addoption("--quick", action="store_true", help="what tests/quick runs, see quick.py")


def pytest_configure(config):
    harness.every_way = config.getoption("markexpr") != "not full"
    if config.getoption("--quick"):
        quick.begin()
    config.addinivalue_line("markers", "full: slow; only with tests/all --full")
    config.addinivalue_line("markers", "everywhere: on all torches and in all ways, also in CI (spread.py)")
    config.addinivalue_line("markers", "not_on(places): where a test is skipped, so that CI runs it elsewhere (spread.py)")
    config.addinivalue_line("markers", "spread(n): of the sets of parameters, CI runs each n-th (spread.py)")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    spread.mark_what_ci_leaves_out(items, in_turn=not config.getoption("--quick"))


def pytest_sessionstart(session):
    if not harness.RUN.exists() or not harness.LIBRARY.exists():
        raise pytest.UsageError("nothing built in %s: run tests/all, or set TPROF_BUILD" % harness.BUILD)


@pytest.fixture(scope="session", params=harness.TORCHES)
def torch_machine(request):
    """Where pip has installed a torch."""
    return harness.machine(request.param)


@pytest.fixture(scope="session", params=[harness.TORCHES[0], pytest.param("2.6", marks=pytest.mark.full), "1.13"])
def outer_machine(request):
    """For what takes long: the newest and the oldest of them, the one between with --full, and none in tests/quick."""
    quick.takes_long()
    return harness.machine(request.param)


@pytest.fixture(scope="session", params=[harness.TORCHES[0], "2.6"])
def kineto_machine(request):
    """For what is compared with torch.profiler's own traces, of torch 2."""
    return harness.machine(request.param)


@pytest.fixture(scope="session", params=[harness.TORCHES[0], "sid", "trixie", "1.13"])
def python_machine(request):
    """For what differs by the version of Python: 3.11 with the newest torch, 3.14 and 3.13 in Debian's roots, and the
    oldest torch."""
    return harness.machine(request.param)


@pytest.fixture(scope="session", params=["host", "sid", pytest.param("trixie", marks=pytest.mark.full)])
def cpu_machine(request):
    """A torch that is built without CUDA, for programs on the simulated CUDA: Debian's."""
    return harness.machine(request.param)


@pytest.fixture(params=["run", "preload"])
def how(request):
    """How the program is profiled: under tprof-run, or with nothing but LD_PRELOAD."""
    return request.param


def processor_seconds():
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    item.began_at = processor_seconds()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_teardown(item):
    """tests/summary adds up what each test and its programs took of the processors: that holds on a busy machine, too."""
    yield
    item.user_properties.append(("processor", "%.2f" % (processor_seconds() - item.began_at)))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item):
    """A test that fails once in a hundred runs is not seen again: its programs' words and files stand in the report."""
    made = (yield).get_result()
    place = getattr(item, "funcargs", {}).get("tmp_path")
    if made.when == "call" and made.failed and place:
        made.sections.append(("what the test left", harness.what_is_left(place)))


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

    def begin(what, where=harness.TORCHES[0], ranks=2, how="run", wrapper=(), **environment):
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
