"""`tprof view`: who is answered, with what, and what it costs. tests/page/test_served.py looks at it with a browser."""
import base64
import concurrent.futures
import contextlib
import gzip
import os
import pathlib
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import time

import pytest

import page
import view_server
from harness import TESTS, TPROF, tprof, wait_for
from view_server import receive_all, reply_in, serving

GOLDEN = TESTS / "golden"
SMALL = GOLDEN / "gpu-ops.1.pt.trace.json.gz"

pytestmark = pytest.mark.skipif("-Dviewer=off" in tprof("view", "/none").stderr, reason="this build has no page")


@pytest.fixture
def log(tmp_path):
    """A run "a" with a trace, in a directory "log"."""
    (tmp_path / "log" / "a").mkdir(parents=True)
    shutil.copy(SMALL, tmp_path / "log" / "a" / "w.1.pt.trace.json.gz")
    return tmp_path / "log"


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """A server for tests that change nothing."""
    log = tmp_path_factory.mktemp("shared") / "log"
    (log / "a").mkdir(parents=True)
    shutil.copy(SMALL, log / "a" / "w.1.pt.trace.json.gz")
    with serving(log) as server:
        yield server


class Parts:
    """The blobs of a served page, in the form in which a file has them."""

    def __init__(self, server, address):
        self.server, self.address, self.asked = server, address, 0

    def __getitem__(self, name):
        self.asked += 1
        reply = self.server.get(self.address + name.rpartition("-")[2])
        assert reply.status == 200
        return base64.b64encode(reply.body).decode()


def served_documents(server, query):
    """As page.documents() has them of a file, and how many parts they are."""
    reply = server.page(query)
    assert reply.status == 200, reply.body
    found = page.Elements(reply.body.decode()).found
    address, = [attributes["content"] for tag, attributes, _ in found if attributes.get("name") == "tprof-parts"]
    texts = {attributes["id"]: text for _, attributes, text in found if attributes.get("type") == "text/plain"}
    assert list(texts) == ["tprof-document"], "all else is fetched when it is needed"
    document, parts = page.unpack(texts["tprof-document"])["value"], Parts(server, address)
    return {key: value if key == "timeline" else page.whole(value, parts) for key, value in document.items()}, parts


# --- what is served

@pytest.mark.parametrize("run", ["resnet50_num_workers_0", "."])
def test_a_page_says_what_tprof_report_says(run, tmp_path):
    traces = GOLDEN / "kineto-traces"  # torch.profiler's own
    served = traces if run != "." else traces / "resnet50_num_workers_0"
    done = tprof("report", traces / "resnet50_num_workers_0", "-o", tmp_path / "report.html", "--max-size", "1G")
    assert done.returncode == 0, done.stderr
    with serving(served) as server:
        found, parts = served_documents(server, "run=" + run)
    expected = page.documents(tmp_path / "report.html")
    assert parts.asked > 20
    for key in expected.keys() - {"timeline"}:
        assert found[key] == expected[key], key
    assert [one["slices"] for one in found["timeline"]["workers"]] == [one["all"] for one in expected["timeline"]["workers"]]


def test_a_worker_and_a_span_have_pages_of_their_own(tmp_path):
    with serving(GOLDEN / "kineto-traces") as server:
        run, = [run for run in server.get("list").json()["runs"] if run["name"] == "resnet50_num_workers_4"]
        worker = run["workers"][0]
        assert worker["spans"] == ["1", "2"]
        found, _ = served_documents(server, "run=%s&worker=%s&span=2" % (run["run"], worker["worker"]))
    said, = found["overview"]["workers"]
    assert (said["run"], said["worker"], said["span"]) == (run["name"], worker["name"], "2")


def test_nothing_is_left_out_for_size(tmp_path):
    (tmp_path / "log").mkdir()
    big_trace_file(tmp_path / "log" / "big.1.pt.trace.json", 60_000)
    done = tprof("report", tmp_path / "log", "-o", tmp_path / "report.html", "--max-size", "1M")
    assert "slices are not in this page" in done.stderr
    with serving(tmp_path / "log") as server:
        found, _ = served_documents(server, "run=.")
        said, = found["timeline"]["workers"]
        assert said["slices"] == said["all"] > 60_000 and not found["report"]["left_out"]


