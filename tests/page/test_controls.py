"""What a reader can do with the page: sort, search, choose, open, copy, link, keys, colours, print and zoom."""
import csv
import io
import json
import re

import pytest

import harness
import inputs
import views
from answers import Answers

full = pytest.mark.full
TABLE = "stats/op/workers/0"
OPERATORS = "view=operators&rows=all"


@pytest.fixture(scope="module")
def operators(made):
    """The rows of the first worker's operators, as the command says them."""
    paths, _ = made("kineto")
    return Answers(paths).document("stats/op")["workers"][0]["rows"]


def rows(page, table=TABLE):
    """Numbers of the rows that the table shows, from top to bottom."""
    found = []
    for figure in page.figures():
        match = re.fullmatch(re.escape(table) + r"/rows/(\d+)/calls", figure.pointer)
        if match and figure.in_table:
            found.append(int(match.group(1)))
    return found


def ordered(operators, key, up):
    """As the command: unknown values last, equal ones as they were."""
    known = [i for i, row in enumerate(operators) if row[key] is not None]
    known.sort(key=lambda i: operators[i][key], reverse=not up)
    return known + [i for i, row in enumerate(operators) if row[key] is None]


def header(title):
    return "main th button ::-p-text(%s)" % title


@pytest.mark.parametrize("key,title", [
    ("calls", "# of Calls"), pytest.param("host_total_duration", "CPU total", marks=full),
    pytest.param("name", "Name", marks=full)])
def test_a_click_on_a_title_sorts_and_another_turns(key, title, browser, kineto, operators):
    page = browser.open(kineto, hash=OPERATORS)
    as_at_first = rows(page)
    ways = (True, False) if key == "name" else (False, True)
    for way in ways:
        page.click(header(title))
        assert rows(page) == ordered(operators, key, way)
        assert len(page.all("main th[aria-sort=ascending], main th[aria-sort=descending]")) == 1
        assert "sort=" + key in page.address()
    page.click(header(title))
    assert rows(page) == as_at_first


@full
def test_the_order_is_the_command_s(browser, made):
    """--sort of `tprof stats` and #sort= of the page."""
    paths, report = made("kineto")
    page = browser.open(report, hash=OPERATORS + "&sort=host_self_duration&columns=all")
    column = re.compile(TABLE + r"/rows/\d+/host_self_duration")
    shown = [f.value for f in page.figures() if f.in_table and column.fullmatch(f.pointer)]
    said = harness.tprof("stats", "--by", "op", "--sort", "host_self_duration", "--json", *paths)
    assert shown == [row["host_self_duration"] for row in json.loads(said.stdout)["workers"][0]["rows"]]


@pytest.mark.parametrize("search,rule", [
    pytest.param("CONV backward", lambda row: all(w in row["name"].lower() for w in ("conv", "backward")), marks=full),
    pytest.param("calls>100", lambda row: row["calls"] > 100, marks=full),
    ("conv host_total_duration>=20ms",
     lambda row: "conv" in row["name"].lower() and row["host_total_duration"] >= 20000),
])
def test_a_search_keeps_the_rows_that_it_says(search, rule, browser, kineto, operators):
    page = browser.open(kineto, hash=OPERATORS)
    page.type("main .tools input[type=search]", search)
    wanted = {i for i, row in enumerate(operators) if rule(row)}
    assert wanted and set(rows(page)) == wanted < set(range(len(operators)))
    assert "%d of %d rows" % (len(wanted), len(operators)) in page.text("main")
    page.reload()
    assert set(rows(page)) == wanted


@full
def test_a_search_that_finds_nothing_says_so_and_can_be_cleared(browser, kineto, operators):
    page = browser.open(kineto, hash=OPERATORS + "&q=nosuchoperator")
    assert rows(page) == [] and "No row matches" in page.text("main")
    page.click("main button ::-p-text(Clear)")
    assert len(rows(page)) == len(operators)


@full
def test_a_comparison_with_no_column_says_so(browser, kineto):
    page = browser.open(kineto, hash=OPERATORS + "&q=nosuch>3")
    assert rows(page) == [] and "no column “nosuch”" in page.text("main")


@full
def test_a_click_on_a_row_opens_it_and_another_closes_it(browser, kineto):
    page = browser.open(kineto, hash=OPERATORS + "&q=aten::empty")
    page.click("main tr.opens td.number")
    assert page.has("main tr.below")
    page.click("main tr.opens td.number")
    assert not page.has("main tr.below")


