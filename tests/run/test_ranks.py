"""A job of two ranks on gloo: who waits for whom, by which names, and what closing page and advice make of it."""
import json
import socket

import pytest

from harness import run, tprof, unless_busy

STEPS, LATE_MS = 20, 60
NODE = socket.gethostname()


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    result = run(["gloo_ranks.py", STEPS, LATE_MS], "run", logdir=tmp_path_factory.mktemp("job"), env={"COLUMNS": "80"})
    assert (result.returncode, result.stdout) == (0, "[0, 0]\n"), result.stderr
    assert len(result.traces()) == 2
    return result


def table(job):
    worker, = json.loads(tprof("stats", "--by", "comm", "--json", job.logdir).stdout)["workers"]
    return worker["ranks"]["rows"]


def test_the_rank_that_others_wait_for_is_named(job):
    first, second = table(job)
    assert (first["rank"], second["rank"]) == (0, 1)
    with unless_busy(job.logdir):
        assert first["waiting"] > STEPS * LATE_MS * 1000 / 2 > second["waiting"]
        assert first["waits_for"] == "rank 1 (%s)" % NODE
        assert first["straggler"] != "Yes" and second["straggler"] == "Yes"


def union(spans):
    """Microseconds that lie in any of the spans."""
    length, end = 0.0, 0.0
    for begin, finish in sorted(spans):
        length += max(0.0, finish - max(begin, end))
        end = max(end, finish)
    return length


def test_operators_are_the_computation_of_a_cpu_job(job):
    """The plugin's figure (operators of any thread, in the steps), by our own sums over the trace, less what loads
    batches or starts collectives."""
    for row, trace in zip(table(job), sorted(job.traces(), key=lambda t: t.data["distributedInfo"]["rank"])):
        ranges = [(e["ts"], e["ts"] + e["dur"], e["name"], e.get("cat")) for e in trace.data["traceEvents"]
                  if e["ph"] == "X"]
        steps = [(b, e) for b, e, name, _ in ranges if name.startswith("ProfilerStep#")]
        loads = [(b, e) for b, e, name, _ in ranges if name.startswith("enumerate(DataLoader)#")]
        operators = [(b, e, name) for b, e, name, category in ranges
                     if category == "cpu_op" and any(x <= b and e <= y for x, y in steps)
                     and not any(x <= b and e <= y for x, y in loads)]
        starting = union((b, e) for b, e, name in operators if name.startswith("c10d::"))
        assert len(steps) == STEPS and len(operators) > STEPS and starting > 0
        expected = union((b, e) for b, e, _ in operators) - starting
        assert row["computation"] + row["overlapping"] == pytest.approx(expected, rel=0.02)


def test_the_closing_page_begins_with_who_waits(job):
    lines = job.stderr.splitlines()
    begin = next(i for i, line in enumerate(lines) if line.startswith("tprof: wrote ")) + 1
    page = " ".join(" ".join(lines[begin:]).split())
    with unless_busy(job.logdir):
        assert page.startswith("rank 0 (%s) waits " % NODE) and "for rank 1 (%s)" % NODE in page.split("Average of")[0]
        assert "rank 1 (%s) keeps the other ranks waiting" % NODE in page
        assert "(rank 1 of 2 on %s, waited for)" % NODE in page and "Nothing was found" not in page


def test_advice_is_for_the_wait_and_not_against_communication(job):
    answer = json.loads(tprof("advise", "--json", "--all", job.logdir).stdout)
    by_rank = {w["rank"]: {a["id"]: a for a in w["recommendations"]} for w in answer["workers"]}
    with unless_busy(job.logdir):
        assert "rank 1" in by_rank[0]["RK1"]["text"] and by_rank[0]["RK1"]["severity"] == "high"
        assert "CM1" not in by_rank[0] and "RK1" not in by_rank[1]
        said, = answer["stragglers"]
        assert [r["straggler"] for r in said["ranks"]][1] is True and said["lines"]


def test_ranks_are_called_ranks(job):
    for trace in job.traces():
        rank, worker = trace.data["distributedInfo"]["rank"], trace.path.name.split(".")[0]
        assert worker == "%s_%d_rank%d" % (NODE, trace.pid, rank)
    for words in (["overview"], ["steps"], ["advise"], ["stats"], ["stats", "--by", "memory"]):
        shown = tprof(*words, job.logdir).stdout
        for rank in (0, 1):
            assert "rank %d (%s)" % (rank, NODE) in shown and "_rank%d" % rank not in shown, words
    header, *rows = tprof("stats", "--csv", job.logdir).stdout.splitlines()
    assert header.startswith("run,worker,span,") and header.endswith(",rank")
    assert {row.rsplit(",", 1)[1] for row in rows} == {"0", "1"}


def test_windows_of_one_rank_are_no_ranks_of_a_job(tmp_path):
    """As a trace handler of the program's own names them."""
    for window in (10, 20):
        for rank in (0, 1):
            events = [{"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": tid, "ts": 2000 * tid, "dur": dur,
                       "args": {}} for tid, name, dur in ((1, "aten::mm", 9), (2, "gloo:all_reduce", 500 - 400 * rank))]
            path = tmp_path / ("trace_%d_of_%d.json" % (window, rank))
            path.write_text(json.dumps({"distributedInfo": {"rank": rank, "world_size": 2}, "traceEvents": events}))
    jobs = json.loads(tprof("stats", "--by", "comm", "--json", tmp_path).stdout)["workers"]
    assert [[row["rank"] for row in job["ranks"]["rows"]] for job in jobs] == [[0, 1], [0, 1]]
    assert [row["waiting"] for job in jobs for row in job["ranks"]["rows"]] == [400, 0, 400, 0]
