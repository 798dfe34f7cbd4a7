"""Traces as people's own handlers write them: any name that ends in .json[.gz], and Chrome's list of events."""
import gzip
import json

import pytest

from harness import run, tprof

PLUGIN = "worker0.1.pt.trace.json"


def events(at=1000, count=3):
    """One thread, one operator after the other."""
    return [{"ph": "X", "cat": "cpu_op", "name": "aten::op%d" % i, "pid": 1, "tid": 1, "ts": at + 10 * i, "dur": 5,
             "args": {}} for i in range(count)]


def write(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    data = json.dumps(value).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)


def workers(*arguments):
    answer = tprof("overview", "--json", *arguments)
    assert answer.returncode == 0, answer.stderr
    return [(w["run"], w["worker"], w["span"]) for w in json.loads(answer.stdout)["workers"]], answer.stderr


def test_any_json_file_that_is_a_trace_is_taken(tmp_path):
    log = tmp_path / "log"
    write(log / "trace_10.json", {"schemaVersion": 1, "traceEvents": events()})
    write(log / "rank0.json.gz", {"traceEvents": events()})
    write(log / "chrome.json", events())
    write(log / "sub" / "step-7.trace.json.gz", {"deviceProperties": [], "traceEvents": []})
    write(log / PLUGIN, {"traceEvents": events()})
    names, said = workers(log)
    assert sorted(names) == [("log", "chrome", "default"), ("log", "rank0", "default"), ("log", "trace_10", "default"),
                             ("log", "worker0", "1"), ("sub", "step-7.trace", "default")]
    assert said == ""


def test_what_is_no_trace_is_skipped_and_said(tmp_path):
    log = tmp_path / "log"
    write(log / "trace_10.json", {"traceEvents": events()})
    write(log / "config.json", {"batch": 8})
    write(log / "data.json", [{"text": "hello"}])
    write(log / "numbers.json", [1, 2, 3])
    write(log / "other.json", {"traceEvents": {"no": "list"}})
    (log / "cut.json.gz").write_bytes(gzip.compress(b"{" * 5000)[:20])
    (log / "empty.json").write_text("")
    names, said = workers(log)
    assert names == [("log", "trace_10", "default")]
    line, = said.splitlines()
    assert "not traces: config.json, cut.json.gz, data.json and 3 more" in line
    for command in ("stats", "advise", "steps", "check", "info"):
        answer = tprof(command, log)
        assert "config.json" in answer.stderr and "hello" not in answer.stdout, answer


def test_a_directory_of_none_says_so(tmp_path):
    write(tmp_path / "config.json", {"batch": 8})
    for command in ("overview", "check", "info"):
        answer = tprof(command, tmp_path)
        assert answer.returncode == 3 and "holds no trace" in answer.stderr, answer


def test_the_plugin_takes_its_own_names_only(tmp_path):
    write(tmp_path / "trace_10.json", {"traceEvents": events()})
    answer = tprof("overview", "--plugin-compat", tmp_path)
    assert answer.returncode == 3 and "*.pt.trace.json" in answer.stderr
    write(tmp_path / PLUGIN, {"traceEvents": events()})
    names, _ = workers("--plugin-compat", tmp_path)
    assert [worker for _, worker, _ in names] == ["worker0"]


@pytest.mark.parametrize("end", ["]", "", ",\n"])
def test_a_list_of_events_is_read_as_an_object_that_holds_it(end, tmp_path):
    write(tmp_path / "object.json", {"traceEvents": events()})
    (tmp_path / "list.json").write_text(json.dumps(events())[:-1] + end)
    tables = {w["worker"]: w["rows"] for w in json.loads(tprof("stats", "--json", tmp_path).stdout)["workers"]}
    assert tables["list"] == tables["object"] and len(tables["list"]) == 3
    assert tprof("info", tmp_path).returncode == 0
    noted = tprof("overview", tmp_path / "list.json").stdout
    assert ("list_not_closed" in noted) == (end != "]")


def test_a_list_of_something_else_is_refused(tmp_path):
    for text in ("[]", "[1, 2]", '[{"text": "hello"}]'):
        path = tmp_path / "list.json"
        path.write_text(text)
        answer = tprof("overview", path)
        assert answer.returncode == 3 and "not a trace" in answer.stderr, answer


def test_a_list_is_nothing_to_the_plugin(tmp_path):
    path = tmp_path / PLUGIN
    write(path, events())
    assert "the plugin drops the file" in tprof("overview", "--plugin-compat", path).stderr
    assert tprof("check", path).returncode == 1


def test_what_torch_without_kineto_exports_is_read(tmp_path):
    """torch.autograd's own profiler: a list, whose events tell what they are by their process."""
    path = tmp_path / "legacy.json"
    result = run(["-c", """
import torch
with torch.autograd.profiler.profile(use_kineto=False) as profile:
    for _ in range(3): torch.ones(4, 4).mm(torch.ones(4, 4))
profile.export_chrome_trace(%r)
print(sum(e.name == "aten::mm" for e in profile.function_events), len(profile.function_events))
""" % str(path)])
    assert result.returncode == 0, result.stderr
    products, operators = map(int, result.stdout.split())
    worker, = json.loads(tprof("stats", "--json", path).stdout)["workers"]
    calls = {row["name"]: row["calls"] for row in worker["rows"]}
    assert calls["aten::mm"] == products == 3 and sum(calls.values()) == operators
