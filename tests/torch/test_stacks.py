"""With --with-stack each operator carries the Python call stack that Python itself would show, on each torch."""
import collections
import json
import pathlib

import pytest

from harness import load_traces, python_version, run, tprof

HERE = pathlib.Path(__file__).resolve().parent
STACK = {"TPROF_WITH_STACK": "1"}


def of_operator(trace, name="aten::sgn"):
    """{thread id: [stack, ...]} of an operator, in order of time; a stack is a list of "file(line): function"."""
    stacks = collections.defaultdict(list)
    for event in sorted(trace.ops(name), key=lambda e: e["ts"]):
        stacks[event["tid"]].append(event["args"].get("Call stack", "").split(";"))
    return stacks


def texts(frames):
    return ["%s(%s): %s" % (file, "?" if line is None else line, name) for file, line, name in frames]


def only_trace(result):
    assert result.returncode == 0, result.stderr
    trace, = result.traces()
    assert trace.ledger["capabilities"]["with_stack"] == {"on": True, "why": ""}
    return trace


@pytest.mark.everywhere
def test_stacks_are_those_that_python_shows(python_machine, tmp_path, logdir):
    """Ten thousand operators at call sites of every kind, on several threads, in tasks and generators."""
    told = tmp_path / "stacks.json"
    trace = only_trace(run([HERE / "stacks.py", told], "run", logdir=logdir, options=STACK, where=python_machine))
    expected = {int(tid): [texts(frames) for frames in stacks] for tid, stacks in json.loads(told.read_text()).items()}
    found = of_operator(trace)
    assert sum(map(len, expected.values())) >= 10000 and len(expected) == 5
    assert {tid: len(stacks) for tid, stacks in found.items()} == {tid: len(stacks) for tid, stacks in expected.items()}
    for tid, stacks in expected.items():
        for mine, pythons in zip(found[tid], stacks):
            assert mine == pythons
    assert len({tuple(stack) for stacks in expected.values() for stack in stacks}) > 1000
    assert trace.data["with_stack"] == 1
    assert "stacks_lost" not in trace.ledger and "stacks_cut" not in trace.ledger


def test_nothing_of_our_own_stands_in_a_stack(python_machine, logdir):
    """Before Python 3.12 a batch is drawn, and a backward pass made, through a function of tprof's."""
    trace = only_trace(run([HERE / "scenarios.py", "plain_with_loader"], "run", logdir=logdir, options=STACK,
                           where=python_machine))
    stacks = [event["args"].get("Call stack", "") for event in trace.ops()]
    assert any("dataloader.py" in stack for stack in stacks)
    assert not [stack for stack in stacks if "<tprof>" in stack or "<string>" in stack]


def test_frames_for_other_viewers_say_the_same(python_machine, tmp_path, logdir):
    trace = only_trace(run([HERE / "stacks.py", tmp_path / "told", "100"], "run", logdir=logdir, options=STACK,
                           where=python_machine))
    frames = trace.data["stackFrames"]
    for event in trace.ops("aten::sgn"):
        names, frame = [], event["sf"]
        while frame is not None:
            names.append(frames[str(frame)]["name"])
            frame = frames[str(frame)].get("parent")
        assert ";".join(names) == event["args"]["Call stack"]


def test_without_the_option_there_is_no_stack(logdir, tmp_path):
    trace, = run([HERE / "stacks.py", tmp_path / "told", "100"], "run", logdir=logdir).traces()
    assert "with_stack" not in trace.data and "stackFrames" not in trace.data
    assert not any("Call stack" in e.get("args", {}) or "sf" in e for e in trace.events)


