"""Closes every descriptor from 3 up, as daemons do, and takes the numbers for its own files, in each phase.

    closes_all.py DIRECTORY     prints what each file holds in the end
"""
import os
import sys

import loop

opened = []


def take_over(phase):
    os.closerange(3, 4096)
    for number in range(20):
        path = os.path.join(sys.argv[1], "%s-%d" % (phase, number))
        opened.append((path, os.open(path, os.O_CREAT | os.O_TRUNC | os.O_RDWR, 0o600)))
        os.write(opened[-1][1], b"begin ")


loop.in_each_phase(take_over)
loop.step(40)
for path, descriptor in opened[-20:]:
    os.write(descriptor, b"end")
    os.close(descriptor)
wrong = 0
for path, _ in opened[:-20]:
    wrong += open(path, "rb").read() != b"begin "
for path, _ in opened[-20:]:
    wrong += open(path, "rb").read() != b"begin end"
print(len(opened), "files,", wrong, "wrong; numbers", [d for _, d in opened[:20]])
