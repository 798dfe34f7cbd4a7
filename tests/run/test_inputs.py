"""What the analysing commands make of their paths: runs of one name, recordings beside traces, temporary directories."""
import json
import os
import shutil
import signal
import subprocess

import pytest

from harness import BUILD, recordings, run, tprof, trace_files, wait_for


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    result = run(["gloo_ranks.py", 8, 5, 2], "run", logdir=tmp_path_factory.mktemp("job") / "log",
                 options={"TPROF_KEEP_RECORDING": "1"})
    assert result.returncode == 0, result.stderr
    return result.logdir


@pytest.fixture
def twins(job, tmp_path):
    """Two directories whose last names are the same."""
    for name in "base", "new":
        shutil.copytree(job, tmp_path / name / "log", ignore=shutil.ignore_patterns("*.tprof"))
    return tmp_path / "base" / "log", tmp_path / "new" / "log"


def test_runs_of_one_name_are_told_apart_and_are_jobs_of_their_own(twins, tmp_path):
    advised = tprof("advise", "--json", *twins)
    assert advised.returncode == 0, advised.stderr
    assert [(one["run"], len(one["ranks"])) for one in json.loads(advised.stdout)["stragglers"]] == [
        ("base/log", 2), ("new/log", 2)]
    table = json.loads(tprof("stats", "--by", "comm", "--json", *twins).stdout)
    assert sorted({worker["run"] for worker in table["workers"]}) == ["base/log", "new/log"]
    assert tprof("report", twins[0], "--vs", twins[1], "-o", tmp_path / "page.html").returncode == 0
    assert tprof("export", "-o", tmp_path / "out.db", "--to", "sqlite", *twins).returncode == 0


def test_a_run_alone_keeps_its_name(twins):
    assert {one["run"] for one in json.loads(tprof("advise", "--json", twins[0]).stdout)["stragglers"]} == {"log"}


def test_recordings_of_one_directory_are_one_run_of_a_comparison(job, tmp_path):
    for name in "a", "b":
        shutil.copytree(job, tmp_path / name, ignore=shutil.ignore_patterns("*.json*"))
        assert len(recordings(tmp_path / name)) == 2 and not trace_files(tmp_path / name)
    shown = tprof("diff", tmp_path / "a", tmp_path / "b")
    assert "A: 1 run, " in shown.stdout and "B: 1 run, " in shown.stdout, shown.stdout + shown.stderr


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_temporary_traces_go_whatever_ends_a_command(end, job, tmp_path):
    log, temporary = tmp_path / "log", tmp_path / "temporary"
    shutil.copytree(job, log, ignore=shutil.ignore_patterns("*.json*"))
    temporary.mkdir()
    for r in recordings(log):
        for n in range(20):  # a command that takes a while
            shutil.copy(r.path, r.path.with_name("%d_%s" % (n, r.path.name)))
    process = subprocess.Popen([str(BUILD / "tools" / "tprof"), "stats", str(log)], stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, env={**os.environ, "TMPDIR": str(temporary)})
    wait_for(lambda: list(temporary.rglob("*.pt.trace.json")), 60, "a temporary trace")
    process.send_signal(end)
    process.wait()
    wait_for(lambda: not list(temporary.iterdir()), 60, "an empty directory")


def test_no_temporary_trace_stays(job, tmp_path):
    (tmp_path / "log").mkdir()
    shutil.copy(recordings(job)[0].path, tmp_path / "log")
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    done = tprof("stats", tmp_path / "log", env={**os.environ, "TMPDIR": str(temporary)})
    assert done.returncode == 0 and "aten::" in done.stdout, done.stderr
    assert not list(temporary.iterdir())
