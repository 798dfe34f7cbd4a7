"""Looking at a process never runs what that process chose, neither with our rights nor with its own."""
import contextlib
import os
import pathlib
import re
import shutil
import signal
import struct
import subprocess

import pytest

from harness import TPROF, run, start

TRIES = int(os.environ.get("TPROF_STRANGER_TRIES", "2"))  # of each attack; 200 by hand, since some are races
LOOKS = {"stack": ["stack"], "hang": ["hang"], "top": ["top", "--once"]}
OURS = {"tprof", "tprof-stack", "llvm-symbolizer", "addr2line"}
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
pytestmark = pytest.mark.skipif(not shutil.which("strace"), reason="not run, no strace: apt-get install strace")


@pytest.fixture
def mark(public_dir):
    """Where the stranger's program notes that somebody has started it."""
    directory = public_dir / "mark"
    directory.mkdir(exist_ok=True)
    directory.chmod(0o1777)
    yield directory / "executed"
    (directory / "executed").unlink(missing_ok=True)


@pytest.fixture
def python3(compiled, public_dir, mark):
    """A program of that name which is no interpreter of Python."""
    program = public_dir / "python3"
    if not program.exists():
        shutil.copy(compiled("stack/stranger.c", "-static", '-DMARK="%s"' % mark), program)
    assert subprocess.run([program, "-c", ""]).returncode == 0 and mark.read_text().startswith("executed as user")
    mark.unlink()
    return program


@contextlib.contextmanager
def running(*words):
    program = start(words, start_new_session=True)
    try:
        assert program.stdout.readline(), program.stderr.read()
        yield program
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(program.pid, signal.SIGKILL)
        program.communicate()


def look(words, mark, tmp_path):
    """What tprof says. Fails if it, or anything that it started, has executed a program of somebody else."""
    log = tmp_path / "calls"
    done = subprocess.run(["strace", "-f", "-qq", "-o", log, "-e", "trace=execve,execveat", "-e", "signal=none", TPROF,
                           *map(str, words)], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
    executed = re.findall(r'exec\w+\((?:\d+, |AT_FDCWD, )?"([^"]*)".*= 0$', log.read_text(), re.M)
    assert executed and {pathlib.Path(program).name for program in executed} <= OURS, executed
    assert not mark.exists(), mark.read_text()
    return done


def needs_root():
    if os.geteuid() != 0:
        pytest.skip("needs root, to make processes of other users")


@pytest.mark.parametrize("try_", range(TRIES))
@pytest.mark.parametrize("how", ["stack", "hang"])
def test_our_own_program_is_not_started_again(how, try_, python3, mark, tmp_path):
    with running(python3, "waits") as program:
        done = look([*LOOKS[how], program.pid], mark, tmp_path)
        assert how != "stack" or (done.returncode == 0 and "main" in done.stdout), done.stdout + done.stderr


@pytest.mark.parametrize("try_", range(TRIES))
@pytest.mark.parametrize("how", ["stack", "hang"])
def test_a_program_of_a_container_is_not_started(how, try_, python3, mark, public_dir, namespace, tmp_path):
    needs_root()
    inside = public_dir / "inside"
    inside.mkdir(exist_ok=True)
    script = 'mount -t tmpfs none "$1" && cp "$2" "$1/python3" && exec "$1/python3" waits'
    with running(*namespace, "--mount", "--propagation", "private", "sh", "-c", script, "sh", inside, python3) as outer:
        pid, = pathlib.Path("/proc/%d/task/%d/children" % (outer.pid, outer.pid)).read_text().split()
        look([*LOOKS[how], pid], mark, tmp_path)


@pytest.mark.parametrize("try_", range(TRIES))
@pytest.mark.parametrize("how", ["stack", "hang"])
def test_a_program_of_another_user_is_not_started(how, try_, python3, mark, tmp_path):
    needs_root()
    with running(*NOBODY, python3, "waits") as program:
        look([*LOOKS[how], program.pid], mark, tmp_path)


@pytest.mark.parametrize("try_", range(TRIES))
@pytest.mark.parametrize("how", ["stack", "hang"])
def test_a_program_that_becomes_one_of_root_while_it_is_looked_at_gains_nothing(how, try_, python3, mark, tmp_path):
    needs_root()
    root_s = python3.parent / "root-s"
    if not root_s.exists():
        shutil.copy(python3, root_s)
        root_s.chmod(0o4755)
    with running(*NOBODY, python3, "becomes", root_s) as program:
        look([*LOOKS[how], program.pid], mark, tmp_path)


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    """One of a program that was recorded."""
    logdir = tmp_path_factory.mktemp("recorded") / "log"
    run(["train.py", 4], "run", logdir=logdir, options={"TPROF_SCHEDULE": "wait=1,active=2,repeat=1",
                                                        "TPROF_KEEP_RECORDING": "1"})
    found, = logdir.glob("*.tprof")
    return found.read_bytes()


# Where they stand in FileHeader, see src/record/record.h.
PID, START, CLOSED = 20, 24, 184


def forged(recording, pid):
    """The recording as if that process were writing it."""
    start_time = int(pathlib.Path("/proc/%d/stat" % pid).read_text().rsplit(")", 1)[1].split()[19])
    bytes_ = bytearray(recording)
    struct.pack_into("<IQ", bytes_, PID, pid, start_time)
    struct.pack_into("<I", bytes_, CLOSED, 0)
    return bytes(bytes_)


@pytest.mark.parametrize("try_", range(TRIES))
@pytest.mark.parametrize("how", LOOKS)
def test_a_forged_recording_has_nothing_started(how, try_, python3, mark, recording, public_dir, tmp_path):
    needs_root()
    shared = public_dir / "shared"
    shared.mkdir(exist_ok=True)
    shared.chmod(0o1777)
    with running(*NOBODY, python3, "waits") as program:
        path = shared / ("vm_%d.1.tprof" % program.pid)
        path.write_bytes(forged(recording, program.pid))
        os.chown(path, 65534, 65534)
        try:
            done = look([*LOOKS[how], shared], mark, tmp_path)
        finally:
            path.unlink()
        assert how == "top" or "none of its programs is running" not in done.stderr, done.stderr
