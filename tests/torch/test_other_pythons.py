"""Call stacks on Pythons for which there is no torch here: those of pyenv, if any. A CUDA call takes the operator's place,
the program is that of test_stacks.py."""
import collections
import json
import os
import pathlib

import pytest

from harness import APPS, BUILD, run
from test_stacks import STACK, texts

HERE = pathlib.Path(__file__).resolve().parent
VERSIONS = pathlib.Path(os.environ.get("PYENV_ROOT", pathlib.Path.home() / ".pyenv")) / "versions"
PYTHONS = sorted(p for minor in range(8, 15) for p in VERSIONS.glob("*/bin/python3.%d" % minor))


@pytest.mark.parametrize("python", PYTHONS or [None], ids=lambda p: p.name if p else "none")
def test_stacks_are_those_that_python_shows(python, tmp_path, logdir):
    if not python:
        pytest.skip("no Pythons of pyenv")
    told = tmp_path / "stacks.json"
    result = run([python, HERE / "stacks.py", told, "4000"], "preload", logdir=logdir, options=STACK,
                 env={"PYTHONPATH": str(APPS / "other_python"), "CUDA_STUB": str(BUILD / "tests" / "libcudart_stub.so")})
    assert result.returncode == 0, result.stderr
    trace, = result.traces()
    found = collections.defaultdict(list)
    calls = [e for e in trace.ranges if e["name"] == "cudaDeviceSynchronize" and "Call stack" in e["args"]]
    for event in sorted(calls, key=lambda e: e["ts"]):
        found[event["tid"]].append(event["args"]["Call stack"].split(";"))
    expected = {int(tid): [texts(frames) for frames in stacks] for tid, stacks in json.loads(told.read_text()).items()}
    assert {tid: len(stacks) for tid, stacks in found.items()} == {tid: len(stacks) for tid, stacks in expected.items()}
    for tid, stacks in expected.items():
        for mine, pythons in zip(found[tid], stacks):
            assert mine == pythons