def test_memory_carries_the_stack_too(python_machine, tmp_path):
    """Where torch's allocators are listened to, unless --stack-on leaves them out."""
    program = tmp_path / "memory.py"
    program.write_text("import torch\ndef allocates():\n    return torch.empty(12345)\nallocates()\n")
    for stack_on, expected in (("alloc", ["memory.py(3): allocates", "memory.py(4): <module>"]), ("sync", [])):
        trace = only_trace(run([program], "run", logdir=tmp_path / stack_on, where=python_machine,
                               options={**STACK, "TPROF_PROFILE_MEMORY": "1", "TPROF_STACK_ON": stack_on}))
        report, = [e for e in trace.events if e["name"] == "[memory]" and e["args"]["Bytes"] == 4 * 12345]
        stack = report["args"].get("Call stack", "")
        assert [frame.rpartition("/")[2] for frame in stack.split(";") if frame] == expected


def test_a_preset_turns_stacks_on_and_says_so(logdir, tmp_path):
    trace = only_trace(run([HERE / "stacks.py", tmp_path / "told", "100"], "run", logdir=logdir,
                           options={"TPROF_PRESET": "full"}))
    assert trace.data["with_stack"] == 1 and trace.data["profile_memory"] == 1
    assert all("Call stack" in e["args"] for e in trace.ops("aten::sgn"))


# --- what goes wrong

def test_a_recursion_of_5000_frames_is_cut_and_counted(python_machine, tmp_path, logdir):
    program = tmp_path / "deep.py"
    program.write_text("import sys, threading, torch\n"
                       "sys.setrecursionlimit(20000)\n"
                       "threading.stack_size(512 << 20)\n"
                       "x = torch.ones(2)\n"
                       "def deeper(n):\n"
                       "    if n % 50 == 0: x.sgn()\n"
                       "    return deeper(n - 1) if n else None\n"
                       "t = threading.Thread(target=deeper, args=(5000,)); t.start(); t.join()\n"
                       "x.sgn()\n")
    trace = only_trace(run([program], "run", logdir=logdir, options=STACK, where=python_machine))
    (_, inside), (_, outside) = sorted(of_operator(trace).items(), key=lambda item: -len(item[1]))
    assert (len(inside), len(outside)) == (101, 1)
    deep = str(program)
    for i, stack in enumerate(inside):
        assert stack[0] == deep + "(6): deeper" and stack[1:min(50 * i + 1, 256)] == \
            [deep + "(7): deeper"] * min(50 * i, 255)
        assert (stack[-1] == "(frames further out are not recorded)") == (i > 5)
        assert len(stack) == 257 if i > 5 else stack[-1].endswith(": _bootstrap")
    assert outside[0] == [deep + "(9): <module>"]
    assert trace.ledger["stacks_cut"] >= 95 and "stacks_lost" not in trace.ledger


def test_code_that_is_made_and_freed_is_never_taken_for_other_code(python_machine, tmp_path, logdir):
    """The same text again and again is one code object to the recording; another text at the same address is not."""
    program = tmp_path / "made.py"
    program.write_text("import torch\n"
                       "x = torch.ones(2)\n"
                       "for i in range(3000):\n"
                       "    lines = '\\n' * (i % 7)\n"
                       "    exec(compile(lines + 'def f%d(): return x.sgn()\\nf%d()' % (i % 5, i % 5), '<%d>' % (i % 3),\n"
                       "                 'exec'), {'x': x})\n")
    trace = only_trace(run([program], "run", logdir=logdir, options=STACK, where=python_machine))
    stacks, = of_operator(trace).values()
    assert len(stacks) == 3000
    for i, stack in enumerate(stacks):
        file, line = "<%d>" % (i % 3), i % 7 + 1
        assert stack[:2] == ["%s(%d): f%d" % (file, line, i % 5), "%s(%d): <module>" % (file, line + 1)]
        assert stack[2].startswith(str(program))
    assert len({tuple(s) for s in stacks}) == 105


