"""The benchmark runs and gives every figure. Its limits are for a quiet machine: tests/bench/run --check."""
import json
import math
import subprocess
import sys

import pytest

from harness import BUILD, TESTS

sys.path.insert(0, str(TESTS / "bench"))
import figures  # noqa: E402  (needs the path above)


@pytest.mark.full
def test_every_figure_is_there(tmp_path):
    out = tmp_path / "bench.json"
    done = subprocess.run([str(TESTS / "bench" / "run"), "--smoke", "--torch", "host", "--json", str(out)],
                          env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "TPROF_BUILD": str(BUILD)},
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(out.read_text())["torches"]["host"]["figures"]
    assert set(found) == {row.name for group, (_, rows) in figures.GROUPS.items() if group not in figures.WANTS
                          and "host" not in figures.CANNOT.get(group, ()) for row in rows}
    for name, entry in found.items():
        assert math.isfinite(entry["value"]), name
