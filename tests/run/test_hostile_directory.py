"""A log directory into which strangers may write: nothing of it is run, nothing hangs, nothing outside it is written."""
import gzip
import json
import os
import shutil
import socket
import stat
import threading

import pytest

from harness import run, trace_files, tprof, wait_for

READERS = [["overview"], ["advise"], ["steps"], ["stats"], ["info"], ["check"], ["convert"]]


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A log directory with a recording that asks for a command, and the trace of its window."""
    home = tmp_path_factory.mktemp("kept")
    run(["train.py", 6], "run", logdir=home / "log", options={
        "TPROF_SCHEDULE": "wait=1,active=2,repeat=1", "TPROF_KEEP_RECORDING": "1",
        "TPROF_ON_TRACE_READY": "echo {} >>%s" % (home / "ran")})
    assert (home / "ran").read_text().count("\n") == 1
    return home


def copy_of(kept, tmp_path):
    return shutil.copytree(kept / "log", tmp_path / "log")


def test_no_command_comes_from_a_recording(kept, tmp_path):
    """It is run by the program's own finisher, with the program's environment, and by convert's own flag alone."""
    ran = (kept / "ran").read_text()
    log = copy_of(kept, tmp_path)
    trace, = trace_files(log)
    trace.unlink()
    done = tprof("convert", log)
    assert done.returncode == 0 and trace_files(log) == [trace]
    assert (kept / "ran").read_text() == ran, "a command of the recording was run"
    assert "--on-trace-ready" in done.stderr and "not run" in done.stderr
    trace.unlink()
    done = tprof("convert", "--on-trace-ready", "echo {} {step} >%s" % (tmp_path / "mine"), log)
    assert done.returncode == 0 and "not run" not in done.stderr
    assert (tmp_path / "mine").read_text() == "%s 3\n" % trace


@pytest.mark.parametrize("suffix", ["", ".tmp"])
def test_links_are_not_written_through(suffix, kept, tmp_path):
    log = copy_of(kept, tmp_path)
    trace, = trace_files(log)
    victim = tmp_path / "victim"
    victim.write_text("mine\n")
    trace.unlink()
    link = log / (trace.name + suffix)
    link.symlink_to(victim)
    assert tprof("convert", "--force", log).returncode == 0
    assert victim.read_text() == "mine\n"
    assert trace.is_file() and not trace.is_symlink() and tprof("check", trace).returncode == 0


def test_a_recording_that_is_a_link_is_not_written_to(kept, tmp_path):
    log = copy_of(kept, tmp_path)
    original, = log.glob("*.tprof")
    elsewhere = tmp_path / "elsewhere.tprof"
    original.rename(elsewhere)
    original.symlink_to(elsewhere)
    before = elsewhere.read_bytes()
    tprof("finish", original)
    assert elsewhere.read_bytes() == before


def test_temporaries_of_killed_writers_go_away(kept, tmp_path):
    log = copy_of(kept, tmp_path)
    left, fresh = log / ".tprof-0123456789abcdef.tmp", log / ".tprof-fedcba9876543210.tmp"
    for path in left, fresh:
        path.write_bytes(b"[")
    os.utime(left, (0, 0))
    assert tprof("convert", "--force", log).returncode == 0
    assert not left.exists() and fresh.exists()


ZERO = 1, 5  # /dev/zero
NO_DEVICE = 511, 7  # no driver has it, so that opening it fails


def make(kind, path):
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "socket":
        s = socket.socket(socket.AF_UNIX)
        s.bind(os.path.relpath(path))
        s.close()
    elif kind.startswith("device"):
        try:
            os.mknod(path, 0o600 | stat.S_IFCHR, os.makedev(*(NO_DEVICE if kind == "device of no driver" else ZERO)))
        except PermissionError:
            pytest.skip("only root makes devices")
    else:
        os.mkfifo(path.with_suffix(".pipe"))
        path.symlink_to(path.with_suffix(".pipe"))


@pytest.mark.parametrize("kind", ["pipe", "socket", "device", "device of no driver", "link to a pipe"])
@pytest.mark.parametrize("name", ["x.pt.trace.json", "x.1.pt.trace.json.gz", "x.tprof"])
def test_what_is_no_regular_file_is_named_and_left_alone(name, kind, kept, tmp_path, monkeypatch):
    log = copy_of(kept, tmp_path)
    monkeypatch.chdir(tmp_path)
    make(kind, log / name)
    for command in READERS:
        for target in (log, log / name):
            done = tprof(*command, target)
            said = [line for line in done.stderr.splitlines() if name in line]
            not_for = {"convert": not name.endswith(".tprof"), "check": name.endswith(".tprof")}
            if target == log and not_for.get(command[0]):
                assert not said
                continue
            assert len(said) == 1 and done.returncode in (3, 4), (command, done.stderr)
            assert "not a regular file; left alone" in said[0], (command, said)
            assert " is a %s, " % kind.split(" of ")[0].rpartition(" a ")[2] in said[0]


