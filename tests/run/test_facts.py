"""The facts of ranks beside their traces: the same answers without reading a trace, and what happens without them."""
import gzip
import json
import re
import shutil
import sys

import pytest

from harness import REPO, run, tprof

sys.path.insert(0, str(REPO / "tests" / "bench"))
import many_ranks  # noqa: E402


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    result = run(["gloo_ranks.py", 12, 20], "run", logdir=tmp_path_factory.mktemp("job"))
    assert (result.returncode, result.stdout) == (0, "[0, 0]\n"), result.stderr
    return result


def answer(*words):
    said = tprof(*words)
    assert said.returncode == 0, said.stderr
    return json.loads(said.stdout)


def test_each_rank_leaves_its_facts_of_a_few_kilobytes(job):
    facts = sorted(job.logdir.glob("*.rank_facts"))
    assert len(facts) == len(job.traces()) == 2
    for path in facts:
        assert path.stat().st_size < 20_000
        data = json.loads(gzip.open(path).read())
        trace = path.with_name(path.name.replace(".rank_facts", ".pt.trace.json.gz"))
        assert data["schema"] == 2 and data["trace_bytes"] == trace.stat().st_size and len(data["steps"]) == 12


def test_hta_takes_the_traces_alone_for_traces(job):
    """It reads whatever ends in .gz or .json, and takes its rank from the first line that has one."""
    found = {}
    for path in job.logdir.iterdir():
        if path.name.endswith((".gz", ".json")):
            lines = gzip.open(path, "rt")
            rank, = [m.group(1) for m in map(re.compile(r'"rank":\s+(\d+)').search, lines) if m][:1]
            found[int(rank)] = path
    assert found == {trace.data["distributedInfo"]["rank"]: trace.path for trace in job.traces()}


def test_facts_say_what_the_traces_say(job, tmp_path):
    """Above 64 traces the facts are used: here 40 copies of the job, whose traces hold nothing for one of them."""
    for name in range(40):
        shutil.copytree(job.logdir, tmp_path / "jobs" / str(name))
    from_traces = answer("stats", "--by", "comm", "--json", job.logdir)["workers"][0]
    many = answer("stats", "--by", "comm", "--json", tmp_path / "jobs")["workers"]
    assert len(many) == 40
    for key in ("rows", "ranks", "steps", "operations", "stages", "path"):
        assert many[3][key] == from_traces[key], key


def test_facts_of_another_trace_are_not_used(job, tmp_path):
    for name in range(33):
        shutil.copytree(job.logdir, tmp_path / str(name))
    for path in (tmp_path / "5").glob("*.rank_facts"):
        data = json.loads(gzip.open(path).read())
        data["trace_bytes"] += 1
        data["number"] = 77
        path.write_bytes(gzip.compress(json.dumps(data).encode()))
    for path in (tmp_path / "6").glob("*.rank_facts"):
        path.write_bytes(b"no gzip")
    for path in (tmp_path / "7").glob("*.rank_facts"):
        path.write_bytes(gzip.compress(b'{"schema": 2, "trace_bytes": %d}' % path.with_name(
            path.name.replace(".rank_facts", ".pt.trace.json.gz")).stat().st_size))
    jobs = answer("overview", "--all-ranks", "--json", tmp_path)["jobs"]
    assert [[row["rank"] for row in one["ranks"]["rows"]] for one in jobs] == [[0, 1]] * 33


def test_facts_with_numbers_out_of_range_are_not_used(job, tmp_path):
    last = [-1, False]  # of a call
    places = [("number", -2), ("number", 2 ** 40), ("world_size", -2 ** 31), ("pid", -1), ("span_ns", 2 ** 63),
              ("base_ns", -2 ** 63), ("operators", -5), ("operators", 1e300), ("schema", 1e19),
              ("gpus", [[1e19, "", False, 0, 9, 0, 0, 0, 0, 0, 0]]), ("gpus", [[0, "", False, 0, 1e19, 0, 0, 0, 0, 0, 0]]),
              ("calls", [[0, 0, 0, -2 ** 63, 0, 1, 0, 0, 0, 0, 0, 0, *last]]),
              ("calls", [[0, 0, 0, 0, 0, -70, 0, 0, 0, 0, 0, 0, *last]]),
              ("calls", [[0, 0, 0, 0, 0, 2, 0, 0, 0, -1, 0, 0, *last]]),
              ("calls", [[9999, 0, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, *last]]),
              ("calls", [[0, 0, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, -70, False]]),
              ("steps", [["0", -2 ** 63, 1, [0] * 7, [0] * 4]]),
              ("steps", [["0", 0, 1, [0], [0] * 4]]), ("overlap", [0, 0, 0, 2 ** 62])]
    for name in range(33):
        shutil.copytree(job.logdir, tmp_path / ("%02d" % name))
    for name, (key, value) in enumerate(places):
        path = sorted((tmp_path / ("%02d" % name)).glob("*.rank_facts"))[0]
        data = json.loads(gzip.open(path).read())
        path.write_bytes(gzip.compress(json.dumps({**data, key: value}).encode()))
    jobs = answer("overview", "--all-ranks", "--json", tmp_path)["jobs"]
    assert all(one["ranks"]["rows"] == jobs[-1]["ranks"]["rows"] for one in jobs)


def test_the_slow_one_of_many_ranks_is_found_by_facts_alone(tmp_path):
    many_ranks.write(tmp_path / "job", 128, 20)
    job, = answer("overview", "--all-ranks", "--json", tmp_path / "job")["jobs"]
    ranks = job["ranks"]["rows"]
    assert len(ranks) == 128
    assert [(row["rank"], row["blamed"]) for row in ranks if row["straggler"] == "Yes"] == [(7, "DataLoader")]
