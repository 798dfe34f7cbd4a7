"""Threads that end, thread-local destructors and C++ exceptions."""
from harness import TESTS, both


def test_threads_that_end_while_recording(tmp_path):
    for way, result in both(["thread_ends.py"], tmp_path).items():
        if way != "bare":
            trace, = result.traces()
            assert trace.marks("thread:") == list(range(600))
            assert len({e["tid"] for e in trace.ops() if e["name"].startswith("thread:")}) > 1


def test_threads_that_end_as_windows_close(tmp_path):
    """Back-to-back windows over threads that come and go: no operator is lost or doubled within the steps."""
    for way, result in both(["thread_ends.py"], tmp_path, options={"TPROF_SCHEDULE": "active=1"}).items():
        if way != "bare":
            traces = result.traces()
            assert [t.steps() for t in traces] == [[i] for i in range(6)]
            seen = [n for t in traces for n in t.marks("thread:")]
            assert len(seen) == len(set(seen)), "in two windows"


def test_operators_in_thread_local_destructors(tmp_path, compiled):
    library = compiled("tls_destructor.c", "-shared")
    for way, result in both(["tls_destructor.py", library], tmp_path).items():
        if way == "bare":
            assert result.stdout == "[-1, 0, 1, 2, 3]\n"
        else:
            trace, = result.traces()
            lost = sum(trace.ledger["dropped"].values())
            marks = trace.marks("pass:")
            assert marks[0] == 0 and set(marks) <= {0, 1, 2, 3, 4}
            assert len(marks) == 5 or lost >= 5 - len(marks), "lost without a word: %s" % marks


def test_exceptions_cross_without_harm(tmp_path):
    for way, result in both(["errors.py"], tmp_path).items():
        if way != "bare":
            trace, = result.traces()
            assert trace.marks() == list(range(21))
            assert len(trace.ops("after")) == 1
            assert len([e for e in trace.ops("aten::mm") if e["args"].get("Input Dims") == [[2, 3], [2, 3]]]) == 20


def test_threads_are_cancelled_where_the_program_lets_them(tmp_path, compiled):
    """And not in the midst of tprof's work, whose locks they would keep."""
    program = compiled("cancelled.c", "-I%s" % (TESTS.parent / "include"))
    for way, result in both([program], tmp_path, options={"TPROF_SCHEDULE": "wait=2,active=100"}).items():
        assert result.stdout == "cancelled, 1 left tprof\n" * 4 + "done\n"
        if way != "bare":
            trace, = result.traces()
            assert len(trace.ops("work")) == 3
