"""The pages of `tprof view` in a browser: the list of runs, and that a served page shows what a report does."""
import shutil

import pytest

import inputs
import views
from browser import BrowserError
from harness import TESTS, wait_for
from view_server import serving

RUN, SPANS = "resnet50_num_workers_4", ["1", "2"]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with serving(inputs.KINETO) as one:
        yield one


def address_of(server, rest=""):
    return "http://%s/%s/%s" % (server.host, server.token, rest)


def worker_of(server):
    run, = [run for run in server.get("list").json()["runs"] if run["name"] == RUN]
    return run["workers"][0]["worker"]


def made(server, span="1"):
    """The address of the page of one span, which is made."""
    query = "run=%s&worker=%s&span=%s" % (RUN, worker_of(server), span)
    assert server.page(query).status == 200
    return address_of(server, "page?" + query)


def arrive(page, query):
    """Waits until the page of that query is shown, after a step that leads away from another one."""
    def shown():
        try:
            return page.evaluate("document.documentElement.dataset.ready === 'yes' && "
                                 "location.search.includes(argument)", query)
        except BrowserError:  # it is on its way
            return False
    wait_for(shown, 60)


def test_the_list_leads_to_a_page(chromium, server):
    page = chromium.open(address_of(server))
    wait_for(lambda: page.text("#count") == "2 of 2 runs")
    assert page.all("#runs tr td:first-child bdi") == ["resnet50_num_workers_0", RUN]
    page.type("#search", "workers_4")
    assert page.text("#count") == "1 of 2 runs" and page.all("#runs a[href*=span]") == SPANS
    assert not [one for one in page.axe() if one[0] in ("serious", "critical")]
    page.evaluate("setTimeout(() => document.querySelector('#runs a[href*=span]').click())")
    arrive(page, "span=1")
    wait_for(lambda: page.all("header.shell > label > span") == ["Run", "Span"])
    page.assert_clean()


def test_a_served_page_shows_what_a_report_does(chromium, server, tmp_path):
    span = sorted((inputs.KINETO / RUN).iterdir())[0]
    (tmp_path / RUN).mkdir()
    shutil.copy(span, tmp_path / RUN)
    report = inputs.report(tmp_path / "report.html", tmp_path)
    shown = {}
    for where in (report, made(server)):
        page = chromium.open(where)
        shown[where] = {}
        for view in views.of(page):
            page.go(view.hash())
            shown[where][view.name] = [(one.pointer, one.value, one.text) for one in page.figures()]
        page.assert_clean()
    of_report, of_page = shown.values()
    assert of_page.keys() == of_report.keys() and len(of_report) > 4
    for name, figures in of_report.items():
        assert of_page[name] == figures, name
    assert sum(map(len, of_report.values())) > 200


def test_parts_are_asked_for_when_they_are_needed(chromium, server):
    page = chromium.open(made(server))

    def parts():
        found = [one for one in page.report()["served"] if one.startswith("parts/")]
        assert len(found) == len(set(found)), "a part was asked for twice"
        return len(found)
    at_first = parts()
    page.go("view=timeline")
    timeline = parts()
    assert timeline >= at_first + 7, "the columns of the timeline"
    page.go("view=timeline&q=Memcpy")  # looks into arguments
    wait_for(lambda: parts() >= timeline + 5, 60)
    page.assert_clean()


def test_menus_lead_to_other_pages_in_the_same_view(chromium, server):
    made(server, "2")
    page = chromium.open(made(server, "1"), hash="view=kernels")
    wait_for(lambda: page.all("header.shell > label > span") == ["Run", "Span"])
    page.evaluate("""
        const menu = document.querySelector("header.shell > label:nth-of-type(2) select");
        menu.value = "2";
        setTimeout(() => menu.dispatchEvent(new Event("change")));
        return true""")
    arrive(page, "span=2")
    assert page.address() == "view=kernels"
    assert page.all("nav [aria-selected=true]") == ["Kernels"]


def test_new_runs_appear_and_names_are_only_text(chromium, tmp_path):
    name = "<img src=x onerror=window.__tprof_hacked=1>&\"'"
    trace = TESTS / "golden" / "modules.1.pt.trace.json.gz"
    (tmp_path / "first").mkdir()
    shutil.copy(trace, tmp_path / "first" / "w.1.pt.trace.json.gz")
    with serving(tmp_path) as server:
        page = chromium.open(address_of(server))
        wait_for(lambda: page.all("#runs tr td:first-child") == ["first"])
        (tmp_path / name).mkdir()
        shutil.copy(trace, tmp_path / name / (name.replace("/", "") + ".1.pt.trace.json.gz"))
        wait_for(lambda: page.all("#runs tr td:first-child") == [name, "first"], 60)
        assert page.all("#runs tr:first-child td:nth-child(2)") == [name]
        query = page.all("#runs tr:first-child a", "e.getAttribute('href')")[0]
        assert server.page(query.partition("?")[2]).status == 200
        page.assert_clean()
        page = chromium.open(address_of(server, query))
        wait_for(lambda: name in page.all("header.shell option"))  # once the page has asked what there is
        assert page.evaluate("window.__tprof_hacked === undefined")
        page.assert_clean()
