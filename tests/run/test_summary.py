"""What tprof run says of the run on stderr when the program has ended, and what that must never touch."""
import json
import os
import pathlib
import pty
import re
import shlex
import signal
import subprocess

import pytest

from harness import prepare, run, start, tprof

TRAIN = ["train.py", 6]
GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "golden"
GPU = GOLDEN / "gpu-ops.1.pt.trace.json.gz"
FOREIGN = GOLDEN / "kineto-traces" / "resnet50_num_workers_0" / "worker0.1623143089861.pt.trace.json.gz"


def summary(text):
    """The lines behind "wrote": all of them are indented."""
    lines = text.splitlines()
    begin = next(i for i, line in enumerate(lines) if line.startswith("tprof: wrote ")) + 1
    assert all(not line or line.startswith("  ") for line in lines[begin:]), text
    return lines[begin:]


def is_cut_of(shown, name):
    """Names that do not fit are cut in their middle."""
    head, _, tail = shown.replace("\u2026", "...").partition("...")
    return shown == name or (tail and name.startswith(head) and name.endswith(tail))


def test_half_a_page_of_the_run(logdir):
    result = run(TRAIN, "run", logdir=logdir, env={"COLUMNS": "80"})
    assert (result.returncode, result.stdout) == (0, "done 6\n")
    lines = summary(result.stderr)
    text = "\n".join(lines)
    assert len(lines) <= 26 and max(map(len, lines)) <= 80 and "\033" not in text and "█" not in text
    step, = tprof("overview", logdir).stdout.split("Average step ")[1:]
    assert lines[0].startswith("  Average of 5 of 6 steps: " + step.split()[0])
    shares = [float(share) for share in re.findall(r"([\d.]+) %$", text, re.M)]
    assert len(shares) >= 2 and sum(shares) == pytest.approx(100, abs=0.2)
    worker, = json.loads(tprof("stats", "--json", "--sort", "self-host", logdir).stdout)["workers"]
    operators = [row["name"] for row in worker["rows"] if row["kind"] == "op"]
    begin = lines.index("", 1) + 2
    shown = [re.split(r"\s{2,}", line.strip())[0] for line in lines[begin:begin + 5]]  # names may hold blanks
    assert len(shown) == 5 and all(is_cut_of(text, name) for text, name in zip(shown, operators)), (shown, operators)
    words = " ".join(text.split())
    assert "What to change" in words and "Profiler's own cost" in words and "tprof report %s" % logdir in words


def test_quiet_says_nothing(logdir):
    result = run(TRAIN, "run", logdir=logdir, run_options=["-q"])
    assert (result.returncode, result.stdout, result.stderr) == (0, "done 6\n", "")
    assert len(result.traces()) == 1


@pytest.mark.parametrize("ending, status", [("exit", 3), ("exception", 1), ("SIGTERM", -signal.SIGTERM)])
def test_the_end_of_the_program_is_its_own(ending, status, logdir):
    result = run([*TRAIN, ending], "run", logdir=logdir)
    assert (result.returncode, result.stdout) == (status, "done 6\n")
    # A signal ends recording inside the last step, which has its update and counts.
    average = "Average of 6 steps" if ending == "SIGTERM" else "Average of 5 of 6 steps"
    assert average in summary(result.stderr)[0]


def test_without_steps_it_says_so(logdir):
    result = run(["-c", "import torch; torch.ones(2) + 1"], "run", logdir=logdir)
    lines = summary(result.stderr)
    assert lines[0].startswith("  No steps were found; all of it: ")
    assert any("aten::add" in line for line in lines)


def test_of_several_ranks_the_slowest(logdir):
    result = run(["ranks.py"], "run", logdir=logdir)
    lines = summary(result.stderr)
    named = re.search(r"\(rank (\d) of 2 on \S+, the slowest one\)", lines[0])
    assert named, lines[0]
    steps = {}
    for trace in result.traces():
        worker, = json.loads(tprof("overview", "--json", trace.path).stdout)["workers"]
        steps[trace.data["distributedInfo"]["rank"]] = worker["average_step_time_us"]
    assert steps[int(named.group(1))] == max(steps.values())


def test_of_several_windows_the_last(logdir):
    lines = summary(run(["train.py", 8], "run", logdir=logdir,
                        options={"TPROF_SCHEDULE": "wait=1,active=2,repeat=2"}).stderr)
    assert lines[0].startswith("  Average of 2 steps") and "(span 2, the last)" in lines[0]


@pytest.mark.parametrize("variables, colour", [({}, True), ({"NO_COLOR": "1"}, False)])
def test_on_a_terminal_it_has_bars_and_colour(variables, colour, logdir):
    words, environment = prepare(TRAIN, "run", logdir=logdir, env={"COLUMNS": "100", **variables})
    ours, theirs = pty.openpty()
    process = subprocess.Popen(words, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=theirs)
    os.close(theirs)
    text = b""
    try:
        while block := os.read(ours, 4096):
            text += block
    except OSError:  # its other end is closed
        pass
    os.close(ours)
    assert process.wait() == 0
    text = text.decode()
    assert "█" in text and ("\033[1m" in text) == colour, text


