"""gym by its present name."""
import sys


def before(work, spec):
    import gymnasium
    sys.modules["gym"] = gymnasium
