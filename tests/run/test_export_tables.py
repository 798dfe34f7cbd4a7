"""tprof export --to parquet and sqlite: readers of both find the same rows, and the sums are those of tprof stats."""
import collections
import gzip
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys

import pytest

import quick
from harness import REPO, TPROF, machine, tprof

sys.path.insert(0, str(REPO / "tests" / "bench"))
import big_trace  # noqa: E402

GOLDEN = REPO / "tests" / "golden"
ENGINES = REPO / "tests" / "engines"
TABLES = {"step", "slice", "op_agg", "kernel_agg", "collective", "memory", "sample", "ledger"}
ORIGIN = ["job", "rank", "worker", "span"]
STRANGE = ["größe ∑ 模型", "a'b\"c\\d", "line\nbreak", "\U0001f600", "", "x" * 5000]
ROWS_OF_GROUP = 1 << 17  # src/parquet/writer.h


def large(path):
    """More slices than a group of rows holds, names of all kinds, values beyond 32 bits; no step, no rank."""
    events = list(big_trace.events(ROWS_OF_GROUP + 4000))
    for name in STRANGE:
        events.append({"ph": "X", "cat": "cpu_op", "name": name, "pid": 100, "tid": 3_000_000, "ts": 1e9 + len(events) * 10,
                       "dur": 5.0, "args": {}})
    for i, address in enumerate((1 << 46, (1 << 46) + 512)):
        events.append({"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "s": "t", "pid": 100, "tid": 100,
                       "ts": 2000.0 + i, "args": {"Device Type": 1, "Device Id": 0, "Addr": address, "Bytes": 1 << 33,
                                                  "Total Allocated": (1 << 33) * (i + 1), "Total Reserved": 1 << 40}})
    with path.open("w") as file:
        json.dump({"schemaVersion": 1, "deviceProperties": [big_trace.DEVICE], "baseTimeNanoseconds": 1_790_857_026 * 10**9,
                   "traceEvents": events}, file)


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    home = tmp_path_factory.mktemp("inputs")
    strange = home / "50 % of a=b 模型"
    strange.mkdir()
    large(strange / "large.1.pt.trace.json")
    mixed = home / "mixed"
    mixed.mkdir()
    for name in ("gpu-ops.1", "torch-2.14.1", "modules.1"):
        shutil.copy(GOLDEN / (name + ".pt.trace.json.gz"), mixed)
    return [*sorted((GOLDEN / "kineto-traces").glob("resnet*")), GOLDEN / "gloo_ddp", strange, mixed]


@pytest.fixture(scope="module")
def exports(inputs, tmp_path_factory):
    """(directory of Parquet, SQLite's database)"""
    out = tmp_path_factory.mktemp("exports")
    for to, name in (("parquet", "tables"), ("sqlite", "tables.db")):
        done = tprof("export", "--to", to, "-o", out / name, *inputs)
        assert done.returncode == 0 and not done.stderr, done.stderr
        assert done.stdout.startswith("%s: 10 traces; rows: step " % (out / name)), done.stdout
    return out / "tables", out / "tables.db"


@pytest.fixture(scope="module")
def database(exports):
    return sqlite3.connect(exports[1])