def test_children_by_fork_have_stacks_of_their_own(python_machine, tmp_path, logdir):
    program = tmp_path / "forks.py"
    program.write_text("import os, torch\n"
                       "x = torch.ones(2)\n"
                       "def before(): return x.sgn()\n"
                       "def behind(): return x.sgn()\n"
                       "def loop(f):\n"
                       "    for _ in range(3): f()\n"
                       "loop(before)\n"
                       "if os.fork() == 0:\n"
                       "    loop(behind)\n"
                       "    loop(before)\n"
                       "    os._exit(0)\n"
                       "os.wait()\n"
                       "loop(behind)\n")
    result = run([program], "run", logdir=logdir, options=STACK, where=python_machine)
    parent = only_trace(result)
    assert tprof("convert", "--workers", logdir).returncode == 0
    child, = load_traces(str(logdir) + "_workers")

    def functions(trace):
        stacks, = of_operator(trace).values()
        return [[frame.partition("): ")[2] for frame in stack] for stack in stacks]
    assert functions(parent) == [[f, "loop", "<module>"] for f in ["before"] * 3 + ["behind"] * 3]
    assert functions(child) == [[f, "loop", "<module>"] for f in ["behind"] * 3 + ["before"] * 3]


# What an unknown build of Python looks like to the calibration: Python's own account does not fit what stands in memory.
# Only the calibration is lied to: torch needs the truth.
LIAR = ("import sys\n"
        "real = sys._getframe\n"
        "class Lie:\n"
        "    def __init__(self, f): self.f_code, self.f_lasti, self.f_back = f.f_code, f.f_lasti + 2, "
        "f.f_back and Lie(f.f_back)\n"
        "def lies(n=0):\n"
        "    f = real(n + 1)\n"
        "    return {where}(f) if n == 0 and f.f_code.co_name == '{who}' else f\n"
        "sys._getframe = lies\n")
UNKNOWN = {
    "instructions": LIAR.format(where="Lie", who="learn_here"),
    "chain": LIAR.format(where="(lambda f: f.f_back)", who="learn_here"),
    "proof": LIAR.format(where="Lie", who="check"),
    "script": LIAR.format(where="(lambda f: 1 / 0)", who="check"),
    "strings": "import sys; sys.getsizeof = lambda o, f=sys.getsizeof: f(o) + 8\n",
    "free-threaded": "import sys; sys.abiflags = 't'\n",
    "its own account": "import ctypes; words = (ctypes.c_uint64 * 64).in_dll(ctypes.CDLL(None), '_PyRuntime')\n"
                       "for i in range(24, 40): words[i] += 8\n",
}


@pytest.mark.parametrize("kind", UNKNOWN)
def test_an_unknown_python_has_no_stacks_and_everything_else(kind, python_machine, tmp_path, logdir):
    if kind == "its own account" and python_version(python_machine) < (3, 13):
        pytest.skip("this Python says nothing itself")
    program = tmp_path / "unknown.py"
    program.write_text(UNKNOWN[kind] + "import torch\nfor _ in range(3): torch.ones(2).sgn()\nprint('done')\n")
    result = run([program], "run", logdir=logdir, options=STACK, where=python_machine)
    assert (result.returncode, result.stdout) == (0, "done\n"), result.stderr
    trace, = result.traces()
    can = trace.ledger["capabilities"]["with_stack"]
    assert not can["on"] and can["why"]
    assert len(trace.ops("aten::sgn")) == 3 and "with_stack" not in trace.data and "stackFrames" not in trace.data
    assert not any("Call stack" in e.get("args", {}) for e in trace.events)




def test_many_threads_survive(python_machine, logdir):
    """Recursion, exceptions, generators, code that is made and freed, threads that end, and some that still run when
    the interpreter ends."""
    result = run([HERE / "stress_stacks.py", "12", "1"], "run", logdir=logdir, options=STACK, where=python_machine)
    assert (result.returncode, result.stdout) == (0, "rounds by 12 threads\n"), result.stderr
    trace = only_trace(result)
    stacks = of_operator(trace)
    assert len(stacks) > 12 and "stacks_lost" not in trace.ledger
    script = str(HERE / "stress_stacks.py")
    for one in stacks.values():
        for stack in one:
            assert stack[-1].endswith((": _bootstrap", ": <module>", "not recorded)")), stack
            assert stack[0].startswith(script) or ": f" in stack[0], stack
