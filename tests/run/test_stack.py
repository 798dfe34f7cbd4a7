"""tprof stack: native and Python stacks of programs that know nothing of it."""
import collections
import contextlib
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time

import pytest

from harness import APPS, BUILD, HUNG, TPROF, machine, start, tprof, wait_for

HERE = APPS / "stack"
HELPER = BUILD / "tools" / "stack" / "tprof-stack"
VERSIONS = pathlib.Path(os.environ.get("PYENV_ROOT", pathlib.Path.home() / ".pyenv")) / "versions"
PYTHONS = sorted(p for minor in range(8, 15) for p in VERSIONS.glob("*/bin/python3.%d" % minor))


def stacks(pid, *options):
    done = tprof("stack", str(pid), "--json", *options)
    assert done.returncode == 0, done.stderr
    found, = json.loads(done.stdout)["processes"]
    return found


def thread_with(found, function):
    """The only thread that is in a function."""
    thread, = [t for t in found["threads"] if any(f["function"] == function for f in t["frames"])]
    return thread


def ptrace_state(pid):
    status = pathlib.Path("/proc/%d/status" % pid).read_text()
    return re.findall(r"^(?:State|TracerPid|Sig(?:Pnd|Blk|Ign|Cgt)|ShdPnd):.*$", status, re.M)


def descriptors(pid):
    return sorted(os.readlink(p) for p in pathlib.Path("/proc/%d/fd" % pid).iterdir())


def test_a_deadlock_is_named_with_both_its_mutexes(started, waits):
    program = started([waits, "deadlock"])
    for _ in range(100):  # until both wait
        found = stacks(program.pid)
        if found["deadlocks"]:
            break
        time.sleep(0.05)
    first, second = thread_with(found, "first"), thread_with(found, "second")
    assert sorted(found["deadlocks"][0]) == sorted([first["tid"], second["tid"]])
    assert first["mutex_held_by"] == second["tid"] and second["mutex_held_by"] == first["tid"]
    text = tprof("stack", str(program.pid)).stdout
    assert "DEADLOCK: thread" in text and "waits for a mutex that thread %d holds" % second["tid"] in text


def test_the_program_does_not_notice(started, waits):
    program = started([waits, "epoll"], stdin=subprocess.PIPE)
    while "S (sleeping)" not in ptrace_state(program.pid)[0]:
        time.sleep(0.01)
    before = ptrace_state(program.pid), descriptors(program.pid)
    for _ in range(5):
        found = stacks(program.pid)
        thread = thread_with(found, "main")
        assert (thread["waits"], thread["not_stopped_in"]) == ("for events of descriptors", "epoll_wait")
        assert "incomplete" not in thread and not found["stopped_us"]
    assert "(in epoll_wait; not stopped)" in tprof("stack", str(program.pid)).stdout
    assert (ptrace_state(program.pid), descriptors(program.pid)) == before
    out, _ = program.communicate(timeout=HUNG)
    assert (program.returncode, out) == (0, "1 found\n")


