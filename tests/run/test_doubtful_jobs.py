"""Directories that do not hold one whole job: each fault is said in one line, the rest is shown, the exit code is 4."""
import gzip
import json
import shutil

import pytest

from harness import run, tprof


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    result = run(["gloo_ranks.py", 8, 5, 3], "run", logdir=tmp_path_factory.mktemp("job"))
    assert (result.returncode, result.stdout) == (0, "[0, 0, 0]\n"), result.stderr
    return result.logdir


@pytest.fixture
def copy(job, tmp_path):
    shutil.copytree(job, tmp_path / "job")
    return tmp_path / "job"


def trace_of(directory, rank):
    for path in sorted(directory.glob("*.pt.trace.json.gz")):
        data = json.loads(gzip.open(path).read())
        if data["distributedInfo"]["rank"] == rank:
            return path, data
    raise LookupError(rank)


def write(path, data):
    path.write_bytes(gzip.compress(json.dumps(data).encode(), 1))


def seen(directory, code=4):
    """(what is said, the ranks that are shown in each job)"""
    answer = tprof("overview", "--all-ranks", "--json", directory)
    assert answer.returncode == code, answer.stdout + answer.stderr
    jobs = json.loads(answer.stdout)["jobs"]
    table = json.loads(tprof("stats", "--by", "comm", "--json", directory).stdout)["workers"]
    notes = [note for worker in table for note in worker["notes"]]
    advised = tprof("advise", "--json", directory)
    page = tprof("report", directory, "-o", directory.parent / "page.html")
    assert (advised.returncode, page.returncode) == (code, code), advised.stderr + page.stderr
    doubts = [doubt for one in json.loads(advised.stdout)["stragglers"] for doubt in one["doubts"]]
    assert set(doubts) <= set(notes) and bool(doubts) == (code != 0)
    return answer.stderr + "\n".join(notes), [[row["rank"] for row in one["ranks"]["rows"]] for one in jobs]


def test_a_whole_job_is_not_doubted(job):
    assert seen(job, 0)[1] == [[0, 1, 2]]


def test_a_missing_rank(copy):
    trace_of(copy, 2)[0].unlink()
    said, ranks = seen(copy)
    assert "no trace that can be read of rank 2 of 3" in said and ranks == [[0, 1]]


def test_a_damaged_rank(copy):
    path, _ = trace_of(copy, 1)
    path.write_bytes(path.read_bytes()[:2000])
    said, ranks = seen(copy)
    assert path.name in said and "no trace that can be read of rank 1 of 3" in said and ranks == [[0, 2]]


def test_a_rank_that_is_there_twice(copy):
    path, data = trace_of(copy, 1)
    write(copy / ("again_1" + path.name[path.name.index("."):]), data)
    said, ranks = seen(copy)
    assert "several traces of a rank" in said and sorted(map(len, ranks)) == [1, 3]


def test_other_counts_of_steps(copy):
    path, data = trace_of(copy, 1)
    data["traceEvents"] = [e for e in data["traceEvents"] if e["name"] != "ProfilerStep#7"]
    write(path, data)
    said, ranks = seen(copy)
    assert "equally many steps" in said and ranks == [[0, 1, 2]]


def test_clocks_that_are_hours_apart(copy):
    path, data = trace_of(copy, 1)
    data["baseTimeNanoseconds"] += 2 * 3600 * 10**9
    write(path, data)
    said, ranks = seen(copy)
    assert "the clock is 7" in said and "s ahead of that of rank 0" in said and ranks == [[0, 1, 2]]


def test_two_jobs_in_one_directory(copy):
    path, data = trace_of(copy, 2)
    data["distributedInfo"].update(rank=0, world_size=1)
    write(path, data)
    said, ranks = seen(copy)
    assert "several traces of a rank" in said and sorted(map(len, ranks)) == [1, 2]


def test_a_rank_that_died_before_its_first_step(copy):
    path, data = trace_of(copy, 1)
    data["traceEvents"] = [e for e in data["traceEvents"]
                           if not e["name"].startswith("ProfilerStep#") and "c10d" not in e["name"]
                           and "gloo" not in e["name"]]
    write(path, data)
    said, ranks = seen(copy)
    assert "no step was recorded" in said and "no collective was recorded" in said and ranks == [[0, 1, 2]]
