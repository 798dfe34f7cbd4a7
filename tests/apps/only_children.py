"""Waits for any child, in each phase: only the program's own ever come, and then there is none."""
import os

import loop


def wait_for_all(phase):
    mine = [os.spawnv(os.P_NOWAIT, "/bin/true", ["true"]) for _ in range(2)]
    seen = []
    while True:
        try:
            seen.append(os.waitpid(-1, 0)[0])
        except ChildProcessError:
            break
    print(phase, sorted(seen) == sorted(mine))
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG)
        print("a child that is not mine")
    except ChildProcessError:
        pass


loop.in_each_phase(wait_for_all)
