"""What torch hands on with a thread's state arrives: callbacks that a program registers for one thread, and whether it is
observed at all, also where tprof leaves out calls that change nothing."""
import pathlib

import harness

PROGRAM = pathlib.Path(__file__).with_name("states.py").resolve()


def test_tasks_are_observed_by_whom_their_thread_was(outer_machine, tmp_path):
    # both() holds what torch's profiler saw in each step against what it sees without tprof.
    results = harness.both([PROGRAM], tmp_path, where=outer_machine,
                           options={"TPROF_SCHEDULE": "wait=2,active=2,repeat=1"})
    for way in results.keys() - {"bare"}:
        result = results[way]
        assert "CosBackward0" in result.stdout and "ExpBackward0" not in result.stdout
        trace, = result.traces()
        assert len(trace.steps()) == 2

        def per_step(name):
            return len(trace.ops(name)) / 2
        assert per_step("aten::exp") == 1
        assert per_step("aten::sigmoid") == 3, "of five tasks, those begun by a thread that was observed"
        assert [per_step(name + "Backward0") for name in ("Cos", "Sin", "Exp")] == [1, 1, 0]
