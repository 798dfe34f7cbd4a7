"""Jobs on real gloo: one trace per rank, named by rank; every collective is found on every rank, with what it moved, in
which group and as which of its calls; and --ranks."""
import json

import pytest

from harness import TORCHES, machine, run, torch_version, tprof


SIZES = [2, pytest.param(4, marks=pytest.mark.full)]


def job(tmp_path, what, ranks, how="env", where=TORCHES[0], **options):
    place = machine(where)
    result = run(["gloo_collectives.py", what, ranks, how], "run", logdir=tmp_path, where=place, options=options)
    assert result.returncode == 0, result.stderr
    assert result.stdout == ("spawned\n" if how == "spawn" else str([0] * ranks) + "\n"), result.stderr
    return result


def by_rank(result):
    return {trace.data["distributedInfo"]["rank"]: trace for trace in result.traces()}


def collectives(trace):
    """By group and number: of two that are under way at once, either may begin first on a rank's threads of gloo."""
    found = [e for e in trace.ranges if "Collective name" in e.get("args", {})]
    return sorted(found, key=lambda e: (e["args"].get("Process Group Name", ""), e["args"].get("Seq", 0), e["ts"]))


def key(event):
    args = event["args"]
    return tuple(args.get(field) for field in ("Process Group Name", "Seq", "Collective name", "dtype", "In msg nelems",
                                               "Out msg nelems", "Group size", "Process Group Ranks"))


def assert_all_matched(result):
    said, = json.loads(tprof("stats", "--by", "comm", "--json", result.logdir).stdout)["workers"]
    assert said["rows"] and not [note for note in said["notes"] if "not in the traces of all ranks" in note], said["notes"]


@pytest.mark.parametrize("ranks", SIZES)
@pytest.mark.parametrize("how", ["env", "spawn"])
@pytest.mark.parametrize("where", TORCHES)
def test_each_collective_is_the_same_on_all_ranks(tmp_path, where, how, ranks):
    result = job(tmp_path, "ops", ranks, how, where)
    traces = by_rank(result)
    assert sorted(traces) == list(range(ranks))
    for rank, trace in traces.items():
        assert trace.path.name.split(".")[0].endswith("_rank%d" % rank)
        info = trace.data["distributedInfo"]
        assert info["world_size"] == ranks and info["node"] == trace.data["host_name"]
        assert how == "spawn" or info["local_rank"] == rank
    all_ranks = "[%s]" % ", ".join(map(str, range(ranks)))
    shared = [[key(e) for e in collectives(traces[rank]) if e["args"].get("Process Group Ranks") == all_ranks and
               e["args"].get("Group size") == ranks and e["args"]["Process Group Name"] == "0"] for rank in traces]
    assert all(calls == shared[0] for calls in shared)
    assert [k[1] for k in shared[0]] == list(range(shared[0][0][1], shared[0][0][1] + len(shared[0])))
    names = {"allreduce", "all_gather", "broadcast", "reduce", "gather", "scatter", "barrier"}
    by_name = {k[2]: k for k in shared[0]}
    if torch_version(machine(where)) >= (2, 0):
        names |= {"_allgather_base", "_reduce_scatter_base", "all_to_all"}
        assert by_name["_allgather_base"][3:6] == ("Float", 6, 6 * ranks)
        assert by_name["_reduce_scatter_base"][3:6] == ("Float", 2 * ranks, 2)
    assert set(by_name) == names
    for rank in (0, 1):
        trace = traces[rank]
        pair, = [e for e in collectives(trace) if e["args"].get("dtype") == "Double"]
        assert (pair["args"]["Process Group Name"], pair["args"]["Process Group Ranks"]) == ("1", "[0, 1]")
        large, = [e for e in collectives(trace) if e["args"].get("In msg nelems") == 1 << 20]
        assert large["name"] == "gloo:all_reduce"
        # Seen by what the thread does meanwhile: rank 0 is early and does something, rank 1 comes too late for that.
        assert rank != 0 or large["args"]["Async"] == 1
    assert_all_matched(result)


@pytest.mark.parametrize("ranks", SIZES)
@pytest.mark.parametrize("what, where", [("ddp", "1.13"), ("ddp", "2.6"), ("ddp", "2.15"), ("fsdp", "2.15")])
def test_training_has_equal_steps_and_matching_collectives(tmp_path, what, where, ranks):
    result = job(tmp_path, what, ranks, "spawn" if where == "2.6" else "env", where)
    traces = by_rank(result)
    assert sorted(traces) == list(range(ranks))
    assert {tuple(trace.steps()) for trace in traces.values()} == {(0, 1, 2, 3)}
    calls = [list(map(key, collectives(trace))) for trace in traces.values()]
    assert all(each == calls[0] for each in calls)
    names = {e["args"]["Collective name"] for e in collectives(traces[0])}
    assert ({"_allgather_base", "_reduce_scatter_base"} if what == "fsdp" else {"allreduce", "broadcast"}) <= names
    assert_all_matched(result)


def test_uneven_inputs_are_uneven_steps_and_said(tmp_path):
    result = job(tmp_path, "join", 2, "env", "2.6")
    traces = by_rank(result)
    assert {rank: len(trace.steps()) for rank, trace in traces.items()} == {0: 4, 1: 6}
    assert [key(e) for e in collectives(traces[0])] == [key(e) for e in collectives(traces[1])]
    said = tprof("stats", "--by", "comm", result.logdir).stdout
    assert "the ranks did not make equally many steps" in " ".join(said.split()), said


@pytest.mark.parametrize("how", ["env", "spawn"])
def test_ranks_that_are_not_wanted_leave_nothing(tmp_path, how):
    result = job(tmp_path, "ddp", 3, how, "2.6", TPROF_RANKS="0,2-7")
    assert sorted(by_rank(result)) == [0, 2]
    assert not [path for path in tmp_path.iterdir() if "rank1" in path.name]
    looked = tprof("overview", "--all-ranks", result.logdir)
    assert looked.returncode == 0, looked.stdout  # a rank that was not wanted is not missing


@pytest.mark.parametrize("own", ["'RANK': '0', 'WORLD_SIZE': '2'", ""])
def test_a_launcher_that_imports_torch_is_no_rank(tmp_path, own):
    """What it starts is a program, also if it has the launcher's own variables only."""
    script = tmp_path / "torchrun"
    script.write_text("import torch, subprocess, sys, os\ntorch.ones(3) + 1\n"
                      "sys.exit(subprocess.call([sys.executable, *sys.argv[1:]], env={**os.environ, %s}))\n" % own)
    logdir = tmp_path / "log"
    child = "import torch; [torch.ones(3) + 1 for _ in range(9)]"
    result = run(["/usr/bin/python3", script, "-c", child], "run", logdir=logdir,
                 env={"SLURM_PROCID": "0", "SLURM_NTASKS": "2"})
    trace, = result.traces()
    assert len(trace.ops("aten::add")) == 9 and trace.data["distributedInfo"]["rank"] == 0


def test_a_bad_list_of_ranks_is_refused(tmp_path):
    result = run(["-c", "import torch"], "run", logdir=tmp_path, options={"TPROF_RANKS": "3-1"})
    assert "TPROF_RANKS: '3-1' is not a rank" in result.stderr
