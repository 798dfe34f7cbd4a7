"""Programs that have nothing to do with torch, and programs that tprof must not or cannot enter: as bare."""
import os
import shutil
import subprocess

import pytest

from harness import LIBRARY, WAYS, both, run

PROGRAMS = {
    "true": ["/bin/true"], "false": ["/bin/false"],
    "pipeline": ["/bin/bash", "-c", "seq 1000 | sort -r | head -n 2; (exit 6)"],
    "shell that is killed": ["/bin/bash", "-c", "kill -TERM $$"],
    "python": ["-c", "pass"],
    "python at rest": ["-c", "import os; print(sorted(os.listdir('/proc/self/fd')), len(os.listdir('/proc/self/task')))"],
    "python isolated": ["/usr/bin/python3", "-I", "-S", "-E", "-c", "print(6)"],
    "python with processes": ["-c", "import multiprocessing as m; p = m.Process(target=print, args=(1,)); p.start(); "
                                    "p.join(); print(p.exitcode)"],
    "perl": ["/usr/bin/perl", "-e", "print 6 * 7"],
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_without_torch(name, tmp_path):
    results = both(PROGRAMS[name], tmp_path, ways=WAYS)
    assert results["preload"].stderr == results["bare"].stderr, "a word"
    extra = results["run"].stderr.replace(results["bare"].stderr, "")
    assert len(extra.splitlines()) <= 1, extra
    for way in ("run", "preload"):
        directory = tmp_path / way
        assert not directory.exists() or not list(directory.iterdir()), "a file"


def test_a_setuid_program_runs_unprofiled(compiled, prefix, public_dir):
    if os.geteuid() != 0:
        pytest.skip("needs root to make a setuid program")
    program = public_dir / "setuid"
    shutil.copy(compiled("hello.c"), program)
    program.chmod(0o4755)
    nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    library = next(prefix.rglob("libtprof.so"))
    logdir = public_dir / "setuid-log"
    logdir.mkdir(mode=0o777)
    logdir.chmod(0o777)
    for words in (["env", "LD_PRELOAD=" + str(library)], [str(prefix / "bin" / "tprof-run"), "--"]):
        done = subprocess.run([*nobody, *words, str(program)], capture_output=True, text=True, timeout=60,
                              stdin=subprocess.DEVNULL, env={"PATH": "/usr/bin:/bin", "TPROF_LOGDIR": str(logdir)})
        assert (done.returncode, done.stdout) == (7, "hello\n"), done.stderr
    assert not list(logdir.iterdir())


def test_an_ld_preload_that_is_already_set_is_kept(compiled, tmp_path):
    other = compiled("other_preload.c", "-shared")
    code = ("import os, loop; loop.step(3); print(os.environ['OTHER_PRELOAD'], os.getppid(), "
            "sum('other_preload' in line and ' r-xp ' in line for line in open('/proc/self/maps')))")
    from harness import APPS
    argv = ["-c", "import sys; sys.path.insert(0, %r); %s" % (str(APPS), code)]
    for way, result in both(argv, tmp_path, preload=other).items():
        assert result.stdout == "loaded 4711 1\n"
        if way != "bare":
            assert len(result.traces()) == 1


def test_the_library_stands_aside_when_disabled(logdir):
    result = run(["train.py", 4, "exit"], "preload", logdir=logdir, options={"TPROF_DISABLE": "1"})
    assert (result.returncode, result.stdout, result.stderr) == (3, "done 4\n", "")
    assert not logdir.exists() or not list(logdir.iterdir())


def test_a_preload_path_that_children_inherit_through_a_shell(logdir):
    """sh -c 'python ...': the shell is left alone, its child is profiled."""
    from harness import APPS
    result = run(["/bin/sh", "-c", "/usr/bin/python3 \"$0\" 4; exit 8", APPS / "train.py"], "run", logdir=logdir)
    assert (result.returncode, result.stdout) == (8, "done 4\n")
    assert [t.steps() for t in result.traces()] == [list(range(4))]


def test_the_library_exports_little():
    """Nothing of the C++ run time, nothing by accident: hooks and tprof_* only."""
    symbols = subprocess.run(["nm", "-D", "--defined-only", str(LIBRARY)], capture_output=True, text=True, check=True)
    names = [line.split()[-1].split("@")[0] for line in symbols.stdout.splitlines()]
    assert not [n for n in names if n.startswith(("_ZNSt", "_ZSt", "__cxa", "__gxx"))]


def test_no_variable_is_set_up_while_the_library_is_loaded():
    """Hooks may run before our constructors, which would then wipe what they have written. Besides it costs each exec."""
    dynamic = subprocess.run(["readelf", "-d", str(LIBRARY)], capture_output=True, text=True, check=True).stdout
    sizes = [int(line.split()[2]) for line in dynamic.splitlines() if "(INIT_ARRAYSZ)" in line]
    assert sizes == [16], "two constructors, entry.cpp's and the compiler's frame_dummy; a variable lacks constinit?"
