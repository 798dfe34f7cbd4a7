"""The stories that the page must tell by itself, each a short walk. With TPROF_SHOTS=DIRECTORY they leave pictures there."""
import os
import pathlib
import re

import pytest

pytestmark = pytest.mark.full


@pytest.fixture
def shot(request):
    """shot(page): a picture at both sizes, light and dark, named by the test and a number."""
    taken = []

    def take(page):
        directory = os.environ.get("TPROF_SHOTS")
        if not directory:
            return
        taken.append(page)
        pathlib.Path(directory).mkdir(parents=True, exist_ok=True)
        state = page.address()
        for width, height in ((1280, 800), (1920, 1080)):
            page.size(width, height)
            for theme in ("light", "dark"):
                page.go(state + "&theme=" + theme)
                page.screenshot(pathlib.Path(directory) / ("%s.%d.%d.%s.png" % (
                    request.node.originalname[5:], len(taken), width, theme)))
        page.size(1280, 800)
        page.go(state)
    return take


def test_workers_of_the_data_loader_make_steps_shorter(chromium, made, shot):
    page = chromium.open(made("kineto", diff=True)[1])
    advice = page.text(".advice li")
    assert "DataLoader" in advice and "high" in advice and "num_workers" in advice and "may save" in advice
    shot(page)
    page.click(".advice li summary")
    page.click(".advice li td a")
    assert "view=operators" in page.address() and "DataLoader" in page.text("main tbody")
    page.go("view=diff")
    said = page.text("main")
    assert re.search(r"Faster|Not known whether it is more than noise", said) and "mostly DataLoader" in said
    assert "−24.31 ms" in said or "-24.31 ms" in said
    shot(page)


def test_where_indices_of_a_mask_take_time_and_memory(chromium, made, shot):
    page = chromium.open(made("masks", diff=True)[1], hash="view=diff&by=operator_host")
    assert "SEARCH" in page.text("main") and "aten::clone" in page.text("main")
    shot(page)
    page.go("view=operators&worker=0&q=aten::clone")
    page.click("main td.expander button")
    lines = page.text("main tr.below")
    assert re.search(r"masks\.py[:(]28\b", lines) and "forward" in lines
    shot(page)


def test_who_owns_the_memory_at_its_peak(chromium, made, shot):
    page = chromium.open(made("masks", diff=True)[1], hash="view=memory")
    assert "Alive at the peak" in page.text("main")
    owners = page.all("main section", "e.innerText.includes('Alive at the peak')").index(True)
    table = "main section:nth-of-type(%d) " % (owners + 1)
    while page.has(table + "td.expander button[aria-expanded=false]"):
        page.click(table + "td.expander button[aria-expanded=false]")
    said = page.text(table)
    assert all(re.search(r"masks\.py[:(]%d\b" % line, said) for line in (28, 35)) and "new_mask" in said and "MB" in said
    shot(page)


def test_who_keeps_the_other_ranks_waiting(chromium, made, shot):
    page = chromium.open(made("gloo")[1])
    assert "rank 1" in page.text("main [role=note]")
    shot(page)
    page.go("view=distributed")
    waited_for = page.all("[data-figure$='/waited_for']", "[e.dataset.figure, +e.dataset.value]")
    rows = {int(re.search(r"/rows/(\d+)/", pointer).group(1)): value for pointer, value in waited_for}
    assert max(rows, key=rows.get) == 1, rows
    shot(page)