def big_trace_file(path, events):
    subprocess.run([sys.executable, TESTS / "bench" / "big_trace.py", path, str(events), "--rich"], check=True)


def large_runs(directory, events):
    """The names of several runs with the same trace, whose pages take a second or two."""
    names = ["a", "b", "c", "d", "e"]
    for name in names:
        (directory / name).mkdir(parents=True)
    big_trace_file(directory / "a" / "big.1.pt.trace.json", events)
    for name in names[1:]:
        os.link(directory / "a" / "big.1.pt.trace.json", directory / name / "big.1.pt.trace.json")
    return names


def one_that_is_made(server, runs):
    """(run, process): a page that is being made. A busy machine may be through with one before this sees it."""
    for run in runs:
        assert server.get("page?run=" + run).status in (202, 500)
        for _ in range(20):
            if makers := server.makers():
                return run, makers[0]
            time.sleep(0.02)
    pytest.fail("no page is being made")


def test_new_runs_and_traces_appear_and_changed_ones_are_read_again(log):
    with serving(log) as server:
        def runs():
            return {run["name"]: [worker["spans"] for worker in run["workers"]] for run in server.get("list").json()["runs"]}
        assert runs() == {"a": [["1"]]}
        before, _ = served_documents(server, "run=a")
        shutil.copy(SMALL, log / "a" / "w.2.pt.trace.json.gz")
        (log / "b").mkdir()
        shutil.copy(GOLDEN / "gpu.1.pt.trace.json.gz", log / "b" / "x.pt.trace.json.gz")
        wait_for(lambda: runs() == {"a": [["1", "2"]], "b": [["default"]]}, 60)
        shutil.copy(GOLDEN / "modules.1.pt.trace.json.gz", log / "a" / "w.1.pt.trace.json.gz")
        after, _ = served_documents(server, "run=a&span=1")
        assert after["overview"] != before["overview"]


def test_what_is_no_trace_is_named(log):
    (log / "a" / "python_1.tprof").write_bytes(b"TPROFREC")
    (log / "config.json").write_text("{}")
    with serving(log) as server:
        said = server.get("list").json()
    assert said["directory"] == str(log)
    assert said["runs"][0]["recordings"] == ["python_1.tprof"]
    assert len(said["notes"]) == 1 and said["notes"][0].startswith("1 other file *.json[.gz] is not shown")


def processor_seconds(process):
    ticks = pathlib.Path("/proc/%d/stat" % process.pid).read_text().rpartition(")")[2].split()[11:15]
    return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")


def test_a_thousand_runs_are_listed_within_a_second(tmp_path):
    for number in range(1000):
        run = tmp_path / ("run_%d" % number)
        run.mkdir()
        for rank in range(4):
            (run / ("host_rank%d.100.pt.trace.json.gz" % rank)).touch()
    with serving(tmp_path) as server:
        before = processor_seconds(server.process)
        assert len(server.get("list").json()["runs"]) == 1000
        assert processor_seconds(server.process) - before < 1


def test_a_trace_that_cannot_be_read_says_why(log):
    (log / "a" / "bad.1.pt.trace.json").write_text('{"traceEvents": [{"ph": ')
    with serving(log) as server:
        reply = server.page("run=a&worker=bad")
        assert reply.status == 500 and b"bad.1.pt.trace.json" in reply.body and b"\nProgress" not in reply.body
        assert reply.fields["content-type"] == "text/plain; charset=utf-8"
        found, _ = served_documents(server, "run=a")
        assert len(found["overview"]["workers"]) == 1 and "bad.1" in found["report"]["left_out"][0]


def test_what_brings_the_reader_down_leaves_the_server_up(tmp_path):
    runs = large_runs(tmp_path, 200_000)
    with serving(tmp_path) as server:
        run, maker = one_that_is_made(server, runs)
        os.kill(maker, signal.SIGSEGV)
        reply = server.page("run=" + run)
        assert reply.status == 500 and b"signal 11" in reply.body
        assert server.get("").status == 200


