"""Programs that are linked with musl, in whose loader libtprof.so cannot be: they run as without tprof."""
import glob
import os
import shutil
import subprocess

import pytest

from harness import APPS, LIBRARY, RUN, run


@pytest.fixture(scope="module")
def musl(tmp_path_factory):
    """A dynamic program of musl."""
    if not shutil.which("musl-gcc"):
        pytest.skip("not run, no musl-gcc: apt-get install musl-tools")
    program = tmp_path_factory.mktemp("musl") / "then"
    subprocess.run(["musl-gcc", "-o", str(program), str(APPS / "then.c")], check=True, stdin=subprocess.DEVNULL)
    return program


def test_a_program_of_musl_runs_unprofiled_and_what_it_starts_is_profiled(musl, logdir):
    result = run([musl], "run", logdir=logdir)
    assert (result.returncode, result.stdout) == (7, "then\n"), result.stderr
    assert "is linked with musl and not with glibc" in result.said()[0]
    result = run([musl, "/usr/bin/python3", APPS / "train.py", 4], "run", logdir=logdir)
    assert (result.returncode, result.stdout) == (0, "then\ndone 4\n"), result.stderr
    assert [trace.steps() for trace in result.traces()] == [[0, 1, 2, 3]]


@pytest.mark.parametrize("way", ["subprocess.call", "os.spawnv", "system"])
def test_a_profiled_program_may_start_programs_of_musl(musl, logdir, way):
    ways = {"subprocess.call": "subprocess.call([%r])", "os.spawnv": "os.spawnv(os.P_WAIT, %r, ['then'])",
            "system": "os.waitstatus_to_exitcode(os.system(%r))"}
    code = "import sys, os, subprocess; sys.path.insert(0, %r); import loop; loop.step(3); print(%s)" % (
        str(APPS), ways[way] % str(musl))
    result = run(["-c", code], "run", logdir=logdir)
    assert (result.returncode, result.stdout) == (0, "then\n7\n"), result.stderr
    assert len(result.traces()) == 1


def test_a_job_s_environment_for_a_launcher_is_good_for_musl_too(musl, tmp_path):
    script = 'eval "$("$1" --logdir "$2" --print-env)"; "$3"; echo $?'
    done = subprocess.run(["/bin/sh", "-c", script, "sh", str(RUN), str(tmp_path), str(musl)], capture_output=True,
                          text=True, stdin=subprocess.DEVNULL, env={"PATH": "/usr/bin:/bin"})
    assert (done.stdout, done.stderr) == ("then\n7\n", "")


def test_in_a_root_without_glibc_programs_run_where_the_library_is_mounted(musl, tmp_path, logdir):
    """As in a container of Alpine's that sees the user's files."""
    if os.geteuid() != 0:
        pytest.skip("needs root for chroot")
    root = tmp_path / "root"
    for file in (*glob.glob("/lib/ld-musl-*"), LIBRARY):
        place = root / str(file).lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, place)
    shutil.copy(musl, root / "then")
    result = run(["/usr/sbin/chroot", root, "/then", "/then"], "run", logdir=logdir)
    assert (result.returncode, result.stdout) == (7, "then\nthen\n"), result.stderr
