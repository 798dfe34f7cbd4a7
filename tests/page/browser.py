"""A browser that tests drive: browser.mjs is told what to do, a line each.

    with Browser("chromium") as browser:
        page = browser.open("report.html", hash="view=operators&rows=all")
        page.click("button[name=sort]")
        page.figures()      # {pointer: Figure}
        page.report()       # what went wrong: console, errors, violations, requests, dialogs; and what a server was asked for
"""
import dataclasses
import json
import os
import pathlib
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
BROWSERS = ["chromium", "firefox"]


class BrowserError(Exception):
    pass


@dataclasses.dataclass(frozen=True)
class Figure:
    """An element with data-figure or data-derived, see src/viewer/README.md."""
    pointer: str   # or the rule
    value: object  # what data-value says; None for null
    text: str
    in_table: bool


class Browser:
    def __init__(self, name):
        self.name = name
        # A profile of the tests' own: what a browser keeps in its home must not be somebody's.
        self.process = subprocess.Popen(["node", str(HERE / "browser.mjs"), name], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, encoding="utf-8",
                                        env={**os.environ, "MOZ_REMOTE_ALLOW_SYSTEM_ACCESS": "0"})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def tell(self, what, **words):
        try:
            self.process.stdin.write(json.dumps({"do": what, **words}) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise BrowserError("%s is gone: exit status %s" % (self.name, self.process.wait())) from None
        line = self.process.stdout.readline()
        if not line:
            raise BrowserError("%s is gone: exit status %s" % (self.name, self.process.wait()))
        answer = json.loads(line)
        if "error" in answer:
            raise BrowserError("%s: %s: %s" % (self.name, what, answer["error"]))
        return answer["value"]

    def open(self, path, hash="", **words):
        """`path`: of a file, or an http address. Words: width, height, zoom (2 is 200 %), scheme (light or dark)."""
        return Page(self, self.tell("open", path=str(path), hash=hash, **words)["ms"])


class Page:
    """What is open. Its commands are those of browser.mjs: page.click("button"), page.keys(["?"]) ..."""

    def __init__(self, browser, ms):
        self.browser = browser
        self.ms = ms  # from the first byte until nothing changed any more

    def go(self, hash):
        self.browser.tell("hash", hash=hash)

    def click(self, at, **words):
        self.browser.tell("click", at=at, **words)

    def point(self, at, to):
        """The pointer over that share of an element: (0.5, 0.5) is its middle."""
        self.browser.tell("point", at=at, to=to)

    def type(self, at, text):
        self.browser.tell("type", at=at, text=text)

    def choose(self, at, value):
        self.browser.tell("choose", at=at, value=value)

    def keys(self, *keys):
        self.browser.tell("keys", keys=keys)

    def drag(self, at, start, end, **words):
        self.browser.tell("drag", at=at, **{"from": start, "to": end}, **words)

    def size(self, width, height, zoom=1):
        self.browser.tell("size", width=width, height=height, zoom=zoom)
        self.browser.tell("settle")

    def reload(self):
        self.browser.tell("reload")

    def media(self, kind):
        self.browser.tell("media", type=kind)
        self.browser.tell("settle")

    def evaluate(self, js, argument=None):
        return self.browser.tell("evaluate", js=js, argument=argument)

    def all(self, at, js="e.textContent"):
        """What an expression of `e` says of each element."""
        return self.evaluate("[...document.querySelectorAll(argument)].map((e) => %s)" % js, at)

    def has(self, at):
        return self.evaluate("document.querySelector(argument) !== null", at)

    def screenshot(self, path, full=False):
        self.browser.tell("screenshot", path=str(path), full=full)

    def pdf(self, path):
        self.browser.tell("pdf", path=str(path))

    def axe(self):
        """[impact, rule, help, places] of each violation."""
        return self.browser.tell("axe")

    def address(self):
        return self.evaluate("location.hash.slice(1)")

    def text(self, at="body"):
        """What a person reads there."""
        return self.evaluate("(document.querySelector(argument) || {}).innerText", at)

    def dialog(self):
        """What the dialog says that is open; nothing where none is."""
        return self.text("dialog[open]") or ""

    def figures(self, kind="data-figure"):
        return [Figure(pointer, json.loads(value) if value is not None else None, text, in_table)
                for pointer, value, text, in_table in self.browser.tell("figures", kind=kind)]

    def report(self):
        return self.browser.tell("report")

    def assert_clean(self):
        """Nothing ran that should not, nothing was asked for, nothing complained."""
        found = self.report()
        for kind in ("errors", "console", "violations", "requests", "dialogs"):
            assert not found[kind], "%s of the page: %s" % (kind, found[kind][:5])
        return found
