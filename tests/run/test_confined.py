"""What parses files and memory that others chose (line tools, tprof-stack) does so with few rights."""
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess

import pytest

from harness import BUILD, TPROF, wait_for
from test_stack import core_of, thread_with

HELPER = BUILD / "tools" / "stack" / "tprof-stack"
SOMEBODY, NOBODY = 12345, 65534
SYS_PTRACE, DAC_READ_SEARCH = 1 << 19, 1 << 2
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


class Helper:
    """tprof-stack, which is asked for one thread. `rights`: what it has while the thread stands still."""

    def __init__(self, *subject, before=(), program=HELPER):
        self.process = subprocess.Popen([*before, str(program), *map(str, subject)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)

    def ask(self, tid):
        self.process.stdin.write("%d\n" % tid)
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        pid = self.process.pid
        status = dict(line.split(":", 1) for line in pathlib.Path("/proc/%d/status" % pid).read_text().splitlines())
        limits = pathlib.Path("/proc/%d/limits" % pid).read_text()
        rights = {"users": set(map(int, status["Uid"].split())),
                  "groups": set(map(int, (status["Gid"] + status["Groups"]).split())),
                  "capabilities": int(status["CapPrm"], 16), "no_new_privs": int(status["NoNewPrivs"]),
                  **{name: re.search(r"^Max %s +(\S+)" % name, limits, re.M).group(1)
                     for name in ("address space", "core file size", "cpu time")}}
        if answer.startswith(("stack", "in")):
            self.process.stdin.write("release\n")
            self.process.stdin.flush()
            assert self.process.stdout.readline().startswith("released")
        self.process.communicate()
        return answer, rights


def check_bounds(rights):
    assert rights["no_new_privs"] == 1 and rights["core file size"] == "0"
    assert int(rights["address space"]) == 4 * GIB and 60 <= int(rights["cpu time"]) <= 62, rights


@pytest.mark.parametrize("capability", ["none", "net_bind_service"])
@needs_root
def test_root_reads_the_stack_of_another_user_as_that_user(capability, started, waits):
    caps = [] if capability == "none" else ["--inh-caps=+net_bind_service", "--ambient-caps=+net_bind_service"]
    program = started([*as_user(SOMEBODY), *caps, waits, "deadlock"])
    answer, rights = Helper(program.pid).ask(program.pid)
    assert answer.startswith("stack whole ")
    assert rights["users"] == rights["groups"] == {SOMEBODY}
    assert rights["capabilities"] == (0 if capability == "none" else 1 << 10)
    check_bounds(rights)
    found, _ = stack_of(program.pid, "/nowhere")
    assert thread_with(found, "first")["mutex_held_by"] == thread_with(found, "second")["tid"] and found["deadlocks"]


STOPS = """
import os, signal
print(flush=True)
while True:
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if open("/proc/%s/comm" % pid).read() == "tprof-stack\\n":
                os.kill(int(pid), signal.SIGSTOP)
        except OSError:
            pass
"""


@needs_root
def test_a_user_who_stops_tprof_stack_does_not_stop_root(started, waits):
    program = started([*as_user(SOMEBODY), waits, "deadlock"])
    started([*as_user(SOMEBODY), "/usr/bin/python3", "-c", STOPS])
    for _ in range(20):
        done = subprocess.run([str(TPROF), "stack", str(program.pid)], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=60)
        if done.returncode:
            assert done.stderr == "tprof: somebody has stopped tprof-stack, so it was ended\n"
            break
    assert "stopped" not in pathlib.Path("/proc/%d/status" % program.pid).read_text()


@needs_root
def test_root_reads_the_stack_of_root_as_nobody(started, waits):
    program = started([waits, "epoll"], stdin=subprocess.PIPE)
    wait_for(lambda: "S (sleeping)" in pathlib.Path("/proc/%d/status" % program.pid).read_text(), 60, "epoll_wait")
    answer, rights = Helper(program.pid).ask(program.pid)
    assert answer.startswith("in epoll_wait whole ")
    assert rights["users"] == rights["groups"] == {NOBODY}
    assert rights["capabilities"] == SYS_PTRACE | DAC_READ_SEARCH
    check_bounds(rights)


@needs_root
def test_a_program_that_its_own_user_may_not_read_is_read_with_what_that_takes(started):
    code = "import ctypes, time; ctypes.CDLL(None).prctl(4, 0, 0, 0, 0); print(flush=True); time.sleep(1000)"
    program = started([*as_user(SOMEBODY), "/usr/bin/python3", "-c", code])
    answer, rights = Helper(program.pid).ask(program.pid)
    assert answer.startswith("stack ") and rights["users"] == {SOMEBODY}
    assert rights["capabilities"] == SYS_PTRACE | DAC_READ_SEARCH


@needs_root
def test_root_of_a_container_lends_no_capabilities(started, waits):
    """What it has there, by the same names, would be those of root here."""
    if subprocess.run(["unshare", "--user", "true"], capture_output=True).returncode:
        pytest.skip("a user namespace may not be made here")
    container = started(["unshare", "--user", "sh", "-c", "echo ready; read end"], stdin=subprocess.PIPE)
    for kind in "uid_map", "gid_map":
        pathlib.Path("/proc/%d/%s" % (container.pid, kind)).write_text("0 %d 1\n" % SOMEBODY)
    program = started(["nsenter", "--user", "--target", str(container.pid), "--setuid=0", "--setgid=0", waits, "deadlock"])
    answer, rights = Helper(program.pid).ask(program.pid)
    assert answer.startswith("stack whole ") and rights["users"] == {SOMEBODY}
    assert rights["capabilities"] == SYS_PTRACE | DAC_READ_SEARCH
    assert stack_of(program.pid, "/nowhere")[0]["deadlocks"]


@needs_root
def test_a_container_of_a_user_is_read_as_that_user(started, waits):
    mine = [*as_user(SOMEBODY), "unshare", "--user", "--map-root-user"]
    if subprocess.run([*mine, "true"], capture_output=True).returncode:
        pytest.skip("a user may not make a user namespace here")
    program = started([*mine, waits, "deadlock"])
    answer, rights = Helper(program.pid).ask(program.pid)
    assert answer.startswith("stack whole ") and rights["users"] == {SOMEBODY} and not rights["capabilities"]


@needs_root
def test_root_of_a_user_namespace_of_one_user_gives_up_capabilities(started, waits):
    mine = ["unshare", "--user", "--map-root-user"]
    if subprocess.run([*mine, "true"], capture_output=True).returncode:
        pytest.skip("a user namespace may not be made here")
    program = started([*mine, waits, "epoll"], stdin=subprocess.PIPE)
    wait_for(lambda: "S (sleeping)" in pathlib.Path("/proc/%d/status" % program.pid).read_text(), 60, "epoll_wait")
    inside = ["nsenter", "--user", "--target", str(program.pid), "--preserve-credentials"]
    answer, rights = Helper(program.pid, before=inside).ask(program.pid)
    assert answer.startswith("in epoll_wait whole ") and rights["users"] == {0}
    assert rights["capabilities"] == SYS_PTRACE | DAC_READ_SEARCH
    check_bounds(rights)


@needs_root
def test_root_without_the_right_to_trace_reads_its_own_programs_still(started, waits):
    """As in most containers."""
    lesser = ["setpriv", "--bounding-set=-sys_ptrace,-dac_read_search"]
    program = started([*lesser, waits, "epoll"], stdin=subprocess.PIPE)
    wait_for(lambda: "S (sleeping)" in pathlib.Path("/proc/%d/status" % program.pid).read_text(), 60, "epoll_wait")
    answer, rights = Helper(program.pid, before=lesser).ask(program.pid)
    assert answer.startswith("in epoll_wait whole ") and rights["users"] == {0}
    check_bounds(rights)


@pytest.mark.parametrize("user", ["ours", pytest.param("another", marks=needs_root)])
def test_a_user_reads_the_stack_of_his_own_program(user, started, waits, prefix):
    if user == "ours" and IS_ROOT:
        pytest.skip("we are root")
    uid = os.geteuid() if user == "ours" else SOMEBODY
    before = [] if user == "ours" else as_user(uid)
    program = started([*before, waits, "deadlock"])
    helper, = prefix.rglob("tprof-stack")
    answer, rights = Helper(program.pid, before=before, program=helper).ask(program.pid)
    if answer.startswith("error"):
        pytest.skip("programs may not be traced here: " + answer)
    assert answer.startswith("stack whole ")
    assert rights["users"] == {uid} and rights["capabilities"] == 0
    check_bounds(rights)


def test_a_core_file_is_read_with_few_rights(tmp_path):
    program, core = core_of(["/usr/bin/python3", "-c", "import ctypes; ctypes.string_at(0)"], tmp_path)
    os.chmod(core, 0o600)
    answer, rights = Helper("--core", core).ask(program.pid)
    assert answer.startswith("stack whole ") and rights["no_new_privs"] == 1 and rights["core file size"] == "0"
    assert int(rights["address space"]) == 4 * GIB + core.stat().st_size
    if IS_ROOT:
        assert rights["users"] == rights["groups"] == {NOBODY} and rights["capabilities"] == DAC_READ_SEARCH
