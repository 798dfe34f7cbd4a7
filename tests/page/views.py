"""The views that a page offers, and the addresses of their states."""
import collections

# Choices of a view that show other tables than it begins with.
STATES = {
    "operators": [{}, {"group": "op+shape"}],
    "kernels": [{}, {"group": "kernel+op"}],
    "modules": [{"show": word} for word in ("module", "tree", "line", "timeline", "lightning")],
    "diff": [{"by": kind} for kind in ("category", "operator_host", "operator_device", "kernel", "module")] + [{"inside": "calls"}],
}


class View(collections.namedtuple("View", "name title enabled")):
    def hash(self, **state):
        return "&".join("%s=%s" % (key, str(value).replace("+", "%2B")) for key, value in {"view": self.name, **state}.items())

    def states(self):
        return STATES.get(self.name, [{}])


def all_of(page):
    """In the order of their tabs; one without data has no link, and is not enabled."""
    found = page.evaluate("""
      return [...document.querySelectorAll('.tabs .tab')].map((tab) =>
        [new URLSearchParams((tab.getAttribute('href') || '').slice(1)).get('view'), tab.textContent, tab.ariaDisabled !== 'true'])""")
    return [View(name or title.lower(), title, enabled) for name, title, enabled in found]


def of(page):
    return [view for view in all_of(page) if view.enabled]


def workers(page):
    """How many workers and spans the page can be about."""
    return 1 + max([int(i) for i in page.evaluate(
        "[...document.querySelectorAll('header.shell select option')].map((o) => o.value).filter((v) => /^\\d+$/.test(v))")] or [0])
