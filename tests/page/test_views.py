"""What single views do: charts say their figures; ranges and moments of memory; trees; a diff that one goes down."""
import re

import pytest

import views
from answers import Answers
from walk import derived, differences

pytestmark = pytest.mark.full
CURVE = ".u-over"
TREE = "main table[role=treegrid] tbody tr[aria-level]"
CHARTS = {".bars-plot": 0.5, ".flame-bars": 0.1, ".heat-field": 0.5, CURVE: 0.5}


def assert_right(page, answers):
    """All that is shown now is what the commands say."""
    found = differences(page, answers)[0] + derived(page, answers)
    assert not found, "#%s\n%s" % (page.address(), "\n".join(found[:10]))


def derived_rows(page, pointer, options):
    """Numbers of the rows shown of a table as it is with these options."""
    pattern = re.escape(pointer) + r"/rows/(\d+)/\w+ " + re.escape(options)
    return {int(m.group(1)) for f in page.figures("data-derived") if (m := re.fullmatch(pattern, f.pointer))}


# --- charts

@pytest.mark.parametrize("name,diff", [("kineto", True), ("gpu", False), ("gloo", False), ("cpu-1.13", False)])
def test_charts_say_their_figures_where_one_points(name, diff, browser, made):
    paths, report = made(name, diff=diff)
    answers = Answers(paths[:1], paths[1:]) if diff else Answers(paths)
    page = browser.open(report)
    said = set()
    for view in views.of(page):
        for state in view.states():
            page.go(view.hash(**state))
            for chart, height in CHARTS.items():
                if not page.has(chart):
                    continue
                for share in (0.12, 0.35, 0.6, 0.85):
                    page.point(chart, (share, height))
                    if page.has(".tip"):
                        said.add(chart)
                        assert_right(page, answers)
                page.point("header.shell", (0.5, 0.5))
                assert not page.has(".tip"), chart
    assert ".bars-plot" in said
    page.assert_clean()


def test_a_chart_is_read_by_keyboard(browser, kineto):
    page = browser.open(kineto)
    page.evaluate("document.querySelector('.bars-plot').focus()")
    texts = []
    for _ in range(3):
        page.keys("ArrowRight")
        texts.append(page.text(".tip"))
    page.keys("ArrowLeft")
    assert len(set(texts)) == 3 and all("ms" in text for text in texts) and page.text(".tip") == texts[1]


# --- memory

@pytest.fixture(scope="module")
def memory(made):
    """(report, Answers) of a CPU run with stacks."""
    paths, report = made("cpu-1.13")
    return report, Answers(paths)


def chosen_range(page):
    return re.search(r"range=([\d.]+)(?:%3A|:)([\d.]+)", page.address()).groups()


def test_a_range_dragged_on_the_curve_drives_the_tables(browser, memory):
    """And holds the rows that `--range` of the command says, no more and no fewer."""
    report, answers = memory
    page = browser.open(report, hash="view=memory&rows=all")
    before = len(page.figures())
    page.drag(CURVE, (0.01, 0.5), (0.6, 0.5))  # the first step is in it
    options = "--range %s:%s" % chosen_range(page)
    assert_right(page, answers)
    said = answers.document("stats/memory", options)["workers"][0]
    assert said["rows"] and derived_rows(page, "stats/memory/workers/0", options) == set(range(len(said["rows"])))
    assert "Peak of the range" in page.text("main") and "Alive at the peak of the range" in page.text("main")
    whole = answers.document("stats/memory")["workers"][0]
    assert len(said["rows"]) < len(whole["rows"]) or said["rows"] != whole["rows"]
    page.reload()
    assert_right(page, answers)
    page.click(CURVE, button="right")
    assert "range=" not in page.address() and len(page.figures()) == before
    page.assert_clean()


@pytest.mark.parametrize("begin,end", [("0", "0"), ("1", "1.5"), ("0", "100000000"), ("5", "5.001")])
def test_any_range(begin, end, browser, memory):
    report, answers = memory
    page = browser.open(report, hash="view=memory&rows=all&range=%s:%s" % (begin, end))
    assert_right(page, answers)
    options = "--range %s:%s" % (begin, end)
    said = answers.document("stats/memory", options)["workers"][0]
    assert derived_rows(page, "stats/memory/workers/0", options) == set(range(len(said["rows"])))


