"""utils.py asks `stty size` for the width of the terminal; there is none."""
import io
import os


def before(work, spec):
    os.popen = lambda *args: io.StringIO("24 80")
