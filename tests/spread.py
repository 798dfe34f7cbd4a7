"""Which sets of a test's parameters CI runs; `tests/all --full` runs all.

Most of the time of the tests goes by in `import torch`, so that a test of three torches or of two ways to start a
program costs three or two times as much. CI spreads these over the tests: of the sets of parameters that differ in
nothing else it runs one, another one for each next set, so that every torch and every way meets every kind of test.
tests/quick runs the first of them: the newest torch. Three markers say otherwise:

    @pytest.mark.not_on(*places)   not there, where the test is skipped; a mark of a test or of one of its parameters
    @pytest.mark.everywhere        on all torches and in all ways: what is laid out otherwise in each version
    @pytest.mark.spread(n)         and of the other parameters each n-th set: for tables whose rows take seconds each.
                                   Where there are several parameters, n shares no factor with the number of values of
                                   the one that varies fastest, so that all values have their turn

The choice depends on nothing but the tests' names and the order of their parameters.
"""
import zlib

import pytest

import harness

PLACES_AND_WAYS = {"2.15", "2.6", "1.13", "host", "trixie", "sid", "run", "preload"}


def is_able(item):
    """Whether it is not known that the test is skipped where this item runs."""
    skips = {place for marker in item.iter_markers("not_on") for place in marker.args}
    skips.update(root for root in ("trixie", "sid") if harness.missing_root(root))
    return not skips.intersection(item.callspec.id.split("-"))


def mark_what_ci_leaves_out(items, in_turn=True):
    """Gives the marker `full` to the sets of parameters that CI leaves out. items: all that pytest has collected. Where
    not `in_turn`, the first place and way are kept of all."""
    tests = {}  # (file, test) -> the ids of the other parameters -> items that differ only in place or way
    for item in items:
        if hasattr(item, "callspec") and not item.get_closest_marker("full"):
            others = tuple(part for part in item.callspec.id.split("-") if part not in PLACES_AND_WAYS)
            tests.setdefault((item.path, item.originalname), {}).setdefault(others, []).append(item)
    for (_, name), sets in tests.items():
        begin = zlib.crc32(name.encode())
        for turn, alike in enumerate(sets.values(), begin):
            marker = alike[0].get_closest_marker("spread")
            each = marker.args[0] if marker else 1
            able = list(filter(is_able, alike)) or alike
            everywhere = in_turn and alike[0].get_closest_marker("everywhere")
            kept = able if everywhere else [able[turn // each % len(able) if in_turn else 0]]
            for item in alike:
                if turn % each or item not in kept:
                    item.add_marker(pytest.mark.full)
