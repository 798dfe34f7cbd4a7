"""The views that a page offers, and the addresses of their states."""
import collections


class View(collections.namedtuple("View", "name title enabled")):
    def hash(self, **state):
        return "&".join("%s=%s" % item for item in {"view": self.name, **state}.items())


def of(page):
    """Those with data, in the order of their tabs."""
    return [view for view in all_of(page) if view.enabled]


def all_of(page):
    return [View(*one) for one in page.evaluate("""
      return [...document.querySelectorAll('[role=tab]')].map((tab) => [
        new URLSearchParams((tab.getAttribute('href') || '').slice(1)).get('view') || tab.dataset.view, tab.innerText,
        tab.getAttribute('aria-disabled') !== 'true' && !tab.disabled])""")]
