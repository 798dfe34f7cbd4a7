"""A script that uses torch's profiler itself keeps its whole trace under tprof, and tprof has its own in full.

Profilers of the script lie before tprof's window, over its begin, inside it and over its end.
"""
import concurrent.futures
import pathlib

import pytest

import compare
import harness

PROGRAM = pathlib.Path(__file__).with_name("models.py").resolve()
WINDOW = dict(wait=3, warmup=1, active=4, repeat=1)
STRETCHES = ["0:1", "1:3", "3:5", "5:6", "6:7", "7:9"]  # two in the wait phase, then over, in, in, over
SCHEDULED = dict(wait=1, warmup=1, active=4, repeat=1)  # as in models.py
describe = compare.facts(*compare.INPUTS, *compare.SEQUENCE)


def known_blocks(outline):
    return [line for line in outline.memory() if compare.OLDER not in line]


def run_all(where, home, runs):
    """{name: Result} of the labelled model: runs are (name, how, schedule, words)."""
    def one(item):
        name, how, schedule, words = item
        options = {"TPROF_SCHEDULE": harness.schedule_words(**schedule), "TPROF_PROFILE_MEMORY": "1"}
        more = dict(logdir=home / name, options=options) if how == "run" else {}
        return name, harness.run([PROGRAM, "labelled", *words], how, where=where, **more)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = dict(pool.map(one, runs))
    for result in results.values():
        assert result.returncode == 0, result.stderr
    return results


def same_tprof(own, plain):
    """tprof's two traces, with and without a profiler of the script. While that is on, torch hands out more scalars."""
    own, plain = (compare.Outline(compare.without_python_scalars(trace)) for trace in (own, plain))
    assert own.trace.steps() == plain.trace.steps()
    compare.assert_same(own.lines(describe), plain.lines(describe))
    compare.assert_same(own.flows(), plain.flows())
    compare.assert_same(own.memory(), plain.memory())
    assert own.memory() and not compare.total_jumps(compare.memory(own.trace))


def same_torch(with_tprof, without):
    """Two traces that the script wrote. Blocks from before its profiler are known only where tprof looks on."""
    mine, theirs = (compare.Outline(harness.Trace(path)) for path in (with_tprof, without))
    assert theirs.all() and theirs.flows()
    compare.assert_same(mine.lines(describe), theirs.lines(describe))
    compare.assert_same(mine.flows(), theirs.flows())
    compare.assert_same(known_blocks(mine), known_blocks(theirs))
    assert known_blocks(theirs) and not compare.total_jumps(compare.memory(mine.trace))


@pytest.fixture(scope="module")
def several(kineto_machine, tmp_path_factory):
    """Several profilers one after the other: {name: Result} and where their traces lie."""
    home = tmp_path_factory.mktemp("several")
    return home, run_all(kineto_machine, home, [
        ("alone", "bare", WINDOW, [home / "alone", *STRETCHES]),
        ("both", "run", WINDOW, [home / "both", *STRETCHES]),
        ("tprof", "run", WINDOW, [])])


@pytest.mark.parametrize("stretch", range(len(STRETCHES)), ids=STRETCHES)
def test_each_of_several_profilers_keeps_its_trace(several, stretch):
    home, _ = several
    same_torch("%s.%d" % (home / "both", stretch), "%s.%d" % (home / "alone", stretch))


def test_tprof_is_complete_beside_several_profilers(several):
    _, results = several
    same_tprof(*results["both"].traces(), *results["tprof"].traces())


def test_a_profiler_with_a_schedule(kineto_machine, tmp_path):
    results = run_all(kineto_machine, tmp_path, [
        ("alone", "bare", SCHEDULED, [tmp_path / "alone.json"]),
        ("both", "run", SCHEDULED, [tmp_path / "both.json"]),
        ("tprof", "run", SCHEDULED, [])])
    same_torch(tmp_path / "both.json", tmp_path / "alone.json")
    same_tprof(*results["both"].traces(), *results["tprof"].traces())


def test_the_profiler_of_a_torch_without_kineto(tmp_path):
    results = run_all(harness.HOST, tmp_path, [
        ("alone", "bare", WINDOW, [tmp_path / "alone", *STRETCHES]),
        ("both", "run", WINDOW, [tmp_path / "both", *STRETCHES]),
        ("tprof", "run", WINDOW, [])])
    for i in range(len(STRETCHES)):
        mine, theirs = (pathlib.Path("%s.%d" % (tmp_path / name, i)).read_text() for name in ("both", "alone"))
        assert theirs
        compare.assert_same(mine.splitlines(), theirs.splitlines())
    same_tprof(*results["both"].traces(), *results["tprof"].traces())
