"""`tprof merge`: the ranks of a real job as one timeline, and clocks that are known to be wrong."""
import collections
import gzip
import json
import shutil

import pytest

from harness import check, run, tprof

STEPS = 12


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    result = run(["gloo_ranks.py", STEPS, 5], "run", logdir=tmp_path_factory.mktemp("job"),
                 options={"TPROF_WITH_STACK": "1"})
    assert (result.returncode, result.stdout) == (0, "[0, 0]\n"), result.stderr
    assert len(result.traces()) == 2
    return result


def merged(paths, out, code=0):
    """(what --json says, the document)"""
    answer = tprof("merge", "--json", *paths, "-o", out)
    assert answer.returncode == code, answer.stderr
    return json.loads(answer.stdout), json.loads(gzip.open(out).read())


@pytest.fixture(scope="module")
def timeline(job, tmp_path_factory):
    return merged([job.logdir], tmp_path_factory.mktemp("merged") / "all.json.gz")


def by_rank(job):
    return sorted((trace.data for trace in job.traces()), key=lambda data: data["distributedInfo"]["rank"])


def test_every_event_of_every_rank_is_there(job, timeline):
    said, data = timeline
    phases = collections.Counter(e["ph"] for e in data["traceEvents"] if e["ph"] != "M")
    assert phases == sum((collections.Counter(e["ph"] for e in one["traceEvents"] if e["ph"] != "M")
                          for one in by_rank(job)), collections.Counter())
    assert said["left_out"] == 0 and said["events"] >= sum(phases.values())
    names = collections.Counter(e["name"] for e in data["traceEvents"] if e["ph"] == "X")
    assert names == sum((collections.Counter(e["name"] for e in one["traceEvents"] if e["ph"] == "X")
                         for one in by_rank(job)), collections.Counter())


def test_each_rank_has_rows_of_its_own_with_its_name(job, timeline):
    _, data = timeline
    names = {e["pid"]: e["args"]["name"] for e in data["traceEvents"] if e["name"] == "process_name"}
    ranks = {pid: name for pid, name in names.items() if not name.endswith("Spans")}
    host = by_rank(job)[0]["host_name"]
    assert sorted(ranks.values()) == ["rank 0 (%s)" % host, "rank 1 (%s)" % host]
    assert sorted(set(names.values()) - set(ranks.values())) == sorted(name + ": Spans" for name in ranks.values())
    for pid, name in ranks.items():
        one = by_rank(job)[int(name.split()[1])]["traceEvents"]
        rows = collections.Counter(e["tid"] for e in one if e["ph"] == "X" and e["name"] != "PyTorch Profiler (0)")
        own = collections.Counter(e["tid"] for e in data["traceEvents"] if e["ph"] == "X" and e["pid"] == pid)
        assert sorted(rows.values()) == sorted(own.values())
    assert all(type(e[key]) is int for e in data["traceEvents"] for key in ("pid", "tid"))
    tids = collections.defaultdict(set)
    for e in data["traceEvents"]:
        if e["ph"] == "X":
            tids[e["tid"]].add(e["pid"])
    assert all(len(pids) == 1 for tid, pids in tids.items() if tid)


def test_no_id_occurs_twice(job, timeline):
    _, data = timeline
    events = data["traceEvents"]
    for key in ("External id", "Ev Idx"):
        ids = [e["args"][key] for e in events if e["ph"] == "X" and key in e.get("args", {})]
        assert ids and len(ids) == len(set(ids)), key
    arrows = collections.Counter((e["ph"], e["cat"], e["id"]) for e in events if e["ph"] in "sf")
    assert arrows and max(arrows.values()) == 1
    pairs = sum(len({e["id"] for e in one["traceEvents"] if e["ph"] == "s"}) for one in by_rank(job))
    assert len({e["id"] for e in events if e["ph"] == "s"}) == pairs


def test_stacks_are_those_of_the_traces(job, timeline):
    _, data = timeline

    def stack(document, frame):
        out = []
        while frame is not None:
            frame = str(frame)
            out.append(document["stackFrames"][frame]["name"])
            frame = document["stackFrames"][frame].get("parent")
        return tuple(out)

    def stacks(document):
        return collections.Counter((e["name"], stack(document, e["sf"])) for e in document["traceEvents"] if "sf" in e)
    expected = sum((stacks(one) for one in by_rank(job)), collections.Counter())
    assert expected and stacks(data) == expected


def test_ranks_of_one_machine_keep_their_times(job, timeline):
    said, data = timeline
    assert len(said["clocks"]) == 1 and said["clocks"][0]["moved_by_us"] == 0
    base = data["baseTimeNanoseconds"]
    for one in by_rank(job):
        before = sorted(round(e["ts"] * 1000) + one["baseTimeNanoseconds"] for e in one["traceEvents"]
                        if e["name"].startswith("ProfilerStep#") and e["ph"] == "X")
        after = {round(e["ts"] * 1000) + base for e in data["traceEvents"] if e["name"].startswith("ProfilerStep#")}
        assert before and set(before) <= after


