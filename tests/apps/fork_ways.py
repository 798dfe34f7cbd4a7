"""Every way to make a child, in each phase; the child's operators must not show in the parent's trace.

    fork_ways.py os.fork|fork_exec|posix_spawn|subprocess|system|vfork [LIBRARY for vfork]
"""
import ctypes
import os
import subprocess
import sys

import loop

way = sys.argv[1]
statuses = []


def os_fork():
    pid = os.fork()
    if pid == 0:
        loop.note("child:1")
        os._exit(4)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def fork_exec():
    pid = os.fork()
    if pid == 0:
        os.execv("/bin/sh", ["sh", "-c", "exit 4"])
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def posix_spawn():
    pid = os.posix_spawn("/bin/sh", ["sh", "-c", "exit 4"], os.environ)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def in_subprocess():
    return subprocess.run(["sh", "-c", "exit 4"], close_fds=True).returncode


def system():
    return os.waitstatus_to_exitcode(os.system("exit 4"))


def vfork():
    return ctypes.CDLL(sys.argv[2]).vfork_and_exec()


ways = {"os.fork": os_fork, "fork_exec": fork_exec, "posix_spawn": posix_spawn, "subprocess": in_subprocess,
        "system": system, "vfork": vfork}
loop.in_each_phase(lambda phase: statuses.append(ways[way]()))
print(statuses)
