"""The timeline: keys, pointer, folds, search, selection, arrows, links, and that its numbers are the command's."""
import re
import urllib.parse

import pytest

import inputs
import timeline_trace
import views
from answers import Answers
from walk import derived, differences

full = pytest.mark.full
CANVAS = ".tl-canvas"
NEEDLES = 1000
PER_STEP = timeline_trace.OPS * timeline_trace.EACH + 500


@pytest.fixture(scope="module")
def traced(tmp_path_factory):
    """(report, Answers) of the trace with needles."""
    home = tmp_path_factory.mktemp("timeline")
    paths = timeline_trace.write(home / "log", needles=NEEDLES)
    return inputs.report(home / "report.html", *paths), Answers(paths)


@pytest.fixture
def page(browser, traced):
    opened = browser.open(traced[0], hash="view=timeline")
    opened.evaluate("document.querySelector('.tl-canvas').focus()")
    return opened


def state(page):
    """The parameters of the address."""
    return {key: value[0] for key, value in urllib.parse.parse_qs(page.address()).items()}


def in_sight(page):
    """(from, to) in us; all of it where the address says nothing."""
    now = state(page)
    return (float(now["from"]), float(now["to"])) if "from" in now else None


def chosen(page):
    """The name of the chosen slice."""
    return page.text(".tl-details h2")


def fact(page, title):
    """A text of the details: Duration, Start, Track ..."""
    return dict(page.all(".tl-facts dt", "[e.textContent, e.nextElementSibling.textContent]")).get(title)


def value(page, rule):
    """The exact value of a figure of the details."""
    return next(f.value for f in page.figures("data-derived") if f.pointer == rule)


def assert_right(page, answers):
    found = differences(page, answers)[0] + derived(page, answers)
    assert not found, "#%s\n%s" % (page.address(), "\n".join(found[:10]))


def hold(page, key, ms=400):
    page.evaluate("""
      const press = (kind) => document.activeElement.dispatchEvent(new KeyboardEvent(kind, {key: argument[0], bubbles: true}));
      const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
      return (async () => {
        press('keydown');
        await sleep(argument[1]);
        for (let frame = 0; frame < 2; frame++) await new Promise(requestAnimationFrame);  // a busy machine's first ones
        press('keyup');
        await sleep(400);
      })()""", [key, ms])
    page.browser.tell("settle")


# --- keys

def test_keys_zoom_and_pan(page):
    assert in_sight(page) is None
    hold(page, "w")
    closer = in_sight(page)
    hold(page, "d")
    right = in_sight(page)
    hold(page, "a", 700)
    left = in_sight(page)
    hold(page, "s")
    farther = in_sight(page)
    assert right[0] > closer[0] and left[0] < right[0]
    assert right[1] - right[0] == pytest.approx(closer[1] - closer[0], rel=1e-6)
    assert farther[1] - farther[0] > left[1] - left[0]
    page.keys("0")
    assert in_sight(page) is None
    page.assert_clean()


def test_letters_belong_to_a_field_that_has_the_focus(page):
    page.keys("/")
    page.keys("w", "a", "m", "0")
    assert state(page)["q"] == "wam0" and in_sight(page) is None


def test_fit_shows_what_is_chosen(page):
    page.keys("Enter", "ArrowRight", "f")
    begin, end = in_sight(page)
    start, length = value(page, "begin of the slice"), value(page, "duration of the slice")
    assert begin < start and start + length < end and end - begin < 1.5 * length


