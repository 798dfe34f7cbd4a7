"""The walk itself: what is planted in the data, in the bundle or in the page must be caught."""
import base64
import gzip
import hashlib
import json
import re

import pytest

import inputs
from answers import Answers
from walk import differences, gaps, strays

TRACE = inputs.KINETO / "resnet50_num_workers_0" / "worker0.1623143089861.pt.trace.json.gz"


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    return inputs.report(tmp_path_factory.mktemp("one") / "report.html", TRACE)


@pytest.fixture(scope="module")
def answers():
    return Answers([TRACE])


@pytest.mark.full
def test_a_wrong_number_in_the_data(tmp_path, chromium, answers):
    """One kernel of the trace that the page was made of was a microsecond longer."""
    trace = json.loads(gzip.open(TRACE).read())
    kernel = next(e for e in trace["traceEvents"] if e.get("cat") == "Kernel")
    kernel["dur"] += 1
    other = tmp_path / TRACE.parent.name / TRACE.name
    other.parent.mkdir()
    other.write_bytes(gzip.compress(json.dumps(trace).encode()))
    page = chromium.open(inputs.report(tmp_path / "report.html", other), hash="view=kernels&rows=all&columns=all")
    found, seen = differences(page, answers)
    assert any("total_duration" in one and "the command says" in one for one in found), found
    assert len(found) < len(seen) / 4, found


def test_a_wrong_formatter_in_the_bundle(tmp_path, chromium, report, answers):
    """All decimals of the page are one percent too large; its own hash of the script is made to agree."""
    text = report.read_text()
    script = re.search(r"<script>(.*?)</script>", text, re.S).group(1)
    bad = "{const f=Number.prototype.toFixed;Number.prototype.toFixed=function(n){return f.call(this*1.01,n)}}" + script

    def hashed(code):
        return "sha256-" + base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
    assert hashed(script) in text
    planted = tmp_path / "report.html"
    planted.write_text(text.replace(script, bad).replace(hashed(script), hashed(bad)))
    found, seen = differences(chromium.open(planted, hash="view=operators&rows=all"), answers)
    assert len(found) > len(seen) / 3
    assert all("says" in one for one in found), found[:5]


PLANTED = {
    "a text": ("f.textContent = f.textContent.replace(/\\d(?=\\D*$)/, (d) => (+d + 1) % 10)", "says"),
    "an exact value": ("f.dataset.value = +f.dataset.value + 1", "the command says"),
    "a pointer": ("f.dataset.figure = f.dataset.figure.replace(/rows.\\d+/, 'rows/7777')", "no '7777'"),
    "a zero": ("f.textContent = '0 µs'", "says 0"),
    "something where nothing is known": ("f.dataset.value = 'null'", "the page holds null"),
}


@pytest.mark.parametrize("what", PLANTED)
def test_a_wrong_figure_in_the_page(what, chromium, report, answers):
    script, complaint = PLANTED[what]
    page = chromium.open(report, hash="view=operators&rows=all")
    before, _ = differences(page, answers)
    page.evaluate("const f = document.querySelector('td [data-figure*=host_total_duration]'); %s; return 1" % script)
    found, _ = differences(page, answers)
    assert len(found) == len(before) + 1 and any(complaint in one for one in found), found


@pytest.mark.full
def test_a_row_and_a_column_that_are_not_there(chromium, report, answers):
    page = chromium.open(report, hash="view=operators&rows=all&columns=all")
    _, seen = differences(page, answers)
    tables = {"stats/op/workers/0": answers.tables()["stats/op/workers/0"]}
    without_row = {one for one in seen if "/rows/11/" not in one}
    without_column = {one for one in seen if not one.endswith("/calls")}
    assert any("1 of 88 rows" in one for one in gaps(without_row, tables))
    assert any("'calls'" in one for one in gaps(without_column, tables))


def test_a_number_that_is_no_figure(chromium, report):
    page = chromium.open(report, hash="view=operators")
    before = strays(page)
    page.evaluate("document.querySelector('main').append('It took 12.3 ms.')")
    assert len(strays(page)) == len(before) + 1


def test_a_request_an_error_and_a_script(chromium, report):
    page = chromium.open(report)
    page.assert_clean()
    page.evaluate("fetch('https://example.org/x').catch(() => 0)")
    page.evaluate("setTimeout(() => { throw Error('planted'); })")
    page.evaluate("""
      const script = document.createElement('script');
      script.textContent = 'window.ran = 1';
      return document.body.append(script)""")
    page.evaluate("new Promise((done) => setTimeout(done, 200))")
    found = page.report()
    assert any("planted" in one for one in found["errors"])
    for directive in ("connect-src", "script-src"):
        assert any(directive in one for one in found["violations"]), found
    assert page.evaluate("window.ran === undefined")
    with pytest.raises(AssertionError):
        page.assert_clean()