def test_the_timeline_is_valid_and_is_not_taken_for_a_trace(job, timeline, tmp_path):
    directory = tmp_path / "job"
    shutil.copytree(job.logdir, directory)
    out = directory / "all.json.gz"
    merged([directory], out)
    check(out)
    ranks = json.loads(tprof("overview", "--json", directory).stdout)["workers"]
    assert len(ranks) == 2
    alone = tprof("overview", out)
    assert alone.returncode == 3 and "tprof merge" in alone.stderr
    merged([directory], out)  # its own file is written again, no other one
    other = directory / next(p.name for p in directory.iterdir() if p.name.endswith(".pt.trace.json.gz"))
    refused = tprof("merge", directory, "-o", other)
    assert refused.returncode == 2 and "not overwritten" in refused.stderr


def moved(job, directory, ns, boot=None):
    """The job with the clock of rank 1 moved."""
    directory.mkdir()
    for trace in job.traces():
        data = json.loads(json.dumps(trace.data))
        if data["distributedInfo"]["rank"] == 1:
            data["baseTimeNanoseconds"] += ns
            data["host_name"] = "b"
            if boot:
                data["tprof"]["span"]["boot"] = boot
        (directory / trace.path.name).write_bytes(gzip.compress(json.dumps(data).encode(), 1))
    return directory


@pytest.mark.parametrize("boot", ["another", None], ids=["other_boot", "same_boot"])
@pytest.mark.parametrize("ns", [5_000_000, -5_000_000, 3_600_000_000_000])
def test_a_wrong_clock_is_found_within_the_stated_error(job, tmp_path, ns, boot):
    if boot is None and abs(ns) < 1e9:
        pytest.skip("within the calls' durations, a common clock is not contradicted")
    said, data = merged([moved(job, tmp_path / "job", ns, boot)], tmp_path / "all.json.gz")
    first, second = said["clocks"]
    assert abs(second["ahead_us"] - ns / 1e3) <= second["error_us"] < 50_000, second
    assert second["collectives"] >= STEPS
    low, high = second["quartiles_us"]
    assert low <= high
    if second["error_us"] < abs(second["ahead_us"]):
        assert second["moved_by_us"] == -second["ahead_us"]
    else:
        assert second["moved_by_us"] == 0
    assert "no order" in second["text"]
    labels = [e["args"]["labels"] for e in data["traceEvents"] if e["name"] == "process_labels"]
    assert any("error" in label for label in labels)


def test_a_clock_that_nothing_tells_of_is_left_alone_and_named(job, tmp_path):
    directory = moved(job, tmp_path / "job", 3_600_000_000_000, "another")
    for path in directory.iterdir():
        data = json.loads(gzip.open(path).read())
        data["traceEvents"] = [e for e in data["traceEvents"] if not e["name"].startswith("gloo:")]
        path.write_bytes(gzip.compress(json.dumps(data).encode(), 1))
    said, _ = merged([directory], tmp_path / "all.json.gz", code=4)
    assert said["clocks"][1]["known"] is False and said["clocks"][1]["moved_by_us"] == 0
    assert "no order" in said["clocks"][1]["text"]


def test_traces_of_several_runs_are_refused(job, tmp_path):
    for name in ("a", "b"):
        shutil.copytree(job.logdir, tmp_path / "runs" / name)
    answer = tprof("merge", tmp_path / "runs", "-o", tmp_path / "all.json")
    assert answer.returncode == 2 and "several runs (a, b)" in answer.stderr


def test_rows_that_are_named_in_quotes_stay_apart(tmp_path):
    """As torch 1.8 and 1.9 wrote them."""
    for rank in range(2):
        events = [{"ph": "X", "cat": "Operator", "name": "aten::op%d" % tid, "pid": 100 + rank, "tid": str(tid), "ts": 1000,
                   "dur": 50, "args": {"External id": tid}} for tid in (101, 102)]
        events += [{"ph": "X", "cat": "Kernel", "name": "kernel%d" % stream, "pid": rank, "tid": "stream %d" % stream,
                    "ts": 1000, "dur": 50, "args": {"device": rank, "stream": stream, "correlation": stream}}
                   for stream in (7, 8)]
        (tmp_path / ("w%d.1.pt.trace.json" % rank)).write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    _, data = merged(sorted(tmp_path.glob("w*")), tmp_path / "all.json.gz", code=4)  # of other clocks nothing is known
    rows = {event["name"]: set() for event in data["traceEvents"] if event["ph"] == "X"}
    for event in data["traceEvents"]:
        if event["ph"] == "X":
            rows[event["name"]].add((event["pid"], event["tid"]))
    assert len(rows) == 4 and len(set().union(*rows.values())) == 8
