"""Traces that would break or misuse a page: it opens, says something, is usable, and nothing of a trace runs."""
import re

import pytest

import harness
import hostile
import inputs
import views
from hostile import HACKED, TRACES

pytestmark = pytest.mark.full
SAYS = {  # what a reader must be told
    "no_events": "nothing", "ten_thousand_names": "aten::op_00000", "many_ranks": "512",
}


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    done = {}

    def report(name):
        if name not in done:
            home = tmp_path_factory.mktemp(name)
            done[name] = inputs.report(home / "report.html", *hostile.write(name, home / "log"))
        return done[name]
    return report


@pytest.mark.parametrize("name", TRACES)
def test_every_view_opens_and_nothing_runs(name, browser, reports):
    page = browser.open(reports(name))
    for view in views.of(page):
        page.go(view.hash())
        assert len(page.text("main").split()) > 3, "%s says nothing" % view
    page.assert_clean()
    assert page.evaluate("window.%s === undefined" % HACKED)
    assert not page.has("img, iframe, object, embed, script[src], link[href]")
    assert not any(name.startswith("on") for names in page.all("*", "e.getAttributeNames()") for name in names)


@pytest.mark.parametrize("name", TRACES)
def test_it_stays_usable(name, browser, reports):
    page = browser.open(reports(name))
    page.keys("?")
    assert page.dialog()
    page.keys("Escape")
    assert not page.dialog()
    assert page.ms < 5000
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_names_of_a_trace_are_texts_and_links_go_nowhere_else(browser, reports):
    page = browser.open(reports("markup"), hash="rows=all")
    for view in views.of(page):
        page.go(view.hash(rows="all"))
        hrefs = page.all("[href]", "e.getAttribute('href')")
        bad = [h for h in hrefs if not h.startswith(("#", "https://", "vscode://file/"))]
        assert not bad, bad
        assert not any("example.org" in h for h in hrefs if not h.startswith("#"))
    page.assert_clean()


@pytest.mark.parametrize("name,zoom", [("template", 1), ("long_file_names", 1), ("long_file_names", 2), ("markup", 2)])
def test_long_names_do_not_widen_the_page(name, zoom, browser, reports):
    page = browser.open(reports(name), zoom=zoom)
    for view in views.of(page):
        page.go(view.hash())
        wide, = page.all(":root", "[e.scrollWidth - innerWidth, e.scrollHeight]")
        assert wide[0] <= 0 and wide[1] < 8000, (view, wide)


def test_marks_of_writing_direction_end_with_their_name(browser, reports):
    """What stands behind a name with a right-to-left override is not turned round with it."""
    page = browser.open(reports("markup"), hash="view=operators&rows=all")
    turned = page.evaluate("""
      const texts = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_TEXT), found = [];
      while (texts.nextNode())
        if (/[\\u202e\\u2067\\u200f]/.test(texts.currentNode.data))
          found.push(getComputedStyle(texts.currentNode.parentElement).unicodeBidi);
      return found""")
    assert turned
    assert {style.split()[0] for style in turned} <= {"isolate", "plaintext", "isolate-override"}, turned


@pytest.mark.parametrize("name", SAYS)
def test_what_there_is_is_said(name, browser, reports):
    page = browser.open(reports(name))
    text = " ".join(page.text("body").lower() for view in views.of(page) if page.go(view.hash()) is None)
    assert SAYS[name].lower() in text


def test_what_did_not_fit_is_said(browser, tmp_path):
    """With --max-size details are left out; the page says so where one reads it and where they would be."""
    out = tmp_path / "small.html"
    made = harness.tprof("report", "--max-size", "1M", "-o", out, *hostile.write("many_stacks", tmp_path / "log"))
    assert made.returncode == 0
    too_large = out.stat().st_size > 2 ** 20
    page = browser.open(out)
    assert "not in this page" in page.text("main .banner")
    for said in (made.stderr, page.text("main .banner")):
        assert ("the page is larger than --max-size" in said) == too_large
    said = []
    for view in views.of(page):
        for state in view.states():
            page.go(view.hash(**state))
            if page.has("main td.expander button[aria-expanded]"):
                page.click("main td.expander button[aria-expanded]")
            text = page.text("main")
            assert len(text.split()) > 10, view
            said += re.findall("which would have grown too large", text)
    assert said, "where a table was left out it is not said"
    page.assert_clean()
