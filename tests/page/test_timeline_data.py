"""The timeline's data in the page, as its own decoder reads it in Node, against the trace itself read here."""
import collections
import decimal
import gzip
import json
import math
import pathlib
import random
import re
import shutil
import subprocess
import sys

import pytest

import harness
import hostile
import inputs

sys.path.append(str(harness.TESTS / "bench"))
import big_trace  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
PACKAGES = harness.BUILD / "src" / "viewer" / "node_modules"
# Finer categories of the page -> that of the event in the trace (analysis/tables/slice_kinds.def).
COARSE = {"step": "user_annotation", "evaluation": "user_annotation", "inference": "user_annotation",
          "after_loop": "user_annotation", "left_over": "user_annotation", "between": "user_annotation",
          "nvtx": "user_annotation", "module": "python_function", "graph": "kernel"}
OLD = {"operator": "cpu_op", "runtime": "cuda_runtime", "memcpy": "gpu_memcpy", "memset": "gpu_memset"}
SYNC_ROWS = 1_000_000
HOST = -2  # in the place of the pid of threads


@pytest.fixture(scope="session")
def decoder(tmp_path_factory):
    """The page's decoder as a module for Node."""
    out = tmp_path_factory.mktemp("decoder") / "decoder.mjs"
    esbuild = shutil.which("esbuild") or PACKAGES / ".bin" / "esbuild"
    subprocess.run([esbuild, HERE / "timeline_all.ts", "--bundle", "--format=esm", "--target=es2022",
                    "--log-level=warning", "--outfile=%s" % out],
                   check=True, env={"PATH": "/usr/bin:/bin", "NODE_PATH": str(PACKAGES)})
    return out


@pytest.fixture(scope="session")
def decoded(decoder):
    def decode(report, worker=0, *texts, node=()):
        done = subprocess.run(["node", *node, HERE / "timeline.mjs", decoder, report, str(worker), *texts],
                              check=True, stdout=subprocess.PIPE, text=True)
        return json.loads(done.stdout)
    return decode


def events_of(path):
    opened = gzip.open if str(path).endswith(".gz") else open
    with opened(path, "rt", encoding="utf-8") as file:
        return json.load(file, parse_float=decimal.Decimal)["traceEvents"]  # doubles cannot tell such times apart


def ns(us):
    return round(us * 1000)


def category_of(event):
    cat = event.get("cat", "").lower()
    return OLD.get(cat, cat)


def slices_of(events):
    """The complete events that are slices: all but those of the profiler and of labels repeated on GPUs."""
    return [e for e in events if e.get("ph") == "X" and category_of(e) not in ("trace", "gpu_user_annotation")]


def place_of(key):
    """(pid, tid) of a track of a trace that tprof wrote; the pid of threads is HOST."""
    words = key.split("/")
    if words[0] == "gpu":
        none = words[3] == "none"
        if words[2] == "sync":
            return int(words[1]), SYNC_ROWS - 1 if none else SYNC_ROWS + int(words[3])
        return int(words[1]), 0xffffffff if none else int(words[3])
    return (-1 if words[0] == "overhead" else HOST), int(words[1])


def with_place(event, pid):
    return HOST if event["pid"] == pid else int(event["pid"]), int(str(event["tid"]).removeprefix("stream "))


def host_pid(events):
    return next(e["pid"] for e in events if e.get("ph") == "X" and category_of(e) == "cpu_op")


def union(intervals):
    total, end = 0, None
    for begin, stop in sorted(intervals):
        if end is None or begin > end:
            total, end = total + stop - begin, stop
        elif stop > end:
            total, end = total + stop - end, stop
    return total


def traces(logdir):
    return harness.trace_files(logdir)


