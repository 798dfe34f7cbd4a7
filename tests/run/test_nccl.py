"""NCCL without torch, on the simulated one: ranks that meet, what their traces say, and its profiler plugin interface."""
import collections
import json
import re

import pytest

from harness import BUILD, check, run, tprof

SIM = BUILD / "tests" / "fake" / "simcuda-run"
CUDA = BUILD / "tests" / "apps" / "cuda"
ROUNDS = 6
# What the world does in each round, and its largest number of elements.
COUNT = 1 << 15
SHARED = ["allreduce", "broadcast", "reduce", "_allgather_base", "_reduce_scatter_base", "all_to_all", "allreduce",
          "allreduce"]


def job(directory, ranks, rounds=ROUNDS, words=(), **environment):
    result = run([SIM, CUDA / "nccl_ranks", ranks, rounds, *words], "run", logdir=directory, env=environment)
    size = (ranks + 1) // 2
    assert result.stdout == "nccl_ranks: %d ranks, %d rounds, half of %d, 0 wrong\n" % (ranks, rounds, size), result
    assert result.returncode == 0
    return result


def answer(*words, code=0):
    said = tprof(*words)
    assert said.returncode == code, said.stderr
    return json.loads(said.stdout)


def by_rank(result):
    return {trace.data["distributedInfo"]["rank"]: trace for trace in result.traces()}


def said_of(trace, category):
    """The events that state a collective, in order of time."""
    return sorted((e for e in trace.data["traceEvents"] if e.get("cat") == category and
                   "Collective name" in e.get("args", {})), key=lambda e: e["ts"])


@pytest.fixture(scope="module", params=[2, 4])
def ranks(request, tmp_path_factory):
    return request.param, job(tmp_path_factory.mktemp("job"), request.param)


def test_one_trace_per_rank_names_every_operation(ranks):
    count, result = ranks
    traces = by_rank(result)
    assert sorted(traces) == list(range(count))
    shared = []
    for rank, trace in traces.items():
        check(trace.path)
        calls = said_of(trace, "user_annotation")
        assert len(calls) == ROUNDS * 11
        world = [e["args"] for e in calls if e["args"]["Group size"] == count and e["args"]["Group Rank"] == rank and
                 "Seq" in e["args"] and e["args"]["Process Group Name"] == calls[0]["args"]["Process Group Name"]]
        assert [a["Collective name"] for a in world] == SHARED * ROUNDS
        assert [a["Seq"] for a in world] == list(range(1, len(world) + 1))
        assert {a["dtype"] for a in world} == {"Float"}
        part = COUNT // count
        assert [(a["In msg nelems"], a["Out msg nelems"]) for a in world[:8]] == [
            (COUNT, COUNT), (COUNT, COUNT), (1000, 1000), (part, COUNT), (COUNT, part), (COUNT, COUNT), (100, 100),
            (200, 200)]
        assert [a.get("Peer or root rank") for a in world[:3]] == [None, 1, 0]
        shared.append([(a["Process Group Name"], a["Seq"], a["Collective name"]) for a in world])
        pairs = [e["args"] for e in calls if e["args"]["Collective name"] in ("send", "recv")]
        assert [(a["Collective name"], a["Peer or root rank"]) for a in pairs[:2]] == [
            ("send", (rank + 1) % count), ("recv", (rank - 1) % count)]
    assert all(one == shared[0] for one in shared)


def test_kernels_state_the_collective_that_they_carry_out(ranks):
    count, result = ranks
    for trace in by_rank(result).values():
        kernels = [e for e in trace.data["traceEvents"] if e.get("cat") == "kernel"]
        assert len(kernels) == ROUNDS * 9  # two groups have one kernel for two calls
        stated = collections.Counter(e["args"].get("Collective name", "") for e in kernels)
        assert stated == {"allreduce": 2 * ROUNDS, "broadcast": ROUNDS, "reduce": ROUNDS, "_allgather_base": ROUNDS,
                          "_reduce_scatter_base": ROUNDS, "all_to_all": ROUNDS, "": 2 * ROUNDS}
        correlations = {e["args"]["correlation"] for e in kernels}
        assert {e["args"]["Kernel correlation"] for e in said_of(trace, "user_annotation")} == correlations


