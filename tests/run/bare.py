"""Programs without tprof, which only give what a run with it is compared with. Most of such a run goes by in `import torch`:
zygote.py does that once for each Python, and the programs are forks of it, wherever nobody could tell."""
import functools
import json
import os
import signal
import socket
import subprocess
import pathlib
import threading

# What is read when Python or torch is loaded.
EARLY = ("PYTHON", "LD_", "OMP_", "MKL_", "TORCH", "PYTORCH", "CUDA", "NVIDIA", "KINETO", "TPROF", "GLIBC_", "MALLOC_")


@functools.lru_cache(maxsize=None)
def zygote(python, *early):
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    script = pathlib.Path(__file__).with_name("zygote.py")
    subprocess.Popen([python, script, str(its.fileno())], pass_fds=[its.fileno()], env=dict(early), stdin=subprocess.DEVNULL,
                     stdout=subprocess.PIPE, stderr=subprocess.PIPE)  # it says nothing; its stdout is a pipe, as its forks' is
    its.close()
    return ours


def can_be_forked(words):
    """A script or -c, without options of Python's own."""
    return os.path.basename(words[0]).startswith("python") and (words[1] == "-c" or not words[1].startswith("-"))


def reader(descriptor, into):
    def read():
        with open(descriptor, errors="replace") as file:
            into.append(file.read())
    thread = threading.Thread(target=read)
    thread.start()
    return thread


def run(words, environment, timeout):
    """The exit status, stdout and stderr of a fork."""
    early = {name: value for name, value in environment.items() if name.startswith(EARLY) or name in ("PATH", "HOME", "LANG")}
    channel = zygote(words[0], *sorted(early.items()))
    said, readers, ends = ([], []), [], []
    for into in said:
        ours, its = os.pipe()
        readers.append(reader(ours, into))
        ends.append(its)
    request = {"words": words[1:], "env": environment, "cwd": os.getcwd()}
    socket.send_fds(channel, [json.dumps(request).encode()], ends)
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
    for thread in readers:
        thread.join()
    return os.waitstatus_to_exitcode(status), *(into[0] for into in said)
