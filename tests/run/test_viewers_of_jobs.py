"""Jobs on real gloo as the TensorBoard plugin and HTA see them. What the plugin answers for some such traces is in
golden/, see test_golden_views.py; here its own code, and HTA's, are asked about a job of today, where TB_PLUGIN (tb_plugin/
of pytorch/kineto) and HTA (a checkout) say where they are, and python3-pandas, -absl, -networkx, -plotly are installed."""
import json
import os
import subprocess

import pytest

from harness import TESTS, machine, run, tprof
from test_golden_views import assert_plugin_s, plugin_views


@pytest.fixture(scope="module", params=plugin_views.REAL)
def window(request, tmp_path_factory):
    """Two steps of each rank, in a window of their own."""
    job, where = plugin_views.REAL[request.param]
    result = run(["gloo_collectives.py", job, 2, "env"], "run", where=machine(where),
                 logdir=tmp_path_factory.mktemp(job), options={"TPROF_SCHEDULE": plugin_views.WINDOW})
    assert result.returncode == 0 and len(result.traces()) == 2, result.stderr
    return result


def communication(trace):
    """What the plugin takes for it."""
    return [e for e in trace.ranges if e["name"].startswith(("nccl:", "gloo:")) and e.get("cat") in
            ("cpu_op", "user_annotation")]


def late(trace):
    """Those that end after their step. Torch lets the thread that waits for a collective go on before it ends the label, so
    that its end may be late by as long as the operating system holds that thread back."""
    steps = [(e["ts"], e["ts"] + e["dur"]) for e in trace.step_spans()]
    return [e for e in communication(trace) if not any(b <= e["ts"] and e["ts"] + e["dur"] <= end for b, end in steps)]


def test_every_collective_of_a_window_lies_in_a_step(window):
    """Else the plugin says "Found a communication op not belong to any step" and leaves it out."""
    for trace in window.traces():
        steps = [(e["ts"], e["ts"] + e["dur"]) for e in trace.step_spans()]
        calls = communication(trace)
        assert len(steps) == 2 and len(calls) >= 4 and len(calls) > 2 * len(late(trace))
        assert all(any(begin <= e["ts"] <= end for begin, end in steps) for e in calls)


def checkout(name):
    path = os.environ.get(name)
    if not path:
        pytest.skip("%s is not set" % name)
    return path


ASK_PLUGIN = """
import json, logging, sys
sys.path[:0] = [%r, %r]
import plugin_views
from torch_tb_profiler import utils
said = []
handler = logging.Handler()
handler.emit = lambda record: said.append(record.getMessage())
utils.get_logger().addHandler(handler)
view = plugin_views.distributed(plugin_views.load(%r))
json.dump({"view": view, "said": said}, open(%r, "w"))
"""


def test_plugin_compat_is_what_the_plugin_says_today(window, tmp_path):
    traces = tmp_path / "traces"
    traces.mkdir()
    for trace in window.traces():
        (traces / trace.path.name).write_bytes(trace.path.read_bytes())
    out = tmp_path / "out.json"
    code = ASK_PLUGIN % (checkout("TB_PLUGIN"), str(TESTS / "golden"), str(traces), str(out))
    subprocess.run(["/usr/bin/python3", "-W", "ignore", "-c", code], check=True)
    answer = json.loads(out.read_text())
    assert not answer["said"] or any(map(late, window.traces())), answer["said"]
    ours, = json.loads(tprof("stats", "--by", "comm", "--plugin-compat", "--json", traces).stdout)["workers"]
    assert_plugin_s(ours, answer["view"])


ASK_HTA = """
import sys
sys.path.insert(0, %r)
from hta.trace_analysis import TraceAnalysis
t = TraceAnalysis(trace_dir=%r, include_last_profiler_step=True).t
print("RANKS", {rank: len(t.get_trace(rank)) for rank in sorted(t.get_all_traces())})
"""


def test_hta_loads_the_directory(window):
    said = subprocess.run(["/usr/bin/python3", "-c", ASK_HTA % (checkout("HTA"), str(window.logdir))],
                          stdout=subprocess.PIPE, text=True, check=True).stdout
    rows = eval(said.split("RANKS", 1)[1])
    assert sorted(rows) == [0, 1]
    for trace in window.traces():
        events = sum("dur" in e and "cat" in e for e in trace.ranges)
        assert rows[trace.data["distributedInfo"]["rank"]] == pytest.approx(events, abs=2)  # without the spans