def test_a_page_that_failed_is_tried_again_after_a_while(log, tmp_path):
    with serving(log, env={"TMPDIR": str(tmp_path / "temporary")}) as server:
        reply = server.page("run=a")
        assert reply.status == 500 and b"TMPDIR" in reply.body
        (tmp_path / "temporary").mkdir()
        assert server.page("run=a").status == 500, "who reloads at once does not start it anew"
        wait_for(lambda: server.page("run=a").status == 200, 60, "the page")


# --- what a page may cost

def memory_here():
    """What this machine has, or the control groups of this process may take."""
    text = pathlib.Path("/proc/meminfo").read_text()
    found = [int(re.search(r"MemTotal: *(\d+) kB", text).group(1)) * 1024]
    for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, group = line.split(":", 2)
        v1 = "memory" in controllers.split(",")
        tops = ["/sys/fs/cgroup/memory"] if v1 else ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"] if not controllers else []
        for top in tops:
            for place in [top + group, *map(str, pathlib.Path(top + group).parents)]:
                limit = pathlib.Path(place) / ("memory.limit_in_bytes" if v1 else "memory.max")
                if place.startswith(top) and limit.exists() and limit.read_text().strip().isdigit():
                    found.append(int(limit.read_text()))
    return min(found)


def test_what_makes_a_page_may_take_half_of_the_memory_and_no_more(tmp_path):
    runs = large_runs(tmp_path, 200_000)
    with serving(tmp_path) as server:
        _, maker = one_that_is_made(server, runs)
        limits = pathlib.Path("/proc/%d/limits" % maker)

        def set_by_the_maker():
            both = re.search(r"^Max address space +(\S+) +(\S+)", limits.read_text(), re.M).groups()
            return both if "unlimited" not in both else None
        most, hard = wait_for(set_by_the_maker, what="the limits")
    assert most == hard == str(memory_here() // 2)


def page_of(path, **more):
    fields = ["a", "w", "1", str(path)]
    return subprocess.run([TPROF, "page", "--below", path.parent, "--parts", "x"], capture_output=True,
                          input="".join(field + "\0" for field in fields).encode(), **more)


def test_a_page_that_takes_too_much_memory_says_so(tmp_path):
    big_trace_file(tmp_path / "w.1.pt.trace.json", 200_000)
    done = page_of(tmp_path / "w.1.pt.trace.json",
                   preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (64 << 20, 64 << 20)))
    assert done.returncode == 3 and done.stdout == b""
    line, = [line for line in done.stderr.decode().splitlines() if "memory" in line]
    assert line in (
        "tprof: the page takes more memory than the 64.00 MB that making it may take, at most half of what this machine or "
        "container has; tprof report has no limit",
        "tprof: the page needs a thread that cannot be started, for want of memory or of processes (ulimit -u)")


@pytest.mark.full
def test_a_page_of_what_unpacks_to_too_much_says_so(tmp_path):
    """16 MB that are 17 GiB."""
    path = tmp_path / "w.1.pt.trace.json.gz"
    member = gzip.compress(b" " * (256 << 20))
    path.write_bytes(member * 68 + gzip.compress(b'{"traceEvents": []}'))
    done = page_of(path)
    assert done.returncode == 3 and done.stdout == b""
    assert "%s: holds more than 16384 MiB when it is unpacked" % path in done.stderr.decode()


# --- who is answered

def test_each_answer_forbids_what_it_can(shared):
    for reply in (shared.get(""), shared.page("run=a"), shared.get("list"), shared.get("nothing"), shared.raw(b"\r\n\r\n")):
        assert reply.fields["x-content-type-options"] == "nosniff"
        assert reply.fields["referrer-policy"] == "no-referrer"
        assert reply.fields["cache-control"] == "no-store"
        assert reply.fields["cross-origin-resource-policy"] == "same-origin"
        policy = reply.fields["content-security-policy"]
        assert policy.startswith("default-src 'none'") and "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy and "*" not in policy
        assert int(reply.fields["content-length"]) == len(reply.body)


def test_the_policy_of_a_page_is_that_of_its_own_script(shared):
    reply = shared.page("run=a")
    inside = re.search(rb'http-equiv="Content-Security-Policy" content="([^"]*)"', reply.body).group(1).decode()
    assert reply.fields["content-security-policy"] == inside + "; frame-ancestors 'none'"
    assert "script-src 'sha256-" in inside and inside.endswith("connect-src 'self'")