def test_every_call_is_matched_across_ranks(ranks):
    count, result = ranks
    worker, = answer("stats", "--by", "comm", "--json", result.logdir)["workers"]
    assert not [note for note in worker["notes"] if "not in the traces" in note], worker["notes"]
    rows = collections.Counter()
    for row in worker["rows"]:
        rows[row["name"]] += row["calls"]
        if row["name"] not in ("send", "recv"):
            assert row["bus_bandwidth"] > 0 and row["waiting"] >= 0, row
    assert rows == {"allreduce": 4 * ROUNDS * count, "broadcast": ROUNDS * count, "reduce": ROUNDS * count,
                    "_allgather_base": ROUNDS * count, "_reduce_scatter_base": ROUNDS * count,
                    "all_to_all": ROUNDS * count, "send": ROUNDS * count, "recv": ROUNDS * count}


def test_the_kernel_of_each_rank_ends_when_the_last_has_come(ranks):
    count, result = ranks
    ends = [[e["ts"] * 1000 + e["dur"] * 1000 + trace.data["baseTimeNanoseconds"] for e in said_of(trace, "kernel")]
            for trace in by_rank(result).values()]
    for one in zip(*[rank[:3] for rank in ends]):
        assert max(one) - min(one) < 50_000, one


@pytest.mark.parametrize("late", [0, 3])
def test_the_late_rank_is_named(tmp_path, late):
    result = job(tmp_path, 4, 20, ["steps"], SIMNCCL_DELAY="%d:4000000" % late)
    said = tprof("stats", "--by", "comm", result.logdir).stdout
    assert re.search(r"rank %d \([^)]*\) keeps the other ranks waiting" % late, said), said
    assert len(re.findall("keeps the other ranks waiting", said)) == 1


def test_one_timeline_keeps_the_gpus_of_ranks_apart(ranks, tmp_path):
    count, result = ranks
    out = tmp_path / "all.json"
    answer("merge", "--json", result.logdir, "-o", out)
    check(out)
    events = json.loads(out.read_text())["traceEvents"]
    kernels = [e for e in events if e.get("cat") == "kernel"]
    assert len(kernels) == count * ROUNDS * 9
    rows = collections.Counter((e["pid"], e["tid"]) for e in kernels)
    assert sorted(rows.values()) == [ROUNDS * 9] * count, "a row of its own for the stream of each rank"
    correlations = collections.Counter(e["args"]["correlation"] for e in kernels)
    assert max(correlations.values()) == 1
    names = {e["pid"]: e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "process_name"}
    assert len({pid for pid, _ in rows}) == count and all("rank" in names[pid] for pid, _ in rows)
    launches = {e["args"]["correlation"]: e["pid"] for e in events if e.get("cat") == "cuda_runtime" and
                "correlation" in e.get("args", {})}
    assert all(k["args"]["correlation"] in launches for k in kernels)
    assert {e["args"]["Kernel correlation"] for e in events if "Kernel correlation" in e.get("args", {})} == set(
        correlations)


def test_without_gpu_activities_calls_are_listed_as_calls(tmp_path):
    result = job(tmp_path, 2, SIMCUPTI_BUSY="all")
    worker, = answer("stats", "--by", "comm", "--json", result.logdir)["workers"]
    assert sum(row["calls"] for row in worker["rows"]) == 2 * 11 * ROUNDS
    assert all(row["bus_bandwidth"] is None and row["waiting"] is None for row in worker["rows"])
    assert any("no kernel" in note for note in worker["notes"]), worker["notes"]


def test_only_torchs_own_operators_of_a_trace_without_kernels(tmp_path):
    """The CPU side of a public trace: record_param_comms alone says what was started."""
    for rank in range(2):
        events = [{"ph": "X", "cat": "cpu_op", "name": "record_param_comms", "pid": 1, "tid": 1, "ts": 100 * i + 7 * rank,
                   "dur": 20, "args": {"External id": i + 1, "Collective name": name, "In msg nelems": 50,
                                       "Out msg nelems": 50, "Group size": 2, "dtype": "Float", "Seq": i,
                                       "Process Group Name": "0", "Process Group Ranks": "[0, 1]"}}
                  for i, name in enumerate(["init", "allreduce", "wait", "allreduce"])]
        (tmp_path / ("host_%d.1.pt.trace.json" % rank)).write_text(json.dumps({
            "schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": 2},
            "traceEvents": events}))
    worker, = answer("stats", "--by", "comm", "--json", tmp_path)["workers"]
    row, = worker["rows"]
    assert (row["name"], row["group"], row["calls"], row["total_size"]) == ("allreduce", "0", 4, 400)
    assert row["bus_bandwidth"] is None and any("no kernel" in note for note in worker["notes"])


