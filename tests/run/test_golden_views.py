"""Jobs of several ranks, GPU series and ranges of memory: by the plugin's rules what torch_tb_profiler's own code
answered (golden/plugin_views.json, made by golden/plugin_views.py), by ours what has to hold of any job."""
import json
import pathlib
import sys

import pytest

from harness import tprof

GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "golden"
sys.path.insert(0, str(GOLDEN))
import plugin_views  # noqa: E402

ANSWERS = json.loads((GOLDEN / "plugin_views.json").read_text())


def stats(*words):
    done = tprof("stats", "--json", *words)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["workers"]


@pytest.fixture(scope="module", params=sorted([*plugin_views.JOBS, *plugin_views.REAL]))
def job(request, tmp_path_factory):
    directory = tmp_path_factory.mktemp(request.param)
    plugin_views.make_job(directory, request.param)
    return request.param, directory


def close(value, digits=0):
    """0.1 %, or one unit in the last digit that the plugin rounds to."""
    return pytest.approx(value, rel=1e-3, abs=1.01 * 10 ** -digits)


# --- jobs

PARTS = ["computation", "overlapping", "communication", "other"]
WAIT = ["data_transfer", "synchronizing"]
OPERATION = ["calls", "total_size", "avg_size", "total_latency", "avg_latency", "data_transfer", "avg_data_transfer"]


def by_step(table):
    return {(row["step"] or "null", row["worker"]): row for row in table["rows"]}


def assert_plugin_s(ours, theirs):
    rows = by_step(ours["steps"])
    for key, columns in (("overlap", PARTS), ("wait", WAIT)):
        expected = {(step, worker): figures for step, by_worker in theirs[key].items()
                    for worker, figures in by_worker.items()}
        assert {place for place in rows if rows[place][columns[0]] is not None} == set(expected)
        for place, figures in expected.items():
            assert [rows[place][column] for column in columns] == [close(x) for x in figures], place
    mine = {(row["worker"], row["name"]): row for row in ours["rows"]}
    assert len(mine) == sum(map(len, theirs["operations"].values()))
    for worker, operations in theirs["operations"].items():
        for op, *figures in operations:
            assert [mine[worker, op][column] for column in OPERATION] == [close(x) for x in figures], (worker, op)


def test_the_distributed_view_is_the_plugin_s(job):
    name, directory = job
    ours, = stats("--by", "comm", "--plugin-compat", directory)
    theirs = ANSWERS["jobs"][name]
    if theirs is None:
        assert not ours["rows"] and not ours["steps"]["rows"] and "no Distributed view: " in ours["notes"][0]
        return
    assert_plugin_s(ours, theirs)


def test_nodes_are_the_plugin_s(job):
    name, directory = job
    ours, = stats("--by", "comm", "--plugin-compat", directory)
    theirs = (ANSWERS["jobs"][name] or {}).get("gpus") or {}
    assert [(row["node"], row["process"], "GPU%d" % row["gpu"], row["name"], row["memory"], row["compute_capability"])
            for row in ours["nodes"]["rows"]] == [
        (node, process, gpu, info["Name"], info["Memory Raw"], info["Compute Capability"])
        for node, processes in theirs.items() for process, gpus in processes.items() for gpu, info in gpus.items()]


def test_the_parts_of_a_step_sum_to_it(job):
    ours, = stats("--by", "comm", job[1])
    rows = ours["steps"]["rows"]
    ranks = {row["worker"] for row in ours["ranks"]["rows"]}
    assert {row["worker"] for row in rows if row["step"] == "all"} == ranks and len(rows) > len(ranks)
    for row in rows:
        assert sum(row[part] for part in PARTS) == pytest.approx(row["total"], abs=0.01)
        assert all(row[part] is None or row[part] >= 0 for part in PARTS + WAIT)


def test_the_mean_of_the_steps_is_what_their_rows_say(job):
    ours, = stats("--by", "comm", job[1])
    for mean in ours["steps"]["rows"]:
        if mean["step"] != "all":
            continue
        own = [row for row in ours["steps"]["rows"] if row["worker"] == mean["worker"] and row["step"] != "all"]
        for part in ["total", *PARTS, "undivided"]:
            assert mean[part] == pytest.approx(sum(row[part] for row in own) / len(own), abs=0.001), part


