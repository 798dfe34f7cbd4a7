"""The script writes below ./out."""
import os


def before(work, spec):
    os.makedirs(os.path.join(work, "out", "adder"), exist_ok=True)
