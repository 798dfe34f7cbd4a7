"""Children of a profiled program, however made: they work as bare, and never show in the parent's trace."""
import json
import re

import pytest

from harness import both, load_traces, machine, recordings, run, tprof, trace_files

PHASED = {"TPROF_SCHEDULE": "wait=2,warmup=2,active=3,repeat=1"}  # see tests/apps/loop.py


@pytest.mark.spread(3)
@pytest.mark.parametrize("way", ["os.fork", "fork_exec", "posix_spawn", "subprocess", "system", "vfork"])
def test_children_in_every_phase(way, tmp_path, compiled):
    argv = ["fork_ways.py", way] + ([compiled("vfork.c", "-shared")] if way == "vfork" else [])
    for how, result in both(argv, tmp_path, options=PHASED).items():
        assert result.stdout == "[4, 4, 4, 4, 4]\n"
        if how != "bare":
            traces = result.traces()
            assert [t.steps() for t in traces] == [[4, 5, 6]]
            assert not traces[0].marks("child:")


@pytest.mark.spread(2)
@pytest.mark.parametrize("options", [{**PHASED, "TPROF_STEP": "optimizer"}, {}], ids=["schedule", "everything"])
@pytest.mark.parametrize("where", ["trixie", "sid"])
def test_os_fork_gives_no_new_warning(where, options, tmp_path):
    """Python 3.12 and later warn of os.fork in a process with threads: ours must not be one."""
    results = both(["fork_warnings.py"], tmp_path, where=machine(where), options=options)
    assert results["bare"].stdout == "0\n", "the program warns by itself: " + results["bare"].stderr
    for how in results.keys() - {"bare"}:
        steps = [t.steps() for t in results[how].traces()]
        assert steps == [[4, 5, 6]] if options else len(steps) == 1


def test_children_forked_while_another_thread_looks_at_what_is_mapped_can_load_libraries(tmp_path, compiled):
    results = both([compiled("forks_beside_dlclose.c"), 50], tmp_path, options={"TPROF_WITH_STACK": "native"})
    assert results["bare"].stdout == "all children went on\n"


def test_a_forked_child_that_trains_gets_a_trace_of_its_own(how, logdir):
    result = run(["fork_trains.py"], how, logdir=logdir)
    assert (result.returncode, result.stdout) == (0, "done 9\n")
    traces = result.traces()
    assert len(traces) == 2 and len({t.pid for t in traces}) == 2
    assert sorted(t.marks() for t in traces) == [list(range(9)), list(range(3, 9))]


def test_a_parent_that_does_not_train_makes_the_counts_of_its_children_no_different(logdir):
    result = run(["shared_model.py"], "run", logdir=logdir)
    assert result.returncode == 0
    assert "in 2 of 3 processes 12 training steps (an update each)" in result.stderr
    done = tprof("advise", "--json", logdir)
    assert "no steps in this trace" in done.stdout
    without = [w for w in json.loads(done.stdout)["workers"] if "no steps in this trace" in str(w)]
    assert len(without) == 1 and not [r for r in without[0]["recommendations"] if r["id"] == "PY1"]


def test_exec_ed_children_that_train_are_workers_of_the_run(how, logdir):
    result = run(["ranks.py"], how, logdir=logdir)
    assert (result.returncode, result.stdout) == (0, "[0, 0]\n")
    traces = result.traces()
    assert len({t.pid for t in traces}) == 2
    assert [t.steps() for t in traces] == [list(range(6))] * 2
    assert sorted(t.data["distributedInfo"]["rank"] for t in traces) == [0, 1]
    assert len({t.data["baseTimeNanoseconds"] for t in traces}) == 1, "one base time per job"


def each_once():
    """Every method and every torch once, all of them with --full."""
    methods, places = ["fork", "spawn", "forkserver"], ["2.15", "1.13", "2.6"]
    return [pytest.param(method, where, marks=[] if methods.index(method) == places.index(where) else pytest.mark.full)
            for method in methods for where in places]


@pytest.mark.spread(3)
@pytest.mark.parametrize("method,where", each_once())
def test_data_loader_workers(method, where, logdir):
    where = machine(where)
    bare = run(["workers.py", method], where=where)
    result = run(["workers.py", method], "run", logdir=logdir, where=where)
    assert (result.returncode, result.stdout) == (0, bare.stdout)
    traces = result.traces()
    assert len(traces) == 1, "a worker's trace in the run directory: %s" % [t.path.name for t in traces]
    assert traces[0].steps() == list(range(12))
    assert not traces[0].marks("worker:")
    helpers = [r for r in recordings(logdir) if r.helper]
    assert len(helpers) >= 2, list(logdir.iterdir())

    converted = tprof("convert", "--workers", logdir)
    assert converted.returncode == 0, converted.stderr
    assert len(trace_files(logdir)) == 1
    outside = load_traces(str(logdir) + "_workers")
    assert sorted(n for t in outside for n in t.marks("worker:")) == sorted(list(range(12)) * 2)
    assert all(re.match(r".+_\d+\.\d+\.pt\.trace\.json", t.path.name) for t in outside)