def test_a_click_on_the_curve_says_what_was_alive(browser, memory):
    report, answers = memory
    page = browser.open(report, hash="view=memory&rows=all")
    page.drag(CURVE, (0.6, 0.5), (0.6, 0.5))
    moment = re.search(r"\bat=([\d.]+)", page.address()).group(1)
    options = "--at %s" % moment
    assert_right(page, answers)
    said = answers.document("stats/memory", options)["workers"][0]["alive"]["rows"]
    assert said and derived_rows(page, "stats/memory/workers/0/alive", options) == set(range(len(said)))
    page.click("main td.expander button[aria-expanded=false]")
    assert "models.py" in page.text("main .frames")


def test_a_row_marks_its_place_on_the_curve(browser, memory):
    page = browser.open(memory[0], hash="view=memory")
    page.click("main button[title*=curve], main td.expander button[aria-pressed=false]")
    assert "row=" in page.address()


def test_each_device_has_its_curve(browser, made):
    paths, report = made("gpu")
    page = browser.open(report, hash="view=memory")
    peaks = set()
    for device in page.all("main select option", "e.value"):
        page.go("view=memory&device=%s" % device)
        assert_right(page, Answers(paths))
        peaks.add(page.text("main .big"))
    assert len(peaks) == 2


# --- trees

@pytest.mark.parametrize("show", ["module", "tree"])
def test_a_tree_opens_and_closes(show, browser, memory):
    report, answers = memory
    page = browser.open(report, hash="view=modules&show=" + show)
    page.click("main button ::-p-text(Collapse all)")
    roots = page.all(TREE, "+e.ariaLevel")
    page.click("main button ::-p-text(Expand all)")
    levels = page.all(TREE, "+e.ariaLevel")
    assert 0 < len(roots) < len(levels) and set(roots) == {1}
    assert levels[0] == 1 and all(b <= a + 1 for a, b in zip(levels, levels[1:])), levels
    page.go("view=modules&rows=all&show=" + show)
    assert_right(page, answers)


def test_a_bar_of_the_flame_graph_is_zoomed_into(browser, memory):
    report, answers = memory
    page = browser.open(report, hash="view=modules")
    bars = page.all(".flame canvas", "+e.dataset.bars")[0]
    page.drag(".flame-bars", (0.02, 0.05), (0.02, 0.05))  # a click on the top bar
    assert "zoom=0" in page.address()
    page.evaluate("document.querySelector('.flame-bars').focus()")
    page.keys("ArrowDown", "ArrowDown", "Enter")
    assert "zoom=" in page.address() and page.all(".flame canvas", "+e.dataset.bars")[0] <= bars
    assert_right(page, answers)
    page.click("main button ::-p-text(Whole graph)")
    assert "zoom=" not in page.address() and page.all(".flame canvas", "+e.dataset.bars")[0] == bars


# --- diff

def test_a_diff_is_gone_down_and_back(browser, made):
    paths, report = made("kineto", diff=True)
    answers = Answers(paths[:1], paths[1:])
    page = browser.open(report, hash="view=diff")
    at_first = page.text("nav.path")
    for name in ("aten::conv2d", "aten::convolution", "aten::_convolution"):
        page.evaluate("document.querySelector('.compare .bars-plot').focus()")
        for _ in range(60):
            page.keys("ArrowRight")
            if page.text(".compare .tip").startswith(name + "\n"):
                break
        assert_right(page, answers)
        page.keys("Enter")
        assert page.text("nav.path").endswith(name)
        assert_right(page, answers)
    while False in page.all("main button", "/Go Back/.test(e.textContent) ? e.disabled : null"):
        page.click("main button ::-p-text(Go Back)")
    assert page.text("nav.path") == at_first


def test_a_diff_shows_what_is_more_than_noise(browser, made):
    paths, report = made("masks", diff=True)
    rows = Answers(paths[:1], paths[1:]).document("diff")["rows"]
    for by in ("category", "operator_host"):
        page = browser.open(report, hash="view=diff&rows=all&only=changed&by=" + by)
        shown = {int(m.group(1)) for f in page.figures()
                 if f.in_table and (m := re.fullmatch(r"diff/rows/(\d+)/delta_us", f.pointer))}
        assert shown == {i for i, row in enumerate(rows) if row["by"] == by and row["changed"]}


# --- distributed

def test_a_step_of_all_ranks(browser, made):
    paths, report = made("gloo")
    page = browser.open(report, hash="view=distributed")
    options = page.all("main select option", "e.value")
    for step in [one for one in options if one][:4]:
        page.go("view=distributed&step=" + step)
        page.point(".bars-plot", (0.3, 0.5))
        assert_right(page, Answers(paths))
