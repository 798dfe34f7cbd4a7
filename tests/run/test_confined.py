"""What parses files that others chose does so with few rights."""
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess

import pytest

from harness import TPROF, wait_for

SOMEBODY, NOBODY = 12345, 65534
GIB = 1 << 30
IS_ROOT = os.geteuid() == 0
needs_root = pytest.mark.skipif(not IS_ROOT, reason="needs root to become somebody else")

# What a line tool may see of itself goes to the first of its words; what it then does is the rest.
FAKE = """#!/usr/bin/python3 -I
import json, mmap, os, resource, subprocess, sys, time
status = dict(line.rstrip("\\n").split(":", 1) for line in open("/proc/self/status"))
report = {"pid": os.getpid(), "uids": os.getresuid(), "gids": os.getresgid(), "groups": os.getgroups(),
          "session": os.getsid(0), "no_new_privs": status["NoNewPrivs"].strip(),
          "capabilities": [int(status[name], 16) for name in ("CapPrm", "CapEff", "CapInh", "CapAmb")],
          "limits": {name: resource.getrlimit(getattr(resource, "RLIMIT_" + name)) for name in ("AS", "CPU", "CORE")},
          "file": os.path.realpath(sys.argv[-1])}
def tell():
    with open("%(said)s/%%d.tmp" %% os.getpid(), "w") as out:
        json.dump(report, out)
    os.rename(out.name, out.name[:-4] + ".json")
%(then)s
"""
ANSWERS = """
tell()
for line in sys.stdin:
    print("/made/up.c:12", flush=True)
"""
NEVER_ENDS = """
report["child"] = subprocess.Popen(["sleep", "1000"]).pid
tell()
while True: pass
"""
EATS = """
try:
    mmap.mmap(-1, 20 << 30, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000)  # and MAP_NORESERVE
    report["got"] = True
except OSError:
    report["got"] = False
tell()
"""


@pytest.fixture
def line_tool(public_dir):
    """line_tool(what it does) -> the directory to be put on PATH, and what those that were started said."""
    home = public_dir / ("lines-%d" % len(list(public_dir.iterdir())))
    home.mkdir()
    (home / "said").mkdir()
    (home / "said").chmod(0o777)

    def make(then=ANSWERS):
        tool = home / "llvm-symbolizer"
        tool.write_text(FAKE % {"said": home / "said", "then": then})
        tool.chmod(0o755)
        return home, lambda: [json.loads(path.read_text()) for path in (home / "said").glob("*.json")]
    return make


def as_user(uid):
    return ["setpriv", "--reuid=%d" % uid, "--regid=%d" % uid, "--clear-groups"]


def stack_of(pid, tools, before=(), tprof=TPROF):
    """The threads that tprof stack shows, with line tools of this directory, and its stderr."""
    done = subprocess.run([*before, str(tprof), "stack", str(pid), "--json"], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=120, env={**os.environ, "PATH": "%s:/usr/bin:/bin" % tools})
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["processes"][0], done.stderr


def frame_of_main(found):
    frame, = [f for t in found["threads"] for f in t["frames"] if f["function"] == "main"]
    return frame


@pytest.mark.parametrize("user", ["ours", pytest.param("another", marks=needs_root)])
def test_a_line_tool_has_few_rights(user, started, waits, line_tool, prefix):
    uid = os.geteuid() if user == "ours" else SOMEBODY
    before = [] if user == "ours" else as_user(uid)
    program = started([*before, waits, "sleep"])
    tools, said = line_tool()
    found, complaints = stack_of(program.pid, tools, before, prefix / "bin" / "tprof")
    assert frame_of_main(found)["file"] == "/made/up.c" and "no source lines" not in complaints
    assert said()
    for one in said():
        expected = uid or NOBODY
        assert one["uids"] == [expected] * 3 and (uid or one["gids"] == [NOBODY] * 3) and (uid or not one["groups"])
        assert not any(one["capabilities"]) and one["no_new_privs"] == "1" and one["session"] == one["pid"]
        assert one["limits"] == {"AS": [16 * GIB] * 2, "CPU": [60, 60], "CORE": [0, 0]}
    assert str(waits) in [one["file"] for one in said()]


@needs_root
def test_root_of_a_user_namespace_of_one_user_gives_a_line_tool_no_capabilities(started, waits, line_tool):
    mine = ["unshare", "--user", "--map-root-user"]
    if subprocess.run([*mine, "true"], capture_output=True).returncode:
        pytest.skip("a user namespace may not be made here")
    tools, said = line_tool()
    program = started([*mine, waits, "sleep"])
    inside = ["nsenter", "--user", "--target", str(program.pid), "--preserve-credentials"]
    found, _ = stack_of(program.pid, tools, inside)
    assert frame_of_main(found)
    assert said()
    for one in said():
        assert one["uids"] == [0] * 3 and not any(one["capabilities"]) and one["no_new_privs"] == "1"


