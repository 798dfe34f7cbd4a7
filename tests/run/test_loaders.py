"""What DataLoader workers do beside the program's wait, on programs with one known trouble: the table's numbers, and what
DL1 says of it."""
import json

import pytest

from harness import TORCHES, both, machine, run, tprof, unless_busy

# By trouble: the verdict, and words of DL1 and of its fix.
TROUBLES = {
    "few": ("too few", "Too few workers", "num_workers="),
    "slow": ("too slow", "The workers are too slow", "cheaper to load"),
    "straggler": ("one is slow", "Worker 1 is slower than the others", "in_order=False"),
    "uneven": ("uneven batches", "Single batches take much longer", "prefetch_factor"),
    "sending": ("blocked: sending", "The workers are blocked", "collate_fn"),
    "not_taken": ("blocked: not received", "has not received", "pin_memory thread"),
}


def stats(log):
    done = tprof("stats", "--by", "loader", "--json", log)
    assert done.returncode == 0, done.stderr
    worker = json.loads(done.stdout)["workers"][-1]
    return worker["rows"], worker["waits"]["rows"], worker["notes"]


def dl1(log):
    done = tprof("advise", "--json", log)
    assert done.returncode == 0, done.stderr
    worker, = json.loads(done.stdout)["workers"]
    return next((r for r in worker["recommendations"] if r["id"] == "DL1"), None)


def profiled(trouble, logdir, where=TORCHES[0], start_method="fork", **options):
    result = run(["loaders.py", trouble, start_method], "preload", logdir=logdir, where=machine(where), options=options)
    assert result.returncode == 0, result.stderr
    return {int(worker): seconds for worker, seconds in json.loads(result.stdout).items()}


def agree(rows, truth, logdir):
    """Of each worker: as many batches as it made (the last one may be cut off), and their mean time."""
    assert [row["worker_id"] for row in rows] == sorted(truth)
    for row in rows:
        seconds = truth[row["worker_id"]]
        assert len(seconds) - 1 <= row["batches"] <= len(seconds), (row, len(seconds))
        parts = [row[key + "_percent"] for key in ("fetching", "sending", "waiting", "starting")]
        assert abs(sum(parts) - 100) < 0.1
    with unless_busy(logdir):
        for row in rows:
            mean = sum(truth[row["worker_id"]]) / len(truth[row["worker_id"]]) * 1e6
            assert mean * 0.99 <= row["fetch"] <= mean * 1.1 + 1000, (row, mean)


@pytest.mark.parametrize("where", ["2.15", pytest.param("2.6", marks=pytest.mark.full), "1.13"])
@pytest.mark.parametrize("trouble", TROUBLES)
def test_a_trouble_is_named(trouble, where, logdir):
    verdict, said, fix = TROUBLES[trouble]
    truth = profiled(trouble, logdir, where)
    rows, (waits,), notes = stats(logdir)
    agree(rows, truth, logdir)
    with unless_busy(logdir):
        assert waits["verdict"] == verdict, (waits, rows)
        assert any(said in note for note in notes), notes
        advice = dl1(logdir)
        assert said in advice["text"] and fix in advice["fix"], advice


@pytest.mark.parametrize("where", TORCHES)
def test_a_loader_that_keeps_up_is_not_advised(where, logdir):
    truth = profiled("balanced", logdir, where)
    rows, (waits,), _ = stats(logdir)
    agree(rows, truth, logdir)
    with unless_busy(logdir):
        assert waits["verdict"] == "keeps up" and dl1(logdir) is None, waits


@pytest.mark.parametrize("start_method", ["spawn", "forkserver"])
def test_workers_are_recorded_however_they_start(start_method, logdir):
    truth = profiled("few", logdir, start_method=start_method)
    rows, (waits,), _ = stats(logdir)
    agree(rows, truth, logdir)
    with unless_busy(logdir):
        assert waits["verdict"] == "too few"


def test_workers_of_a_stream(logdir):
    truth = profiled("iterable", logdir)
    rows, (waits,), _ = stats(logdir)
    agree(rows, truth, logdir)
    with unless_busy(logdir):
        assert waits["verdict"] == "too few" and waits["workers"] == 2


def test_a_window_shorter_than_a_fetch_knows_what_its_workers_do(logdir):
    """Some workers begin and end nothing in the second window."""
    profiled("long", logdir, TPROF_SCHEDULE="wait=8,warmup=1,active=3,repeat=2")
    rows, (waits,), notes = stats(logdir)
    assert [row["worker_id"] for row in rows] == list(range(6)), rows
    with unless_busy(logdir):
        assert any(row["batches"] == 0 for row in rows), rows
        assert all(row["starting_percent"] < 1 for row in rows), rows
        assert waits["verdict"] == "too few", (waits, notes)


def test_a_worker_whose_fetch_outlasts_a_window_is_known_later_too(logdir, tmp_path):
    """When the recording is converted, each worker has made more batches since, and has ended."""
    profiled("long", logdir, TPROF_SCHEDULE="wait=8,warmup=1,active=2,repeat=2", TPROF_KEEP_RECORDING="1")
    recording, = (path for path in logdir.glob("*.tprof") if ".worker" not in path.name)
    done = tprof("convert", recording, "-o", tmp_path)
    assert done.returncode == 0, done.stderr
    traces = sorted(tmp_path.glob("*.pt.trace.json*"))
    assert len(traces) == 2
    for trace in traces:
        rows, (waits,), notes = stats(trace)
        assert [row["worker_id"] for row in rows] == list(range(6)) and waits["verdict"] == "too few", (waits, notes)


def test_a_program_without_workers_has_an_empty_table(logdir):
    result = run(["seeded.py"], "preload", logdir=logdir)
    assert result.returncode == 0, result.stderr
    done = tprof("stats", "--by", "loader", logdir)
    assert done.returncode == 0 and "no DataLoader with worker processes was recorded" in done.stdout


def test_errors_of_workers_read_as_without_tprof(tmp_path):
    """Tracebacks included, which torch passes to the program as text."""
    bare = both(["loader_error.py"], tmp_path)["bare"].stdout
    assert "ValueError" in bare and "planted" in bare and "KeyError" in bare and 'line ' in bare
