"""Native stacks of calls into CUDA (--with-stack=native), on the simulated runtime: known chains of functions."""
import collections
import re
import shutil

from harness import BUILD, REPO, both, load_traces, run, tprof

APPS = BUILD / "tests" / "apps" / "cuda"
SIM = BUILD / "tests" / "fake" / "simcuda-run"
NATIVE = {"TPROF_WITH_STACK": "native", "TPROF_KEEP_RECORDING": "1"}


def traced(tmp_path, *words, options=None, **more):
    """The trace of a program of tests/apps/cuda, in each way."""
    results = both([SIM, *words], tmp_path, options={**NATIVE, **(options or {})}, **more)
    for way, result in results.items():
        if way != "bare":
            trace, = result.traces()
            yield result, trace


def stacks(trace, name):
    """The stacks of all calls of a function, as lists of frames."""
    return [e["args"]["Call stack"].split(";") if "Call stack" in e["args"] else None
            for e in trace.ranges if e.get("cat") in ("cuda_runtime", "cuda_driver") and e["name"] == name]


def function(frame):
    """What stands behind the file and line, or behind the library."""
    return re.sub(r"\(.*", "", frame.split(": ", 1)[1]) if ": " in frame else frame


def functions(stack):
    return [function(frame) for frame in stack]


CALLS = {"cudaMalloc": "allocates", "cudaLaunchKernel": "launches", "cudaDeviceSynchronize": "waits", "cudaFree": "releases"}


def test_each_call_has_the_chain_of_functions_that_led_to_it(tmp_path):
    for _, trace in traced(tmp_path, APPS / "call_chain"):
        assert trace.ledger["capabilities"]["native_stacks"] == {"on": True, "why": ""}
        for name, caller in CALLS.items():
            found = stacks(trace, name)
            assert len(found) == 2
            for stack in found:
                assert functions(stack)[:4] == [caller, "middle", "outer", "main"]
                assert functions(stack)[-1] == "_start", "to the end of the stack"
                assert not any(ours in frame for frame in stack for ours in ("libtprof", "tprof::")), "nothing of ours"


def test_source_lines_where_there_is_debug_information(tmp_path, public_dir):
    program = shutil.copy(APPS / "call_chain", public_dir)  # others may be able to change what lies in a checkout
    for _, trace in traced(tmp_path, program):
        stack = stacks(trace, "cudaDeviceSynchronize")[0]
        source = (REPO / "tests" / "apps" / "cuda" / "call_chain.cpp").read_text().splitlines()
        for frame, expected in zip(stack, ("cudaDeviceSynchronize", "waits();", "middle();")):
            line = re.fullmatch(r"(.*call_chain\.cpp)\((\d+)\): \w+(\(.*\))?", frame)
            assert line, frame
            assert expected in source[int(line.group(2)) - 1]


def test_a_stripped_program_shows_addresses_in_its_file(tmp_path):
    for _, trace in traced(tmp_path, APPS / "call_chain_stripped"):
        for stack in stacks(trace, "cudaMalloc"):
            assert all(re.fullmatch(r"call_chain_stripped\+0x[0-9a-f]+", frame) for frame in stack[:4]), stack


def test_only_what_was_asked_for_carries_a_stack(tmp_path):
    for _, trace in traced(tmp_path, APPS / "call_chain", options={"TPROF_STACK_ON": "alloc"}):
        for name in CALLS:
            have = {stack is not None for stack in stacks(trace, name)}
            assert have == {name in ("cudaMalloc", "cudaFree")}


def test_nothing_without_the_option(tmp_path):
    for _, trace in traced(tmp_path, APPS / "call_chain", options={"TPROF_WITH_STACK": "0"}):
        assert "native_stacks" not in trace.ledger["capabilities"]
        assert all(stack is None for name in CALLS for stack in stacks(trace, name))


def test_threads(tmp_path):
    for _, trace in traced(tmp_path, APPS / "call_chain", "threads", "8"):
        for name, caller in CALLS.items():
            found = stacks(trace, name)
            assert len(found) == 8 * 20
            assert {tuple(functions(stack)[:3]) for stack in found} == {(caller, "middle", "outer")}
            assert len({tuple(stack) for stack in found}) == 1, "all threads came the same way"


