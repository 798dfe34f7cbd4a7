"""What tests/quick leaves out. Most of the time of the tests goes by in `import torch`, so that of each file run all tests
that start no Python program, and of those that do the first, unless that takes long. With pytest's --quick."""
import os

import pytest

first = None  # by file, the test that has started a Python program; None: all may


def begin():
    global first
    first = {}


def takes_long():
    """Called by the fixture of what does."""
    if first is not None:
        pytest.skip("takes long: tests/all runs this one")


def python_starts():
    """Called before each start of a Python program by harness.py."""
    if first is None:
        return
    file, _, test = os.environ["PYTEST_CURRENT_TEST"].rpartition(" ")[0].partition("::")
    if first.setdefault(file, test) != test:
        pytest.skip("another test of this file has started Python: tests/all runs this one")
