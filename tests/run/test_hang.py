"""tprof hang: on real jobs it names the rank that holds the others up, with its stack; what only takes long is no hang."""
import contextlib
import http.server
import json
import os
import pathlib
import pickle
import re
import signal
import subprocess
import sys
import threading
import time

import pytest

from harness import TORCHES, TPROF, machine, run, settle, start, torch_version, tprof, wait_for

MACHINES = ["2.15", "1.13"]


def look(subject, code=1, *options):
    done = tprof("hang", subject, "--json", *options, timeout=120)  # it looks for seconds, and never waits for a program
    assert done.returncode == code, done.stdout + done.stderr
    return json.loads(done.stdout)


def look_until(verdict, subject):
    """For what goes on: on a busy machine it may stand still while one command looks, but not while five do."""
    for _ in range(5):
        done = tprof("hang", subject, "--json")
        found = json.loads(done.stdout)
        if found["verdict"] == verdict:
            break
    assert (found["verdict"], done.returncode) == (verdict, 0), found["sentence"]
    return found


def functions(found):
    return [f["function"] for stack in found["stacks"] for t in stack["threads"] for f in t["frames"]]


@pytest.mark.parametrize("where", TORCHES)
def test_a_rank_that_sleeps_is_named_with_its_stack(job, where):
    logdir, pid = job("asleep", where)
    found = look(logdir)
    assert (found["verdict"], found["culprits"], found["waiting"]) == ("asleep", [1], [0]), found["sentence"]
    assert "sleeps in nap (hangs.py:" in found["sentence"] and "rank 0" in found["sentence"]
    assert "allreduce" in found["sentence"]
    assert found["stacks"][0]["process"] == pid and {"nap", "asleep", "rank_of_job"} <= set(functions(found))
    first, second = found["ranks"]
    assert first["groups"][0]["last_begun"]["completed"] is False
    assert first["groups"][0]["last_begun"]["number"] == second["groups"][0]["last_begun"]["number"] + 1
    text = tprof("hang", str(pid), env={**os.environ, "COLUMNS": "80"})
    assert text.returncode == 1 and text.stdout.startswith("Rank 1 ("), text.stdout + text.stderr
    lines = text.stdout.splitlines()
    assert len(lines) < 50 and all(len(line) <= 80 for line in lines), text.stdout


@pytest.mark.parametrize("where", MACHINES)
def test_a_stopped_rank_is_named(job, where):
    logdir, pid = job("signalled", where)
    os.kill(pid, signal.SIGSTOP)
    time.sleep(0.5)
    found = look(logdir)
    assert (found["verdict"], found["culprits"]) == ("stopped", [1]), found["sentence"]
    assert found["stacks"][0]["process"] == pid and "rank_of_job" in functions(found)


@pytest.mark.parametrize("where", MACHINES)
def test_a_killed_rank_is_named(job, where):
    logdir, pid = job("asleep", where)
    os.kill(pid, signal.SIGKILL)
    for wait in (0, 5):  # also when its recording has become a trace
        time.sleep(wait)
        found = look(logdir)
        assert (found["verdict"], found["culprits"]) == ("killed", [1]), found["sentence"]


@pytest.mark.parametrize("where", MACHINES)
def test_a_skipped_collective_is_named_with_the_one_that_was_called(job, where):
    logdir, pid = job("skip", where)
    found = look(logdir)
    assert (found["verdict"], found["culprits"]) == ("skipped", [1]), found["sentence"]
    assert "is not in allreduce" in found["sentence"] and "but in allreduce" in found["sentence"]


@pytest.mark.parametrize("where", MACHINES)
def test_threads_that_wait_for_each_others_locks_are_named(job, where):
    logdir, pid = job("deadlock", where)
    found = look(logdir)
    assert (found["verdict"], found["culprits"]) == ("deadlock", [1]), found["sentence"]
    assert functions(found).count("take") == 2