def test_what_ranks_do_adds_up_to_the_table_of_collectives(job):
    ours, = stats("--by", "comm", job[1])
    assert ours["rows"]
    for row in ours["rows"]:
        own = [o for o in ours["operations"]["rows"] if (o["name"], o["group"]) == (row["name"], row["group"])]
        assert sum(o["calls"] for o in own) == row["calls"]
        assert sum(o["total_latency"] for o in own) == pytest.approx(row["total_latency"])
        for o in own:
            assert (o["data_transfer"] is None) == (row["data_transfer"] is None)
            assert o["avg_latency"] == pytest.approx(o["total_latency"] / o["calls"], abs=0.001)
        if row["data_transfer"] is not None:
            assert sum(o["data_transfer"] for o in own) == pytest.approx(row["data_transfer"])


def test_waiting_in_steps_is_the_waiting_of_the_rank(tmp_path):
    plugin_views.make_job(tmp_path, "nccl")
    ours, = stats("--by", "comm", tmp_path)
    for rank in ours["ranks"]["rows"]:
        own = [row for row in ours["steps"]["rows"] if row["worker"] == rank["worker"] and row["step"] != "all"]
        assert sum(row["synchronizing"] for row in own) == pytest.approx(rank["waiting"])
        assert rank["waiting"] > 0


def test_a_job_is_told_in_a_narrow_terminal(job):
    done = tprof("stats", "--by", "comm", job[1], env={"COLUMNS": "80"})
    assert done.returncode == 0 and max(map(len, done.stdout.splitlines())) <= 80
    assert "Steps of each rank" in done.stdout and "Device Information" in done.stdout


# --- GPU series

def test_series_are_the_plugin_s(tmp_path):
    plugin_views.make_job(tmp_path, "nccl")
    for worker in stats("--by", "utilization", "--plugin-compat", tmp_path):
        (gpu, theirs), = ANSWERS["series"][worker["worker"]].items()
        *begins, (end, zero) = theirs["utilization"]
        assert zero == 0 and len(begins) >= 10
        assert [(row["begin"], row["utilization"]) for row in worker["rows"]] == [
            (close(at, 3), pytest.approx(value, abs=1e-6)) for at, value in begins]
        assert worker["rows"][-1]["end"] == close(end, 3) and worker["rows"][0]["gpu"] == int(gpu)
        assert [(row["begin"], row["end"], row["sm_efficiency"]) for row in worker["sm_efficiency"]["rows"]] == [
            (close(b, 3), close(e, 3), pytest.approx(value, abs=1e-6)) for b, e, value in theirs["sm_efficiency"]]


def test_our_series_have_the_plugin_s_stretches_and_its_mean(tmp_path):
    plugin_views.make_job(tmp_path, "nccl")
    for worker in stats("--by", "utilization", tmp_path):
        theirs, = ANSWERS["series"][worker["worker"]].values()
        assert [row["utilization"] for row in worker["rows"]] == [
            pytest.approx(100 * value, abs=1e-3) for _, value in theirs["utilization"][:-1]]
        filled = sum((row["end"] - row["begin"]) * row["sm_efficiency"] / 100 for row in worker["rows"])
        assert filled == pytest.approx(sum((e - b) * value for b, e, value in theirs["sm_efficiency"]), rel=1e-4)


# --- memory of a range

def trace_of(name):
    return GOLDEN / (name + ".pt.trace.json.gz")


def words_of(answer):
    begin, end = ("" if at is None else "%.3f" % at for at in answer["range"])
    return ["--range", begin + ":" + end] if begin or end else []


@pytest.mark.parametrize("name, number", [(n, i) for n, all_ in plugin_views.RANGES.items() for i in range(len(all_))])
def test_memory_of_a_range_is_the_plugin_s(name, number):
    theirs = ANSWERS["memory"][name][number]
    ours, = stats("--by", "memory", "--plugin-compat", *words_of(theirs), trace_of(name))
    known = {(device, row[0]): row[1:] for device, rows in theirs["statistics"].items() for row in rows}
    mine = {(row["device"], row["name"]): list(row.values())[2:] for row in ours["rows"]}
    assert set(mine) == set(known)
    for place, figures in known.items():
        assert mine[place] == [close(x, 2) for x in figures], place
    for device in {row["device"] for row in ours["events"]["rows"]} | set(theirs["events"]):
        rows = [list(row.values())[1:] for row in ours["events"]["rows"] if row["device"] == device]
        expected = theirs["events"].get(device, [])
        assert len(rows) == len(expected)
        for row, (op, *figures) in zip(rows, expected):
            assert row[0] == op
            assert row[1:] == [x if x is None else close(x, 2) for x in figures]


