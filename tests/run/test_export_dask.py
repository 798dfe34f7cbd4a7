"""tprof.tables by Dask distributed over the files of 256 ranks, beside tprof stats."""
import collections
import gzip
import json
import subprocess

import pytest

from harness import REPO, machine, tprof

GOLDEN = REPO / "tests" / "golden"
RANKS = 256


@pytest.fixture(scope="module")
def traces(tmp_path_factory):
    """A job whose ranks are the two of gloo_ddp and their copies, each with some GPU work of another trace."""
    job = tmp_path_factory.mktemp("jobs") / "job"
    job.mkdir()
    with gzip.open(GOLDEN / "gpu-ops.1.pt.trace.json.gz") as file:
        gpu = json.load(file)
    for number, path in enumerate(sorted((GOLDEN / "gloo_ddp").iterdir())):
        with gzip.open(path) as file:
            trace = json.load(file)
        if number == 0:
            trace["deviceProperties"] = gpu["deviceProperties"]
            trace["traceEvents"] += [e for e in gpu["traceEvents"] if e.get("cat") == "kernel"]
        for rank in range(number, RANKS, 2):
            trace["distributedInfo"].update(rank=rank, world_size=RANKS)
            name = "node%d_%d_rank%d.1795527453834838762.pt.trace.json.gz" % (rank // 8, 1000 + rank, rank)
            with gzip.open(job / name, "wt", compresslevel=1) as file:
                json.dump(trace, file)
    return job


def stats(by, traces):
    done = tprof("stats", "--json", "--by", by, traces)
    return json.loads(done.stdout)["workers"]


def ns(us):
    return None if us is None else round(us * 1000)


@pytest.mark.full
def test_four_workers_find_what_stats_says_of_256_ranks(traces, tmp_path):
    done = tprof("export", "--to", "parquet", "-o", tmp_path / "tables", traces)
    assert done.returncode == 0 and "256 traces" in done.stdout, done.stderr
    assert len(list((tmp_path / "tables" / "op_agg").rglob("*.parquet"))) == RANKS
    words, environment = machine("engines").command(
        ["python3", REPO / "tests" / "engines" / "dask_tables.py", tmp_path / "tables"],
        {"PYTHONPATH": REPO / "tools" / "python"})
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found.pop("workers") == 4
    for name, (by_dask, alone) in found.items():
        assert by_dask == alone and by_dask, name

    operators, kernels = collections.Counter(), collections.Counter()
    for worker in stats("op", traces):
        for r in worker["rows"]:
            key = (r["name"], r["kind"])
            operators.update({(*key, "calls"): r["calls"], (*key, "self"): ns(r["host_self_duration"]),
                              (*key, "device"): ns(r.get("device_self_duration")) or 0})
    for worker in stats("kernel", traces):
        for r in worker["rows"]:
            kernels.update({(r["name"], "calls"): r["calls"], (r["name"], "time"): ns(r["total_duration"])})
    ours = collections.Counter()
    for job, name, kind, calls, host_self, _, device_self, _ in found["operators"][0]:
        ours.update({(name, kind, "calls"): calls, (name, kind, "self"): host_self,
                     (name, kind, "device"): device_self or 0})
    assert ours == operators and len(ours) > 30
    ours = collections.Counter()
    for job, name, calls, time, _, _ in found["kernels"][0]:
        ours.update({(name, "calls"): calls, (name, "time"): time})
    assert ours == kernels and sum(ours.values())

    job, = stats("comm", traces)
    times = {(r["name"], r["group"]): ns(r["total_latency"]) for r in job["rows"]}
    assert {(name, group): time for _, name, group, time, _ in found["collectives"][0]} == times
    ranks = {r["rank"]: (r["steps"], ns(r["computation"])) for r in job["ranks"]["rows"]}
    assert {row[1]: (row[4], row[6]) for row in found["overview"][0]} == ranks and len(ranks) == RANKS
