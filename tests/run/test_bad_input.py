"""Bad input: one clear line that names the value and the cure. tprof-run refuses to start (2); under plain
LD_PRELOAD the program runs on with its own exit status."""
import gzip
import os
import shutil
import subprocess
import pathlib
import re

import pytest

from harness import APPS, RUN, load_traces, recordings, run, tprof, trace_files

BAD_OPTIONS = [
    ("TPROF_SCHEDULE", "wait=-1,active=2"), ("TPROF_SCHEDULE", "active=0"), ("TPROF_SCHEDULE", "wait=1,warmup=1"),
    ("TPROF_SCHEDULE", "sleep=3,active=2"), ("TPROF_SCHEDULE", "active=99999999999999999999"),
    ("TPROF_SCHEDULE", "active"), ("TPROF_SCHEDULE", "active=2,,"), ("TPROF_STEPS", "7:3"), ("TPROF_STEPS", "x:y"),
    ("TPROF_STEP", "range:("), ("TPROF_STEP", "backward:0"), ("TPROF_STEP", "sometimes"),
    ("TPROF_PRESET", "heavy"), ("TPROF_RECORD_SHAPES", "yes"), ("TPROF_MAX_SIZE", "lots"), ("TPROF_SIGNAL", "USR9"),
    ("TPROF_LOGDIR", "/dev/null/log")]
IDS = ["%s=%s" % pair for pair in BAD_OPTIONS]


@pytest.mark.parametrize("name,value", BAD_OPTIONS, ids=IDS)
def test_tprof_run_refuses_to_start(name, value, tmp_path, logdir):
    marker = tmp_path / "started"
    result = run(["/usr/bin/touch", marker], "run", logdir=logdir, options={name: value})
    assert result.returncode == 2
    assert not marker.exists(), "the program was started"
    assert len(result.stderr.splitlines()) == 1 and value.strip(",") in result.stderr, result.stderr


@pytest.mark.parametrize("how", ["run", "preload"])
def test_a_value_cannot_write_to_the_terminal(how, logdir):
    result = run(["train.py", 1], how, logdir=logdir, options={"TPROF_STACK_ON": "a\nb\x1b[31m\x9b31m"})
    said, = result.stderr.splitlines()
    assert "TPROF_STACK_ON: 'a" in said and not set("\x1b\x9b") & set(said)


@pytest.mark.parametrize("name,value", BAD_OPTIONS[:2] + BAD_OPTIONS[9:10] + BAD_OPTIONS[-1:],
                         ids=IDS[:2] + IDS[9:10] + IDS[-1:])
def test_a_preloaded_program_runs_on(name, value, logdir):
    result = run(["train.py", 5, "exit"], "preload", logdir=logdir, options={name: value})
    assert (result.returncode, result.stdout) == (3, "done 5\n")
    assert len(result.said()) == 1 and value in result.said()[0], result.stderr
    assert not trace_files(logdir) and not recordings(logdir)


def test_said_once_per_job_and_not_once_per_child(logdir):
    result = run(["workers.py", "spawn"], "preload", logdir=logdir, options={"TPROF_SCHEDULE": "active=0"})
    assert result.returncode == 0
    assert len(result.said()) == 1, result.stderr


def test_bad_options_are_silent_where_there_is_no_torch(logdir):
    result = run(["/bin/true"], "preload", logdir=logdir, options={"TPROF_SCHEDULE": "active=0"})
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


def test_unknown_option_and_missing_program(tmp_path, logdir):
    result = run(["/bin/true"], "run", logdir=logdir, run_options=["--recrd-shapes", "1"])
    assert result.returncode == 2 and "--recrd-shapes" in result.stderr
    result = run([tmp_path / "no such program"], "run", logdir=logdir)
    assert result.returncode in (126, 127, 2) and "no such program" in result.stderr


def test_the_working_directory_is_searched_where_path_has_an_empty_part(tmp_path, logdir):
    (tmp_path / "simulation").write_text("#!/bin/sh\necho here\n")
    (tmp_path / "simulation").chmod(0o755)
    words = [str(RUN), "-q", "-o", str(logdir), "--", "simulation"]
    for path in "/usr/bin:/bin:", ":/usr/bin:/bin", "/usr/bin::/bin":
        done = subprocess.run(words, cwd=tmp_path, env={"PATH": path}, capture_output=True, text=True)
        assert (done.returncode, done.stdout) == (0, "here\n"), done.stderr


