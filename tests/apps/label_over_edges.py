"""Many windows of the schedule wait=2,warmup=1,active=2, and a label over the end of each: label_over_edges.py COUNT

Says "trained" and waits for the end of its input.
"""
import sys

import loop

for _ in range(int(sys.argv[1])):
    loop.step(4)
    with loop.record_function("over the edge"):  # from a window's last step into the wait behind it
        loop.step(2)
    loop.step(4)
print("trained", flush=True)
sys.stdin.read()