def test_ranges_of_ours_are_what_nodes_and_changes_say():
    """The rule by which a page sums up a range that is dragged on the curve."""
    whole, = stats("--by", "memory", trace_of("gpu-ops.1"))
    nodes, changes = whole["nodes"]["rows"], whole["changes"]["rows"]
    length = max(change["time"] for change in changes)
    assert length > 1000
    for begin, end in ((0, length), (length / 3, length / 2), (length / 2, length), (-10, 0)):
        ours, = stats("--by", "memory", "--range", "%.3f:%.3f" % (begin, end), trace_of("gpu-ops.1"))
        sums, calls = {}, {}
        for change in changes:
            if not begin <= change["time"] <= end:
                continue
            own, seen, at = True, set(), change["node"]
            while at is not None:
                node = nodes[at]
                row = sums.setdefault((change["device"], node["name"]), [0, 0, 0, 0, 0, 0])
                size, more = change["size"], change["size"] > 0
                if own:
                    row[1] += size
                    row[3] += more
                    row[5] += max(size, 0)
                if node["name"] not in seen:
                    row[0] += size
                    row[2] += more
                    row[4] += max(size, 0)
                seen.add(node["name"])
                own, at = False, node["parent"]
        for node in nodes:
            calls[node["name"]] = calls.get(node["name"], 0) + (node["end"] >= begin and node["begin"] <= end)
        assert {(row["device"], row["name"]): list(row.values())[2:] for row in ours["rows"]} == {
            (device, name): [calls[name], *row] for (device, name), row in sums.items()}
        inside = lambda at: at is not None and begin <= at <= end
        assert ours["events"]["rows"] == [row for row in whole["events"]["rows"]
                                          if inside(row["allocation_time"]) or inside(row["release_time"])]


def test_open_ends_and_units_of_a_range():
    rows = lambda text: stats("--by", "memory", "--range", text, trace_of("gpu-ops.1"))[0]["events"]["rows"]
    assert rows("2ms:") == rows("2000us:") == rows("0.002s:") != rows(":2ms")
    whole, = stats("--by", "memory", trace_of("gpu-ops.1"))
    assert whole["events"]["rows"] == rows(":") == rows("-5:") == rows("-" + "9" * 30 + ":" + "9" * 30 + "s")


@pytest.mark.parametrize("words", [["--by", "memory", "--range", "1"], ["--by", "memory", "--range", "2:1"],
                                   ["--by", "memory", "--range", "a:b"], ["--by", "memory", "--range", "1:2:3"],
                                   ["--by", "memory", "--range", "1min:"],
                                   ["--by", "memory", "--at", "soon"], ["--range", "1:2"], ["--at", "1"],
                                   ["--by", "memory", "--plugin-compat", "--at", "1"]], ids=" ".join)
def test_a_wrong_range_is_said(words):
    done = tprof("stats", *words, trace_of("gpu-ops.1"))
    assert done.returncode == 2 and done.stdout == "" and ("--range" in done.stderr or "--at" in done.stderr)


def test_alive_is_what_the_events_say():
    whole, = stats("--by", "memory", trace_of("gpu-ops.1"))
    events = whole["events"]["rows"]
    texts = {row["stack"]: row["call_stack"] for row in whole["stacks"]["rows"]}
    for at in sorted({row["allocation_time"] for row in events if row["allocation_time"] is not None})[::5]:
        ours, = stats("--by", "memory", "--at", "%.3f" % at, trace_of("gpu-ops.1"))
        sums = {}
        for row in events:
            begun = row["allocation_time"] is None or row["allocation_time"] <= at
            if begun and (row["release_time"] is None or at < row["release_time"]):
                place = (row["device"], row["operator"], texts.get(row["stack"]))
                size, blocks = sums.get(place, (0, 0))
                sums[place] = (size + row["size"], blocks + 1)
        assert sums and {(row["device"], row["operator"], row["call_stack"]): (row["size"], row["blocks"])
                         for row in ours["alive"]["rows"]} == sums