def test_logdir_that_cannot_be_written_by_this_user(prefix, public_dir):
    """As a user who may not write there (root may write everywhere)."""
    if os.geteuid() != 0:
        pytest.skip("needs root to become somebody else")
    closed = public_dir / "closed"
    closed.mkdir(mode=0o755)
    script = public_dir / "train.py"
    for name in ("descent.py", "endings.py", "train.py"):
        shutil.copy(APPS / name, public_dir)
    for words, expected in (([prefix / "bin" / "tprof-run", "--"], 2), ([], 3)):
        environment = {"PATH": "/usr/bin:/bin", "TPROF_LOGDIR": str(closed), "OMP_NUM_THREADS": "1"}
        preload = [] if words else ["env", "LD_PRELOAD=" + str(next(prefix.rglob("libtprof.so")))]
        done = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *map(str, words),
                               *preload, "/usr/bin/python3", str(script), "5", "exit"], env=environment,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
        assert done.returncode == expected, done.stderr
        said = [line for line in done.stderr.splitlines() if line.startswith("tprof")]
        assert len(said) == 1 and str(closed) in said[0], done.stderr
    (closed / "locked").mkdir(mode=0o700)
    done = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", str(prefix / "bin" / "tprof-run"),
                           "-o", str(closed / "locked" / "log"), "--", "/bin/true"], capture_output=True, text=True)
    assert done.returncode == 2 and "Permission denied" in done.stderr and "--logdir" in done.stderr, done.stderr


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    """A whole recording of a finished program, and how many of its traces there were."""
    logdir = tmp_path_factory.mktemp("kept")
    run(["train.py", 30], "preload", logdir=logdir, options={"TPROF_KEEP_RECORDING": "1"})
    kept = recordings(logdir)
    assert len(kept) == 1, "TPROF_KEEP_RECORDING=1 keeps the recording"
    return kept[0].path


def convert_copy(recording, tmp_path, change):
    data = bytearray(recording.read_bytes())
    data = change(data) or data
    copy = tmp_path / recording.name
    copy.write_bytes(data)
    return copy, tprof("convert", copy)


def test_a_recording_of_something_else_is_unreadable(recording, tmp_path):
    for name, content in (("empty", b""), ("text", b"hello world\n" * 100), ("zeros", bytes(1 << 20))):
        path = tmp_path / (name + ".tprof")
        path.write_bytes(content)
        for command in ("convert", "info"):
            done = tprof(command, path)
            assert done.returncode == 3, (command, name, done.stderr)
            assert len(done.stderr.splitlines()) == 1 and path.name in done.stderr
    missing = tprof("info", tmp_path / "none.tprof")
    assert missing.returncode == 3 and "none.tprof" in missing.stderr


def test_an_unknown_major_version_is_refused(recording, tmp_path):
    def change(data):
        data[8] += 1
    _, done = convert_copy(recording, tmp_path, change)
    assert done.returncode == 3 and "version" in done.stderr


def test_a_program_that_was_killed_when_it_created_its_recording_lost_nothing(recording, tmp_path):
    """The space of the header is there, and nothing in it. What is shorter was cut by somebody."""
    shutil.copy(recording, tmp_path / "vm_1.1.tprof")
    (tmp_path / "vm_2.2.tprof").write_bytes(bytes(64 << 10))
    done = tprof("convert", tmp_path)
    assert done.returncode == 0 and "vm_2" not in done.stderr
    assert tprof("convert", tmp_path / "vm_2.2.tprof").returncode == 3
    (tmp_path / "vm_2.2.tprof").write_bytes(bytes(100))
    done = tprof("convert", tmp_path)
    assert done.returncode == 4 and "vm_2.2.tprof" in done.stderr


def test_a_kept_recording_can_be_converted_again(tmp_path, logdir):
    """Also its first windows, which were written long before the program ended."""
    options = {"TPROF_KEEP_RECORDING": "1", "TPROF_SCHEDULE": "wait=1,warmup=1,active=2,repeat=3"}
    first = run(["train.py", 40], "preload", logdir=logdir, options=options, env={"TRAIN_PAUSE": "0.05"}).traces()
    kept, = logdir.glob("*.tprof")
    again = tprof("convert", kept, "-o", tmp_path / "again")
    assert again.returncode == 0, again.stderr
    assert [t.marks() for t in load_traces(tmp_path / "again")] == [t.marks() for t in first] == [[2, 3], [6, 7], [10, 11]]


@pytest.mark.parametrize("keep", [0.999, 0.9, 0.6])
def test_a_truncated_recording_gives_what_it_holds(recording, tmp_path, keep):
    def change(data):
        return data[:int(len(data) * keep)]
    copy, done = convert_copy(recording, tmp_path, change)
    assert done.returncode in (0, 4), done.stderr
    for path in trace_files(tmp_path):
        assert tprof("check", path).returncode == 0


def test_bit_flips_never_crash(recording, tmp_path):
    import random
    chance = random.Random(0)
    for trial in range(12):
        def change(data):
            for _ in range(1 << trial):
                data[chance.randrange(len(data) if trial % 2 else 4096)] ^= 1 << chance.randrange(8)
        directory = tmp_path / str(trial)
        directory.mkdir()
        copy, done = convert_copy(recording, directory, change)
        assert done.returncode in (0, 3, 4), (trial, done.returncode, done.stderr)
        for path in trace_files(directory):
            assert tprof("check", path).returncode == 0, path


