"""A Python that has imported torch and waits: each request makes a fork of it a program, as if started by itself. Run by
bare.py with the number of a socket; a request is {"words", "env", "cwd"} and two descriptors, stdout and stderr; the
answers are the program's pid and, when it has ended, its status as waitpid gives it."""
import contextlib
import gc
import json
import os
import socket
import sys
import types

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
    """Makes the process look as if it had been started with these words, and runs them."""
    for target, descriptor in enumerate(descriptors, 1):
        os.dup2(descriptor, target)
        os.close(descriptor)
    channel.close()
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    if words[0] == "-c":
        sys.argv, sys.path[0], source, name = ["-c", *words[2:]], "", words[1], "<string>"
    else:
        name = main.__file__ = words[0]
        sys.argv, sys.path[0] = words, os.path.dirname(os.path.realpath(name))
        with open(name, "rb") as file:
            source = file.read()
    exec(compile(source, name, "exec"), main.__dict__)


become(**json.loads(request))