def test_arrows_go_from_slice_to_slice_and_from_track_to_track(page, traced):
    page.keys("Enter")
    assert chosen(page) == "ProfilerStep#0"
    page.keys("ArrowDown")
    inner = chosen(page)
    page.keys("ArrowDown")
    assert chosen(page) == "aten::inner"
    page.keys("ArrowDown")
    assert chosen(page) == "cudaLaunchKernel"
    page.keys("ArrowUp", "ArrowUp")
    assert chosen(page) == inner
    page.keys("ArrowRight")
    start = value(page, "begin of the slice")
    page.keys("ArrowLeft")
    assert chosen(page) == inner and value(page, "begin of the slice") == start - timeline_trace.EACH
    tracks = set()
    for _ in range(12):
        page.keys("ArrowDown")
        tracks.add(fact(page, "Track"))
    assert len(tracks) == 3 and "stream 7" in tracks, tracks


def test_arrows_of_launches_and_of_the_backward_pass_are_followed(page):
    page.keys("Enter", "ArrowDown", "ArrowDown", "ArrowDown")
    launch = value(page, "begin of the slice")
    assert "launched kernel_0" in page.text(".tl-arrows")
    page.keys("]")
    assert chosen(page) == "kernel_0" and value(page, "begin of the slice") == launch + 20
    page.keys("[")
    assert chosen(page) == "cudaLaunchKernel" and value(page, "begin of the slice") == launch
    page.keys("[")
    assert "no arrow leads here" in page.text(".tl-hits") and chosen(page) == "cudaLaunchKernel"
    page.keys("ArrowUp", "ArrowUp")
    forward = chosen(page)
    page.click(".tl-arrows button ::-p-text(its backward)")
    assert chosen(page) == "autograd::back_0"
    page.click(".tl-arrows button ::-p-text(backward of)")
    assert chosen(page) == forward


def test_a_mark_measures(page):
    page.keys("Enter", "ArrowDown", "m")
    mark = state(page)["mark"]
    begin, end = map(float, mark.split(":"))
    assert end - begin == 60
    page.keys("ArrowRight")
    assert value(page, "distance to the mark") == timeline_trace.EACH
    assert value(page, "gap to the mark") == timeline_trace.EACH - 60
    page.keys("ArrowLeft", "m")
    assert "mark" not in state(page)


def test_a_mark_and_a_slice_are_a_range(page):
    page.keys("Enter", "ArrowDown", "m", "ArrowRight", "r")
    begin, end = map(float, state(page)["sel"].split(":"))
    assert end - begin == timeline_trace.EACH + 60


@full
def test_all_is_reached_by_keyboard_alone(browser, traced):
    """From the top of the page: choosing, details and their buttons, folds, the search, the table of a range."""
    page = browser.open(traced[0], hash="view=timeline")
    reached = []
    for _ in range(60):
        page.browser.tell("keys", keys=["Tab"], calm=0)
        reached.append(page.evaluate("document.activeElement.className || document.activeElement.tagName"))
        if "tl-canvas" in reached[-1]:
            break
    assert "tl-canvas" in reached[-1] and any("twig" in one for one in reached) and "search" in reached
    page.keys("Enter", "ArrowDown", "ArrowDown", "ArrowDown", "Enter")
    assert page.evaluate("document.activeElement.className") == "tl-details"
    for _ in range(6):
        page.keys("Tab")
        if page.evaluate("document.activeElement.textContent").startswith("→ launched"):
            break
    page.keys("Enter")
    assert chosen(page) == "kernel_0"
    page.keys("r")
    assert page.has(".tl-details table")


def test_the_help_names_every_key(page):
    page.keys("?")
    text = page.dialog()
    for key in ("w, s", "a, d", "f", "0, Home", "Enter", "[ ]", "m", "r", "n, p", "x", "Escape", "wheel", "drag"):
        assert re.search(r"(?m)^%s\b" % re.escape(key) if key[-1].isalpha() else re.escape(key), text), key


# --- folds

def labels(page):
    return page.all(".tl-label", "e.dataset.key")


def fold(page, key):
    """Clicks its button. It is scrolled to before: the names follow the scrolled tracks a frame later."""
    button = ".tl-label[data-key='%s'] button" % key
    page.point(button, (0.5, 0.5))
    page.click(button)


