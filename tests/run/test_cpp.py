"""C++ programs on libtorch without Python."""
import os
import subprocess

import pytest

from harness import both, load_traces, run, settle, trace_files, wait_for

LIBRARIES = ("-ltorch_cpu", "-lc10")


@pytest.fixture(scope="module")
def program(compiled):
    return build(compiled)


@pytest.fixture(scope="module")
def plugin(compiled):
    return build(compiled, "-shared", "-DPLUGIN")


def build(compiled, *flags):
    if not os.path.exists("/usr/include/ATen/ATen.h"):
        pytest.skip("no libtorch headers here (Debian: libtorch-dev)")
    return compiled("libtorch.cpp", "-O0", "-g0", "-std=c++17", *flags, *LIBRARIES)


def test_operators_of_a_cpp_program(program, tmp_path):
    for way, result in both([program, "ops"], tmp_path).items():
        assert (result.returncode, result.stdout) == (6, "caught 10\n")
        if way != "bare":
            trace, = result.traces()
            # tprof attaches at the first operator or allocation: it may miss what came just before
            assert trace.marks()[-48:] == list(range(2, 50))
            mm = [e for e in trace.ops("aten::mm") if e["args"].get("Input Dims") == [[3, 4], [4, 3]]]
            assert len(mm) >= 49


def test_threads_of_a_cpp_program(program, tmp_path):
    for way, result in both([program, "threads"], tmp_path).items():
        if way != "bare":
            assert result.traces()[0].marks("thread:") == list(range(200))


def test_thread_local_destructors_of_a_cpp_program(program, tmp_path):
    for way, result in both([program, "destructors"], tmp_path).items():
        if way != "bare":
            trace, = result.traces()
            lost = sum(trace.ledger["dropped"].values())
            marks = trace.marks("tls:")
            assert trace.marks("thread:") == [0] and 0 in marks
            assert len(marks) == 4 or lost >= 4 - len(marks), "lost without a word: %s" % marks


def test_a_killed_cpp_program(program, how, logdir):
    result = run([program, "kill"], how, logdir=logdir)
    assert (result.returncode, result.stdout) == (-9, "caught 10\n")
    wait_for(lambda: trace_files(logdir), what="a trace")
    settle(logdir)
    assert load_traces(logdir)[0].marks()[-48:] == list(range(2, 50))


def test_libtorch_in_a_plugin_loaded_with_rtld_local(plugin, compiled, tmp_path):
    for way, result in both([compiled("dlopen_local.c"), plugin], tmp_path).items():
        assert (result.returncode, result.stdout) == (6, "caught 10\n")
        if way != "bare":
            assert result.traces()[0].marks()[-48:] == list(range(2, 50))


def test_the_programs_do_use_libtorch(program):
    assert "libtorch_cpu" in subprocess.run(["ldd", str(program)], capture_output=True, text=True).stdout
