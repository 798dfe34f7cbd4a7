"""tprof report: the page holds what the commands say, nothing of a trace gets out of it, and no file is lost.

What it looks like, and that browsers show these figures, is tested in tests/page."""
import base64
import gzip
import hashlib
import json
import pathlib
import re
import shutil

import pytest

import page
from harness import run, tprof

GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "golden"
KINETO = GOLDEN / "kineto-traces"
RUN = KINETO / "resnet50_num_workers_0"
MANUAL = (pathlib.Path(__file__).resolve().parents[2] / "tools" / "manual" / "stats.md").read_text()
WORDS = re.findall(r"^\| `(\S+)` \|", MANUAL.split("stats:begin")[1].split("|---|")[1].split("stats:end")[0], re.M)


@pytest.fixture(scope="module", autouse=True)
def built_with_a_page(tmp_path_factory):
    done = tprof("report", GOLDEN / "gpu.1.pt.trace.json.gz", "-o", tmp_path_factory.mktemp("page") / "a.html")
    if "-Dviewer=off" in done.stderr:
        pytest.skip("this build has no page: npm was not there, or could not fetch its two packages")


def report(tmp_path, *words, code=0):
    out = tmp_path / "report.html"
    done = tprof("report", *words, "-o", out)
    assert done.returncode == code, done.stderr
    return out, done