def test_groups_and_tracks_fold(page):
    before = labels(page)
    assert "gpu/0/stream/7" in before
    fold(page, "gpu 0")
    assert "gpu/0/stream/7" not in labels(page) and "gpu%200" in state(page)["turned"]
    page.reload()
    assert "gpu/0/stream/7" not in labels(page)
    fold(page, "gpu 0")
    assert labels(page) == before and "turned" not in state(page)


def test_a_track_folds_by_key_and_unfolds_for_what_is_chosen(page):
    track = ".tl-label[data-key='thread/71']"
    page.keys("Enter", "ArrowDown", "ArrowDown", "ArrowDown")
    whole = page.all(track, "e.offsetHeight")
    page.keys("x")
    assert page.all(track, "e.offsetHeight")[0] < whole[0]
    page.keys("ArrowRight")
    assert page.all(track, "e.offsetHeight") == whole


@full
def test_labels_are_gone_through_by_arrow_keys(page):
    page.evaluate("document.querySelector('.tl-label button').focus()")
    seen = []
    for _ in range(6):
        page.keys("ArrowDown")
        seen.append(page.evaluate("document.activeElement.closest('.tl-label').dataset.key"))
    assert len(set(seen)) > 2
    page.evaluate("document.querySelector(\".tl-label[data-key='host'] button\").focus()")
    page.keys("ArrowLeft")
    assert "thread/71" not in labels(page)
    page.keys("ArrowRight")
    assert "thread/71" in labels(page)


# --- the pointer

def test_the_wheel_zooms_at_the_pointer_and_pans(page):
    def wheel(**words):
        page.evaluate("""
          const canvas = document.querySelector('.tl-canvas'), box = canvas.getBoundingClientRect();
          canvas.dispatchEvent(new WheelEvent('wheel', {bubbles: true, cancelable: true, clientX: box.left + box.width / 4,
            clientY: box.top + 50, ...argument}));
          return new Promise((done) => setTimeout(done, 400))""", words)
        page.browser.tell("settle")
    page.keys("Enter")
    length = timeline_trace.STEPS * PER_STEP - 400
    wheel(deltaY=-200, ctrlKey=True)
    begin, end = in_sight(page)
    assert begin + (end - begin) / 4 == pytest.approx(length / 4, rel=0.02) and end - begin < 0.7 * length
    wheel(deltaY=100, shiftKey=True)
    assert in_sight(page)[0] > begin
    wheel(deltaX=-100)
    assert in_sight(page)[0] == pytest.approx(begin, abs=1)


def test_a_drag_pans_and_does_not_choose(page):
    hold(page, "w")
    begin, end = in_sight(page)
    page.drag(CANVAS, (0.7, 0.5), (0.4, 0.5))
    page.evaluate("return new Promise((done) => setTimeout(done, 400))")
    moved = in_sight(page)
    assert moved[0] - begin == pytest.approx(0.3 * (end - begin), rel=0.1)
    assert "slice" not in state(page)


def place_on(page, track, pixels):
    """Where so many pixels below the upper edge of a track are on the canvas, as a share of its height."""
    page.point(CANVAS, (0.5, 0.01))  # the canvas is then where it will be when it is clicked
    return page.evaluate("""
      const box = (which) => document.querySelector(which).getBoundingClientRect(), canvas = box('.tl-canvas');
      return (box(`.tl-label[data-key='${argument[0]}']`).top + argument[1] - canvas.top) / canvas.height""", [track, pixels])


def test_a_click_chooses_what_is_there(page):
    top = place_on(page, "thread/71", 9)
    page.drag(CANVAS, (0.1, top), (0.1, top))
    assert chosen(page) == "ProfilerStep#0" and fact(page, "Track") == "thread 71 (python)"


