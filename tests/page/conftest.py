"""The browsers, one of each kind for all tests of a process, and reports that several tests look at."""
import pytest

import inputs
from browser import BROWSERS, HERE, Browser

FIREFOX = pytest.param("firefox", marks=pytest.mark.full)  # takes five times as long to start


@pytest.fixture(scope="session")
def browsers():
    """browsers("chromium") -> a Browser, started when it is first asked for."""
    if not (HERE / "node_modules").is_dir():
        pytest.fail("no node_modules in %s: tests/all makes it, or npm ci there" % HERE)
    started = {}

    def get(name):
        if name not in started:
            started[name] = Browser(name)
        return started[name]
    yield get
    for one in started.values():
        one.__exit__()


@pytest.fixture(params=["chromium", FIREFOX])
def browser(request, browsers):
    """Each of the two; without --full only the first."""
    assert request.param in BROWSERS
    return browsers(request.param)


@pytest.fixture
def chromium(browsers):
    return browsers("chromium")


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """made("gpu") -> (paths, report) of a row of inputs.INPUTS; made("kineto", diff=True) of DIFFS, with --vs."""
    done = {}

    def make(name, diff=False):
        key = name, diff
        if key not in done:
            home = tmp_path_factory.mktemp(name.replace(".", "-"))
            paths = (inputs.DIFFS if diff else inputs.INPUTS)[name](home)
            words = [paths[0], "--vs", paths[1]] if diff else paths
            done[key] = paths, inputs.report(home / "report.html", *words)
        return done[key]
    return make


@pytest.fixture(scope="session")
def kineto(made):
    """The report of golden/kineto-traces: two runs, two windows each, with a GPU and stacks."""
    return made("kineto")[1]