def hostile(server):
    """(what, bytes, status)"""
    host, token = "Host: %s\r\n" % server.host, server.token
    line = "GET /%s/ HTTP/1.1\r\n" % token
    other = ("0" if token[0] != "0" else "1") + token[1:]
    return [
        ("no token", "GET / HTTP/1.1\r\n" + host + "\r\n", 403),
        ("another token", "GET /%s/list HTTP/1.1\r\n%s\r\n" % (other, host), 403),
        ("half a token", "GET /%s/list HTTP/1.1\r\n%s\r\n" % (token[:16], host), 403),
        ("a file", "GET /etc/passwd HTTP/1.1\r\n" + host + "\r\n", 403),
        ("up", "GET /%s/../../etc/passwd HTTP/1.1\r\n%s\r\n" % (token, host), 404),
        ("up, encoded", "GET /%s/%%2e%%2e/etc/passwd HTTP/1.1\r\n%s\r\n" % (token, host), 404),
        ("up, as a run", "GET /%s/page?run=../.. HTTP/1.1\r\n%s\r\n" % (token, host), 404),
        ("up, as an encoded run", "GET /%s/page?run=%%2e%%2e%%2f HTTP/1.1\r\n%s\r\n" % (token, host), 404),
        ("a zero byte", "GET /%s/page?run=a%%00 HTTP/1.1\r\n%s\r\n" % (token, host), 400),
        ("a zero byte, plain", "GET /%s/\0 HTTP/1.1\r\n%s\r\n" % (token, host), 400),
        ("an absolute address", "GET http://%s/%s/ HTTP/1.1\r\n%s\r\n" % (server.host, token, host), 400),
        ("another host", line + "Host: rebound.example:%d\r\n\r\n" % server.port, 403),
        ("another port", line + "Host: 127.0.0.1:1\r\n\r\n", 403),
        ("no host", line + "\r\n", 403),
        ("two hosts", line + host + host + "\r\n", 400),
        ("another origin", line + host + "Origin: http://example.org\r\n\r\n", 403),
        ("no origin", line + host + "Origin: null\r\n\r\n", 403),
        ("a folded field", line + host + "A: b\r\n c\r\n\r\n", 400),
        ("a bare line end", line + host + "A: b\nC: d\r\n\r\n", 400),
        ("a body", line + host + "Content-Length: 3\r\n\r\nabc", 413),
        ("a body in chunks", line + host + "Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n", 413),
        ("HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
        ("TLS", b"\x16\x03\x01\x02\x00" + b"\x01" * 600 + b"\r\n\r\n", 400),
        ("a part that there is not", "GET /%s/parts/99999/0 HTTP/1.1\r\n%s\r\n" % (token, host), 404),
        *((method, "%s /%s/ HTTP/1.1\r\n%s\r\n" % (method, token, host), 405)
          for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "BREW")),
        ("many fields", line + host + "A: b\r\n" * 200 + "\r\n", 431),
        ("a long field", line + host + "A: " + "b" * 40_000 + "\r\n\r\n", 431),
        ("a long address", "GET /" + "a" * 100_000 + " HTTP/1.1\r\n" + host + "\r\n", 431),
        ("no end", "G" * 2_000_000, 431),
        ("HTTP/1.0", "GET /%s/list HTTP/1.0\r\n%s\r\n" % (token, host), 200),
        ("localhost", line + "Host: localhost:%d\r\n\r\n" % server.port, 200),
        ("this origin", line + host + "Origin: http://%s\r\n\r\n" % server.host, 200),
    ]


def test_requests_of_all_kinds_are_answered_or_refused(shared):
    for what, data, status in hostile(shared):
        with shared.connect() as client:
            try:
                client.sendall(data if isinstance(data, bytes) else data.encode())
            except ConnectionError:
                pass  # it has closed: what was sent is far too long
            try:
                reply = reply_in(receive_all(client))
            except ConnectionResetError:
                assert what == "no end"
                continue
        assert reply.status == status, (what, reply)
        assert status == 200 or len(reply.body) < 200, what
    assert shared.get("").status == 200
    assert shared.status("VmHWM") < 64 << 10 or view_server.PROGRAM