@pytest.mark.parametrize("where", MACHINES)
def test_a_stuck_worker_of_a_data_loader_is_named(job, where):
    logdir, pid = job("loader", where)
    wait_for(lambda: "sleeps" in tprof("hang", logdir).stdout, what="the workers")  # they start
    found = look(logdir)
    assert (found["verdict"], found["culprits"]) == ("worker", [1]), found["sentence"]
    assert "sleeps in nap (hangs.py:" in found["sentence"]
    assert found["stacks"][0]["process"] != pid and "__getitem__" in functions(found)


def test_a_child_that_has_ended_is_no_worker_of_a_data_loader(job):
    logdir, _ = job("zombie")
    wait_for(lambda: "sleeps" in tprof("hang", logdir).stdout, what="the workers")
    found = look(logdir)
    assert found["verdict"] == "worker" and "sleeps in nap (hangs.py:" in found["sentence"], found["sentence"]


def test_saving_a_large_file_is_no_hang(job):
    logdir, _ = job("save")
    found = look(logdir, 0)
    assert found["means"] == "slow" and found["culprits"] == [1], found["sentence"]
    assert found["sentence"].startswith("No hang: rank 1")


class Trickle(http.server.BaseHTTPRequestHandler):
    """1000 bytes, one every 50 ms."""

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "1000")
        self.end_headers()
        with contextlib.suppress(OSError):
            for _ in range(1000):
                self.wfile.write(b"x")
                self.wfile.flush()
                time.sleep(0.05)

    def log_message(self, *words):
        pass


def test_a_slow_download_is_no_hang(job):
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Trickle) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        logdir, _ = job("download", READY_URL="http://127.0.0.1:%d/" % server.server_port)
        found = look_until("transfer", logdir)
        server.shutdown()
    assert found["culprits"] == [1], found["sentence"]


def test_a_job_that_goes_on_is_no_hang(job):
    logdir, pid = job("fine")
    found = look_until("fine", logdir)
    assert found["stacks"] == []
    assert [rank["state"] in ("runs", "waits", "sleeps") for rank in found["ranks"]] == [True, True]


def test_without_a_recording_stacks_tell(job):
    """By the id of any process of the job: nothing of it was started under tprof."""
    _, pid = job("asleep", how="bare")
    found = look(pid)
    assert (found["verdict"], found["culprits"], found["waiting"]) == ("asleep", [1], [0]), found["sentence"]
    assert any("nothing is being recorded now" in note for note in found["notes"])


def outer_id(pid):
    """Of a process that has the id `pid` in a pid namespace below ours."""
    for status in pathlib.Path("/proc").glob("[0-9]*/status"):
        with contextlib.suppress(OSError):
            ids = re.search(r"^NSpid:(.*)$", status.read_text(), re.M).group(1).split()
            if len(ids) > 1 and ids[-1] == str(pid):
                return int(ids[0])
    raise AssertionError("no process is %d in its namespace" % pid)


def test_processes_of_a_container_are_found_from_outside(job, namespace):
    logdir, inner = job("asleep", wrapper=namespace)
    pid = outer_id(inner)
    for subject in (logdir, pid):
        found = look(subject)
        assert (found["verdict"], found["culprits"], found["waiting"]) == ("asleep", [1], [0]), found["sentence"]
        assert found["culprit_processes"] == [pid] and "nap" in functions(found)


def test_from_another_container_a_process_is_known_by_its_recording(job, namespace):
    """It has not been killed because its id is nobody's here."""
    logdir, _ = job("asleep")
    done = subprocess.run([*namespace, str(TPROF), "hang", logdir, "--json"], capture_output=True, text=True, timeout=120)
    found = json.loads(done.stdout)
    assert (found["verdict"], found["culprits"], found["waiting"]) == ("out_of_sight", [1], [0]), found["sentence"]
    assert [rank["state"] for rank in found["ranks"]] == ["elsewhere", "elsewhere"]


