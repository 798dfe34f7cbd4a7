"""The story that tprof must be able to tell: masks.py made faster and smaller in two changes, told with no change to it.

diff names the label that became faster; op+stack and peak show the memory and the time of the very source lines.
"""
import collections
import json
import pathlib

import pytest

from harness import finish, start, tprof, unless_busy

PROGRAM = pathlib.Path(__file__).with_name("masks.py").resolve()
LINES = {text.split("# ")[1]: number for number, text in enumerate(PROGRAM.read_text().splitlines(), 1) if "  # " in text}
FORMS = ("double", "float", "nonzero")
CELLS = 160 * 160 * 40
STEPS = 90  # enough that a busy machine does not drown the change


@pytest.fixture(scope="module")
def runs(outer_machine, tmp_path_factory):
    """{form: directory of its trace}"""
    base = tmp_path_factory.mktemp("story")
    # All at once: what else the machine does, it does to all of them.
    started = [(form, start([PROGRAM, form], "run", logdir=base / form, where=outer_machine,
                            run_options=["-q", "--with-stack=1", "--profile-memory", "--step", "range:^SCORE$"]))
               for form in FORMS]
    for form, process in started:
        result = finish(process, base / form)
        assert (result.returncode, result.stdout) == (0, "3\n"), result.stderr
    return {form: base / form for form in FORMS}


def answer(*words):
    done = tprof(*words, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def by_line(rows, key):
    """Sums over the lines that masks.py marks: of the innermost frame of theirs."""
    sums = collections.Counter()
    for row in rows:
        for name, number in LINES.items():
            if "masks.py(%d): " % number in row["call_stack"].split(";")[0]:
                sums[name] += row[key]
    return sums


def test_diff_tells_that_the_search_became_faster(runs):
    told = answer("diff", runs["double"], runs["nonzero"])
    step = told["step"]
    with unless_busy(runs["nonzero"]):
        assert step["delta_us"] < 0 and step["low_us"] < step["high_us"] < 0, told["story"]
    search, = [row for row in told["rows"] if row["by"] == "operator_host" and row["name"] == "SEARCH"]
    score, = [row for row in told["rows"] if row["by"] == "operator_host" and row["name"] == "SCORE"]
    assert search["delta_us"] < -3 * abs(score["delta_us"])
    assert {"aten::clone", "aten::nonzero"} <= {row["name"] for row in told["rows"]}


def test_memory_falls_at_its_source_line(runs):
    tables = {form: answer("stats", "--by", "op+stack", runs[form])["workers"][0]["rows"] for form in FORMS}
    allocated = {form: by_line(rows, "self_cpu_memory_usage") for form, rows in tables.items()}
    for form, size in (("double", 8), ("float", 4)):
        assert allocated[form]["mask"] == pytest.approx(size * CELLS, rel=0.01)
        assert allocated[form]["out"] == pytest.approx(STEPS * size * CELLS, rel=0.01)
    assert "out" not in allocated["nonzero"] and "back" not in allocated["nonzero"] and "inside" in allocated["nonzero"]


def test_time_goes_from_its_source_lines(runs):
    """From the copies out and back to the one operator that takes their place."""
    tables = {form: answer("stats", "--by", "op+stack", runs[form])["workers"][0]["rows"] for form in FORMS}
    spent = {form: by_line(rows, "host_self_duration") for form, rows in tables.items()}
    for form in ("double", "float"):
        assert spent[form]["out"] > 0 and spent[form]["back"] > 0 and "inside" not in spent[form]
    assert spent["nonzero"]["inside"] > 0 and spent["nonzero"]["out"] + spent["nonzero"]["back"] == 0


def test_the_peak_is_made_of_the_mask_and_its_copy_until_there_is_none(runs):
    peaks = {}
    for form in FORMS:
        worker, = answer("stats", "--by", "peak", runs[form])["workers"]
        peaks[form] = by_line([row for row in worker["rows"] if row["device"] == "CPU"], "size")
    for form, size in (("double", 8), ("float", 4)):
        assert {peaks[form]["mask"], peaks[form]["out"]} == {size * CELLS}
    assert peaks["nonzero"]["mask"] == 4 * CELLS and "out" not in peaks["nonzero"]
    assert sum(peaks["double"].values()) > sum(peaks["float"].values()) > sum(peaks["nonzero"].values())
