"""Programs without tprof, with which a run beside it is compared. Most of such a run goes by in `import torch`: zygote.py does
that once for each Python, and in CI (not with --full) the programs are forks of it where that makes no difference."""
import functools
import json
import os
import pathlib
import signal
import socket
import subprocess
import threading

ALWAYS = ("OMP_NUM_THREADS", "PYTHONDONTWRITEBYTECODE")  # zygote() gives them
EARLY = ("PYTHON", "LD_", "OMP_", "MKL_", "TORCH", "PYTORCH", "CUDA", "KINETO", "GLIBC_", "MALLOC_")  # are read while loading
one_at_a_time = threading.Lock()  # some tests start programs by several threads


@functools.lru_cache(maxsize=None)
def zygote(python, threads):
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    environment = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), "LANG": "C.UTF-8",
                   "OMP_NUM_THREADS": threads, "PYTHONDONTWRITEBYTECODE": "1"}
    subprocess.Popen([python, pathlib.Path(__file__).with_name("zygote.py"), str(its.fileno())], pass_fds=[its.fileno()],
                     env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    its.close()
    return ours


def may_be_forked(words, environment):
    """A script or -c that imports torch, without options of Python's own and without variables that are read earlier. Not
    where a program prints its whole stack and all that is loaded."""
    if not os.path.basename(words[0]).startswith("python") or words[1].startswith("-") and words[1] != "-c":
        return False
    if any(name.startswith(EARLY) and name not in ALWAYS for name in environment):
        return False
    source = words[2] if words[1] == "-c" else pathlib.Path(words[1]).read_text()
    return "torch" in source and "faulthandler" not in source


def reader(descriptor, into):
    def read():
        with open(descriptor, errors="replace") as file:
            into.append(file.read())
    thread = threading.Thread(target=read)
    thread.start()
    return thread


def run(words, environment, timeout):
    """The exit status, stdout and stderr of a fork."""
    said, readers, ends = ([], []), [], []
    for into in said:
        ours, its = os.pipe()
        readers.append(reader(ours, into))
        ends.append(its)
    request = json.dumps({"words": words[1:], "env": environment, "cwd": os.getcwd()}).encode()
    with one_at_a_time:
        channel = zygote(words[0], environment["OMP_NUM_THREADS"])
        socket.send_fds(channel, [request], ends)
        for end in ends:
            os.close(end)
        pid = int(channel.recv(32))
        channel.settimeout(timeout)
        try:
            status = int(channel.recv(32))
        except TimeoutError:
            os.kill(pid, signal.SIGKILL)
            channel.settimeout(None)
            channel.recv(32)
            raise subprocess.TimeoutExpired(words, timeout) from None
        channel.settimeout(None)
    for thread in readers:
        thread.join()
    return os.waitstatus_to_exitcode(status), *(into[0] for into in said)