def compare(report, trace, events, decoded, worker=0, coarse=str, unknown=()):
    """All that the page says of slices, against the events of the trace that it was made of."""
    page = decoded(report, worker)
    theirs, pid = slices_of(events), host_pid(events)
    assert page["n"] == len(theirs) == len(page["slices"])
    base = ns(min(e["ts"] for e in theirs)) - min(s[2] for s in page["slices"])
    assert abs(page["from"] - min(s[2] for s in page["slices"])) == 0
    assert page["to"] == max(s[2] + s[3] for s in page["slices"])

    # Each slice, by its place, name, category and times; reading a number as a double may cost a nanosecond.
    ours = sorted((place_of(key), name, coarse(COARSE.get(category, category)), dur, begin)
                  for key, _, begin, dur, name, category, _, _ in page["slices"])
    expected = sorted((with_place(e, pid), e["name"], coarse(category_of(e)), ns(e["dur"]), ns(e["ts"]) - base)
                      for e in theirs)
    for one, other in zip(ours, expected):
        assert one[:4] == other[:4] and abs(one[4] - other[4]) <= 1

    # Rows: in order of time, without overlaps; busy time by track.
    rows = collections.defaultdict(list)
    for key, row, begin, dur, *_ in page["slices"]:
        rows[key, row].append((begin, begin + dur))
    for times in rows.values():
        assert all(a[1] <= b[0] for a, b in zip(times, times[1:]))
    of_track = collections.defaultdict(list)
    for (key, _), times in rows.items():
        of_track[key] += times
    stats = json.loads(harness.tprof("stats", "--by", "track", "--json", trace).stdout)["workers"][0]
    assert [t["key"] for t in page["tracks"]] == [row["key"] for row in stats["rows"]]
    for track, row in zip(page["tracks"], stats["rows"]):
        times = of_track[track["key"]]
        assert row["slices"] == sum(track["rows"]) == len(times)
        assert round(1000 * row["busy"]) == union(times)
        assert row["depth"] == len(track["rows"])
        assert track["busy"] == [sum(end - begin for begin, end in rows[track["key"], d]) for d in range(row["depth"])]

    compare_flows(page, events, stats)
    compare_arguments(page, theirs, pid, base, set(unknown))
    return page


def compare_flows(page, events, stats):
    counts = collections.Counter(e["cat"] for e in events if e.get("ph") == "s")
    counted = {row["kind"]: row["count"] for row in stats["flows"]["rows"]}
    for kind, cats in (("launch", ("ac2g",)), ("backward", ("fwdbwd", "forward_backward"))):
        flow = next(f for f in page["flows"] if f["kind"] == kind)
        assert len(flow["from"]) == len(flow["to"]) == counted[kind]
        # Where a trace has no arrows, its correlations and sequence numbers tell what belongs together.
        assert counted[kind] == sum(counts[cat] for cat in cats) or not any(counts[cat] for cat in cats)
        assert flow["from"] == sorted(flow["from"])
        for start, end in zip(flow["from"], flow["to"]):
            assert page["slices"][start][2] <= page["slices"][end][2]
            if kind == "launch":
                assert dict(page["slices"][start][6])["correlation"] == dict(page["slices"][end][6])["correlation"]


# Numbers by which a trace ties its events, which the Model does not keep; and what the page says elsewhere.
TIES = {"External id", "external id", "Ev Idx", "Record function id", "Python id", "Python parent id", "Python thread",
        "Call stack"}


def same(ours, theirs):
    """An argument as text against its JSON."""
    if isinstance(theirs, str):
        return ours == theirs
    if isinstance(theirs, decimal.Decimal):  # the Model has floats
        return math.isclose(float(ours), float(theirs), rel_tol=1e-6)
    return json.loads(ours) == theirs


def compare_arguments(page, theirs, pid, base, unknown):
    found = collections.defaultdict(list)
    for slice in page["slices"]:
        found[place_of(slice[0]), slice[3], slice[4]].append(slice)
    for event in random.Random(3).sample(theirs, min(3000, len(theirs))):
        begin = ns(event["ts"]) - base
        ours = [one for one in found[with_place(event, pid), ns(event["dur"]), event["name"]]
                if abs(one[2] - begin) <= 1]
        args = {k: v for k, v in event.get("args", {}).items() if k not in TIES and (k, v) != ("queued", 0)}
        if "cbid" in args and "bytes" in args:  # as traces named the size of a call once
            args["size"] = args.pop("bytes")
        for key in ("Concrete Inputs", "Input Strides"):  # lists of nothing say nothing
            if set(json.dumps(args.get(key))) <= set("[]\", "):
                args.pop(key, None)
        args = {k: v for k, v in args.items() if k not in unknown}
        stack = event.get("args", {}).get("Call stack", "")
        assert any(matches(one, args, stack, unknown) for one in ours), (event, ours[:2])


def matches(slice, args, stack, unknown):
    said = {k: v for k, v in slice[6] if k not in unknown}
    return said.keys() == args.keys() and all(same(said[k], v) for k, v in args.items()) and ";".join(slice[7]) == stack


@pytest.mark.parametrize("name", ["gpu", "cpu-1.13"])
def test_page_holds_every_slice_of_the_trace(name, made, decoded):
    paths, report = made(name)
    (trace,) = traces(paths[0])
    compare(report, trace, events_of(trace), decoded)


@pytest.mark.parametrize("name", ["gpu-ops.1", "gpu.1", "modules.1", "lightning.1", "torch-2.14.1", "torch-1.13.1"])
def test_page_holds_every_slice_of_a_golden_trace(name, tmp_path, decoded):
    trace = inputs.GOLDEN / (name + ".pt.trace.json.gz")
    compare(inputs.report(tmp_path / "out.html", trace), trace, events_of(trace), decoded)


