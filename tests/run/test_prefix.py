"""The build tree works in place (every other test); so does what meson install makes, wherever it stands."""
import shutil
import subprocess

import pytest

from harness import BUILD, TESTS, load_traces, settle, trace_files, wait_for


def profiled(words, logdir, **environment):
    done = subprocess.run([*map(str, words), "/usr/bin/python3", str(TESTS / "apps" / "train.py"), "6"],
                          env={"PATH": "/usr/bin:/bin", "TPROF_LOGDIR": str(logdir), "OMP_NUM_THREADS": "1",
                               "TPROF_EXIT_WAIT": "60", **environment},
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "done 6\n"), done.stderr
    wait_for(lambda: trace_files(logdir), what="a trace; stderr: " + done.stderr)
    settle(logdir)
    return load_traces(logdir)


def test_tprof_run_of_the_prefix(prefix, logdir):
    assert [t.steps() for t in profiled([prefix / "bin" / "tprof-run", "--"], logdir)] == [list(range(6))]


def test_library_of_the_prefix(prefix, logdir):
    library = next(prefix.rglob("libtprof.so"))
    traces = profiled([], logdir, LD_PRELOAD=str(library))
    assert [t.steps() for t in traces] == [list(range(6))]


def test_a_link_to_tprof_run_works(prefix, logdir, tmp_path):
    link = tmp_path / "anywhere" / "tprof-run"
    link.parent.mkdir()
    link.symlink_to(prefix / "bin" / "tprof-run")
    assert len(profiled([link, "--"], logdir)) == 1


@pytest.mark.parametrize("name", ["a b'c", "of: all"])
def test_a_path_that_ld_preload_cannot_name(name, prefix, logdir, tmp_path):
    shutil.copytree(prefix, tmp_path / name, symlinks=True)
    assert [t.steps() for t in profiled([tmp_path / name / "bin" / "tprof-run", "--"], logdir)] == [list(range(6))]


def test_header_and_tool_are_installed(prefix):
    assert (prefix / "include" / "tprof" / "tprof.h").exists()
    version = subprocess.run([str(prefix / "bin" / "tprof"), "--version"], capture_output=True, text=True)
    assert version.returncode == 0 and version.stdout.strip()


def test_the_library_needs_libc_only(prefix):
    library = next(prefix.rglob("libtprof.so"))
    dynamic = subprocess.run(["readelf", "-d", str(library)], capture_output=True, text=True, check=True).stdout
    needed = {line.split("[")[1].rstrip("]") for line in dynamic.splitlines() if "(NEEDED)" in line}
    assert needed <= {"libc.so.6", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}, needed


PROGRAMS = ["tprof", "tprof-stack", "tprof-view", "libtprof.so"]


@pytest.mark.parametrize("place", ["build", "prefix"])
def test_no_directory_is_searched_for_libraries_but_the_systems(place, prefix):
    """By RPATH or RUNPATH a program, perhaps of root's, takes libraries from where somebody else may put them."""
    if place == "build":
        files = [BUILD / "tools" / "tprof", BUILD / "tools" / "stack" / "tprof-stack", BUILD / "tools" / "view" / "tprof-view",
                 BUILD / "shim" / "libtprof.so"]
    else:
        files = [path for name in PROGRAMS for path in prefix.rglob(name)]
    # Without libunwind there is no tprof-stack; the completions have the name of a program.
    found = [path for path in files if path.is_file() and path.read_bytes().startswith(b"\x7fELF")]
    assert {path.name for path in found} >= set(PROGRAMS) - {"tprof-stack"}
    for path in found:
        dynamic = subprocess.run(["readelf", "-d", str(path)], capture_output=True, text=True, check=True).stdout
        assert "(NEEDED)" in dynamic and "PATH)" not in dynamic, (path, dynamic)


def test_default_log_directory_is_named_after_the_script(prefix, tmp_path):
    done = subprocess.run([str(prefix / "bin" / "tprof-run"), "/usr/bin/python3", str(TESTS / "apps" / "train.py"), "4"],
                          cwd=tmp_path, env={"PATH": "/usr/bin:/bin", "OMP_NUM_THREADS": "1", "TPROF_EXIT_WAIT": "60"},
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    made = list((tmp_path / "tprof_log").iterdir())
    assert len(made) == 1 and made[0].name.startswith("train"), made
    settle(made[0])
    assert len(load_traces(made[0])) == 1


def test_print_env_takes_back_what_does_not_go_with_what_was_typed(prefix, logdir):
    words = [str(prefix / "bin" / "tprof-run"), "--schedule", "active=2", "-o", str(logdir), "--print-env"]
    done = subprocess.run(words, env={"PATH": "/usr/bin:/bin", "TPROF_STEPS": "10:13"}, capture_output=True, text=True)
    lines = done.stdout.splitlines()
    assert "export TPROF_SCHEDULE='active=2'" in lines and "unset TPROF_STEPS" in lines, done.stdout


def test_print_env_gives_lines_for_a_shell(prefix, logdir):
    script = 'eval "$("$1" --schedule active=2,repeat=1 --logdir "$2" --print-env)"; exec "$3" "$4" 5'
    done = subprocess.run(["/bin/sh", "-c", script, "sh", str(prefix / "bin" / "tprof-run"), str(logdir),
                           "/usr/bin/python3", str(TESTS / "apps" / "train.py")],
                          env={"PATH": "/usr/bin:/bin", "OMP_NUM_THREADS": "1", "TPROF_EXIT_WAIT": "60"},
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "done 5\n"), done.stderr
    wait_for(lambda: trace_files(logdir), what="a trace")
    settle(logdir)
    assert [t.steps() for t in load_traces(logdir)] == [[0, 1]]
