"""The folder that tensorboardX would make."""
import os


def before(work, spec):
    os.makedirs(os.path.join(work, "searchs", "x"), exist_ok=True)
