"""Native and Python frames in one stack (--with-stack=native), on every torch."""
import re

import pytest

import harness

APPS = harness.BUILD / "tests" / "apps" / "cuda"
SIMCUDA = harness.BUILD / "tests" / "fake" / "simcuda-run"
SCRIPT = harness.APPS / "cuda" / "python_chain.py"


def functions(stack):
    """What stands behind the file and line, or behind the library, of each frame."""
    return [re.sub(r"\(.*", "", frame.split(": ", 1)[1]) if ": " in frame else frame for frame in stack.split(";")]


@pytest.mark.everywhere
def test_python_frames_stand_where_the_interpreter_was(cpu_machine, tmp_path):
    options = {"TPROF_WITH_STACK": "native"}
    argv = [SIMCUDA, "/usr/bin/python3", SCRIPT, APPS / "libchain_first.so"]
    for way, result in harness.both(argv, tmp_path, options=options, where=cpu_machine).items():
        if way == "bare":
            continue
        trace, = result.traces()
        stack, = [e["args"]["Call stack"] for e in trace.ranges if e["name"] == "cudaMalloc"]
        shown = functions(stack)
        assert shown[:2] == ["first_plugin", "run"]
        assert "ffi_call" in shown
        # middle() called inner() in its own evaluation; map(), written in C, called middle() in a new one.
        inner, outer = shown.index("inner"), shown.index("outer")
        assert shown[inner:inner + 2] == ["inner", "middle"] and shown[outer:outer + 2] == ["outer", "<module>"]
        if any("python3" in frame for frame in shown[outer + 2:]) and outer == inner + 2:
            # Nothing tells the evaluation in this interpreter: Debian's 3.14 is made of local functions, and stripped.
            assert cpu_machine.name == "sid" and not any("python3" in frame for frame in shown[:inner])
        else:
            assert outer > inner + 2, "native frames of map() between them"
        assert not any("_PyEval_EvalFrame" in name for name in shown), shown
        assert shown[-1] == "_start"
        assert trace.data["with_stack"] == 1


def test_allocations_of_torch_carry_both(python_machine, tmp_path):
    options = {"TPROF_WITH_STACK": "native", "TPROF_PROFILE_MEMORY": "1",
               "TPROF_SCHEDULE": harness.schedule_words(skip_first=1, active=1, repeat=1)}
    result = harness.run([harness.APPS / "train.py", 4], "run", logdir=tmp_path, options=options, where=python_machine)
    trace, = result.traces()
    found = [e["args"].get("Call stack") for e in trace.events if e["name"] == "[memory]" and e["args"]["Bytes"] > 0]
    assert found and all(found)
    of_ops = [stack for stack in found if "libtorch_cpu" in stack]
    assert of_ops and all("at::" in stack for stack in of_ops)
    assert any(re.search(r"train\.py\(\d+\): ", stack) for stack in of_ops), "forward"
    assert any("torch::autograd::Engine" in stack and "train.py" in stack for stack in of_ops), "backward, on the same thread"