class Writer(threading.Thread):
    """Waits at a pipe until somebody opens it, if only for a moment."""

    def __init__(self, path):
        super().__init__()
        self.path, self.met = path, False
        os.mkfifo(path)
        self.start()

    def run(self):
        end = os.open(self.path, os.O_WRONLY)
        self.met = not self.released
        os.close(end)

    released = False

    def was_met(self):
        """Ends the wait."""
        self.released = True
        while self.is_alive():
            os.close(os.open(self.path, os.O_RDONLY | os.O_NONBLOCK))
            self.join(0.1)
        return self.met

    def waits(self):
        return self.is_alive() and " S " in open("/proc/self/task/%d/stat" % self.native_id).read()


@pytest.mark.parametrize("name", ["x.pt.trace.json", "x.1.pt.trace.json.gz", "x.tprof", "hang.verdict", "nccl_trace_rank_0",
                                  ".tprof-0123456789abcdef.tmp"])
def test_a_pipe_is_not_even_opened(name, kept, tmp_path):
    """Whoever waits at its other end learns nothing."""
    log = copy_of(kept, tmp_path)
    writer = Writer(log / name)
    try:
        wait_for(writer.waits, what="the writer")
        for command in [*READERS, ["convert", "--force"], ["hang"], ["report", "-o", tmp_path / "report.html"]]:
            tprof(*command, log)
            if writer.path.suffix:
                tprof(*command, log / name)
        wait_for(lambda: writer.met or writer.waits(), what="the writer")
    finally:
        met = writer.was_met()
    assert not met


def test_a_pipe_in_place_of_a_core_file_is_not_opened(tmp_path):
    writer = Writer(tmp_path / "core")
    try:
        wait_for(writer.waits, what="the writer")
        done = tprof("stack", "--core", tmp_path / "core")
        assert done.returncode == 3 and "is no core file" in done.stderr
        wait_for(lambda: writer.met or writer.waits(), what="the writer")
    finally:
        met = writer.was_met()
    assert not met


HOSTILE = "\x1b[31mred\x1b]0;title\x07\x7f\u009b2J\u202eolleh\n\r\ttail"


def hostile_trace(path):
    event = {"ph": "X", "cat": "cpu_op", "pid": 1, "tid": 1, "ts": 5.0, "dur": 2.0, "args": {}}
    step = dict(event, cat="user_annotation", name="ProfilerStep#0", ts=1.0, dur=20.0)
    events = [step, dict(event, name=HOSTILE), dict(event, name="aten::mm", ts=9.0, args={"Input type": [HOSTILE]})]
    data = {"schemaVersion": 1, "traceEvents": events, HOSTILE: HOSTILE, "trace_id": HOSTILE,
            "tprof": {"schema": 1, "step": {"counted": HOSTILE, "source": HOSTILE}, HOSTILE: [HOSTILE],
                      "capabilities": {HOSTILE: {"on": False, "why": HOSTILE}}}}
    with gzip.open(path, "wt") as f:
        json.dump(data, f)


@pytest.mark.parametrize("command", ["info", "info --json", "check", "overview", "overview --json", "steps", "stats",
                                     "stats --csv", "stats --json", "advise", "advise --json", "diff", "diff --csv",
                                     "diff --json", "convert"])
def test_nothing_that_a_terminal_obeys_is_printed(command, tmp_path):
    words = command.split()
    log = tmp_path / ("run" + HOSTILE)
    log.mkdir()
    trace = log / ("worker%s.1.pt.trace.json.gz" % HOSTILE)
    hostile_trace(trace)
    (log / ("y%s.2.pt.trace.json" % HOSTILE)).write_text("{" + HOSTILE)
    (log / ("z%s.tprof" % HOSTILE)).write_text(HOSTILE)
    done = tprof(*words, *[log] * (1 + (words[0] == "diff")), text=False)
    for out in done.stdout, done.stderr:
        text = out.decode("utf-8", errors="strict")
        bad = [c for c in text.replace("\r\n", "\n") if (ord(c) < 32 and c != "\n") or 0x7f <= ord(c) < 0xa0 or c == "\u202e"]
        assert not bad, (bad, text)
    if "--json" in words and done.returncode in (0, 1, 4):
        json.loads(done.stdout)


def test_error_lines_are_printable_too(tmp_path):
    for words in (["overview", tmp_path / HOSTILE], [HOSTILE], ["stats", "--by", HOSTILE, tmp_path],
                  ["convert", "--steps", HOSTILE, tmp_path], ["run", "--schedule", HOSTILE, "--", "true"],
                  ["run", "--", HOSTILE]):
        done = tprof(*words)
        assert done.returncode and done.stderr
        assert not [c for c in done.stderr if ord(c) < 32 and c != "\n"], repr(done.stderr)
