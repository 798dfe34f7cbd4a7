"""Short version of tests/ranks/planted: the rank and the stage that keep the other one waiting, on real gloo."""
import importlib.machinery
import importlib.util
import pathlib

import pytest

PATH = pathlib.Path(__file__).resolve().parents[1] / "ranks" / "planted"
LOADER = importlib.machinery.SourceFileLoader("planted", str(PATH))
planted = importlib.util.module_from_spec(importlib.util.spec_from_loader("planted", LOADER))
LOADER.exec_module(planted)


@pytest.mark.spread(2)
@pytest.mark.parametrize("where", sorted(planted.STAGE))
def test_the_slow_rank_and_its_stage_are_named(where, tmp_path):
    """With half a step, so that a busy machine does not decide; the real share is measured by tests/ranks/planted."""
    slow, named, said = planted.one_run(where, 3, 16, 0.5, tmp_path)
    assert named == [(slow, planted.STAGE[where])], said
