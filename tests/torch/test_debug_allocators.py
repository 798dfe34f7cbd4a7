"""A Python whose allocators check what is given back to them: nothing of ours is freed by another than took it."""
import pathlib

import pytest

from harness import both

SCENARIOS = pathlib.Path(__file__).with_name("scenarios.py").resolve()
WAYS = {"dev": (["-X", "dev"], {}), "devmode": ([], {"PYTHONDEVMODE": "1"}), "debug": ([], {"PYTHONMALLOC": "debug"}),
        "malloc_debug": ([], {"PYTHONMALLOC": "malloc_debug"})}


@pytest.mark.parametrize("way", WAYS)
def test_without_torch(way, python_machine, tmp_path):
    flags, env = WAYS[way]
    results = both([*flags, "-c", "print(len('four'))"], tmp_path, ways=("run", "preload"), env=env, where=python_machine)
    assert results["bare"].returncode == 0 and results["preload"].stderr == ""


@pytest.mark.spread(2)
@pytest.mark.parametrize("way", ["dev", "malloc_debug"])
def test_a_training_with_every_option(way, python_machine, tmp_path):
    flags, env = WAYS[way]
    results = both([*flags, SCENARIOS, "plain_with_loader"], tmp_path, ways=["preload"],
                   env={"PYTHONWARNINGS": "ignore", **env}, where=python_machine,
                   options={"TPROF_PRESET": "full", "TPROF_WITH_STACK": "calls"})
    traces = results["preload"].traces()  # what torch calls while it is imported may fill one
    assert results["bare"].returncode == 0 and [step for trace in traces for step in trace.steps()] == list(range(10))