def test_a_second_click_shows_a_slice_in_the_whole_width(page):
    top = place_on(page, "thread/71", 9)
    page.browser.tell("click_twice", at=CANVAS, to=(0.1, top))
    begin, end = in_sight(page)
    length = value(page, "duration of the slice")
    assert chosen(page) == "ProfilerStep#0" and length < end - begin < 1.5 * length


# --- a range

def range_table(page):
    """Rows of the table of a selection: numbers of rows of the command's table."""
    return {int(m.group(1)) for f in page.figures("data-derived")
            if (m := re.fullmatch(r"stats/slice/workers/0/rows/(\d+)/\w+ --range .*", f.pointer))}


def test_a_range_dragged_on_the_axis_is_summed_as_the_command_does(page, traced):
    page.drag(".tl-axis", (0.2, 0.8), (0.5, 0.8))
    page.go(page.address() + "&rows=all")
    said = traced[1].document("stats/slice", "--range " + state(page)["sel"])["workers"][0]["rows"]
    assert said and range_table(page) == set(range(len(said)))
    assert_right(page, traced[1])
    page.assert_clean()


@pytest.mark.spread(3)
@pytest.mark.parametrize("begin,end", [
    (0, 0), (0, 100), (82, 82), (82, 82.001), (20, 80), (79.999, 80.001), (13.5, 777.777),
    pytest.param(-100, 10 ** 7, marks=full), pytest.param(40062.25, 121000, marks=full)])
def test_any_range(begin, end, browser, traced):
    report, answers = traced
    page = browser.open(report, hash="view=timeline&rows=all&sel=%s:%s" % (begin, end))
    said = answers.document("stats/slice", "--range %s:%s" % (begin, end))["workers"][0]["rows"]
    assert range_table(page) == set(range(len(said)))
    assert_right(page, answers)


def test_an_area_has_the_tracks_that_were_dragged_over(page, traced):
    top, bottom = place_on(page, "gpu/0/stream/7", 5), place_on(page, "gpu/0/stream/7", 9)
    page.browser.tell("drag_with", key="Shift", at=CANVAS, **{"from": (0.2, top), "to": (0.4, bottom)})
    assert state(page)["on"] == "gpu%2F0%2Fstream%2F7"
    page.go(page.address() + "&rows=all")
    said = traced[1].document("stats/slice", "--range " + state(page)["sel"])["workers"][0]["rows"]
    assert range_table(page) == {i for i, row in enumerate(said) if row["track"] == "gpu/0/stream/7"}
    assert_right(page, traced[1])


# --- the search

def hits(page):
    return value(page, "slices that are found")


def test_all_needles_are_found_in_names_arguments_and_stacks(page):
    page.type(".tl-tools .search", timeline_trace.NEEDLE)
    assert hits(page) == NEEDLES
    assert page.evaluate("document.querySelector('.tl-found').textContent").count("aten::") > 3


def test_hits_come_in_order_of_time(page):
    page.type(".tl-tools .search", timeline_trace.NEEDLE)
    page.keys("Enter", "Escape")
    begins = [value(page, "begin of the slice")]
    for number in range(2, 14):
        page.keys("n")
        begins.append(value(page, "begin of the slice"))
        assert value(page, "number of the hit") == number
    assert begins == sorted(begins) and len(set(begins)) == len(begins)
    page.keys("p", "p")
    assert value(page, "begin of the slice") == begins[-3]
    for _ in range(11):
        page.keys("p")
    assert value(page, "number of the hit") == NEEDLES, "after the first comes the last"


@full
def test_every_needle_is_gone_to(page):
    page.type(".tl-tools .search", timeline_trace.NEEDLE)
    page.keys("Escape")
    page.browser.tell("keys", keys=["n"])
    slices = set()
    for _ in range(NEEDLES):
        page.browser.tell("keys", keys=["n"], calm=0)
        slices.add((value(page, "begin of the slice"), fact(page, "Track")))
    assert len(slices) == NEEDLES


