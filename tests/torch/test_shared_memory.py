"""Shared memory, whose allocator reports a total of 0, leaves the running totals of ordinary memory alone."""
import pathlib

import pytest

import compare
import harness

PROGRAM = pathlib.Path(__file__).with_name("shared.py").resolve()


@pytest.fixture(scope="module")
def events(outer_machine, tmp_path_factory):
    """[memory] events of the main thread."""
    result = harness.run([PROGRAM], "run", where=outer_machine, logdir=tmp_path_factory.mktemp("shared"),
                         options={"TPROF_PROFILE_MEMORY": "1"})
    assert (result.returncode, result.stdout) == (0, "ran\n"), result.stderr
    trace, = result.traces()
    found = compare.memory(trace)
    assert {e["tid"] for e in found} == {trace.pid}
    return [e["args"] for e in found]


def shared(args):
    """Marked by tprof: not in the totals."""
    return "tprof" in args


def test_totals_run_on(events):
    for before, after in zip(events, events[1:]):
        change = 0 if shared(after) else after["Bytes"]
        assert after["Total Allocated"] == before["Total Allocated"] + change, (before, after)
    assert min(args["Total Allocated"] for args in events) >= 0


def test_shared_blocks_come_and_go(events):
    """3000 floats by hand, then three batches of 20 x 500; each block is released at its own address."""
    sizes = [args["Bytes"] for args in events if shared(args) and args["Bytes"] > 0]
    assert sizes.count(12000) == 1 and sizes.count(40000) == 3
    alive = {}
    for args in filter(shared, events):
        alive[args["Addr"]] = alive.get(args["Addr"], 0) + args["Bytes"]
    assert not any(alive.values())


def test_ordinary_blocks_are_not_taken_for_shared(events):
    """The two tensors that are moved to shared memory or filled from it are ordinary ones before."""
    sizes = [args["Bytes"] for args in events if not shared(args)]
    assert {4000, 12000, -12000, 120000, 40000} <= set(sizes)
