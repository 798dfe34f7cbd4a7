"""Unfriendly places (tests/faults/cases.py): the program prints what it prints there bare, with the same exit status,
and what tprof wrote can be read."""
import os
import shutil
import subprocess
import sys

import pytest

from harness import TESTS, check, run, trace_files

sys.path.append(str(TESTS / "faults"))
from cases import CASES, INJECT, PLACE, SHORT  # noqa: E402

PROGRAMS = {"python": ["seeded.py"], "killed": ["train.py", 30, "SIGSEGV"]}


@pytest.fixture(scope="session")
def inject(tmp_path_factory):
    program = tmp_path_factory.mktemp("faults") / "inject"
    subprocess.run(["cc", "-O1", "-Wall", "-Werror", "-o", program, TESTS / "faults" / "inject.c"], check=True)
    program.parent.chmod(0o755)
    return program


def cases():
    slow = pytest.mark.full
    return [pytest.param(name, id=name.replace("/", "").replace(" ", "_"), marks=[] if name in SHORT else slow)
            for name in CASES]


@pytest.mark.spread(3)
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root for mounts, users and namespaces")
@pytest.mark.parametrize("program", ["python", pytest.param("killed", marks=pytest.mark.full)])
@pytest.mark.parametrize("name", cases())
def test_the_program_does_what_it_does_bare(name, program, inject, tmp_path):
    place = tmp_path / "place"
    place.mkdir()
    words = [str({INJECT: inject, PLACE: place}.get(word, word)) for word in CASES[name]]
    for word in ("unshare", "setpriv", "chrt", "taskset"):
        if word in words and not shutil.which(word):
            pytest.skip("no " + word)
    if subprocess.run([*words, "true"], stdin=subprocess.DEVNULL, capture_output=True).returncode:
        pytest.skip("such a place cannot be had here")
    bare = run(PROGRAMS[program], wrapper=words)
    # Preloaded, also while the place is made: the words in front of the program are programs of their own.
    ours = run(PROGRAMS[program], "preload", wrapper=words, logdir=place / "log")
    assert (ours.returncode, ours.stdout) == (bare.returncode, bare.stdout), ours.stderr + bare.stderr
    for trace in trace_files(place / "log") if (place / "log").is_dir() else []:
        check(trace)