@pytest.mark.spread(4)
@pytest.mark.parametrize("number", range(4))
def test_page_holds_every_slice_of_a_trace_of_2021(number, kineto, decoded):
    paths = sorted(path for name in ("resnet50_num_workers_0", "resnet50_num_workers_4")
                   for path in (inputs.KINETO / name).iterdir())
    # Labels had the category of operators then; and types had names of which the Model knows few.
    compare(kineto, paths[number], events_of(paths[number]), decoded, number,
            lambda category: "cpu_op" if category == "user_annotation" else category,
            ("Device", "Trace name", "Trace iteration", "Input type", "Concrete Inputs", "queued", "external id",
             "external ts"))


def written(path, events):
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    return path


def op(name, ts, dur, tid=1, **args):
    return {"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": tid, "ts": ts, "dur": dur, "args": args}


def kernel(name, ts, dur, stream=7, correlation=0):
    return {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": stream, "ts": ts, "dur": dur,
            "args": {"device": 0, "context": 1, "stream": stream, "correlation": correlation, "registers per thread": 8,
                     "shared memory": 0, "grid": [1, 1, 1], "block": [1, 1, 1], "queued": 0}}


def collectives():
    """One on gloo and one of NCCL, as libkineto describes them."""
    said = {"Collective name": "allreduce", "In msg nelems": 6, "Out msg nelems": 6, "Group size": 40, "dtype": "Float",
            "Seq": 3, "Process Group Name": "0", "Process Group Description": "default_pg",
            "Process Group Ranks": "[0, 1, 2 ...]"}
    label = {**op("gloo:all_reduce", 2, 8, tid=2), "cat": "user_annotation"}
    label["args"] = {**said, "Async": 1}
    nccl = kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", 20, 9, 7, 5)
    nccl["args"].update(said)
    return [op("c10d::allreduce_", 1, 3), label, nccl]


def random_events(seed):
    pick, events, correlation = random.Random(seed), [], 0
    names = ["a", "", "</script>", "\u202e", "x" * 5000, "__proto__", *hostile.MARKUP.values()]
    for _ in range(300):
        begin = pick.choice([0, 1, 5, pick.random() * 1e4])
        stream = pick.choice([7, 20])
        correlation += 1
        events.append(kernel(pick.choice(names), round(begin, 3), round(pick.choice([0, 0.001, pick.random() * 500]), 3),
                             stream, correlation))
    return events + [op("aten::mm", 0, 20000, **{"Input Dims": [[2, 3]], "Input type": ["float"]})]


CASES = {
    "random-1": lambda: random_events(1), "random-2": lambda: random_events(2), "random-3": lambda: random_events(3),
    "deep": lambda: [op("level %d" % (i % 7), i, 3 * 10_000 - 2 * i) for i in range(10_000)],
    "at once": lambda: [op("zero", 5, 0), op("zero", 5, 0), op("around", 0, 10), op("after", 10, 0)],
    "far apart": lambda: [op("first", 0, 1), op("last", 9_007_199_254_730, 1), op("long", 1, 9_007_199_254_000)],
    "collectives": collectives,
    "gpu only": lambda: [op("aten::mm", 0, 1)] + [kernel("k", i, 0.5, 7, i + 1) for i in range(1000)],
}


@pytest.mark.parametrize("name", CASES)
def test_page_holds_every_slice_of(name, tmp_path, decoded):
    trace = written(tmp_path / "case.pt.trace.json", CASES[name]())
    compare(inputs.report(tmp_path / "out.html", trace), trace, events_of(trace), decoded)


def test_events_of_unknown_categories_are_said_to_be_missing(tmp_path, decoded):
    events = [op("aten::mm", i, 0.5) for i in range(10)]
    events += [{**op("dma", 20 + i, 0.5), "cat": "unheard_of"} for i in range(7)]
    events += [{**op("label", 40, 0.5), "cat": "gpu_user_annotation"}]
    trace = written(tmp_path / "unknown.pt.trace.json", events)
    figures = decoded(inputs.report(tmp_path / "out.html", trace), 0, "--figures")
    said = "Not on the timeline, since tprof does not know what they are: 7 of unheard_of"
    assert figures["slices"] == 10 and figures["left_out"] == [said]
    assert said in harness.tprof("stats", "--by", "track", trace, env={"COLUMNS": "200"}).stdout


