"""What looks at a model from inside torch sees the same with every option on: nothing of ours calls a tensor or a module."""
import ast
import pathlib

import pytest

from harness import both

PROGRAM = pathlib.Path(__file__).with_name("modes.py").resolve()
MODES = [node.name for node in ast.parse(PROGRAM.read_text()).body if isinstance(node, ast.FunctionDef) and node.decorator_list]
OPTIONS = {"TPROF_PRESET": "full", "TPROF_WITH_STACK": "calls,native", "TPROF_ACTIVITIES": "cpu,cuda"}


@pytest.mark.parametrize("options", [OPTIONS, pytest.param({}, marks=pytest.mark.full)], ids=["every option", "default"])
def test_the_same_results_graphs_and_operators(options, outer_machine, tmp_path):
    results = both([PROGRAM, *MODES], tmp_path, ways=["preload"], options=options, where=outer_machine,
                   env={"TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "inductor")}, timeout=500)
    assert results["bare"].returncode == 0, results["bare"].stderr
    assert results["bare"].stdout.count("end of ") == len(MODES)
    traces = results["preload"].traces()
    assert sum(trace.ledger["written"] for trace in traces) > 1000
