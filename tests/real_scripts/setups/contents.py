"""The directory that the script writes pictures to."""
import os


def before(work, spec):
    os.makedirs(os.path.join(work, "contents"), exist_ok=True)