def test_search_finds_all_planted_needles(tmp_path, decoded):
    pick = random.Random(5)
    events = [op("aten::mm", i, 0.5, **{"Input Dims": [[i % 50, 64]], "Input type": ["float"]}) for i in range(5000)]
    needles = sorted(pick.sample(range(5000), 1000))
    for place, i in enumerate(needles):
        if place % 2:
            events[i]["args"]["Input Dims"] = [[777001, place]]
        else:
            events[i]["args"]["Call stack"] = "f.py(1): Needle_777001_%d;main.py(2): <module>" % place
    trace = written(tmp_path / "needles.pt.trace.json", events)
    page = decoded(inputs.report(tmp_path / "out.html", trace), 0, "777001", "NEEDLE_777001", "not there")
    begins = sorted(page["slices"][i][2] / 1000 for i in page["found"]["777001"])
    first = min(s[2] for s in page["slices"]) / 1000
    assert [round(b - first) for b in begins] == needles
    assert len(page["found"]["NEEDLE_777001"]) == 500 and page["found"]["not there"] == []


def test_numbers_of_a_slice_are_found(tmp_path, decoded):
    events = [op("aten::mm", 0, 100)] + [kernel("k", i, 0.5, 7, 1000 + i) for i in range(50)]
    trace = written(tmp_path / "numbers.pt.trace.json", events)
    page = decoded(inputs.report(tmp_path / "out.html", trace), 0, "1037")
    (found,) = page["found"]["1037"]
    assert dict(page["slices"][found][6])["correlation"] == "1037"


@pytest.mark.full
def test_page_that_is_too_large_says_which_slices_it_lacks(tmp_path, decoded):
    events = []
    for event in big_trace.rich_events(100_000):
        events.append(event)
        if event.get("cat") == "cpu_op" and "_impl" not in event["name"]:
            events.append({**event, "cat": "python_function", "name": "f.py(%d): f" % (len(events) % 97),
                           "args": {"Python id": len(events), "Python parent id": None}})
    trace = written(tmp_path / "large.pt.trace.json", events)
    whole = decoded(inputs.report(tmp_path / "whole.html", trace), 0, "--figures")["slices"]
    seen = {}
    for room in range(1 << 20, 3 << 20, 1 << 17):
        report = inputs.report(tmp_path / "small.html", trace, "--force", "--max-size", room)
        figures = decoded(report, 0, "--figures")
        there, said = figures["slices"], figures["left_out"]
        seen[there] = True
        assert (there == whole) == (said == [])
        assert report.stat().st_size <= room
        if there not in (0, whole):
            assert "%d of %d slices" % (whole - there, whole) in said[0]
    assert list(seen) == sorted(seen) and len(seen) >= 3 and whole in seen


@pytest.mark.parametrize("span", ["", "0.2ms:1.9ms", "0.5ms:", ":1ms", "1ms:1ms"])
def test_sums_of_a_range_are_those_of_its_slices(span, tmp_path, decoded):
    trace = inputs.GOLDEN / "gpu-ops.1.pt.trace.json.gz"
    page = decoded(inputs.report(tmp_path / "out.html", trace))
    low, high = ([float(edge[:-2]) * 1e6 if edge else None for edge in span.split(":")] if span else (None, None))
    low, high = -math.inf if low is None else low, math.inf if high is None else high
    inside = [slice for slice in page["slices"]
              if (slice[2] < high and slice[2] + slice[3] > low if slice[3] else low <= slice[2] < high)]
    sums = collections.defaultdict(list)
    for key, row, begin, dur, name, category, *_ in inside:
        cut = max(begin, low), min(begin + dur, high)
        below = [(max(b, cut[0]), min(b + d, cut[1])) for k, r, b, d, *_ in inside
                 if k == key and r > row and b < cut[1] and b + d > cut[0]]
        sums[key, name, category].append((cut[1] - cut[0], cut[1] - cut[0] - union(below)))
    rows = json.loads(harness.tprof("stats", "--by", "slice", "--json", *(["--range", span] if span else []),
                                    trace).stdout)["workers"][0]["rows"]
    assert len(rows) == len(sums) and (rows or span == "1ms:1ms")
    for row in rows:
        times, selves = zip(*sums[row["track"], row["name"], row["category"]])
        said = [round(1000 * row[key]) for key in ("total", "self", "average", "min", "max")]
        assert row["count"] == len(times)
        assert said == [sum(times), sum(selves), sum(times) // len(times), min(times), max(times)]


def test_sizes_add_up_to_the_file(tmp_path):
    out = tmp_path / "out.html"
    done = harness.tprof("report", "--sizes", "-o", out, inputs.GOLDEN / "gpu-ops.1.pt.trace.json.gz")
    rows = {}
    for line in done.stdout.splitlines():
        found = re.match(r"(\S.*?)  +(\d+) +(\d+) ", line)
        if found:
            rows[found[1]] = int(found[3])
    assert done.returncode == 0 and rows["timeline: begin"] > 0
    assert rows.pop("all") == sum(rows.values()) == out.stat().st_size
