"""Programs of torch.distributed as users write them (apps/gloo_programs.py), two ranks on real gloo: one trace per rank,
equal steps, every call found on all ranks that take part, and every command shows the job."""
import json

import pytest

import quick
from harness import machine, run, tprof
from test_collectives import by_rank, collectives, key

# Together in a job: what trains, what only calls collectives, and what moves data between two ranks, after which torch's
# numbers of a group differ from rank to rank.
TRAIN = ["ddp_static_graph", "ddp_unused", "ddp_buffers", "powersgd", "zero", "post_local_sgd", "fsdp1", "pipeline"]
CALLS = ["subgroups", "objects", "functional_autograd", "lists", "functional", "coalesced", "dtensor"]
TRANSFERS = ["point_to_point", "barriers"]
JOBS = {
    "train-2.6": TRAIN, "train-2.15": TRAIN + ["fsdp2", "tensor_parallel"],
    "calls-2.6": CALLS, "calls-2.15": CALLS + ["reduce_scatter_list"],
    "transfers-2.6": TRANSFERS, "transfers-2.15": TRANSFERS,
}
SLOW = {"compiled-2.15": ["compiled", "compiled_ddp"]}
WORLDS = [pytest.param((job, 2), id=job) for job in JOBS] + [
    pytest.param((job, 2), id=job, marks=pytest.mark.full) for job in SLOW] + [
    pytest.param((job, 4), id=job + "-4", marks=pytest.mark.full) for job in JOBS]
STEPS = 3  # of each program


@pytest.fixture(scope="module", params=WORLDS)
def job(request, tmp_path_factory):
    quick.takes_long()
    name, world = request.param
    programs = {**JOBS, **SLOW}[name]
    if world == 4 and "train-2.15" == name:
        programs = programs + ["hsdp"]
    logdir = tmp_path_factory.mktemp(name)
    result = run(["gloo_programs.py", ",".join(programs), world], "run", logdir=logdir,
                 where=machine(name.split("-")[1]))
    assert (result.returncode, result.stdout) == (0, str([0] * world) + "\n"), result.stderr
    return name.split("-")[0], programs, world, by_rank(result), logdir


def comm(logdir):
    said, = json.loads(tprof("stats", "--by", "comm", "--json", logdir).stdout)["workers"]
    return said


def test_every_call_is_in_the_traces_of_all_ranks_that_take_part(job):
    kind, _, world, traces, logdir = job
    assert sorted(traces) == list(range(world))
    assert comm(logdir)["rows"] and not comm(logdir)["notes"]
    found = {}
    for rank, trace in traces.items():
        # Torch counts these on each rank for itself, and newer ones count collectives of the same group with them; the note
        # would say what has no counterpart.
        transfers = {e["args"]["Process Group Name"] for e in collectives(trace)
                     if e["args"].get("Collective name") in ("send", "recv")}
        for event in collectives(trace):
            args = event["args"]
            assert "Process Group Name" in args and event["name"].split(":")[0] in ("gloo", "c10d"), event
            if kind == "transfers" or args["Collective name"] in ("send", "recv"):
                continue
            if args["Process Group Name"] in transfers and "Seq" not in args:
                continue
            found.setdefault((args["Process Group Name"], args["Seq"], args["Collective name"]), []).append(
                (rank, key(event)))
    for place, calls in found.items():
        members = json.loads(calls[0][1][7])
        assert sorted(rank for rank, _ in calls) == members, (place, calls)
        same = place[2] not in ("all_to_all", "gather", "scatter")  # whose sizes differ from rank to rank
        assert not same or len({call for _, call in calls}) == 1, (place, calls)


def test_labels_of_gloo_belong_to_calls(job):
    """Those that are parts of others (reduce_scatter, monitored_barrier) begin while these run."""
    for trace in job[3].values():
        calls = collectives(trace)
        whole = [(e["ts"], e["ts"] + e["dur"]) for e in trace.ops() if e["name"].startswith((
            "c10d::reduce_scatter", "c10d::_reduce_scatter", "c10d::monitored_barrier"))]
        shown = {(e["ts"], e["tid"]) for e in calls}
        parts = [e for e in trace.ranges if e["name"].startswith("gloo:") and (e["ts"], e["tid"]) not in shown]
        assert all(any(begin <= part["ts"] for begin, _ in whole) for part in parts)
        assert not [e for e in calls if e["name"].startswith("c10d::") and "monitored" not in e["name"]]


def test_ranks_make_the_same_steps(job):
    kind, programs, _, traces, _ = job
    steps = {tuple(trace.steps()) for trace in traces.values()}
    assert len(steps) == 1, steps
    if kind == "train":
        assert steps == {tuple(range(STEPS * len(programs)))}


@pytest.mark.parametrize("words", [["overview"], ["overview", "--all-ranks"], ["advise"], ["stats", "--by", "comm"],
                                   ["report", "-o", "{out}.html"], ["merge", "-o", "{out}.json"]],
                         ids=lambda words: "_".join(word for word in words if word.isalpha()))
def test_commands_show_the_job(job, words, tmp_path):
    out = tmp_path / "out"
    said = tprof(words[0], job[4], *[word.format(out=out) for word in words[1:]])
    assert said.returncode == 0, said.stderr
    for path in tmp_path.iterdir():
        assert path.stat().st_size > 10_000
    if words[0] not in ("report", "merge"):
        assert "rank 0" in said.stdout or "Rank" in said.stdout
