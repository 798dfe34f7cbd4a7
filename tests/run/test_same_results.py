"""A seeded training gives bit-identical losses and the same stdout with and without tprof."""
import pytest

from harness import REPO, both, run


@pytest.mark.parametrize("options", [{}, {"TPROF_PRESET": "light"}, {"TPROF_PRESET": "full"},
                                     {"TPROF_SCHEDULE": "wait=2,warmup=1,active=2"}],
                         ids=["default", "light", "full", "schedule"])
def test_seeded_training_is_bit_identical(options, tmp_path):
    results = both(["seeded.py"], tmp_path, options=options)
    assert results["bare"].stdout.count("0x") == 24
    for way in results.keys() - {"bare"}:
        assert results[way].traces()


def test_the_demo(logdir):
    result = run([REPO / "tools" / "demo" / "train.py", 1], "run", logdir=logdir)
    assert result.returncode == 0 and result.stdout.startswith("epoch 0: ")
    assert [t.steps() for t in result.traces()] == [list(range(8))]