def test_a_program_that_a_rank_has_started_is_not_that_rank(job):
    logdir, _ = job("parent")
    wait_for(lambda: len(list(logdir.glob("*.tprof"))) >= 3, what="the recording of the other program")
    found = look(logdir)
    assert (found["verdict"], found["culprits"], len(found["ranks"])) == ("asleep", [1], 2), found["sentence"]


def test_of_two_jobs_in_a_directory_the_one_of_the_process_counts(job):
    logdir, first = job("asleep")
    logdir, second = job("deadlock")
    found = look(logdir, 4)
    assert "two jobs write to this directory; name a process" in found["sentence"]
    for pid, verdict in ((first, "asleep"), (second, "deadlock")):
        found = look(pid)
        assert (found["verdict"], found["culprit_processes"], len(found["ranks"])) == (verdict, [pid], 2), found["sentence"]


def test_a_former_run_with_more_ranks_says_nothing_of_this_one(job, tmp_path):
    logdir, pid = job("signalled", ranks=3)
    (former,) = [path for path in logdir.glob("*.tprof") if "_rank2" in path.name]
    subprocess.run(["cp", "--sparse=always", former, tmp_path], check=True)
    os.killpg(os.getpgid(pid), signal.SIGKILL)
    settle(logdir)
    logdir.rename(tmp_path / "former")
    logdir, _ = job("asleep")
    (tmp_path / former.name).rename(logdir / former.name)
    found = look(logdir)
    assert (found["verdict"], found["culprits"], len(found["ranks"])) == ("asleep", [1], 2), found["sentence"]


def test_a_killed_rank_of_a_former_run_is_none_of_this_one(job, tmp_path):
    """Both runs have two ranks; of this one, only the first is recorded."""
    logdir, pid = job("signalled")
    (former,) = [path for path in logdir.glob("*.tprof") if "_rank1" in path.name]
    subprocess.run(["cp", "-p", "--sparse=always", former, tmp_path], check=True)
    os.killpg(os.getpgid(pid), signal.SIGKILL)
    settle(logdir)
    logdir.rename(tmp_path / "former")
    logdir, _ = job("asleep", TPROF_RANKS="0")
    (tmp_path / former.name).rename(logdir / former.name)
    found = look(logdir)
    assert found["verdict"] != "killed", found["sentence"]


@pytest.mark.parametrize("local, state", [(1, "elsewhere"), (2, "absent")])
def test_a_rank_is_absent_only_if_all_ranks_are_on_this_host(local, state):
    place = {"RANK": "0", "WORLD_SIZE": "2", "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": str(local)}
    program = start(["-c", "import time; print(1, flush=True); time.sleep(1000)"], env=place)
    try:
        program.stdout.readline()
        found = look(program.pid)
    finally:
        program.kill()
        program.communicate()
    assert (found["verdict"], found["culprits"], found["ranks"][1]["state"]) == ("asleep", [0], state), found["sentence"]


IDLE = """
import queue, threading
work = queue.SimpleQueue()
def serve(): work.get()
for _ in range(2): threading.Thread(target=serve, daemon=True).start()
print(1, flush=True)
threading.Event().wait()
"""


def test_threads_that_wait_for_work_in_a_simple_queue_are_no_deadlock():
    program = start([sys.executable, "-c", IDLE])
    try:
        program.stdout.readline()
        wait_for(lambda: tprof("hang", program.pid).returncode == 1, what="its threads")
        found = look(program.pid)
    finally:
        program.kill()
        program.communicate()
    assert found["verdict"] == "waits" and "for an event or condition" in found["sentence"], found["sentence"]


def test_a_program_that_is_no_job_is_judged_too(compiled):
    program = start([compiled("stack/waits.c"), "deadlock"])
    try:
        wait_for(lambda: tprof("hang", program.pid).returncode == 1, what="both threads")
        found = look(program.pid)
        assert (found["culprits"], found["culprit_processes"]) == ([None], [program.pid])
        assert found["verdict"] == "deadlock" and found["notes"] == [] and {"first", "second"} <= set(functions(found))
    finally:
        program.kill()
        program.communicate()


