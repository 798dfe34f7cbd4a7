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
    """With half a step; the real share is measured by tests/ranks/planted. Of three times one must not meet a busy
    machine, which keeps a rank waiting, too."""
    for seed in (3, 4, 5):
        slow, named, said = planted.one_run(where, seed, 16, 0.5, tmp_path)
        if named == [(slow, planted.STAGE[where])]:
            return
    pytest.fail("%s of rank %d: %s, %s" % (where, slow, named, said))