def test_deep_recursion_with_frames_of_unknown_size(tmp_path):
    for result, trace in traced(tmp_path, APPS / "call_chain", "deep", "5000"):
        for name, caller in CALLS.items():
            depths = [collections.Counter(functions(stack))["recurses"] for stack in stacks(trace, name)]
            assert sorted(depths) == [5000, 5001, 5001]


def test_a_stack_that_is_too_deep_says_so(tmp_path):
    for result, trace in traced(tmp_path, APPS / "call_chain", "deep", "20000"):
        for stack in stacks(trace, "cudaMalloc"):
            assert functions(stack)[:3] == ["allocates", "middle", "recurses"]
            assert stack[-1] == "(frames further out are not recorded)" and len(stack) == 129
        assert trace.ledger["stacks_cut"] == 12


def test_calls_in_a_signal_handler_show_what_it_interrupted(tmp_path):
    for _, trace in traced(tmp_path, APPS / "call_chain", "signals"):
        for name, caller in CALLS.items():
            found = stacks(trace, name)
            assert len(found) == 4
            for stack in found:
                *inner, trampoline = functions(stack)[:5]
                assert inner == [caller, "middle", "outer", "handles"] and "libc.so" in trampoline
                assert functions(stack)[5:8] == ["interrupted", "is_interrupted", "signals"]
            assert sorted("main" in functions(stack) for stack in found) == [False, False, True, True]
        assert "stacks_cut" not in trace.ledger


def test_a_forked_child_has_stacks_of_its_own(tmp_path):
    for way, result in both([SIM, APPS / "call_chain", "fork"], tmp_path, options=NATIVE).items():
        if way == "bare":
            continue
        assert tprof("convert", "--workers", result.logdir).returncode == 0
        traces = [*result.traces(), *load_traces(str(result.logdir) + "_workers")]
        assert len(traces) == len({trace.pid for trace in traces}) == 2
        for trace in traces:
            for name, caller in CALLS.items():
                found, = stacks(trace, name)
                assert functions(found)[:4] == [caller, "middle", "outer", "main"]


def test_addresses_that_belong_to_one_library_after_the_other(tmp_path):
    first, other = APPS / "libchain_first.so", APPS / "libchain_other.so"
    options = {**NATIVE, "TPROF_EXIT_WAIT": "60"}
    result = run([SIM, APPS / "call_chain", "plugins", first, other, first], "preload", logdir=tmp_path, options=options)
    *places, done = result.stdout.splitlines()
    assert done == "done" and len(set(places)) == 1, "the loader did not use the addresses again: the test shows nothing"
    trace, = result.traces()
    expected = ["first_plugin", "other_plugin", "first_plugin"]
    for name in ("cudaMalloc", "cudaFree"):
        found = [functions(stack)[:3] for stack in stacks(trace, name)]
        assert found == [[plugin, "run", "plugins"] for plugin in expected]


def test_what_was_unloaded_before_the_first_window_hides_no_names(tmp_path):
    """The simulated driver opens and closes a library at its start."""
    code = ("import ctypes, sys\n"
            "me, plugin = ctypes.CDLL(None), ctypes.CDLL(sys.argv[1])\n"
            "for _ in range(6):\n"
            "    plugin.plugin_run(4)\n"
            "    me.tprof_step()\n")
    result = run([SIM, "/usr/bin/python3", "-S", "-c", code, APPS / "libplugin_13.so"], "preload", logdir=tmp_path,
                 options={**NATIVE, "TPROF_SCHEDULE": "wait=2,active=2,repeat=1", "TPROF_EXIT_WAIT": "60"})
    assert result.returncode == 0, result.stderr
    trace, = result.traces()
    found = stacks(trace, "cudaMalloc")
    assert len(found) == 2 and all("plugin_run" in functions(stack) for stack in found), found


def test_the_doctor_says_how_stacks_are_walked():
    said = tprof("doctor", "/usr/bin/true").stdout
    assert re.search(r"^stacks +OK +native stacks", said, re.M)
