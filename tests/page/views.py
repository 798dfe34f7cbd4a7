"""The views that a page offers, and the addresses of their states."""
import collections
import urllib.parse

# Choices of a view that show other tables than it begins with.
STATES = {
    "operators": [{}, {"group": "op+shape"}],
    "kernels": [{}, {"group": "kernel+op"}],
    "modules": [{"show": word} for word in ("module", "tree", "line", "python", "timeline", "lightning")],
    "flames": [{"source": word} for word in ("sampled", "python", "module", "operator", "gpu")] + [{"at": "1"}],
    "diff": [{"by": kind} for kind in ("category", "operator_host", "operator_device", "kernel", "module")] +
            [{"inside": "calls"}],
}


class View(collections.namedtuple("View", "name title enabled")):
    def hash(self, **state):
        return urllib.parse.urlencode({"view": self.name, **state})

    def states(self):
        return STATES.get(self.name, [{}])


def all_of(page):
    """In the order of their tabs; one without data has no link, and is not enabled."""
    found = page.all(".tabs .tab", """
      [new URLSearchParams((e.getAttribute('href') || '').slice(1)).get('view'), e.textContent, e.ariaDisabled !== 'true']""")
    return [View(name or title.lower(), title, enabled) for name, title, enabled in found]


def of(page):
    return [view for view in all_of(page) if view.enabled]


def workers(page):
    """How many workers and spans the page can be about."""
    return 1 + max([int(i) for i in page.all("header.shell select option", "e.value") if i.isdigit()], default=0)