@contextlib.contextmanager
def watched(pid, pause):
    """tprof-stack is asked for all threads of a process, in rounds with pauses between them, as the sampler asks. Yields
    the answers."""
    helper = subprocess.Popen([HELPER, str(pid), "1024", "10"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    answers, over = collections.Counter(), threading.Event()

    def ask(line):
        helper.stdin.write("%s\n" % line)
        helper.stdin.flush()
        return helper.stdout.readline().split()[0]

    def ask_for_all():
        with contextlib.suppress(OSError, IndexError):  # one of the two has ended
            while not over.wait(pause):
                for tid in os.listdir("/proc/%d/task" % pid):
                    answer = ask(tid)
                    answers[answer] += 1
                    if answer in ("stack", "in"):
                        ask("release")
    thread = threading.Thread(target=ask_for_all)
    thread.start()
    try:
        wait_for(lambda: answers, what="the first answer")
        yield answers
    finally:
        over.set()
        thread.join(5)
        helper.kill()
        helper.communicate()
        thread.join()


def results_of_calls(program):
    """Each call with its result and errno, and the longest time that one took, in milliseconds."""
    out, _ = program.communicate("\n", timeout=HUNG)  # what begins anew at each stop would never end
    rows = [line.split() for line in out.splitlines()]
    return {row[0]: row[1:3] for row in rows}, max(float(row[3]) for row in rows)


def test_no_system_call_fails_or_takes_longer(started, compiled):
    calls = compiled("stack/calls.c", "-lrt")
    bare, _ = results_of_calls(started([calls, "300"], stdin=subprocess.PIPE))
    program = started([calls, "300"], stdin=subprocess.PIPE)
    with watched(program.pid, 0.005) as answers:
        found, longest_ms = results_of_calls(program)
    assert found == bare and longest_ms < 60_000
    assert answers["in"] and answers["stack"], answers


def test_a_program_with_threads_may_exec_while_it_is_watched(started, compiled):
    program = started([compiled("stack/execs.c"), "20"])
    with watched(program.pid, 0.005) as answers:
        assert program.wait(HUNG) == 0
    assert program.stdout.read() == "done\n" and answers["stack"], answers


def test_a_thread_that_cannot_be_stopped_at_once_is_let_go_when_it_can(started, compiled):
    program = started([compiled("stack/vforks.c"), "100"], stdin=subprocess.PIPE)
    with watched(program.pid, 0) as answers:
        out, _ = program.communicate("\n", timeout=120)
    all_ms = float(out)
    assert all_ms / 100 < 100, out  # of 15 ms each
    assert answers["busy"], answers


def test_a_stopped_program_stays_stopped(started, waits):
    program = started([waits, "deadlock"])
    os.kill(program.pid, signal.SIGSTOP)
    while "T (stopped)" not in ptrace_state(program.pid)[0]:
        time.sleep(0.01)
    before = ptrace_state(program.pid)
    found = stacks(program.pid)
    assert found["stopped"] and thread_with(found, "first")
    assert ptrace_state(program.pid) == before
    os.kill(program.pid, signal.SIGCONT)
    while "T (stopped)" in ptrace_state(program.pid)[0]:
        time.sleep(0.01)


def test_of_a_traced_thread_it_says_who_traces_it(started, waits):
    program = started([waits, "sleep"])
    while "S (sleeping)" not in ptrace_state(program.pid)[0]:
        time.sleep(0.01)
    other = subprocess.Popen([HELPER, str(program.pid)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    other.stdin.write("%d\n" % program.pid)
    other.stdin.flush()
    assert other.stdout.readline().startswith("stack whole ")
    done = tprof("stack", str(program.pid))
    assert done.returncode == 3
    assert done.stderr == ("tprof: process %d cannot be read: process %d (tprof-stack) traces it already; end that "
                           "debugger first\n" % (program.pid, other.pid))
    other.communicate()
    assert stacks(program.pid)["threads"]


def test_a_program_that_execs_all_the_time_gives_a_stack_or_one_line(started, waits):
    program = start([waits, "exec", waits, "2000"])
    try:
        codes = set()
        for _ in range(30):
            done = tprof("stack", str(program.pid), "--json")
            assert done.returncode in (0, 3) and len(done.stderr.splitlines()) <= 1, done.stderr
            codes.add(done.returncode)
        assert program.poll() is None or program.returncode == 7
    finally:
        program.kill()
        program.communicate()


@pytest.mark.parametrize("subject, line", [
    ("999999999", "process 999999999: there is no such process"),
    ("none", "'none' is neither a process id nor a log directory (a core file: --core FILE)")])
def test_what_is_no_program_gets_one_line(subject, line):
    done = tprof("stack", subject)
    assert done.returncode in (2, 3) and done.stderr == "tprof: %s\n" % line and not done.stdout


@pytest.mark.parametrize("command, verb", [("stack", " cannot be read"), ("trigger", ""), ("top", " cannot be looked at")])
def test_a_kernel_thread_is_called_one(command, verb):
    comm = pathlib.Path("/proc/2/comm")
    if not comm.exists() or comm.read_text() != "kthreadd\n":
        pytest.skip("kernel threads are not seen from here")
    done = tprof(command, "2")
    line = "tprof: process 2%s: it is a kernel thread, which runs no program\n" % verb
    assert (done.returncode, done.stdout, done.stderr) == (3, "", line)


def test_a_thread_is_not_taken_for_its_program(started, waits):
    program = started([waits, "deadlock"])
    tid = max(int(t.name) for t in pathlib.Path("/proc/%d/task" % program.pid).iterdir())
    done = tprof("stack", str(tid))
    assert done.stderr == "tprof: process %d: this is a thread of process %d\n" % (tid, program.pid)


@pytest.mark.skipif(os.geteuid() != 0, reason="not root: there is nobody else to be")
def test_another_user_is_told_whose_program_it_is(started, waits):
    program = started([waits, "deadlock"])
    done = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", TPROF, "stack",
                           str(program.pid)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if "Permission denied" in done.stderr:
        pytest.skip("the build is in a directory that others may not enter")
    assert done.returncode == 3
    assert done.stderr == ("tprof: process %d cannot be read: it belongs to user 0; run this as that user or as root\n"
                           % program.pid)


def compare_with_python(program):
    expected = json.loads(program.first_line)
    for _ in range(100):  # until the main thread has returned from telling, and waits
        found = stacks(program.pid, "--frames", "python")
        if [t for t in found["threads"] if t["main"]][0]["frames"][0]["function"] == "main":
            break
        time.sleep(0.05)
    native = stacks(program.pid)
    for stopped in (found, native):
        shown = {str(t["tid"]): [[f["file"], f["function"], f.get("line")] for f in t["frames"] if f["kind"] == "python"]
                 for t in stopped["threads"]}
        for tid, frames in expected.items():
            assert shown[tid] == frames
    assert "no_python_frames" not in found
    # Native and Python frames are one chain: no evaluating frame of the interpreter is left, the first frame of a thread
    # is native and so is its last one.
    for tid in expected:
        thread, = [t for t in native["threads"] if str(t["tid"]) == tid]
        assert "incomplete" not in thread, json.dumps(thread)
        kinds = [f["kind"] for f in thread["frames"]]
        assert kinds[0] == "native" and kinds[-1] == "native", json.dumps(thread)
        assert not [f for f in thread["frames"] if f["function"] == "_PyEval_EvalFrameDefault"]


@pytest.mark.parametrize("python", ["/usr/bin/python3"] + PYTHONS, ids=lambda p: pathlib.Path(p).name)
def test_python_frames_are_those_that_python_shows(python, started):
    compare_with_python(started([python, HERE / "frames.py"], stdin=subprocess.PIPE))


@pytest.mark.parametrize("where", ["trixie", "sid"])
def test_python_frames_in_another_root_directory(where, started):
    compare_with_python(started([HERE / "frames.py"], stdin=subprocess.PIPE, where=machine(where)))


def embedding(python):
    """Flags that link a program with this interpreter: with its library, or statically."""
    home = python.parent.parent
    name = "python%d.%d" % sys.version_info[:2] if python.name == "python3" else python.name
    library = home / "lib" / ("lib%s.so" % name)
    static, = list(pathlib.Path("/usr/lib").glob("*-linux-gnu/lib%s.a" % name))[:1] or [None]
    if not (home / "include" / name / "Python.h").exists() or not (library.exists() or static):
        pytest.skip("what programs are linked with is not installed for " + str(python))
    include = "-I%s" % (home / "include" / name)
    if library.exists():
        return include, "-L%s" % library.parent, "-Wl,-rpath,%s" % library.parent, "-l" + name
    return (include, "-no-pie", "-Wl,-E,--whole-archive", str(static), "-Wl,--no-whole-archive", "-lexpat", "-lz", "-lutil",
            "-lm")


@pytest.mark.parametrize("python", [pathlib.Path("/usr/bin/python3")] + PYTHONS, ids=lambda p: p.name)
def test_python_frames_of_a_program_that_has_python_built_in(python, started, compiled, tmp_path):
    program = tmp_path / "trainer"
    shutil.copy(compiled("stack/embeds.c", *embedding(python)), program)
    compare_with_python(started([program, HERE / "frames.py"], stdin=subprocess.PIPE,
                                env={"PYTHONHOME": str(python.parent.parent)}))


class Contained:
    """A program in a container, as compare_with_python() takes it: its threads by their ids outside."""
    def __init__(self, program):
        children = pathlib.Path("/proc/%d/task/%d/children" % (program.pid, program.pid))
        self.pid = int(children.read_text().split()[0])
        outside = {}
        for task in pathlib.Path("/proc/%d/task" % self.pid).iterdir():
            outside[re.search(r"^NSpid:.*\t(\d+)$", (task / "status").read_text(), re.M)[1]] = task.name
        self.first_line = json.dumps({outside[tid]: frames for tid, frames in json.loads(program.first_line).items()})


@pytest.mark.parametrize("python", PYTHONS, ids=lambda p: p.name)
def test_python_frames_in_a_container(python, started, tmp_path):
    """In user, pid and mount namespaces of its own, below a mount that only it sees, where paths mean something else."""
    words = ["unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork", "--kill-child"]
    if subprocess.run([*words, "true"], capture_output=True).returncode:
        pytest.skip("namespaces may not be made here")
    (tmp_path / "enter").write_text("""set -e
mount -t tmpfs none "$1"
cd "$1"
mkdir -p root/python root/proc root/tmp root/usr
mount --bind "$2" root/python
mount --rbind /usr root/usr
for name in bin lib lib64; do ln -s "usr/$name" "root/$name"; done
mount -t proc proc root/proc
cp "$3" root/tmp/frames.py
exec chroot root /python/bin/"$4" /tmp/frames.py
""")
    (tmp_path / "mount").mkdir()
    program = started([*words, "bash", tmp_path / "enter", tmp_path / "mount", python.parent.parent, HERE / "frames.py",
                       python.name], stdin=subprocess.PIPE,
                      env={"LD_LIBRARY_PATH": "/python/lib", "PYTHONHOME": "/python"})
    compare_with_python(Contained(program))


@pytest.mark.parametrize("what, why", [
    ("version", "its code objects are laid out in an unknown way"), ("candidate", "it is no final release"),
    ("quiet", "it does not publish its layout"), ("early", "its interpreter has not started, or has ended")])
def test_of_a_python_with_an_unknown_layout_there_are_native_frames_and_a_reason(what, why, started, compiled):
    found = stacks(started([compiled("stack/odd_python.c"), what]).pid)
    assert found["no_python_frames"] == why
    assert thread_with(found, "main")


@pytest.mark.skipif(not list(VERSIONS.glob("3.7.*")), reason="no Python 3.7 in pyenv")
def test_of_a_python_that_is_too_old_there_are_native_frames_and_a_reason(started):
    python, *_ = VERSIONS.glob("3.7.*/bin/python3")
    found = stacks(started([python, "-c", "print('ready', flush=True); input()"], stdin=subprocess.PIPE).pid)
    assert found["no_python_frames"] == "it is older than Python 3.8"
    assert all(f["kind"] == "native" for f in found["threads"][0]["frames"]) and found["threads"][0]["frames"]


@pytest.mark.parametrize("what", ["rings", "published"])
def test_what_never_ends_in_a_program_ends_here(what, started, compiled):
    program = started([compiled("stack/odd_python.c"), what])
    done = subprocess.run([TPROF, "stack", str(program.pid), "--frames", "python", "--json"], timeout=120,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 0, done.stderr
    thread, = json.loads(done.stdout)["processes"][0]["threads"]
    assert len(thread["frames"]) == 100_000 and not thread["frames"][0]["function"]


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root for mounts")
@pytest.mark.parametrize("where", ["trixie", "sid"])
def test_python_frames_below_a_mount_that_only_the_program_sees(where, started, tmp_path):
    machine(where)  # skips, or is there
    root = pathlib.Path(os.environ.get("TPROF_TEST_CACHE", "/var/cache/tprof-chroots")) / where
    (tmp_path / "enter").write_text("""set -e
mount -t tmpfs none "$2"
mkdir "$2/root"
mount --bind "$1" "$2/root"
mount -t proc proc "$2/root/proc"
mount -t tmpfs none "$2/root/tmp"
cp "$3" "$2/root/tmp/frames.py"
exec chroot "$2/root" /usr/bin/python3 /tmp/frames.py
""")
    (tmp_path / "mount").mkdir()
    program = started(["unshare", "-m", "--propagation", "private", "bash", tmp_path / "enter", root,
                       tmp_path / "mount", HERE / "frames.py"], stdin=subprocess.PIPE)
    compare_with_python(program)


def test_a_stuck_worker_is_told_from_who_waits_for_it(started):
    program = started([HERE / "stuck_worker.py"])

    def stuck():
        main = [t for t in stacks(program.pid)["threads"] if t["main"]][0]
        if main.get("waits") != "for a batch of a data-loader worker":
            return None
        children = pathlib.Path("/proc/%d/task/%d/children" % (program.pid, program.pid)).read_text().split()
        for thread in stacks(int(children[0]))["threads"]:
            if thread["waits"] == "until a time (sleeps)" and "__getitem__" in [f["function"] for f in thread["frames"]]:
                return thread
        return None
    worker = wait_for(stuck, 60, "the worker")
    assert [f["line"] for f in worker["frames"] if f["function"] == "__getitem__"] == [14]


def shown_processes(logdir):
    for _ in range(200):
        done = tprof("stack", logdir, "--json", "--frames", "python")
        if done.returncode == 0 and len(json.loads(done.stdout)["processes"]) >= 2:
            break
        time.sleep(0.1)
    assert done.returncode == 0, done.stderr
    return [p["command"] for p in json.loads(done.stdout)["processes"]]


def test_all_processes_of_a_run_are_shown(started, logdir):
    started([HERE / "stuck_worker.py"], how="run", logdir=logdir)
    commands = shown_processes(logdir)
    assert len(commands) >= 2 and all("stuck_worker.py" in c for c in commands), commands


def test_all_processes_of_a_run_in_a_container_are_shown(started, namespace, logdir):
    started([HERE / "stuck_worker.py"], how="preload", logdir=logdir, wrapper=namespace)
    commands = shown_processes(logdir)
    assert len(commands) >= 2 and all("stuck_worker.py" in c for c in commands), commands


def core_of(words, cwd):
    """The process and the core file of a program that ends by a segmentation fault."""
    pattern = pathlib.Path("/proc/sys/kernel/core_pattern").read_text().strip()
    if pattern.startswith("|") or "/" in pattern:
        pytest.skip("core files go elsewhere here: " + pattern)
    unlimited = resource.RLIM_INFINITY, resource.RLIM_INFINITY
    program = subprocess.Popen(words, cwd=cwd, stderr=subprocess.DEVNULL, env={"PATH": "/usr/bin:/bin", "PYTHONHOME": "/usr"},
                               preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, unlimited))
    assert program.wait() == -signal.SIGSEGV
    core, = cwd.glob("core*")
    return program, core


def test_nothing_is_started_for_a_core_file(tmp_path):
    """Its program is what the file says, and others may have put another one there."""
    home = tmp_path / "home"
    home.mkdir()
    home.chmod(0o777)
    shutil.copy(os.path.realpath("/usr/bin/python3"), home / "python3")
    program, core = core_of([str(home / "python3"), "-c", "import ctypes; ctypes.string_at(0)"], tmp_path)
    found, = json.loads(tprof("stack", "--core", core, "--json").stdout)["processes"]
    assert "no_python_frames" not in found and thread_with(found, "string_at")
    (home / "python3").unlink()
    (home / "python3").write_text("#!/bin/sh\ntouch %s\n" % (tmp_path / "started"))
    (home / "python3").chmod(0o755)
    tprof("stack", "--core", core, "--json")
    assert not (tmp_path / "started").exists()


def test_a_core_file_is_read_with_its_python_frames(tmp_path):
    code = ("import ctypes, threading, time\n"
            "def idle(): time.sleep(100)\n"
            "threading.Thread(target=idle, daemon=True).start()\n"
            "def inner(): ctypes.string_at(0)\n"
            "time.sleep(2); inner()\n")
    (tmp_path / "crash.py").write_text(code)
    program, core = core_of(["/usr/bin/python3", "crash.py"], tmp_path)
    done = tprof("stack", "--core", core, "--json")
    assert done.returncode == 0, done.stderr
    found, = json.loads(done.stdout)["processes"]
    assert (found["pid"], found["signal"]) == (program.pid, signal.SIGSEGV)
    crashed = thread_with(found, "inner")
    assert [f["line"] for f in crashed["frames"] if f["function"] in ("inner", "<module>")] == [4, 5]
    assert crashed["main"] and "incomplete" not in crashed
    assert thread_with(found, "idle")["waits"] == "until a time (sleeps)"
    text = tprof("stack", "--core", core).stdout
    assert "ended by signal 11" in text and "(main)  got the signal" in text


@pytest.mark.parametrize("content, why", [
    (b"no core", "is no core file"), (b"", "is no core file"), (b"\x7fELF" + bytes(60), "is no core file")])
def test_what_is_no_core_file_is_refused(content, why, tmp_path):
    (tmp_path / "core").write_bytes(content)
    done = tprof("stack", "--core", tmp_path / "core")
    assert done.returncode == 3 and why in done.stderr and len(done.stderr.splitlines()) == 1


def test_ten_thousand_frames_are_read_and_equal_ones_shown_once(started):
    code = ("import sys, threading, time\n"
            "sys.setrecursionlimit(20000)\n"
            "threading.stack_size(512 << 20)\n"
            "def deep(n):\n"
            "    if n: return deep(n - 1)\n"
            "    print('ready', flush=True); time.sleep(100)\n"
            "t = threading.Thread(target=deep, args=(10000,)); t.start(); t.join()\n")
    program = started(["-c", code])
    thread = thread_with(stacks(program.pid), "deep")
    assert len([f for f in thread["frames"] if f["function"] == "deep"]) == 10001 and "incomplete" not in thread
    text = tprof("stack", str(program.pid), "--depth", "8").stdout
    assert re.search(r"^   py deep .*:5  x \d+$", text, re.M)


BUSY = """
import sys, threading, torch
def work():
    model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 64))
    optimizer, x = torch.optim.SGD(model.parameters(), lr=0.01), torch.randn(64, 64)
    while True:
        optimizer.zero_grad(); model(x).sum().backward(); optimizer.step()
threads = [threading.Thread(target=work, daemon=True) for _ in range(int(sys.argv[1]))]
[t.start() for t in threads]
print('ready', flush=True)
threads[0].join()
"""


def complete_stacks(pid):
    """None if a thread could not be stopped in time, since the machine is busy."""
    found = stacks(pid)
    incomplete = [t["incomplete"] for t in found["threads"] if "incomplete" in t]
    assert all("it waits for a processor" in why for why in incomplete), incomplete
    return None if incomplete else found


@pytest.mark.parametrize("threads, tries", [(4, 3), pytest.param(32, 50, marks=pytest.mark.full)])
def test_stacks_of_a_busy_training_are_complete(threads, tries, started, tmp_path):
    (tmp_path / "busy.py").write_text(BUSY)
    program = started(["/usr/bin/python3", tmp_path / "busy.py", str(threads)])
    time.sleep(2)
    stops = []
    for _ in range(tries):
        found = wait_for(lambda: complete_stacks(program.pid))
        assert len([t for t in found["threads"] if any(f["function"] == "work" for f in t["frames"])]) == threads
        stops += found["stopped_us"]
    stops.sort()
    if threads == 32:  # limit 10 ms, on a machine with nothing else to do: see tests/bench
        print("95th percentile of a thread's stop: %.0f us" % stops[len(stops) * 95 // 100])
