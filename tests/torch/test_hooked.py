"""Functions of torch's that tprof hooks behave as if it did not."""
from pathlib import Path

import pytest

from harness import both, run

PROGRAM = Path(__file__).with_name("hooked.py")


def test_a_program_sees_nothing_of_the_hooks(python_machine, tmp_path):
    """The functions, their errors, the frames these went through, and what a profile function is told."""
    results = both([PROGRAM, "look"], tmp_path, where=python_machine, options={"TPROF_WITH_MODULES": "1"})
    assert len(results["bare"].stdout.splitlines()) >= 14


def test_steps_of_nothing_but_forwards_of_which_some_fail(python_machine, tmp_path):
    """A call that ends with an exception leaves nothing behind: the next one is an outermost one again."""
    trace, = both([PROGRAM, "forwards"], tmp_path, ways=("preload",), where=python_machine)["preload"].traces()
    assert trace.ledger["capabilities"]["steps"]["on"], trace.ledger["capabilities"]
    assert trace.steps() == list(range(6))


def test_a_child_forked_inside_a_module_call_has_its_hook(python_machine, logdir):
    assert run([PROGRAM, "forked"], where=python_machine).stdout == "False\n"
    assert run([PROGRAM, "forked"], "preload", where=python_machine, logdir=logdir).stdout == "True\n"


@pytest.mark.parametrize("option", [{"TPROF_WITH_MODULES": "1"}, {"TPROF_WITH_STACK": "1,calls"}])
def test_a_python_of_an_unknown_layout_records_no_calls_and_says_why(option, python_machine, tmp_path):
    trace, = both([PROGRAM, "unknown"], tmp_path, ways=("preload",), where=python_machine,
                  options=option)["preload"].traces()
    assert "free-threaded" in trace.ledger["capabilities"]["with_modules"]["why"]
    assert not [e for e in trace.ranges if e.get("cat") == "python_function"]
    assert trace.steps() == list(range(6))
