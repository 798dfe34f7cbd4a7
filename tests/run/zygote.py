"""A Python that has imported torch and waits: each request makes a fork of it a program, as if started by itself. Run by
bare.py with the number of a socket; a request is {"words", "env", "cwd"} and two descriptors, stdout and stderr; the
answers are the program's pid and, when it has ended, its status as waitpid gives it."""
import contextlib
import gc
import json
import os
import socket
import sys

with contextlib.suppress(ImportError):
    import torch  # noqa: F401
    import torch._dynamo  # noqa: F401  (as an optimizer does)
gc.freeze()
channel = socket.socket(fileno=int(sys.argv[1]))
while True:
    request, descriptors, _, _ = socket.recv_fds(channel, 1 << 20, 2)
    if not request:
        os._exit(0)
    child = os.fork()
    if child == 0:
        break
    for descriptor in descriptors:
        os.close(descriptor)
    channel.send(b"%d" % child)
    channel.send(b"%d" % os.waitpid(child, 0)[1])


def become(words, env, cwd):
    """The code and the name of its file, in a process that looks as if it had been started with these words."""
    for target, descriptor in enumerate(descriptors, 1):
        os.dup2(descriptor, target)
        os.close(descriptor)
    channel.close()
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    if words[0] == "-c":
        sys.argv, sys.path[0] = ["-c", *words[2:]], ""
        return compile(words[1], "<string>", "exec"), None
    sys.argv, sys.path[0] = words, os.path.dirname(os.path.realpath(words[0]))
    with open(words[0], "rb") as file:
        return compile(file.read(), words[0], "exec"), words[0]


code, path = become(**json.loads(request))
names = globals()
for name in [name for name in names if not (name.startswith("__") or name in ("code", "path", "names"))]:
    del names[name]
if path:
    names["__file__"] = path
else:
    del names["__file__"]
del names["name"], names["path"], names["names"]
exec(globals().pop("code"))