def test_a_head_request_gets_the_fields_alone(shared):
    whole, head = shared.get("list"), shared.get("list", "HEAD")
    assert head.status == 200 and head.body == b"" and head.fields == whole.fields
    page_head = shared.page("run=a"), shared.get("page?run=a", "HEAD")
    assert page_head[1].body == b"" and page_head[0].fields == page_head[1].fields


def test_the_second_of_two_requests_at_once_is_not_answered(shared):
    reply = shared.raw(shared.request("list") * 2)
    assert reply.status == 200 and reply.fields["connection"] == "close"
    assert len(reply.body) == int(reply.fields["content-length"])


def test_only_this_machine_is_listened_to(shared):
    own = [line.split()[1] for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]
           if line.split()[3] == "0A" and line.split()[1].endswith(":%04X" % shared.port)]
    assert own == ["0100007F:%04X" % shared.port]


def test_links_and_special_files_are_not_served(log, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    shutil.copy(SMALL, outside / "secret.1.pt.trace.json.gz")
    (log / "linked").symlink_to(outside)
    (log / "a" / "link.1.pt.trace.json.gz").symlink_to(outside / "secret.1.pt.trace.json.gz")
    os.mkfifo(log / "a" / "pipe.1.pt.trace.json")
    with serving(log) as server:
        said = server.get("list").json()
        assert [[worker["name"] for worker in run["workers"]] for run in said["runs"]] == [["w"]]
        assert any("2 symbolic links" in note for note in said["notes"])
        for query in ("run=linked", "run=a&worker=link", "run=a&worker=pipe"):
            assert server.get("page?" + query).status == 404


def test_a_directory_that_becomes_a_link_is_not_followed(log, tmp_path):
    """What makes a page opens each directory itself: the list may have been true a moment before."""
    outside = tmp_path / "outside"
    shutil.move(log / "a", outside)
    (log / "a").symlink_to(outside)
    fields = ["a", "w", "1", str(log / "a" / "w.1.pt.trace.json.gz")]
    done = subprocess.run([TPROF, "page", "--below", log, "--parts", "x"], capture_output=True,
                          input="".join(field + "\0" for field in fields).encode())
    assert done.returncode == 3 and done.stdout == b"" and b"cannot be opened" in done.stderr


# --- what it costs

def test_who_sends_nothing_keeps_nobody_out(shared):
    """More clients that never finish their request than there may be."""
    slow = [shared.connect() for _ in range(300)]
    try:
        for client in slow:
            client.sendall(b"GET / HT")
        begin = time.monotonic()
        for _ in range(20):
            assert shared.get("list").status == 200
        assert time.monotonic() - begin < 100, "each has waited for those who send nothing, which are given ten seconds"
    finally:
        for client in slow:
            client.close()


def answered_beside_those_who_stay(server):
    """How long a request takes while more clients than there may be have their answers and do not close."""
    with contextlib.ExitStack() as stack:
        for _ in range(300):
            client = stack.enter_context(server.connect())
            client.sendall(b"\r\n\r\n")
        begin = time.monotonic()
        assert server.get("list").status == 200
        return time.monotonic() - begin


def test_who_has_an_answer_and_stays_keeps_nobody_out(shared):
    """Each is dismissed two seconds after its answer in any case. Of twenty times one must not meet a busy machine."""
    assert any(answered_beside_those_who_stay(shared) < 1 for _ in range(20))


@pytest.mark.full
def test_a_request_must_be_whole_in_time_and_an_answer_be_taken(shared):
    with shared.connect() as client:
        begin = time.monotonic()
        with pytest.raises(OSError):
            while True:
                client.sendall(b"A")
                time.sleep(0.5)
                if client.recv(1, socket.MSG_DONTWAIT | socket.MSG_PEEK) == b"":
                    raise ConnectionResetError
        assert 8 < time.monotonic() - begin < 60


def growth_test(server, query, most_kib):
    reply = server.page(query)
    assert reply.status == 200
    before = server.status("VmRSS")
    number = int(re.search(rb'name="tprof-parts" content="parts/(\d+)/"', reply.body).group(1))
    rest = ["page?" + query] * 100 + ["parts/%d/%d" % (number, part) for part in range(100)]
    with concurrent.futures.ThreadPoolExecutor(200) as clients:
        replies = list(clients.map(server.get, rest))
    assert {one.status for one in replies} <= {200, 404} and all(one.body == reply.body for one in replies[:100])
    assert server.status("VmHWM") - before < most_kib
    return number


def test_two_hundred_at_once_make_a_page_once(tmp_path):
    big_trace_file(tmp_path / "big.1.pt.trace.json", 40_000)
    with serving(tmp_path) as server:
        with concurrent.futures.ThreadPoolExecutor(200) as clients:
            first = list(clients.map(lambda _: server.get("page?run=.").status, range(200)))
        assert set(first) <= {200, 202} and len(server.makers()) <= 1
        assert growth_test(server, "run=.", 16 << 10 if not view_server.PROGRAM else 256 << 10) == 1


@pytest.mark.full
def test_two_hundred_at_once_on_a_million_events(tmp_path):
    big_trace_file(tmp_path / "big.1.pt.trace.json", 1_000_000)
    with serving(tmp_path) as server:
        growth_test(server, "run=.", 16 << 10 if not view_server.PROGRAM else 256 << 10)
        assert server.status("VmHWM") < (64 << 10 if not view_server.PROGRAM else 1 << 20)


def test_few_pages_are_made_at_once_and_all_are_made(tmp_path):
    for number in range(12):
        (tmp_path / str(number)).mkdir()
        shutil.copy(SMALL, tmp_path / str(number) / "w.1.pt.trace.json.gz")
    most = max(1, min(4, os.cpu_count() // 2))
    with serving(tmp_path) as server:
        for number in range(12):
            server.get("page?run=%d" % number)
            assert len(server.makers()) <= most
        assert [server.page("run=%d" % number).status for number in range(12)] == [200] * 12


def test_clients_that_go_away_do_no_harm(shared):
    shared.page("run=a")
    for _ in range(30):
        with shared.connect() as client:
            client.sendall(shared.request("page?run=a"))
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # a reset
            client.recv(100)
    assert shared.get("list").status == 200


# --- how it starts and ends

@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_end_it_and_what_it_has_started(how, tmp_path):
    runs = large_runs(tmp_path / "log", 100_000)
    (tmp_path / "tmp").mkdir()
    with serving(tmp_path / "log", ends_by=how, env={"TMPDIR": str(tmp_path / "tmp")}) as server:
        _, maker = one_that_is_made(server, runs)
    assert not os.path.exists("/proc/%d" % maker)
    assert not list((tmp_path / "tmp").iterdir())


def test_it_says_how_to_reach_it_from_another_machine(log):
    with serving(log, "--port", "0") as server:
        assert "serving %s\n" % log in server.said
        assert "\n  ssh -L %d:127.0.0.1:%d %s\n" % (server.port, server.port, socket.gethostname()) in server.said


def test_what_cannot_be_served_is_one_line(log):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        for words, code, line in (([log.parent / "none"], 3, "cannot be served: No such file or directory"),
                                  ([SMALL], 2, "is no directory; tprof report shows a file"),
                                  ([log, "--port", port], 2, "port %s of 127.0.0.1 cannot be listened to" % port),
                                  ([log, "--port", "70000"], 2, "--port 70000 is no port"),
                                  ([log, "--port", "x"], 2, "--port")):
            done = tprof("view", *words)
            assert done.returncode == code and line in done.stderr and done.stderr.count("\n") == 1, done.stderr


def test_a_browser_is_led_to_the_page_by_a_file_of_this_user(log, tmp_path):
    browser = tmp_path / "browser"
    browser.write_text('#!/bin/sh\nls -l "$1" >"%s/seen.tmp"; cat "$1" >>"%s/seen.tmp"; mv "%s/seen.tmp" "%s/seen"\n' %
                       ((tmp_path,) * 4))
    browser.chmod(0o755)
    (tmp_path / "own").mkdir()
    env = {"BROWSER": str(browser), "XDG_RUNTIME_DIR": str(tmp_path / "own")}
    with serving(log, "--open", env=env) as server:
        wait_for((tmp_path / "seen").exists)
        seen = (tmp_path / "seen").read_text()
        assert seen.startswith("-rw-------") and "url=http://%s/%s/" % (server.host, server.token) in seen
        assert server.token not in seen.splitlines()[0], "the arguments of a process are no secret"
    assert not list((tmp_path / "own").iterdir())
