"""The directory that the script writes samples to."""
import os


def before(work, spec):
    os.makedirs(os.path.join(work, "results"), exist_ok=True)
