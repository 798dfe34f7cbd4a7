"""NVTX: every function, from C, C++, Python and dlopen'ed modules; steps by NVTX ranges; who else wants NVTX."""
import os
import pathlib
import subprocess

import pytest

from harness import (LIBRARY, RUN, finish, load_traces, recordings, run, settle, start, tprof, trace_files, wait_for)

CUDA = pathlib.Path("/usr/local/cuda/include")
SAID = """pop -1
push 0 1 2 same 1 other 0
registered 1
domain push 0 1 other 0
domain pop 1 0 -1 other 0 default 2
ids differ 1
pop 1 0
"""


@pytest.fixture(scope="module")
def own(compiled):
    return compiled("nvtx.c", "-DOWN_HEADER")


@pytest.fixture(scope="module", params=["own", "nvidia"])
def client(request, compiled):
    """The client built with our own header, and with NVIDIA's where it is."""
    if request.param == "own":
        return compiled("nvtx.c", "-DOWN_HEADER")
    if not (CUDA / "nvtx3" / "nvToolsExt.h").exists():
        pytest.skip("no nvtx3 headers in %s" % CUDA)
    return compiled("nvtx.c", "-I%s" % CUDA)


@pytest.fixture(scope="module")
def module(compiled):
    return compiled("nvtx.c", "-DOWN_HEADER", "-DMODULE", "-shared")


def annotations(trace):
    return [e for e in trace.ranges if e.get("cat") == "user_annotation" and not e["name"].startswith("ProfilerStep#")]


def marks(trace):
    return [e for e in trace.events if e["ph"] == "i" and e.get("cat") == "cpu_instant_event"]


def said_of(events, name):
    """The args of the only event of that name that NVTX gave."""
    event, = [e for e in events if e["name"] == name]
    return {k: v for k, v in event["args"].items() if k in ("domain", "category", "color", "payload")}


def inside(inner, outer):
    return outer["ts"] <= inner["ts"] and inner["ts"] + inner["dur"] <= outer["ts"] + outer["dur"]


def test_every_function_and_what_it_returns(client, how, logdir):
    result = run([client, "all"], how, logdir=logdir)
    assert (result.returncode, result.stdout) == (3, SAID), result.stderr
    trace, = result.traces()
    ranges = annotations(trace)
    assert sorted(e["name"] for e in ranges) == sorted([
        "outer", "wide é中😀", "attributes", "registered", "registered", "registered ß", "started", "started wide",
        "started with attributes", "started in a domain", "(no message)", "range ProfilerStep#no number"])
    assert said_of(ranges, "outer") == {}
    assert said_of(ranges, "attributes") == {"category": "IO", "color": "#FF112233", "payload": -12345}
    assert said_of(ranges, "registered ß") == {"domain": "other.domain", "category": 99, "payload": 0.25}
    assert said_of(ranges, "started with attributes") == {"category": "IO", "color": "#FF112233", "payload": 4000000000}
    assert said_of(ranges, "started in a domain") == {"domain": "my.domain", "category": "net", "color": "#FF112233",
                                                      "payload": -7}
    registered = [e["args"] for e in ranges if e["name"] == "registered"]
    assert [(a["domain"], a["category"], a["payload"]) for a in registered] == [("my.domain", "net", 1.5)] * 2
    assert sorted(e["name"] for e in marks(trace)) == sorted([
        "registered ß", "mark", "mark é", "mark with attributes", "(no message)"])
    assert said_of(marks(trace), "mark with attributes")["payload"] == 2**64 - 1
    assert said_of(marks(trace), "registered ß") == {"domain": "my.domain", "category": 99, "payload": 0.25}
    by_name = {e["name"]: e for e in ranges}
    assert inside(by_name["attributes"], by_name["wide é中😀"]) and inside(by_name["wide é中😀"], by_name["outer"])
    ids = [e["args"]["External id"] for e in ranges]
    assert len(set(ids)) == len(ids) == 12
    names = [e["args"]["name"] for e in trace.events if e["name"] == "thread_name"]
    assert "thread %d (the thread that does everything)" % trace.pid in names
    assert trace.ledger["dropped"] == {} and trace.ledger["written"] == 17
    assert trace.ledger["capabilities"]["nvtx"]["on"]


