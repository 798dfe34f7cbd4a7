"""speedscope's own page, in Chromium: it imports what `tprof export --to speedscope` writes, and has all of it: with
Control and s it saves what it has imported."""
import base64
import collections
import json

import pytest

import harness
from browser import HERE

PAGE = HERE / "node_modules" / "speedscope" / "dist" / "release" / "index.html"
def counts(data, only_long=False):
    """{(profile, frame): ranges}; the page drops ranges without duration, which it cannot show."""
    found = collections.Counter()
    for profile in data["profiles"]:
        open_ = []
        for event in profile["events"]:
            if event["type"] == "O":
                open_.append(event["at"])
            elif event["at"] > open_.pop() or not only_long:
                frame = data["shared"]["frames"][event["frame"]]
                found[profile["name"], frame["name"], frame.get("file"), frame.get("line")] += 1
    return found


@pytest.mark.parametrize("trace", ["gpu-ops.1.pt.trace.json.gz", pytest.param(
    "kineto-traces/resnet50_num_workers_0", marks=pytest.mark.full)])
def test_the_page_imports_every_range(trace, chromium, tmp_path):
    done = harness.tprof("export", harness.TESTS / "golden" / trace, "--to", "speedscope", "-o", tmp_path)
    assert done.returncode == 0, done.stderr
    file = sorted(tmp_path.glob("*.json"))[0]
    ours = json.loads(file.read_text())
    loader = tmp_path / "load.js"
    loader.write_text("speedscope.loadFileFromBase64(%s, %s)" % (
        json.dumps(file.name), json.dumps(base64.b64encode(file.read_bytes()).decode())))
    page = chromium.open(PAGE, hash="localProfilePath=%s" % loader)
    page.evaluate("""return new Promise((done) => {
      const look = () => /Time Order/.test(document.body.innerText) ? done() : setTimeout(look, 20);
      look();
    })""")
    assert ours["profiles"][ours["activeProfileIndex"]]["name"] in page.text()
    page.evaluate("""window.saved = new Promise((done) => {
      URL.createObjectURL = (blob) => { blob.text().then(done); return '#'; };
    }); return 0""")
    page.keys("Control+s")
    theirs = json.loads(page.evaluate("window.saved"))
    assert len(theirs["profiles"]) == len(ours["profiles"]) >= 3
    assert counts(theirs) == counts(ours, only_long=True) and sum(counts(ours).values()) > 200
    found = page.report()
    complaints = [line for line in found["console"] if "WebGL" not in line]  # there is no GPU to draw with
    assert not found["errors"] and not complaints and not found["dialogs"]