def test_an_operator_of_torch_that_calls_nccl_is_listed_without_its_kernel(tmp_path):
    for rank in range(2):
        said = {"Collective name": "allreduce", "In msg nelems": 50, "Out msg nelems": 50, "Group size": 2, "Seq": 4,
                "dtype": "Float", "Process Group Name": "0", "Process Group Ranks": "[0, 1]"}
        events = [{"ph": "X", "cat": "cpu_op", "name": "c10d::allreduce_", "pid": 1, "tid": 1, "ts": 100, "dur": 50,
                   "args": {"External id": 1, **said}},
                  {"ph": "X", "cat": "user_annotation", "name": "ncclAllReduce", "pid": 1, "tid": 1, "ts": 110, "dur": 20,
                   "args": {"External id": 2}}]
        (tmp_path / ("host_%d.1.pt.trace.json" % rank)).write_text(json.dumps({
            "schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": 2},
            "traceEvents": events}))
    worker, = answer("stats", "--by", "comm", "--json", tmp_path)["workers"]
    row, = worker["rows"]
    assert (row["name"], row["calls"], row["total_size"], row["data_transfer"]) == ("allreduce", 2, 200, None)


# --- NCCL's profiler plugin interface

def plugin_of(result):
    return [e["args"] for trace in result.traces() for e in trace.data["traceEvents"]
            if "Network time (ns)" in e.get("args", {}) and e.get("cat") == "user_annotation"]


@pytest.mark.parametrize("version", [4, 5, 6])
def test_what_both_interposition_and_the_plugin_see_is_recorded_once(tmp_path, version):
    result = job(tmp_path, 2, SIMNCCL_PROFILER=str(version))
    for trace in by_rank(result).values():
        assert len(said_of(trace, "user_annotation")) == 11 * ROUNDS
    networked = plugin_of(result)
    assert len(networked) == 2 * 11 * ROUNDS and all(a["Network time (ns)"] > 0 for a in networked)


def test_a_plugin_that_is_set_is_left_alone(tmp_path):
    assert plugin_of(job(tmp_path, 2, NCCL_PROFILER_PLUGIN="none")) == []


@pytest.mark.parametrize("version", [4, 5, 6])
def test_a_host_that_calls_past_the_interposed_functions(tmp_path, version):
    result = run([SIM, CUDA / "nccl_profiler_host", version, "calls"], "run", logdir=tmp_path)
    mask = 2 | 4 | 8 | (4096 if version == 6 else 0)
    assert result.stdout == "mask %d, contexts 1\nhandles 1\n0 failed\n" % mask, result
    trace, = result.traces()
    said = said_of(trace, "user_annotation")
    assert [(e["name"], e["args"]["Process Group Name"], e["args"]["Group size"], e["args"]["Group Rank"],
             e["args"]["dtype"], e["args"].get("Seq")) for e in said] == [
        ("ncclAllReduce", "0000000000abcdef", 2, 1, "Float", 7), ("ncclSend", "0000000000123456", 4, 3, "Char", None)]
    assert said[0]["args"]["In msg nelems"] == 1000 and said[1]["args"]["Peer or root rank"] == 2
    assert 20_000_000 <= said[0]["args"]["Network time (ns)"] < 60_000_000_000


@pytest.mark.parametrize("version", [4, 5, 6])
def test_what_no_nccl_should_do_is_survived(tmp_path, version):
    result = run([SIM, CUDA / "nccl_profiler_host", version, "hostile"], "run", logdir=tmp_path)
    assert result.returncode == 0 and result.stdout.endswith("\n0 failed\n"), result
    assert set(re.findall(r" (\d)$", result.stdout, re.M)) == {"1"}
    trace, = result.traces()
    check(trace.path)


@pytest.mark.parametrize("version", [4, 6])
def test_threads_of_nccl_do_not_wait_for_each_other(tmp_path, version):
    result = run([SIM, CUDA / "nccl_profiler_host", version, "threads"], "run", logdir=tmp_path)
    assert (result.returncode, result.stdout) == (0, "0 failed\n"), result
    trace, = result.traces()
    said = said_of(trace, "user_annotation")
    groups = collections.Counter(e["args"]["Process Group Name"] for e in said)
    assert sorted(groups.values()) == [5000] * 8
    assert all("Network time (ns)" in e["args"] for e in said)


def test_without_tprof_there_is_no_plugin(tmp_path):
    result = run([SIM, CUDA / "nccl_profiler_host", 6, "calls"], "bare")
    assert result.stdout == "no plugin\n0 failed\n"