def said(*words):
    done = tprof(*words, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


INPUTS = {"kineto": [KINETO], "gpu-ops": [GOLDEN / "gpu-ops.1.pt.trace.json.gz"],
          "modules": [GOLDEN / "modules.1.pt.trace.json.gz"],
          "torch": [GOLDEN / "torch-2.14.1.pt.trace.json.gz", GOLDEN / "torch-1.13.1.pt.trace.json.gz"]}


@pytest.mark.parametrize("paths", INPUTS.values(), ids=INPUTS)
def test_the_page_holds_exactly_what_the_commands_say(paths, tmp_path):
    out, _ = report(tmp_path, *paths)
    found = page.documents(out)
    for command in ("overview", "steps", "advise"):
        assert found[command] == said(command, *paths), command
    words = [word for word in WORDS if word != "slice"]  # which the page computes from its timeline
    assert sorted(found["stats"]) == sorted(words)
    for word in words:
        assert found["stats"][word] == said("stats", "--by", word, *paths), word


def test_two_sides_are_compared_and_both_are_in_the_page(tmp_path):
    a, b = RUN, KINETO / "resnet50_num_workers_4"
    out, _ = report(tmp_path, a, "--vs", b)
    found = page.documents(out)
    assert found["diff"] == said("diff", a, b)
    assert found["overview"] == said("overview", a, b)


def test_the_same_traces_give_the_same_page(tmp_path):
    first = report(tmp_path, RUN)[0].read_bytes()
    assert report(tmp_path, RUN)[0].read_bytes() == first


def test_the_last_line_says_where_the_page_is_and_how_large(tmp_path):
    out, done = report(tmp_path, RUN)
    assert done.stdout.startswith(f"wrote {out} ({out.stat().st_size / 2**20:.2f} MB)")


# --- nothing of a trace gets out of its place

HOSTILE = ["</script><script>alert(1)</script>", "<!--<script>", "--><img src=x onerror=alert(1)>", "\"'`${alert(1)}",
           "\u202egnissim", "\u0000\u0001\u001b[31m", "aten::\U0001f600", "<style>*{display:none}</style>", "x" * 65536]


def hostile_trace(path):
    events = [{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#0", "pid": 1, "tid": 1, "ts": 0, "dur": 10000}]
    for i, name in enumerate(HOSTILE):
        events.append({"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 1, "ts": 10 + 100 * i, "dur": 50, "args": {}})
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    return path


def test_names_in_a_trace_cannot_break_out_of_the_data(tmp_path):
    out, _ = report(tmp_path, hostile_trace(tmp_path / "<b>.pt.trace.json"))
    found = page.elements(out)
    runs = [text for tag, attributes, text in found.found if tag == "script" and "type" not in attributes]
    assert len(runs) == 1  # the viewer's own
    assert not found.tags & {"img", "iframe", "object", "link", "base"}
    policy = next(a["content"] for tag, a, _ in found.found if a.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'; ")
    for text in runs + [text for tag, _, text in found.found if tag == "style"]:
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    assert "unsafe" not in policy and "http" not in policy
    names = {row["name"] for row in page.documents(out)["stats"]["op"]["workers"][0]["rows"]}
    assert names >= set(HOSTILE) - {HOSTILE[5]}  # of control characters readers may make something else


def test_broken_utf8_is_replaced(tmp_path):
    path = tmp_path / "a.pt.trace.json"
    path.write_bytes(hostile_trace(path).read_bytes().replace(b"aten::", b"aten::\xff\xfe"))
    out, _ = report(tmp_path, path)
    assert any("\ufffd" in row["name"] for row in page.documents(out)["stats"]["op"]["workers"][0]["rows"])


# --- files that are there

def test_a_file_that_is_no_report_is_not_overwritten(tmp_path):
    out = tmp_path / "report.html"
    out.write_text("<html>my own page</html>")
    done = tprof("report", RUN, "-o", out)
    assert done.returncode == 2 and "--force" in done.stderr and str(out) in done.stderr
    assert out.read_text() == "<html>my own page</html>"
    assert tprof("report", RUN, "-o", out, "--force").returncode == 0
    assert page.documents(out)["overview"]["workers"]


def test_a_report_is_written_anew_and_nothing_is_left_beside_it(tmp_path):
    report(tmp_path, RUN)
    out, _ = report(tmp_path, GOLDEN / "gpu.1.pt.trace.json.gz")
    assert len(page.documents(out)["overview"]["workers"]) == 1
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]


@pytest.mark.parametrize("force", [[], ["--force"]])
def test_what_is_no_file_is_refused(tmp_path, force):
    done = tprof("report", RUN, "-o", tmp_path, *force)
    assert done.returncode == 2 and "not a regular file" in done.stderr and done.stderr.count("\n") == 1


def test_a_directory_that_is_not_there_is_said(tmp_path):
    done = tprof("report", RUN, "-o", tmp_path / "none" / "report.html")
    assert done.returncode != 0 and "none" in done.stderr and "internal" not in done.stderr


# --- bad input

def test_nothing_to_read_leaves_no_page(tmp_path):
    for path in (tmp_path, tmp_path / "missing"):
        done = tprof("report", path, "-o", tmp_path / "report.html")
        assert done.returncode == 3 and not (tmp_path / "report.html").exists()


def test_what_could_not_be_read_is_said_in_the_page(tmp_path):
    log = tmp_path / "log"
    log.mkdir()
    shutil.copy(GOLDEN / "gpu.1.pt.trace.json.gz", log / "a.1.pt.trace.json.gz")
    (log / "b.1.pt.trace.json").write_bytes(gzip.open(GOLDEN / "gpu.1.pt.trace.json.gz").read()[:5000])
    out, _ = report(tmp_path, log, code=4)
    left_out = page.documents(out)["report"]["left_out"]
    assert len(left_out) == 1 and "b.1.pt.trace.json" in left_out[0]


def test_a_trace_of_nothing_gives_a_page(tmp_path):
    path = tmp_path / "a.pt.trace.json"
    path.write_text('{"traceEvents": []}')
    out, _ = report(tmp_path, path)
    assert page.documents(out)["overview"] == said("overview", path)


@pytest.mark.parametrize("size", ["much", "-1", ""])
def test_a_size_that_is_none_is_refused(tmp_path, size):
    done = tprof("report", RUN, "-o", tmp_path / "report.html", f"--max-size={size}")
    assert done.returncode == 2 and "--max-size" in done.stderr


# --- the budget, of which 1M is the least

@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A log directory whose page is larger than that, and the size of the page."""
    log = tmp_path_factory.mktemp("large")
    for copy in "abcd":
        shutil.copytree(RUN, log / copy)
    return log, report(log, log)[0].stat().st_size


def tables_left_out(document):
    if isinstance(document, list):
        return sum(map(tables_left_out, document))
    if not isinstance(document, dict):
        return 0
    rows = document.get("rows")
    return (isinstance(rows, dict) and "left_out" in rows) + sum(map(tables_left_out, document.values()))


def test_what_does_not_fit_is_left_out_largest_first_and_said(large, tmp_path):
    log, whole = large
    assert whole > 1 << 20
    out, done = report(tmp_path, log, f"--max-size={whole - 1}")
    found = page.documents(out)
    assert out.stat().st_size < whole
    said, = found["report"]["left_out"]
    assert said in done.stderr and "slices are not in this page" in said
    shorter = [one for one in found["timeline"]["workers"] if one["left_out"]]
    assert len(shorter) == 1 and 0 < shorter[0]["slices"] < shorter[0]["all"] and tables_left_out(found) == 0


def test_sums_are_never_left_out(large, tmp_path):
    log, _ = large
    out, _ = report(tmp_path, log, "--max-size=1M")
    assert out.stat().st_size <= 1 << 20
    found = page.documents(out)
    for word in ("op", "op+shape", "kernel", "kernel+op", "memory"):
        theirs = said("stats", "--by", word, log)["workers"]
        assert [worker["rows"] for worker in found["stats"][word]["workers"]] == [worker["rows"] for worker in theirs]
    assert any("left_out" in worker["rows"] for worker in found["stats"]["op+shape+stack"]["workers"])


# --- tprof run --report

def test_run_writes_the_page_at_the_end(logdir):
    result = run(["train.py", 6], "run", logdir=logdir, run_options=("--report",))
    assert (result.returncode, result.stdout) == (0, "done 6\n")
    out = logdir / "report.html"
    assert f"tprof: wrote {out} (" in result.stderr
    assert page.documents(out)["overview"] == said("overview", logdir)


def test_a_page_of_nothing_recorded_is_not_written(logdir):
    result = run(["train.py", 6], "run", logdir=logdir, run_options=("--report", "--steps", "90:91"))
    assert result.returncode == 0 and not (logdir / "report.html").exists() and "report.html" not in result.stderr