def test_bad_subjects_get_one_line(tmp_path):
    for subject, code, why in ((tmp_path / "none", 2, "neither a process id nor a log directory"),
                               (tmp_path, 3, "holds no recording of a running program"),
                               ("4194000", 3, "there is no such process")):
        done = tprof("hang", subject)
        assert done.returncode == code and why in done.stderr and len(done.stderr.splitlines()) == 1, done.stderr


# --- PyTorch's flight recorder

def dump(rank, last, ranks=2):
    """As torch 2.14 has it on gloo: calls up to `last`, of which 5 is the last that all ranks have made."""
    entries = [{"record_id": i, "process_group": ("0", "default_pg"), "collective_seq_id": i, "is_p2p": False,
                "profiling_name": "gloo:all_reduce", "time_created_ns": time.time_ns(), "input_sizes": [[3, 2]],
                "input_dtypes": ["Float"], "state": "scheduled", "retired": i <= 5, "frames": []}
               for i in range(1, last + 1)]
    return {"version": "2.10", "pg_config": {"": {"name": "", "desc": "default_pg", "ranks": str(list(range(ranks)))}},
            "pg_status": {"": {"last_completed_collective": 5}}, "entries": entries}


@pytest.mark.parametrize("form", ["pickle 2", "pickle 4", "json"])
def test_dumps_of_the_flight_recorder_tell_who_is_late(tmp_path, form):
    for rank in (0, 1):
        said = dump(rank, 5 + (rank == 0))
        path = tmp_path / ("nccl_trace_rank_%d" % rank)
        path.write_bytes(json.dumps(said).encode() if form == "json" else pickle.dumps(said, int(form[-1])))
    found = look(tmp_path, 4)
    assert (found["verdict"], found["culprits"], found["waiting"]) == ("out_of_sight", [1], [0]), found["sentence"]
    assert "rank 0 waits for it in all_reduce 6 of group 0" in found["sentence"]
    assert found["ranks"][0]["groups"][0]["last_begun"]["elements"] == 6


def test_dumps_from_before_the_job_are_left_out(job, tmp_path):
    _, pid = job("asleep", how="bare")
    for rank in (0, 1, 2):  # rank 2: of a larger job
        path = tmp_path / ("nccl_trace_rank_%d" % rank)
        path.write_text(json.dumps(dump(rank, 5 + (rank == 1))))
        os.utime(path, (0, 0))
    found = look(pid, 1, "--dumps", tmp_path)
    assert (found["verdict"], found["culprits"], len(found["ranks"])) == ("asleep", [1], 2), found["sentence"]
    assert any(note.startswith("3 dumps of PyTorch's flight recorder are left out") for note in found["notes"])
    for rank in (0, 1):
        (tmp_path / ("nccl_trace_rank_%d" % rank)).write_text(json.dumps(dump(rank, 5 + (rank == 0))))
    assert "all_reduce 6" in look(pid, 1, "--dumps", tmp_path)["sentence"]


def test_a_dump_must_say_of_which_rank_it_is(tmp_path):
    (tmp_path / "dump").write_text(json.dumps(dump(0, 6)))
    done = tprof("hang", tmp_path, "--dumps", tmp_path / "dump")
    assert done.returncode == 3 and "of which rank it is a dump is not known" in done.stderr


class Evil:
    def __reduce__(self):
        return os.system, ("touch " + os.environ.get("EVIL_FILE", "/dev/null"),)