def test_check_finds_a_broken_trace(recording, tmp_path):
    whole = trace_files(recording.parent)[0]
    assert tprof("check", whole).returncode == 0
    text = gzip.open(whole).read().decode()
    for name, broken in (("cut", text[:len(text) // 2]), ("no-events", "{}"), ("array", "[]"),
                         ("null-args", re.sub(r'"args": ?{', '"args":null,"was":{', text, count=1))):
        path = tmp_path / (name + ".1.pt.trace.json")
        path.write_text(broken)
        assert tprof("check", path).returncode == 1, name
    assert tprof("check", tmp_path / "none.pt.trace.json").returncode == 3


def test_a_static_program_runs_unprofiled_with_one_line(compiled, tmp_path, logdir):
    static = compiled("hello.c", "-static")
    for how in ("run", "preload"):
        result = run([static], how, logdir=logdir)
        assert (result.returncode, result.stdout) == (7, "hello\n")
        if how == "run":
            assert len(result.said()) == 1 and "static" in result.said()[0] and static.name in result.said()[0]


PYTHONS = sorted(pathlib.Path(os.path.expanduser("~")).glob(".pyenv/versions/*/bin/python"))


@pytest.mark.skipif(not PYTHONS, reason="no Python but the system's own")
def test_other_pythons_are_left_alone(tmp_path, logdir):
    """Old and new interpreters, without torch: the same output, no word."""
    for python in PYTHONS:
        for flags in ([], ["-I"], ["-X", "dev"]) if "/2.7" not in str(python) else ([],):
            argv = [python, *flags, "-c", "import sys, threading; print(sys.version)"]
            bare = run(argv)
            result = run(argv, "preload", logdir=logdir)
            assert (result.returncode, result.stdout, result.stderr) == (bare.returncode, bare.stdout, bare.stderr)
    assert not logdir.exists() or not list(logdir.iterdir())


@pytest.mark.skipif(not PYTHONS, reason="no Python but the system's own")
def test_a_python_that_cannot_be_used_says_so_once(tmp_path, logdir):
    """Python before 3.8 has no audit hooks. A package called torch is enough to make tprof look."""
    old = [p for p in PYTHONS if "/3.6" in str(p) or "/3.7" in str(p)]
    if not old:
        pytest.skip("no Python 3.6 or 3.7")
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text("__version__ = '0'\n")
    argv = [old[0], "-c", "import torch; print(torch.__version__); raise SystemExit(6)"]
    result = run(argv, "preload", logdir=logdir, env={"PYTHONPATH": str(tmp_path)})
    assert (result.returncode, result.stdout) == (6, "0\n")
    assert len(result.stderr.splitlines()) <= 1


def test_a_package_called_torch_that_is_not_pytorch(tmp_path, logdir):
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text("__version__ = 'mine'\n")
    result = run(["-c", "import torch; print(torch.__version__)"], "preload", logdir=logdir,
                 env={"PYTHONPATH": str(tmp_path)})
    assert (result.returncode, result.stdout) == (0, "mine\n")
    assert len(result.stderr.splitlines()) <= 1


DEEP = 100_000
HEAD = '{"schemaVersion": 1, "traceEvents": []'
BIG = 9223372036854775807
STRANGE = {
    "lists in a value": HEAD + ', "x": ' + "[" * DEEP + "]" * DEEP + "}",
    "objects in a value": HEAD + ', "x": ' + '{"a": ' * DEEP + "1" + "}" * DEEP + "}",
    "objects in the ledger": HEAD + ', "tprof": ' + '{"a": ' * DEEP + "1" + "}" * DEEP + "}",
    "lists in an event": '{"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 1, '
                         '"args": {"a": ' + "[" * DEEP + "]" * DEEP + "}}]}",
    "a list for a ledger": HEAD + ', "tprof": [1, 2]}',
    "scalars in the ledger": HEAD + ', "tprof": {"schema": "x", "step": 5, "dropped": 7, "written": "x", "capabilities": [1], '
                             '"span": 3, "gpu": [], "windows": 4, "own_cost": [], "ranges": 1}}',
    "other scalars in the ledger": HEAD + ', "tprof": {"schema": 1, "step": {"counted": 5, "evaluations": 7, "steps": {}}, '
                                   '"dropped": {"a": "x"}, "capabilities": {"a": 5, "b": {"on": "x", "why": 4}}}}',
    "sums that overflow": HEAD + ', "tprof": {"schema": 1, "dropped": {"a": %d, "b": %d}, "written": %d}}' % (BIG, BIG, BIG),
    "devices without a name": '{"traceEvents": [], "deviceProperties": [1, {"id": 0}, {"id": 1, "name": 5}, {"id": "x", '
                              '"totalGlobalMem": -5}], "distributedInfo": 7, "baseTimeNanoseconds": "x"}',
}


@pytest.mark.parametrize("shape", STRANGE)
def test_traces_of_strange_shapes_are_read_or_refused(shape, tmp_path):
    path = tmp_path / "strange.1.pt.trace.json"
    path.write_text(STRANGE[shape])
    for command in ("info", "info --json", "check", "overview", "steps", "stats", "advise", "diff"):
        words = command.split()
        done = tprof(*words, *[path] * (1 + (words[0] == "diff")))
        assert done.returncode in (0, 1, 3, 4) and "internal error" not in done.stderr, (command, done)