def test_a_name_in_quotes_is_that_name_alone(page, traced):
    page.type(".tl-tools .search", '"aten::op_1"')
    rows = traced[1].document("stats/slice")["workers"][0]["rows"]
    assert hits(page) == sum(row["count"] for row in rows if row["name"] == "aten::op_1") > 0
    page.type(".tl-tools .search", '"aten::op"')
    assert hits(page) == 0


def pixels(page, key, offset=9):
    """How many pixels of a track's row differ from the ground."""
    return page.evaluate("""
      const canvas = document.querySelector('.tl-canvas'), scale = canvas.width / canvas.clientWidth;
      const label = document.querySelector(`.tl-label[data-key='${argument[0]}']`);
      const y = Math.round((label.offsetTop + argument[1]) * scale);
      const row = canvas.getContext('2d').getImageData(0, y, canvas.width, 1).data;
      const ground = getComputedStyle(document.querySelector('.panel')).backgroundColor.match(/\\d+/g).map(Number);
      let n = 0;
      for (let x = 0; x < row.length; x += 4) n += [0, 1, 2].some((k) => Math.abs(row[x + k] - ground[k]) > 24) ? 1 : 0;
      return n""", [key, offset])


def test_what_is_shorter_than_a_pixel_or_has_no_length_is_drawn_found_and_chosen(page):
    assert pixels(page, "gpu/0/stream/7") > 700, "kernels are not dropped where a pixel holds many"
    page.type(".tl-tools .search", "mark without length")
    assert hits(page) == timeline_trace.STEPS * timeline_trace.OPS // 100
    assert page.evaluate("document.querySelector('.tl-canvas').width") > 0
    page.keys("Enter", "Escape")
    assert chosen(page) == "mark without length" and value(page, "duration of the slice") == 0
    page.keys("f")
    begin, end = in_sight(page)
    assert begin < value(page, "begin of the slice") < end


# --- numbers

def test_the_share_in_sight_is_what_the_command_says(browser, traced):
    report, answers = traced
    for span in ("", "&from=1000&to=30000", "&from=20.5&to=21.75", "&from=-500&to=100"):
        page = browser.open(report, hash="view=timeline" + span)
        shown = [f for f in page.figures("data-derived") if f.pointer.startswith("share of the time in sight")]
        assert len(shown) == 3
        assert_right(page, answers)


def test_tracks_arrows_and_busy_times_are_the_trace_s(browser, traced):
    """Counted by the test from the events themselves."""
    report, answers = traced
    page = browser.open(report, hash="view=timeline&numbers=tracks&columns=all")
    assert_right(page, answers)
    shown = {f.pointer: f.value for f in page.figures()}
    events = [e for e in timeline_trace.events(NEEDLES) if e["ph"] == "X"]
    rows = answers.document("stats/track")["workers"][0]["rows"]
    for key, mine in (("thread/71", lambda e: e["tid"] == timeline_trace.MAIN),
                      ("gpu/0/stream/7", lambda e: e["cat"] == "kernel")):
        row, = [i for i, one in enumerate(rows) if one["key"] == key]
        of_track = [e for e in events if mine(e)]
        assert shown["stats/track/workers/0/rows/%d/slices" % row] == len(of_track)
        assert shown["stats/track/workers/0/rows/%d/busy" % row] == pytest.approx(union(of_track))
    launches = sum(e["cat"] == "kernel" for e in events)
    backward = sum(e["name"].startswith("autograd::") for e in events)
    flows = {row["kind"]: row["count"] for row in answers.document("stats/track")["workers"][0]["flows"]["rows"]}
    assert flows == {"launch": launches, "backward": backward}


def union(events):
    sum, until = 0.0, float("-inf")
    for begin, end in sorted((e["ts"], e["ts"] + e["dur"]) for e in events):
        sum += max(0.0, end - max(begin, until))
        until = max(until, end)
    return sum


# --- addresses and links