def is_alive(pid):
    try:
        return pathlib.Path("/proc/%d/stat" % pid).read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def test_a_line_tool_that_never_ends_is_ended_with_all_that_it_started(started, waits, line_tool):
    program = started([waits, "sleep"])
    tools, said = line_tool(NEVER_ENDS)
    found, _ = stack_of(program.pid, tools)
    assert frame_of_main(found)
    assert said()
    for one in said():
        try:
            wait_for(lambda: not is_alive(one["pid"]) and not is_alive(one["child"]), 20, "the end of the line tool")
        finally:
            for pid in (one["pid"], one["child"]):
                if is_alive(pid):
                    os.kill(pid, signal.SIGKILL)


def test_a_line_tool_that_takes_too_much_memory_fails_alone(started, waits, line_tool):
    if resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY:
        pytest.skip("there is a limit of memory here already")
    program = started([waits, "sleep"])
    tools, said = line_tool(EATS)
    found, _ = stack_of(program.pid, tools)
    assert frame_of_main(found)
    assert said() and not any(one["got"] for one in said())


def shown_without_lines(program, line_tool):
    """What tprof stack says when the line tool was not given the program's file."""
    tools, said = line_tool()
    found, complaints = stack_of(program.pid, tools)
    assert not frame_of_main(found).get("line")
    assert str(program.args[-2]) not in [one["file"] for one in said()]
    return [line for line in complaints.splitlines() if "no source lines" in line]


@pytest.mark.parametrize("what", ["file", "group", "directory", pytest.param("owner", marks=needs_root),
                                  pytest.param("owner of the directory", marks=needs_root)])
def test_a_file_that_others_can_change_gets_no_line_tool(what, started, waits, line_tool, public_dir):
    home = public_dir / ("open-" + what.replace(" ", "-"))
    home.mkdir()
    file = home / "program"
    shutil.copy(waits, file)
    file.chmod(0o755)
    if what == "group":
        others = [g for g in os.getgroups() if g != os.getegid()]
        if not IS_ROOT and not others:
            pytest.skip("this user has no second group")
        os.chown(file, -1, SOMEBODY if IS_ROOT else others[0])
    if what.startswith("owner"):
        os.chown(home if "directory" in what else file, SOMEBODY, SOMEBODY)
    for changed, path, mode in ("file", file, 0o757), ("group", file, 0o775), ("directory", home, 0o777):
        if changed == what:
            path.chmod(mode)
    said = shown_without_lines(started([file, "sleep"]), line_tool)
    assert said == ["tprof: no source lines of %s: others than root and you can change it" % file]


def test_where_others_may_write_but_not_replace_lines_are_shown(started, waits, line_tool, public_dir):
    home = public_dir / "sticky"
    home.mkdir()
    home.chmod(0o1777)
    shutil.copy(waits, home / "program")
    (home / "program").chmod(0o775)  # our own group
    os.chown(home / "program", -1, os.getegid())
    program = started([home / "program", "sleep"])
    found, complaints = stack_of(program.pid, line_tool()[0])
    assert frame_of_main(found)["line"] == 12 and "no source lines" not in complaints


@needs_root
def test_a_file_that_only_another_mount_namespace_shows_gets_no_line_tool(started, waits, line_tool, tmp_path):
    """By the same path, another file lies here."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "program").write_text("another one\n")
    program = started(["unshare", "--mount", "--propagation", "private", "sh", "-c",
                       'mount -t tmpfs none "$1/bin" && cp "$0" "$1/bin/program" && exec "$1/bin/program" "$2"',
                       waits, tmp_path, "sleep"])
    tools, said = line_tool()
    found, complaints = stack_of(program.pid, tools)
    assert not frame_of_main(found).get("line")
    assert not [one for one in said() if one["file"].endswith("/program")]
    assert re.search(r"^tprof: no source lines of \S+: others than root and you can change it$", complaints, re.M)


@needs_root
def test_root_is_told_that_the_line_tool_may_not_read_a_file(started, waits, line_tool, public_dir):
    file = public_dir / "closed-program"
    shutil.copy(waits, file)
    file.chmod(0o700)
    said = shown_without_lines(started([file, "sleep"]), line_tool)
    assert said == ["tprof: no source lines of %s: for root they are read as nobody, who may not read it" % file]