def test_without_a_tool_nothing_changes(client):
    assert run([client, "all"]).stdout.startswith("pop -2\npush -2 -2 -2")


def test_threads(client, logdir):
    result = run([client, "threads"], "run", logdir=logdir)
    assert (result.returncode, result.stdout) == (3, "threads done\n"), result.stderr
    trace, = result.traces()
    ranges = annotations(trace)
    assert len([e for e in ranges if e["name"] == "inner"]) == 8 * 2000
    assert len([e for e in ranges if e["name"].startswith("thread ")]) == 8 * 2000
    for i in range(8):
        handed, = [e for e in ranges if e["name"] == "handed over %d" % i]
        last = max(e["ts"] for e in ranges if e["name"].startswith("thread %d " % i))
        assert handed["ts"] >= last and "tprof" not in handed["args"], "its end came from another thread"
    names = [e["args"]["name"] for e in trace.events if e["name"] == "thread_name"]
    assert len([n for n in names if "(worker thread number" in n]) >= 8
    assert trace.ledger["dropped"] == {} and trace.ledger["ranges"]["clipped"] == 0


def test_domains_cross(own, logdir):
    trace, = run([own, "cross"], "run", logdir=logdir).traces()
    ours = {name: [e for e in annotations(trace) if e["name"] == name] for name in ("default", "in the domain")}
    assert [len(v) for v in ours.values()] == [10, 10]
    for one, other in zip(*ours.values()):
        assert other["ts"] >= one["ts"] and other["dur"] > 1900 and one["ts"] + one["dur"] < other["ts"] + other["dur"]


def test_a_range_around_a_fork(client, logdir):
    result = run([client, "fork"], "run", logdir=logdir)
    assert result.stdout == "child pushes 1 pops 1 0\nparent pops 0, child 0\n"
    trace, = result.traces()
    around, = [e for e in annotations(trace) if e["name"] == "around the fork"]
    started, = [e for e in annotations(trace) if e["name"] == "started before the fork"]
    assert inside(started, around) and "tprof" not in started["args"]
    assert not [e for e in annotations(trace) if e["name"] == "in the child"]
    child, = recordings(logdir)
    assert child.helper
    assert tprof("convert", "--workers", logdir).returncode == 0
    trace, = load_traces(str(logdir) + "_workers")
    assert [e["name"] for e in annotations(trace)] == ["in the child"]


def test_ranges_over_many_chunks(own, logdir):
    trace, = run([own, "chunks"], "run", logdir=logdir).traces()
    ranges = annotations(trace)
    filler = [e for e in ranges if e["name"] == "filler"]
    assert len(filler) == 50000
    for name in ("pushed before", "started before"):
        event, = [e for e in ranges if e["name"] == name]
        assert "tprof" not in event["args"]
        assert event["ts"] + event["dur"] >= max(e["ts"] + e["dur"] for e in filler)


def test_ranges_that_never_end(own, logdir):
    trace, = run([own, "open"], "run", logdir=logdir).traces()
    ranges = {e["name"]: e["args"].get("tprof") for e in annotations(trace)}
    assert ranges["whole"] is None
    assert all("clipped" in ranges[name] for name in ("never popped", "never ended"))


def test_a_killed_program(own, how, logdir):
    process = start([own, "sleep"], how, logdir=logdir)
    assert process.stdout.readline() == "ready\n"
    pid, = wait_for(lambda: [r.pid for r in recordings(logdir) if r.finisher], what="a recording and its finisher")
    subprocess.run(["kill", "-KILL", str(pid)], check=True)
    finish(process, logdir)
    wait_for(lambda: trace_files(logdir), what="a trace")
    settle(logdir)
    trace, = load_traces(logdir)
    assert [e["args"]["tprof"] for e in annotations(trace)] == ["unfinished"]
    assert len(marks(trace)) > 0


