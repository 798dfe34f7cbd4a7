"""A forked child that trains on its own, while the parent trains too."""
import os

import loop

loop.step(3)
pid = os.fork()
if pid == 0:
    loop.step(6)
    os._exit(0)
loop.step(6)
os.waitpid(pid, 0)
print("done", loop.done)