@pytest.mark.parametrize("content, why", [
    (pickle.dumps({"version": Evil()}, 2), "more than plain values"), (pickle.dumps({"version": "2.10"}, 2)[:-6], "cut off"),
    (b"\x80\x02]q\x00" + b"h\x00h\x00e" * 3 + b".", "damaged"), (b"\x80\x02" + b"(" * 99 + b".", "damaged"),
    (b"", "cut off"), (b"{}", "it is none"), (b'{"version": "3.0", "entries": []}', "its format is 3.0"),
    (b"\x80\x02" + b"]q\x00" + b"(" + b"h\x00" * 9 + b"e.", "nested too deeply")])
def test_a_dump_is_data_and_nothing_else(tmp_path, content, why, monkeypatch):
    """What names a function is refused, not called; what is damaged gets one line."""
    path = tmp_path / "fr_trace_rank_0"
    path.write_bytes(content)
    done = tprof("hang", tmp_path, "--dumps", path, timeout=120)  # without the bounds it would take minutes
    assert done.returncode == 3 and why in done.stderr and len(done.stderr.splitlines()) == 1, done.stderr


TOO_LARGE = {
    "memo": b"\x80\x04N" + b"\x94" * 11_000_000 + b".",
    "marks": b"\x80\x04" + b"(" * 11_000_000 + b".",
    "copies of a text": b"\x80\x04(X" + (3 << 20).to_bytes(4, "little") + b"x" * (3 << 20) + b"\x94" + b"h\0" * 100 + b"t.",
    "keys of a pickle": pickle.dumps({i: i for i in range(20_000)}, 2),
    "keys": json.dumps({str(i): i for i in range(20_000)}).encode(),
    "values": b'{"version": "2.10", "entries": [' + b"0," * 6_000_000 + b"0]}",
    "calls": b'{"version": "2.10", "entries": [' + b"{}," * 200_000 + b"{}]}",
    "groups": json.dumps({"version": "2.10", "entries": [{"process_group": [str(i)]} for i in range(2000)]}).encode(),
}


@pytest.mark.parametrize("what", TOO_LARGE)
def test_what_a_dump_may_hold_is_bounded(tmp_path, what):
    path = tmp_path / "fr_trace_rank_0"
    path.write_bytes(TOO_LARGE[what])
    done = tprof("hang", tmp_path, "--dumps", path, timeout=120)  # without the bounds it would take minutes
    assert done.returncode == 3 and len(done.stderr.splitlines()) == 1, done.stderr[:1000]
    assert re.search("too many values|more than (200000 calls|1000 groups)", done.stderr)


DESYNC = """
import os, time, torch, torch.distributed as dist
import torch._C._distributed_c10d as c
rank = int(os.environ["RANK"])
torch.set_num_threads(1)
dist.init_process_group("gloo")
x = torch.ones(1000)
for _ in range(5): dist.all_reduce(x)
if rank != 1: work = dist.all_reduce(x, async_op=True)
time.sleep(1)
name = os.path.join(os.environ["DUMPS"], "nccl_trace_rank_%d" % rank)
open(name + ".part", "wb").write(c._dump_fr_trace()); os.rename(name + ".part", name)
time.sleep(2)
os._exit(0)
"""


def test_real_dumps_of_gloo_are_read(tmp_path):
    where = machine(TORCHES[0])
    if torch_version(where) < (2, 10):
        pytest.skip("this torch has no flight recorder for gloo")
    (tmp_path / "desync.py").write_text(
        "import os, sys\nsys.path.insert(0, %r)\nimport gloo_job\n"
        "if 'RANK' in os.environ: exec(open(%r).read())\nelse: gloo_job.start(2)\n"
        % (str(pathlib.Path(__file__).resolve().parent.parent / "apps"), str(tmp_path / "body.py")))
    (tmp_path / "body.py").write_text(DESYNC)
    run(["/usr/bin/python3", tmp_path / "desync.py"], where=where,
        env={"TORCH_FR_BUFFER_SIZE": "100", "DUMPS": str(tmp_path)})
    found = look(tmp_path, 4)
    assert (found["verdict"], found["culprits"], found["waiting"]) == ("out_of_sight", [1], [0]), found["sentence"]
