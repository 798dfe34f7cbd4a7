"""Programs in flight mode whose operators have numbers: see tests/apps/numbered.py."""
import struct

import harness

SMALLEST = "flight:16M"


def numbers(trace):
    """The numbers of the operators in a trace, in order."""
    return sorted(int(e["args"]["Concrete Inputs"][1]) for e in trace.ops("aten::fill_"))


def progress(path):
    """How many operators the program has completed."""
    data = path.read_bytes() if path.exists() else b""
    return struct.unpack("<q", data)[0] if len(data) == 8 else 0


def is_gapless(found):
    return found == list(range(found[0], found[0] + len(found)))


def start(tmp_path, logdir, count, ending="fall", how="preload", mode=SMALLEST, env=None, options=None, wrapper=()):
    """The process, and the file of its progress."""
    path = tmp_path / "progress"
    process = harness.start(["numbered.py", path, count, ending], how, logdir=logdir, env=env,
                            options={"TPROF_MODE": mode, **(options or {})}, wrapper=wrapper)
    return process, path
