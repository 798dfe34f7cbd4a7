"""Every number of every view is what the commands say of the same input, and every row and column is there."""
import collections
import re

import pytest

import views
from answers import Answers
from walk import derived, differences, gaps, strays

full = pytest.mark.full
INPUTS = ["golden"] + [pytest.param(name, marks=full) for name in
                       ("kineto", "gpu", "gloo", "samples", "cpu-1.13", "cpu-2.6", "cpu-2.15", "torch.profiler")]


def walk(page, answers):
    """What is wrong with the figures of each state of each view for each worker; and how many were looked at."""
    tables, problems, looked = answers.tables(), {}, 0
    for worker in range(views.workers(page)):
        page.go("worker=%d" % worker)
        for view in views.of(page):
            of_view = set()
            for state in view.states():
                address = view.hash(worker=worker, rows="all", columns="all", **state)
                page.go(address)
                found, seen = differences(page, answers)
                of_view |= seen
                looked += len(seen)
                problems[address] = found + derived(page, answers) + [
                    "a number that is no figure: %r in %s" % tuple(one) for one in strays(page)]
            problems[view.hash(worker=worker)] = gaps(of_view, tables)
    return {state: found for state, found in problems.items() if found}, looked


def told(problems):
    """Each kind of problem once: how often, where first."""
    kinds = collections.defaultdict(list)
    for state, found in problems.items():
        for one in found:
            kinds[re.sub(r"\d+|'[^']*'", "#", one[:90])].append("%s  at #%s" % (one, state))
    return "\n".join("%d x %s" % (len(found), found[0]) for found in kinds.values())


@pytest.mark.parametrize("name", INPUTS)
def test_every_figure_is_what_the_commands_say(name, browser, made):
    paths, report = made(name)
    page = browser.open(report)
    problems, looked = walk(page, Answers(paths))
    assert not problems, told(problems)
    assert looked > 100
    page.assert_clean()


@full
@pytest.mark.parametrize("name", ["kineto", "masks"])
def test_every_figure_of_a_diff(name, browser, made):
    (before, after), report = made(name, diff=True)
    page = browser.open(report)
    problems, looked = walk(page, Answers([before], [after]))
    assert not problems, told(problems)
    assert any(view.name == "diff" for view in views.of(page)) and looked > 100
    page.assert_clean()