def test_nvtx3_hpp(compiled, logdir):
    if not (CUDA / "nvtx3" / "nvtx3.hpp").exists():
        pytest.skip("no nvtx3.hpp in %s" % CUDA)
    result = run([compiled("nvtx.cpp", "-std=c++17", "-I%s" % CUDA)], "run", logdir=logdir)
    assert result.returncode == 3
    trace, = result.traces()
    ranges = annotations(trace)
    assert [e["name"] for e in ranges] == ["scoped", "with attributes", "named_like_itself", "unique"]
    assert said_of(ranges, "with attributes") == {"domain": "cpp.domain", "category": "cpp.category",
                                                  "color": "#FFFF0080", "payload": 42}
    assert said_of(marks(trace), "registered in C++") == {"domain": "cpp.domain"}


def test_python_through_ctypes(module, tmp_path):
    """Also a module that is opened RTLD_LOCAL."""
    program = "import ctypes; ctypes.CDLL(%r).client(b'all', 0)" % str(module)
    result = run(["-c", program], "run", logdir=tmp_path / "log")
    assert (result.returncode, result.stdout) == (0, SAID), result.stderr
    assert len(annotations(result.traces()[0])) == 12


def test_two_modules_mean_the_same_domains(own, module, tmp_path):
    program = ("import ctypes; a = ctypes.CDLL(%r); a.client(b'all', 0); "
               "b = ctypes.CDLL(%r); b.client(b'cross', 0)" % (str(module), str(copy_of(module, tmp_path))))
    trace, = run(["-c", program], "run", logdir=tmp_path / "log").traces()
    domains = {e["args"].get("domain") for e in annotations(trace)}
    assert domains == {None, "my.domain", "other.domain", "crossing"}


def copy_of(path, directory):
    copy = directory / "copy.so"
    copy.write_bytes(path.read_bytes())
    return copy


# --- steps

def test_a_range_is_a_step(client, how, logdir):
    options = {"TPROF_STEP": "nvtx:^iteration [0-9]+$", "TPROF_SCHEDULE": "skip_first=2,wait=1,warmup=1,active=2,repeat=2"}
    result = run([client, "steps", "12"], how, logdir=logdir, options=options)
    assert result.returncode == 3
    traces = result.traces()
    assert [t.steps() for t in traces] == [[4, 5], [8, 9]]
    for trace in traces:
        assert trace.ledger["step"]["source"] == "TPROF_STEP" and trace.ledger["step"]["confidence"] == "given"
        for span, number in zip(trace.step_spans(), trace.steps()):
            within = [e for e in annotations(trace) if inside(e, span)]
            assert [e["name"] for e in within] == ["iteration %d" % number, "work"]


@pytest.mark.parametrize("schedule", ["", "wait=2,active=3,repeat=1"])
def test_a_step_ends_with_its_range(own, schedule, how, logdir):
    """Be it pushed or started, recorded in the window that its step opens, or the last one."""
    options = {"TPROF_STEP": "nvtx:^iteration", **({"TPROF_SCHEDULE": schedule} if schedule else {})}
    trace, = run([own, "ranges", "6"], how, logdir=logdir, options=options).traces()
    assert trace.steps() == ([2, 3, 4] if schedule else [0, 1, 2, 3, 4, 5])
    stretches = [e for e in annotations(trace) if e["name"].startswith(("Between the steps#", "After the loop#"))]
    assert len(stretches) == len(trace.steps())
    for span, stretch in zip(trace.step_spans(), stretches):
        assert {e["name"] for e in annotations(trace) if inside(e, span) and e is not span} == {
            span["name"].replace("ProfilerStep#", "iteration "), "work"}
        assert [e["name"] for e in annotations(trace) if inside(e, stretch) and e is not stretch] == ["save"]


def test_no_range_is_a_step_of_another_source(own, logdir):
    result = run([own, "steps", "6"], "run", logdir=logdir, options={"TPROF_STEP": "range:^iteration"})
    trace, = result.traces()
    assert trace.steps() == []