@full
def test_changes_are_sorted_by_how_large_they_are(browser, made):
    page = browser.open(made("kineto", diff=True)[1], hash="view=diff&by=operator_host&change.sort=delta_us&rows=all")
    shown = [f.value for f in page.figures() if f.in_table and re.fullmatch(r"diff/rows/\d+/delta_us", f.pointer)]
    assert shown and min(shown) < 0 < max(shown)
    assert [abs(value) for value in shown] == sorted((abs(value) for value in shown), reverse=True)


@full
@pytest.mark.parametrize("by", ["media", "beforeprint"])  # a PDF is made before the media change is heard
def test_print_shows_a_thousand_rows_and_says_how_many_there_are(by, chromium, made):
    page = chromium.open(made("kineto")[1], hash="view=modules&show=timeline&levels=all")
    if by == "media":
        page.media("print")
    else:
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert 900 < page.evaluate("document.querySelectorAll('main tbody tr').length") <= 1010
    assert "The first 1,000 rows" in page.text("main")


@full
def test_group_by_shape_shows_the_other_table(browser, kineto, made):
    page = browser.open(kineto, hash=OPERATORS)
    page.click("main button ::-p-text(input shape)")
    shapes = Answers(made("kineto")[0]).document("stats/op+shape")["workers"][0]["rows"]
    assert "group=op%2Bshape" in page.address()
    assert set(rows(page, "stats/op+shape/workers/0")) == set(range(len(shapes)))


@full
def test_columns_are_chosen(browser, kineto):
    page = browser.open(kineto, hash=OPERATORS)

    def columns():
        return {f.pointer.rsplit("/", 1)[1] for f in page.figures() if f.pointer.startswith(TABLE + "/rows/0/")}
    before = columns()
    page.click("main button ::-p-text(Columns)")
    page.click("main label ::-p-text(CPU time avg)")
    page.keys("Escape")
    assert columns() == before | {"host_mean_duration"}
    page.reload()
    assert columns() == before | {"host_mean_duration"}


def copied(page):
    page.evaluate("""
      window.copied = [];
      const clipboard = {writeText: async (text) => { window.copied.push(text); }};
      Object.defineProperty(navigator, 'clipboard', {value: clipboard});
      return 1""")
    page.click("main button ::-p-text(Copy)")
    text, = page.evaluate("window.copied")
    return text


def test_names_in_a_copy_are_no_formulas(browser, tmp_path):
    """A spreadsheet would run them. Numbers stay numbers."""
    names = ["=1+1", "+1", "-1", "@SUM(A1)", "a=1"]
    event = {"ph": "X", "cat": "cpu_op", "pid": 1, "tid": 1, "dur": 2.0, "args": {}}
    trace = tmp_path / "w.1.pt.trace.json"
    trace.write_text(json.dumps({"traceEvents": [dict(event, name=name, ts=3.0 * i) for i, name in enumerate(names)]}))
    page = browser.open(inputs.report(tmp_path / "report.html", trace), hash=OPERATORS + "&cols=name,calls")
    found = list(csv.DictReader(io.StringIO(copied(page))))
    assert {row["name"] for row in found} == {"'" + name for name in names[:4]} | {"a=1"}
    assert {row["calls"] for row in found} == {"1"}


def test_a_copy_is_what_the_command_says(browser, kineto, operators):
    """Of the rows and columns shown, in their order, exact."""
    page = browser.open(kineto, hash=OPERATORS + "&q=conv&sort=calls&cols=name,calls,host_self_duration")
    text = copied(page)
    order = [i for i in ordered(operators, "calls", False) if "conv" in operators[i]["name"].lower()]
    assert rows(page) == order
    table = list(csv.DictReader(io.StringIO(text)))
    assert [row["name"] for row in table] == [operators[i]["name"] for i in order]
    for row, i in zip(table, order):
        assert list(row) == ["name", "host_self_duration", "calls"]
        assert float(row["calls"]) == operators[i]["calls"]
        assert float(row["host_self_duration"]) == operators[i]["host_self_duration"]


@full
def test_a_copy_without_a_clipboard(browser, kineto):
    """As from a file in some browsers: by way of a selection, which the page takes away again."""
    page = browser.open(kineto, hash=OPERATORS)
    page.evaluate("""
      Object.defineProperty(navigator, 'clipboard', {value: undefined});
      document.addEventListener('copy', () => { window.copied = document.activeElement.value; });
      return 1""")
    page.click("main button ::-p-text(Copy)")
    assert page.evaluate("window.copied").startswith("name,")
    assert page.evaluate("document.querySelectorAll('textarea').length") == 0
    page.assert_clean()