@pytest.fixture(scope="module")
def found(exports):
    """What hyparquet and DuckDB find."""
    quick.takes_long()
    if not (ENGINES / "node_modules").is_dir():
        pytest.fail("no node_modules in %s: tests/all makes it, or tests/engines/install" % ENGINES)
    done = subprocess.run(["node", ENGINES / "read.mjs", exports[0]], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def total(values):
    """[values that are not null, their sum], of texts that of their bytes."""
    values = [len(value.encode()) if isinstance(value, str) else value for value in values if value is not None]
    sum_of = sum(values) if values else None
    return [len(values), str(sum_of) if isinstance(sum_of, int) else sum_of]


@pytest.fixture(scope="module")
def sums(database):
    out = {}
    for table in TABLES:
        cursor = database.execute("SELECT * FROM %s" % table)
        rows = cursor.fetchall()
        names = [column[0] for column in cursor.description]
        out[table] = {"rows": len(rows), "columns": {name: total(row[i] for row in rows) for i, name in enumerate(names)}}
    return out


def assert_same(theirs, ours):
    assert theirs.keys() == ours.keys() == TABLES
    for table in TABLES:
        assert theirs[table]["rows"] == ours[table]["rows"], table
        assert theirs[table]["columns"].keys() == ours[table]["columns"].keys(), table
        for column, expected in ours[table]["columns"].items():
            count, of_all = theirs[table]["columns"][column]
            exact = not isinstance(expected[1], float)
            assert [count, of_all] == (expected if exact else [expected[0], pytest.approx(expected[1])]), (table, column)


def test_hyparquet_finds_the_rows_of_sqlite(found, sums):
    assert_same(found["hyparquet"], sums)


def test_duckdb_finds_the_rows_of_sqlite(found, sums):
    assert_same(found["duckdb"], sums)


@pytest.mark.full
def test_pyarrow_finds_the_rows_of_sqlite(exports, sums):
    words, environment = machine("engines").command(["python3", ENGINES / "pyarrow_sums.py", exports[0]], {})
    done = subprocess.run(words, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert_same(json.loads(done.stdout), sums)


def test_the_input_has_what_is_hard(found, sums, database):
    """Nulls, a table without rows, more than one group of rows, numbers beyond 32 bits, names of all kinds."""
    assert found["metadata"]["slice"]["groups"] == 2
    assert sums["sample"]["rows"] == 0 and sums["collective"]["rows"] > 0 and sums["memory"]["rows"] > 0
    count, _ = sums["slice"]["columns"]["device"]
    assert 0 < count < sums["slice"]["rows"]
    assert database.execute("SELECT max(address), max(reserved_bytes) FROM memory").fetchone() > (1 << 46, 1 << 39)
    names = {name for name, in database.execute("SELECT DISTINCT name FROM slice")}
    assert names >= set(STRANGE)
    jobs = {job for job, in database.execute("SELECT DISTINCT job FROM slice")}
    assert "50 % of a=b 模型" in jobs
    ranks = {rank for rank, in database.execute("SELECT DISTINCT rank FROM slice WHERE job = 'gloo_ddp'")}
    assert ranks == {0, 1}


def test_files_say_their_version(exports, found, database):
    for table in TABLES:
        assert found["metadata"][table]["keys"] == {"tprof.schema": "1", "tprof.table": table}
    assert database.execute("PRAGMA user_version").fetchone() == (1,)
    assert (exports[0] / "slice" / "job=50%20%25%20of%20a%3Db%20模型" / "rank=__HIVE_DEFAULT_PARTITION__").is_dir()


def stats(by, inputs):
    return json.loads(tprof("stats", "--json", "--by", by, *inputs).stdout)["workers"]


def ns(us):
    return None if us is None else round(us * 1000)


def test_operators_and_kernels_are_those_of_stats(inputs, database):
    asked = {"op": ("SELECT name, kind, calls, host_self_ns, host_total_ns, device_self_ns, device_total_ns, "
                    "cpu_self_bytes, gpu_total_bytes FROM op_agg",
                    lambda r: (r["name"], r["kind"], r["calls"], ns(r["host_self_duration"]), ns(r["host_total_duration"]),
                               ns(r.get("device_self_duration")), ns(r.get("device_total_duration")),
                               r.get("self_cpu_memory_usage"), r.get("cuda_memory_usage"))),
             "kernel": ("SELECT name, calls, total_ns, min_ns, max_ns, tensor_cores FROM kernel_agg",
                        lambda r: (r["name"], r["calls"], ns(r["total_duration"]), ns(r["min_duration"]),
                                   ns(r["max_duration"]), {"Yes": 1, "No": 0}.get(r["tc_used"])))}
    for by, (query, of_row) in asked.items():
        compared = 0
        for worker in stats(by, inputs):
            where = (worker["run"], worker["worker"], worker["span"])
            ours = database.execute(query + " WHERE job = ? AND worker = ? AND span = ?", where).fetchall()
            assert collections.Counter(ours) == collections.Counter(map(of_row, worker["rows"])), where
            compared += len(ours)
        assert compared > 10


def test_slices_are_those_of_stats(inputs, database):
    for worker in stats("track", inputs):
        ours = dict(database.execute("SELECT track, count(*) FROM slice WHERE job = ? AND worker = ? AND span = ? "
                                     "GROUP BY track", (worker["run"], worker["worker"], worker["span"])))
        assert ours == {row["key"]: row["slices"] for row in worker["rows"]}


def test_steps_and_collectives_are_those_of_stats(inputs, database):
    job, = stats("comm", [GOLDEN / "gloo_ddp"])
    ours = database.execute("SELECT name, process_group, count(*), sum(duration_ns), sum(transfer_ns), "
                            "sum(transfer_ns IS NULL) FROM collective GROUP BY 1, 2 ORDER BY 1, 2").fetchall()
    theirs = sorted((r["name"], r["group"], r["calls"], ns(r["total_latency"]), ns(r["data_transfer"])) for r in job["rows"])
    assert [row[:4] for row in ours] == [row[:4] for row in theirs] and ours
    assert [row[4] for row in ours if not row[5]] == [row[4] for row in theirs if row[4] is not None]
    # A rank's other time includes what lies between its steps.
    ranks = database.execute("SELECT rank, count(*), sum(computation_ns), sum(overlap_ns), sum(communication_ns), "
                             "sum(other_ns) + max(start_ns + duration_ns) - min(start_ns) - sum(duration_ns) "
                             "FROM step WHERE job = 'gloo_ddp' GROUP BY rank ORDER BY rank").fetchall()
    assert ranks == [(r["rank"], r["steps"], ns(r["computation"]), ns(r["overlapping"]), ns(r["communication"]),
                      ns(r["other"])) for r in job["ranks"]["rows"]]
    waiting = database.execute("SELECT rank, sum(waiting_ns) FROM step WHERE job = 'gloo_ddp' GROUP BY rank").fetchall()
    for (_, ours), row in zip(sorted(waiting), job["ranks"]["rows"]):
        assert ours == pytest.approx(ns(row["waiting"]), abs=1000)


def test_calls_of_a_collective_share_its_number(database):
    members = database.execute("SELECT count(DISTINCT rank), count(*) FROM collective WHERE job = 'gloo_ddp' "
                               "AND transfer_ns IS NOT NULL GROUP BY number").fetchall()
    assert members and set(members) == {(2, 2)}


def test_the_ledger_is_that_of_the_trace(database):
    with gzip.open(GOLDEN / "torch-2.14.1.pt.trace.json.gz") as file:
        ledger = json.load(file)["tprof"]
    ours = dict(database.execute("SELECT name, number FROM ledger WHERE worker = 'torch-2.14' AND number IS NOT NULL"))
    assert (ours["seen"], ours["written"], ours["span.window"]) == \
        (ledger["seen"], ledger["written"], ledger["span"]["window"])


def test_views_say_the_same_in_duckdb_and_sqlite(found, database):
    assert found["views"].keys() == {"overview", "operators", "stragglers", "idle"}

    def parts(rows):
        """Of each row what is exact, and the numbers that are not; read.mjs prints whole numbers as texts."""
        split = [([value for value in row if value is None or isinstance(value, str)],
                  [value for value in row if isinstance(value, (int, float))]) for row in rows]
        return zip(*sorted(split, key=str))

    for view, theirs in found["views"].items():
        ours = database.execute("SELECT * FROM %s" % view).fetchall()
        exact, inexact = parts([str(value) if isinstance(value, int) else value for value in row] for row in ours)
        their_exact, their_inexact = parts(theirs)
        assert their_exact == exact, view
        assert [list(row) for row in their_inexact] == [pytest.approx(row) for row in inexact], view


def test_views_agree_with_stats(inputs, database):
    waiting = dict(database.execute("SELECT rank, slowest_in FROM stragglers WHERE job = 'gloo_ddp'"))
    job, = stats("comm", [GOLDEN / "gloo_ddp"])
    assert waiting == {row["rank"]: row["slowest_in"] for row in job["ranks"]["rows"]}
    steps = dict(database.execute("SELECT rank, steps FROM overview WHERE job = 'gloo_ddp'"))
    assert steps == {row["rank"]: row["steps"] for row in job["ranks"]["rows"]}
    worker, = stats("op", [GOLDEN / "gpu-ops.1.pt.trace.json.gz"])
    theirs = {(r["name"], r["kind"]): ns(r["host_self_duration"]) for r in worker["rows"]}
    ours = {(name, kind): time for name, kind, time in database.execute(
        "SELECT o.name, o.kind, o.host_self_ns FROM operators o JOIN op_agg a USING (job, name, kind) "
        "WHERE a.worker = 'gpu-ops' AND o.processes = 1")}
    assert ours and all(theirs[key] == time for key, time in ours.items())


def test_what_is_there_is_not_overwritten(exports, tmp_path):
    trace = GOLDEN / "gpu.1.pt.trace.json.gz"
    for to, there in zip(("parquet", "sqlite"), exports):
        done = tprof("export", "--to", to, "-o", there, trace)
        assert done.returncode == 2 and done.stderr == \
            "tprof: %s: exists already; remove it, or give another name with -o\n" % there
    assert tprof("export", "--to", "parquet", trace).returncode == 2
    assert not list(tmp_path.iterdir())


def test_a_trace_that_is_given_twice_is_refused(tmp_path):
    trace = GOLDEN / "gpu.1.pt.trace.json.gz"
    done = tprof("export", "--to", "parquet", "-o", tmp_path / "out", trace, trace)
    assert done.returncode == 2 and "another trace has its run, worker and span" in done.stderr
    assert not list(tmp_path.iterdir())


def test_nothing_is_left_where_nothing_could_be_read(tmp_path):
    (tmp_path / "broken.1.pt.trace.json").write_text('{"traceEvents": [{"ph": ')
    for to in ("parquet", "sqlite"):
        assert tprof("export", "--to", to, "-o", tmp_path / "out", tmp_path / "broken.1.pt.trace.json").returncode == 3
    assert [path.name for path in tmp_path.iterdir()] == ["broken.1.pt.trace.json"]


@pytest.mark.full
def test_ten_million_slices_take_less_than_300_megabytes(tmp_path):
    first = tmp_path / "in" / "worker0.1.pt.trace.json"
    first.parent.mkdir()
    big_trace.write(first, 1_000_000)
    for number in range(1, 10):
        os.link(first, first.with_name("worker%d.1.pt.trace.json" % number))
    words = [TPROF, "export", "--to", "parquet", "-o", tmp_path / "out", first.parent]
    started = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    said = started.stdout.read()
    _, status, used = os.wait4(started.pid, 0)
    assert status == 0 and int(re.search(r"slice (\d+)", said)[1]) > 10_000_000, said
    assert used.ru_maxrss < 300 * 1024


def test_a_full_disk_is_said_and_leaves_nothing(tmp_path):
    """As a limit on the size of files, which the process does not die of."""
    for to in ("parquet", "sqlite"):
        done = subprocess.run(
            ["sh", "-c", "ulimit -f 1; trap '' XFSZ; exec \"$@\"", "sh", TPROF, "export", "--to", to, "-o",
             tmp_path / "out", GOLDEN / "gpu-ops.1.pt.trace.json.gz"], capture_output=True, text=True)
        assert done.returncode == 4 and "cannot be written" in done.stderr and done.stderr.count("\n") == 1, done.stderr
        assert not list(tmp_path.iterdir())