@pytest.mark.parametrize("value,why", [("nvtx:", "1 to 255 characters"), ("nvtx:(", "bad regular expression"),
                                       ("nvtx:[a", "bad regular expression"), ("nvtx", "nvtx:REGEX")])
def test_a_bad_pattern_is_refused_in_one_line(own, logdir, value, why):
    result = run([own, "steps", "2"], "run", logdir=logdir, options={"TPROF_STEP": value})
    assert result.returncode == 2 and result.stdout == ""
    line, = result.said()
    assert "TPROF_STEP" in line and why in line


# --- who else there is

def test_another_tool_keeps_nvtx(own, compiled, logdir):
    other = compiled("other_preload.c", "-shared")
    program = "import os; print(os.environ['NVTX_INJECTION64_PATH']); import torch; torch.ones(3) + 1"
    result = run(["-c", program], "run", logdir=logdir, env={"NVTX_INJECTION64_PATH": str(other)})
    assert result.stdout == "%s\n" % other
    line, = [line for line in result.said() if "NVTX" in line]
    assert str(other) in line and "unset it" in line
    assert not result.traces()[0].ledger["capabilities"]["nvtx"]["on"]
    quiet = run(["-c", "print(1)"], "run", logdir=logdir, env={"NVTX_INJECTION64_PATH": str(other)})
    assert not [line for line in quiet.said() if "NVTX" in line]


def test_the_library_is_offered_to_children_too(how, logdir):
    result = run(["-c", "import os; print(os.environ['NVTX_INJECTION64_PATH'])"], how, logdir=logdir)
    assert os.path.samefile(result.stdout.rstrip("\n"), LIBRARY)
    asked = subprocess.run([str(RUN), "--print-env", "-o", str(logdir)], capture_output=True, text=True, check=True,
                           env={"PATH": "/usr/bin:/bin"})
    assert "export NVTX_INJECTION64_PATH=" in asked.stdout


def test_a_program_from_which_the_preload_was_taken_is_left_alone(own, logdir):
    result = run(["/usr/bin/env", "-u", "LD_PRELOAD", str(own), "all"], "run", logdir=logdir)
    assert result.stdout.startswith("pop -2\n") and result.returncode == 3
    assert not trace_files(logdir)


def test_a_disabled_process_is_left_alone(own, logdir):
    result = run([own, "all"], "preload", logdir=logdir,
                 options={"TPROF_DISABLE": "1", "NVTX_INJECTION64_PATH": str(LIBRARY)})
    assert result.stdout.startswith("pop -2\n") and not trace_files(logdir)


# --- with torch

def test_ranges_around_operators(module, logdir):
    program = """
import ctypes, torch
nvtx = ctypes.CDLL(%r)
x = torch.ones(8, 8)
for i in range(3):
    nvtx.push(b"forward %%d" %% i)
    y = x @ x
    nvtx.pop()
""" % str(module)
    trace, = run(["-c", program], "run", logdir=logdir).traces()
    for i in range(3):
        outer, = [e for e in annotations(trace) if e["name"] == "forward %d" % i]
        assert len([e for e in trace.ops("aten::mm") if inside(e, outer)]) == 1


def test_without_a_call_of_the_profiler_api_nothing_is_recorded(own, how, logdir):
    result = run([own, "all"], how, logdir=logdir, options={"TPROF_WINDOW": "cudaProfilerApi"})
    assert result.returncode == 3 and not trace_files(logdir)
    line, = result.said()
    assert "cudaProfilerStart" in line


@pytest.mark.parametrize("options", [{"TPROF_SCHEDULE": "active=1"}, {"TPROF_STEPS": "1:2"}])
def test_the_profiler_api_and_a_schedule_exclude_each_other(own, logdir, options):
    result = run([own, "all"], "run", logdir=logdir, options={"TPROF_WINDOW": "cudaProfilerApi", **options})
    assert result.returncode == 2
    line, = result.said()
    assert "TPROF_WINDOW=cudaProfilerApi and %s are both given" % list(options)[0] in line