def test_call_stacks_of_an_operator(browser, kineto, made, operators):
    """Every stack of it, with its figures, and nobody else's."""
    stacks = Answers(made("kineto")[0]).document("stats/op+stack")["workers"][0]["rows"]
    page = browser.open(kineto, hash=OPERATORS + "&q=aten::empty")
    page.click("main td.expander button")
    first, = {operators[i]["name"] for i in rows(page)[:1]}
    wanted = {i for i, row in enumerate(stacks) if row["name"] == first}
    assert set(rows(page, "stats/op+stack/workers/0")) == wanted
    text = page.text("main tr.below")
    for i in wanted:
        for frame in stacks[i]["call_stack"].split(";"):
            assert frame.rsplit("): ", 1)[-1] in text


@full
def test_a_source_line_opens_the_editor(browser, made):
    _, report = made("cpu-1.13")
    page = browser.open(report, hash=OPERATORS)
    page.click("main td.expander button")
    links = page.all("main tr.below a", "[e.getAttribute('href'), e.textContent]")
    ours = [href for href, text in links if "models.py" in text]
    assert ours and all(re.fullmatch(r"vscode://file/.*/tests/torch/models\.py:\d+", href) for href in ours), links[:5]
    page.go(OPERATORS + "&editor=idea")
    links = page.all("main tr.below a", "e.getAttribute('href')")
    assert links and all(href.startswith("idea://open?") for href in links)
    page.go(OPERATORS + "&editor=javascript")
    links = page.all("main tr.below a", "e.getAttribute('href')")
    assert links and all(href.startswith("vscode://file/") for href in links)


STATES = ["view=operators&group=op%2Bshape&sort=calls&q=conv", "view=kernels&group=kernel%2Bop&operator=conv&worker=1",
          "view=overview&worker=2", "view=operators&top=3&theme=dark", "view=memory&worker=3"]


@pytest.mark.parametrize("state", STATES[:1] + [pytest.param(state, marks=full) for state in STATES[1:]])
def test_a_link_restores_a_state(state, browser, kineto):
    """Opened at once, gone to from elsewhere, and come back to: the same page."""
    page = browser.open(kineto, hash=state)
    opened = page.text("body")
    page.go("view=overview")
    assert page.text("body") != opened or "overview" in state
    page.go(state)
    assert page.text("body") == opened
    page.go("view=overview&worker=0")
    page.evaluate("""
      const changed = new Promise((done) => addEventListener('hashchange', done, {once: true}));
      history.back();
      return changed.then(() => 1)""")
    page.browser.tell("settle")
    assert page.text("body") == opened
    page.assert_clean()


@full
def test_an_address_that_means_nothing_opens_the_overview(browser, kineto):
    at_first = browser.open(kineto).text("main")
    for state in ("view=nosuch", "worker=99", "worker=-1&view=overview", "%%%", "view=__proto__", "=&=&&"):
        page = browser.open(kineto, hash=state)
        assert page.text("main") == at_first, state
        page.assert_clean()
    for state in ("sort=nosuch:up", "cols=nosuch", "top=-5", "top=abc"):
        page = browser.open(kineto, hash="view=operators&" + state)
        assert len(page.all("main tbody tr")) > 5, state
        page.assert_clean()


def test_keys(browser, kineto):
    page = browser.open(kineto)
    tabs = views.all_of(page)
    for number, view in enumerate(tabs, 1):
        if view.enabled:
            page.keys(str(number))
            assert "view=%s" % view.name in page.address()
    page.keys(str(1 + [view.name for view in tabs].index("operators")))
    page.keys("/")
    assert page.evaluate("document.activeElement.type") == "search"
    page.keys("c", "o", "n", "v", "2")
    assert "q=conv2" in page.address(), "keys of the page must not be taken from a field"
    page.evaluate("document.activeElement.blur()")
    page.keys("?")
    assert "?" in page.dialog() and "search" in page.dialog()
    page.keys("Escape")
    assert not page.dialog()


@full
def test_all_can_be_reached_by_keyboard(browser, kineto):
    """Tab goes through all that can be clicked, each with a focus that is seen."""
    page = browser.open(kineto, hash="view=operators&q=conv2d")
    seen, unseen = set(), []
    for _ in range(120):
        page.browser.tell("keys", keys=["Tab"], calm=0)
        at, visible = page.evaluate("""
          const e = document.activeElement, s = getComputedStyle(e);
          const outlined = s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) > 0;
          return [[...document.querySelectorAll('*')].indexOf(e), e === document.body || outlined || s.boxShadow !== 'none']""")
        if at in seen:
            break
        seen.add(at)
        if not visible:
            unseen.append(page.evaluate("document.activeElement.outerHTML.slice(0, 200)"))
    assert not unseen, unseen[:5]
    clickable = page.all("a[href], button, input, select, summary", """
      [e.getClientRects().length && !e.disabled, [...document.querySelectorAll('*')].indexOf(e), e.outerHTML.slice(0, 200)]""")
    assert not [html for can, at, html in clickable if can and at not in seen]