@pytest.mark.parametrize("what", ["echo '{' > {}", "cp %s {}" % shlex.quote(str(FOREIGN))])
def test_a_trace_that_is_damaged_or_not_ours_is_nothing_to_the_run(what, logdir):
    result = run([*TRAIN, "exit"], "run", logdir=logdir, run_options=["--on-trace-ready", what])
    assert (result.returncode, result.stdout) == (3, "done 6\n")
    assert "Average" not in result.stderr
    last = result.stderr.splitlines()[-1]
    assert last.startswith("tprof: there is no summary, since ") and "tprof overview %s " % logdir in last


def test_with_a_gpu_operators_come_by_their_time_there(logdir):
    """The trace of a GPU takes the place of the one that was written."""
    replace = ["--on-trace-ready", "cp %s {}" % shlex.quote(str(GPU))]
    lines = summary(run(TRAIN, "run", logdir=logdir, run_options=replace).stderr)
    top = next(i for i, line in enumerate(lines) if "Top operators" in line)
    assert "On the GPU" in lines[top]
    worker, = json.loads(tprof("stats", "--json", "--limit", "5", GPU).stdout)["workers"]
    assert [line.split()[0] for line in lines[top + 1:top + 6]] == [row["name"] for row in worker["rows"]]
    assert any(line.split()[:1] == ["Kernel"] for line in lines)


# The limit is 500,000 events (tools/tprof/run/summary.cpp); the traces state more than they hold.

def stating(events, when="true"):
    """Options with which a trace states so many events, if a command of the shell says so."""
    change = r"zcat {} | sed 's/\"\(seen\|written\)\": [0-9]*/\"\1\": %d/g' | gzip >{}.new && mv {}.new {}" % events
    return ["--on-trace-ready", "if %s; then %s; fi" % (when, change)]


def overview(path):
    worker, = json.loads(tprof("overview", "--json", path).stdout)["workers"]
    return worker


def test_of_a_window_that_is_too_large_to_be_read_the_steps_are_summed_up(logdir):
    result = run(TRAIN, "run", logdir=logdir, run_options=stating(2_000_000), env={"COLUMNS": "400"})
    assert (result.returncode, result.stdout) == (0, "done 6\n")
    first, headline, *rest = summary(result.stderr)
    assert first == ("  This is of nothing but the steps, since the window has 2000000 events and more than 500000 are "
                     "not read here; tprof overview %s reads all" % logdir)
    title = tprof("overview", logdir).stdout.split("Average step ")[1].splitlines()[0]
    average, spread = re.fullmatch(r"(\S+) \(5 of 6 steps; (.*)\)", title).groups()
    assert headline == "  Average of 5 of 6 steps: %s, %s" % (average, spread)
    assert rest[-1].startswith("  More: ") and "Top operators" not in result.stderr


def test_of_a_large_window_without_steps_the_time_is_said(logdir):
    result = run(["-c", "import torch; torch.ones(2) + 1"], "run", logdir=logdir, run_options=stating(2_000_000))
    assert "  No steps were found; all of it: " in "\n".join(summary(result.stderr))


def test_a_step_that_holds_an_evaluation_is_in_no_average_of_a_large_window(logdir):
    program = [GOLDEN.parent / "torch" / "scenarios.py", "evaluation_inside_an_accumulated_step"]
    result = run(program, "run", logdir=logdir, run_options=stating(2_000_000), env={"COLUMNS": "400"})
    title = tprof("overview", logdir).stdout.split("Average step ")[1].splitlines()[0]
    steps = re.search(r"\((\d+(?: of \d+)?) steps", title).group(1)
    assert summary(result.stderr)[1].startswith("  Average of %s steps: %s, " % (steps, title.split()[0]))


def test_of_several_windows_one_that_is_small_enough(logdir, tmp_path):
    seen = tmp_path / "seen"
    lines = summary(run(["train.py", 8], "run", logdir=logdir, options={"TPROF_SCHEDULE": "wait=1,active=2,repeat=2"},
                        run_options=stating(2_000_000, "[ -e %s ] || ! touch %s" % (seen, seen)),
                        env={"COLUMNS": "400"}).stderr)
    assert lines[0].startswith("  This is of windows of up to 500000 events, since larger ones are not read here; ")
    assert lines[1].startswith("  Average of 2 steps: ") and lines[1].endswith("  (span 1)")


def test_of_many_large_processes_the_slowest(logdir):
    result = run(["ranks.py"], "run", logdir=logdir, run_options=stating(300_000), env={"COLUMNS": "400"})
    lines = summary(result.stderr)
    assert lines[0].startswith("  This is of one process of 2, since more than 500000 events are not read here; ")
    averages = {trace.data["distributedInfo"]["rank"]: overview(trace.path)["average_step_time_us"]
                for trace in result.traces()}
    slowest = max(averages, key=averages.get)
    assert "(rank %d of 2 on " % slowest in lines[1]


def test_ctrl_c_ends_it(tmp_path):
    # On a busy machine it may come only when all is said, or before tprof-run knows that its child has said the first line,
    # which it then says once more.
    for n in range(5):
        process = start(["many_ops.py", 8_000], "run", logdir=tmp_path / str(n))
        for line in process.stderr:
            if line.startswith("tprof: wrote"):
                break
        process.send_signal(signal.SIGINT)
        rest = process.stderr.read()
        assert process.wait() == 0
        if "No steps were found" not in rest and not rest.startswith("tprof: wrote"):
            break
    assert rest == ("tprof: there is no summary, since tprof-run was interrupted; tprof overview %s shows where the "
                    "time went\n" % (tmp_path / str(n)))