def test_a_link_shows_the_same(browser, page, traced):
    page.keys("Enter", "ArrowDown", "m", "ArrowRight")
    page.type(".tl-tools .search", timeline_trace.NEEDLE)
    page.keys("Escape")
    hold(page, "w")
    page.click(".tl-label[data-key='modules'] button, .tl-label[data-key='steps'] button")
    address, text = page.address(), page.text("main")
    again = browser.open(traced[0], hash=address)
    assert again.address() == address and again.text("main") == text
    again.assert_clean()


@full
def test_addresses_that_mean_nothing_show_the_whole(browser, traced):
    at_first = browser.open(traced[0], hash="view=timeline").text("main")
    for words in ("from=abc&to=3", "from=5&to=5", "from=9&to=1", "slice=999999999", "slice=x.1", "sel=a:b", "mark=3",
                  "turned=%25E0%25A4%25A", "pick=nosuch", "y=-7", "on=x", "slice=-1"):
        page = browser.open(traced[0], hash="view=timeline&" + words)
        assert page.text("main") == at_first, words
        page.assert_clean()


@pytest.mark.parametrize("view,word", [("operators", "op"), ("kernels", "kernel")])
def test_a_row_of_a_table_leads_to_its_longest_slice(view, word, browser, traced):
    report, answers = traced
    page = browser.open(report, hash="view=%s" % view)
    page.click("main a.to-timeline")
    assert state(page)["view"] == "timeline" and "pick" not in state(page)
    name = chosen(page)
    row, = [one for one in answers.document("stats/" + word)["workers"][0]["rows"] if one["name"] == name]
    assert hits(page) == row["calls"]
    if word == "kernel":
        assert value(page, "duration of the slice") == row["max_duration"]
    page.click(".tl-links a ::-p-text(In )")
    assert state(page)["view"] == view and name in page.text("main table")


def test_a_module_and_its_slice_lead_to_each_other(browser, made):
    report = made("golden")[1]
    for worker in 0, 1:
        page = browser.open(report, hash="view=modules&show=module&worker=%d" % worker)
        if page.has("main a.to-timeline"):
            break
    page.click("main a.to-timeline")
    name = chosen(page)
    assert name.startswith("nn.Module: ")
    page.click(".tl-links a ::-p-text(In Modules)")
    assert state(page)["view"] == "modules" and name[len("nn.Module: "):] in page.text("main table")
    page.go("view=flames&worker=%d&thread=7&zoom=2&cost=calls" % worker)
    page.choose("header select", str(1 - worker))
    assert not {"thread", "zoom"} & state(page).keys() and state(page)["cost"] == "calls"


def test_a_step_leads_to_the_timeline(browser, traced):
    page = browser.open(traced[0], hash="view=overview&steps=table")
    page.click("main tbody tr:nth-child(2) a.to-timeline")
    assert chosen(page) == "ProfilerStep#1"


def test_advice_leads_to_its_evidence_and_pins_lead_to_advice(browser, kineto, made):
    page = browser.open(kineto, hash="view=overview&rows=all")
    found = Answers(made("kineto")[0]).document("advise")["workers"][0]["recommendations"]
    evidence = next(one for each in found for one in each["evidence"])
    page.click("main .card a ::-p-text(in the timeline)")
    assert chosen(page) == evidence["name"]
    assert value(page, "duration of the slice") == evidence["duration_us"]
    assert page.has(".tl-label[data-key='advice']")