def background(page):
    return page.evaluate("getComputedStyle(document.body).backgroundColor")


def brightness(colour):
    return sum(float(n) for n in re.findall(r"[\d.]+", colour)[:3]) / 3


@full
def test_dark_and_light(browser, kineto):
    page = browser.open(kineto, hash="theme=dark")
    assert brightness(background(page)) < 80
    page.go("theme=light")
    assert brightness(background(page)) > 200


@full
def test_dark_as_the_system(chromium, kineto):
    assert brightness(background(chromium.open(kineto, scheme="dark"))) < 80
    assert brightness(background(chromium.open(kineto, scheme="light"))) > 200
    assert brightness(background(chromium.open(kineto, scheme="dark", hash="theme=light"))) > 200


def test_print_holds_all_rows_and_no_controls(chromium, kineto, operators):
    page = chromium.open(kineto, hash="view=operators&theme=dark")
    some = len(rows(page))
    page.media("print")
    assert some < len(operators) == len(rows(page))
    assert not any(page.all("main input, main .tools button", "e.getClientRects().length"))
    assert brightness(background(page)) > 200, "ink is wasted on a dark page"
    page.media(None)
    assert len(rows(page)) < len(operators)
    page.assert_clean()


@full
def test_a_print_has_pages(browser, kineto, tmp_path):
    page = browser.open(kineto, hash="view=operators")
    page.pdf(tmp_path / "operators.pdf")
    data = (tmp_path / "operators.pdf").read_bytes()
    assert data.startswith(b"%PDF") and len(data) > 10000


@full
@pytest.mark.parametrize("zoom", [0.8, 1, 1.25, 2])
@pytest.mark.parametrize("width", [1280, 1920])
def test_no_view_is_wider_than_its_window(zoom, width, browser, made):
    for name in ("kineto", "gpu"):
        page = browser.open(made(name)[1], width=width, height=800, zoom=zoom)
        for view in views.of(page):
            for state in view.states():
                page.go(view.hash(**state))
                wide, all_of_it = page.evaluate("[document.documentElement.clientWidth, document.documentElement.scrollWidth]")
                assert all_of_it <= wide, (name, view.name, state)
                ends = page.all("header *, nav *, main > *, main section, main header *", """
                  [e.closest('.scroller') ? 0 : e.getBoundingClientRect().right, e.outerHTML.slice(0, 150)]""")
                assert not [html for end, html in ends if end > wide + 1], (name, view.name, state)


@full
def test_controls_do_not_lie_on_each_other(browser, made):
    """At 200 % and at 80 %: no two texts or controls that stand beside each other overlap."""
    page = browser.open(made("kineto")[1], zoom=2)
    for zoom in (2, 0.8):
        page.size(1280, 800, zoom)
        for view in views.of(page):
            page.go(view.hash())
            over = page.evaluate("""
              const controls = 'header button, header select, nav a, .tools > *, h2, main section > header > *';
              const all = [...document.querySelectorAll(controls)].filter(
                (e) => e.getClientRects().length && !e.closest('dialog'));
              const boxes = all.map((e) => e.getBoundingClientRect()), found = [];
              for (let i = 0; i < all.length; i++) for (let k = i + 1; k < all.length; k++)
                if (!all[i].contains(all[k]) && !all[k].contains(all[i]) &&
                    Math.min(boxes[i].right, boxes[k].right) - Math.max(boxes[i].left, boxes[k].left) > 2 &&
                    Math.min(boxes[i].bottom, boxes[k].bottom) - Math.max(boxes[i].top, boxes[k].top) > 2)
                  found.push(all[i].outerHTML.slice(0, 100) + ' ON ' + all[k].outerHTML.slice(0, 100));
              return found.slice(0, 3)""")
            assert not over, (zoom, view.name, over)


def serious(page):
    return ["%s %s (%s): %s" % tuple(one[:3] + [one[3][:2]]) for one in page.axe() if one[0] in ("serious", "critical")]


@pytest.mark.parametrize("theme", ["light", pytest.param("dark", marks=full)])
def test_axe_finds_nothing_serious(theme, browser, kineto):
    page = browser.open(kineto, width=1280)
    for view in views.of(page):
        page.go(view.hash(theme=theme))
        assert not serious(page), (view.name, serious(page))


@full
@pytest.mark.parametrize("name", ["gpu", "gloo", "cpu-1.13"])
def test_axe_on_other_inputs(name, browser, made):
    page = browser.open(made(name)[1])
    for view in views.of(page):
        for state in view.states():
            page.go(view.hash(**state))
            assert not serious(page), (view.name, serious(page))
    page.keys("?")
    assert not serious(page)
