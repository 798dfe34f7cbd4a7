"""A plugin of pytest: only the tests that listed.txt names are run."""
import pathlib

NAMES = set((pathlib.Path(__file__).parent / "listed.txt").read_text().split())


def pytest_collection_modifyitems(items):
    items[:] = [item for item in items if item.nodeid in NAMES]