@full
def test_ranks_are_shown_beside_each_other(browser, tmp_path):
    paths = [timeline_trace.write(tmp_path / "log", name="rank%d.1.pt.trace.json" % rank, rank=rank)[0] for rank in (0, 1)]
    page = browser.open(inputs.report(tmp_path / "report.html", *paths), hash="view=timeline")
    page.keys("0")
    page.evaluate("document.querySelector('.tl-scroller').scrollTop = 1e6")
    page.browser.tell("settle")
    assert "worker/1/thread/71" not in labels(page)
    page.click(".tl-label[data-key='worker/1'] button")
    page.evaluate("document.querySelector('.tl-scroller').scrollTop = 1e6")
    page.browser.tell("settle")
    assert "worker/1/gpu/0/stream/7" in labels(page)
    address = page.address()
    again = browser.open(tmp_path / "report.html", hash=address)
    assert labels(again) == labels(page)
    again.type(".tl-tools .search", '"kernel_1"')
    one = sum(row["count"] for row in Answers(paths).document("stats/slice")["workers"][0]["rows"] if row["name"] == "kernel_1")
    assert hits(again) == 2 * one
    again.assert_clean()


# --- looks

def test_nothing_is_drawn_while_nothing_changes(page):
    page.point("header.shell", (0.5, 0.5))
    before = page.evaluate("performance.getEntriesByName('timeline-frame').length")
    page.evaluate("return new Promise((done) => setTimeout(done, 500))")
    assert page.evaluate("performance.getEntriesByName('timeline-frame').length") == before > 0


def test_dark_and_light_are_drawn(browser, traced):
    colors = []
    for theme in ("light", "dark"):
        page = browser.open(traced[0], hash="view=timeline&theme=" + theme)
        colors.append(page.evaluate("""
          [...document.querySelector('.tl-canvas').getContext('2d').getImageData(3, 3, 1, 1).data]"""))
    assert sum(colors[0]) > 600 + 255 and sum(colors[1]) < 200 + 255


@pytest.mark.parametrize("theme", ["light", pytest.param("dark", marks=full)])
def test_axe_finds_nothing(theme, browser, traced):
    for words in ("", "&slice=3", "&sel=10:500", "&q=" + timeline_trace.NEEDLE, "&numbers=tracks"):
        page = browser.open(traced[0], hash="view=timeline&theme=%s%s" % (theme, words))
        serious = [one for one in page.axe() if one[0] in ("serious", "critical")]
        assert not serious, (words, serious)


@full
def test_a_print_shows_what_is_in_sight(chromium, traced, tmp_path):
    page = chromium.open(traced[0], hash="view=timeline&from=0&to=2000&slice=5")
    page.pdf(tmp_path / "timeline.pdf")
    assert (tmp_path / "timeline.pdf").stat().st_size > 10000
    page.media("print")
    assert pixels(page, "gpu/0/stream/7") > 100 and not any(page.all(".tl-tools *", "e.getClientRects().length"))


@full
def test_a_trace_without_slices_says_so(browser, tmp_path):
    path = tmp_path / "empty.1.pt.trace.json"
    path.write_text('{"traceEvents": []}')
    page = browser.open(inputs.report(tmp_path / "report.html", path))
    tab, = [view for view in views.all_of(page) if view.title == "Timeline"]
    assert not tab.enabled
    page.go("view=timeline")
    assert "no events" in page.text("main")


@full
def test_millions_of_slices_on_hundreds_of_tracks_are_all_reached(chromium, tmp_path):
    threads, slices = 512, 2_500_000
    trace = timeline_trace.write_many(tmp_path / "many.pt.trace.json", threads, slices)
    page = chromium.open(inputs.report(tmp_path / "many.html", trace), hash="view=timeline")
    assert 0 < len(labels(page)) < 100, "only those in sight"
    page.evaluate("document.querySelector('.tl-scroller').scrollTop = 1e9")
    page.browser.tell("settle")
    assert "thread/%d" % (1000 + threads - 1) in labels(page)
    page.type(".tl-tools .search", '"aten::op_3"')
    each = slices // threads
    assert hits(page) == threads * len(range(3, each, 37))
    page.keys("Escape", "n")
    assert chosen(page) == "aten::op_3"
    hold(page, "w")
    begin, end = in_sight(page)
    assert end - begin < 100 * each / 3
    page.assert_clean()
