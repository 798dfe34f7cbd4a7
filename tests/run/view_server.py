"""A running `tprof view` and its clients, by sockets.

    with serving(directory) as server:
        server.get("list").json()
        server.page("run=a")            # waits until it is made
        server.raw(b"GET / HTTP/1.1\\r\\n\\r\\n").status
"""
import contextlib
import dataclasses
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import time

from harness import TPROF, wait_for

# The server under AddressSanitizer, where tests/sanitizers runs these tests.
PROGRAM = os.environ.get("TPROF_VIEW_PROGRAM")


@dataclasses.dataclass
class Reply:
    status: int
    fields: dict  # names in lower case
    body: bytes

    def json(self):
        return json.loads(self.body)


def reply_in(data):
    head, _, body = data.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    fields = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
    assert first.startswith("HTTP/1.1 "), data[:200]
    return Reply(int(first.split()[1]), fields, body)


class Server:
    def __init__(self, process, said):
        self.process, self.said = process, said
        self.port, self.token = re.search(r"http://127\.0\.0\.1:(\d+)/([0-9a-f]{32})/\n", said).groups()
        self.port = int(self.port)
        self.host = "127.0.0.1:%d" % self.port

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=60)

    def raw(self, data):
        """The answer to these bytes, until the server closes."""
        with self.connect() as client:
            client.sendall(data)
            return reply_in(receive_all(client))

    def request(self, rest, method="GET", fields=()):
        lines = ["%s /%s/%s HTTP/1.1" % (method, self.token, rest), "Host: " + self.host, *fields]
        return "\r\n".join([*lines, "", ""]).encode()

    def get(self, rest, method="GET", fields=()):
        return self.raw(self.request(rest, method, fields))

    def page(self, query):
        """Once it is made, or there is a reason why not."""
        def made():
            reply = self.get("page?" + query)
            return reply if reply.status != 202 else None
        return wait_for(made, what="a page")

    def status(self, name):
        """VmRSS or VmHWM of the server, in KiB."""
        text = pathlib.Path("/proc/%d/status" % self.process.pid).read_text()
        return int(re.search(r"^%s:\s*(\d+) kB" % name, text, re.M).group(1))

    def makers(self):
        """The processes that make pages now."""
        text = pathlib.Path("/proc/%d/task/%d/children" % (self.process.pid, self.process.pid)).read_text()
        return [int(pid) for pid in text.split()]


def receive_all(client):
    data = b""
    while block := client.recv(1 << 16):
        data += block
    return data


@contextlib.contextmanager
def serving(directory, *words, ends_by=signal.SIGTERM, env=None):
    command = [TPROF, "view", directory, *words]
    if PROGRAM and not words:
        command = [PROGRAM, TPROF, "-", "-", pathlib.Path(directory).resolve()]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True, env={**os.environ, **(env or {})})
    try:
        said = ""
        while "Ctrl-C" not in said:
            line = process.stdout.readline()
            assert line, process.stderr.read()
            said += line
        yield Server(process, said)
        process.send_signal(ends_by)
        assert process.wait(120) == 0, process.stderr.read()
        assert process.stderr.read() == ""
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def wait_until_idle(server):
    wait_for(lambda: not server.makers(), what="the processes that make pages")
    time.sleep(0.05)
