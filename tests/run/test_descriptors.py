"""Descriptors belong to the program: none of ours is kept, none of its is written."""
import subprocess

import pytest

from harness import both, run

PHASED = {"TPROF_SCHEDULE": "wait=2,warmup=2,active=30,repeat=1"}


@pytest.mark.parametrize("options", [PHASED, {}], ids=["schedule", "everything"])
def test_a_program_that_closes_all_and_opens_its_own(options, tmp_path):
    files = tmp_path / "files"
    files.mkdir()
    results = both(["closes_all.py", files], tmp_path, options=options)
    assert "files, 0 wrong" in results["bare"].stdout
    for way in results.keys() - {"bare"}:
        trace, = results[way].traces()
        assert trace.marks()[-1] == max(trace.steps())
        assert len(trace.marks()) == (30 if options else 51)


@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_standard_descriptor_closed_by_the_parent(number, how, tmp_path, logdir):
    mine = tmp_path / "mine"
    shell = ["/bin/sh", "-c", 'exec "$@" %d>&-' % number, "sh"]
    result = run(["closed_standard.py", mine, number], how, logdir=logdir, wrapper=shell,
                 stdin=subprocess.PIPE)
    assert result.returncode == 0, result.stderr
    assert mine.read_text() == "number %d is mine\ndone\n" % number
    assert len(result.traces()) == 1


def test_no_descriptor_is_open_while_recording(tmp_path):
    """/proc/self/fd in every phase is as bare."""
    code = ("import sys; sys.path.insert(0, %r)\n"
            "import os, loop\n"
            "loop.in_each_phase(lambda phase: print(phase, sorted(os.listdir('/proc/self/fd'))))")
    from harness import APPS
    for options in (PHASED, {}):
        both(["-c", code % str(APPS)], tmp_path / str(len(options)), options=options)


def test_our_thread_takes_no_descriptor_number(logdir):
    """It has an empty descriptor table of its own: nothing that it opens can shift the program's numbers."""
    code = ("import sys; sys.path.insert(0, %r)\n"
            "import os, loop\n"
            "loop.step(3)\n"
            "for task in os.listdir('/proc/self/task'):\n"
            "    here = '/proc/self/task/' + task\n"
            "    if open(here + '/comm').read() == 'tprof\\n': print(sorted(os.listdir(here + '/fd')))")
    from harness import APPS
    result = run(["-c", code % str(APPS)], "preload", logdir=logdir)
    assert result.stdout == "[]\n", result


def test_stderr_turned_into_a_file_of_the_program_is_not_written(tmp_path, logdir):
    """The program points descriptor 2 at its own file; tprof's messages do not go there."""
    mine = tmp_path / "mine"
    code = ("import sys, os; sys.path.insert(0, %r)\n"
            "import loop\n"
            "loop.step(3)\n"
            "os.dup2(os.open(%r, os.O_CREAT | os.O_WRONLY), 2)\n"
            "os.write(2, b'mine'); loop.step(9)")
    from harness import APPS
    result = run(["-c", code % (str(APPS), str(mine))], "preload", logdir=logdir)
    assert result.returncode == 0 and mine.read_bytes() == b"mine"
