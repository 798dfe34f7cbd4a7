"""A program with signal handlers of its own, set before torch is there and in the middle of a window.

    own_signals.py handlers      its USR1, USR2, TERM and HUP handlers run once per signal, in every phase
    own_signals.py getsignal     what signal.getsignal answers for every signal, in every phase
    own_signals.py ignored       SIGHUP was ignored by the parent (nohup): it still is
"""
import os
import signal
import sys
import time

mode = sys.argv[1]
MINE = (signal.SIGUSR1, signal.SIGUSR2, signal.SIGTERM, signal.SIGHUP)
got = []


def handler(number, frame):
    got.append(signal.Signals(number).name)


if mode == "handlers":
    for number in MINE[:2]:
        signal.signal(number, handler)

import loop  # noqa: E402


def send(phase):
    if phase == "active":
        for number in MINE:
            signal.signal(number, handler)
    for number in MINE[:4 if phase in ("active", "over") else 2]:
        os.kill(os.getpid(), number)
        time.sleep(0.01)


def dispositions(phase):
    for number in sorted(signal.valid_signals()):
        print(phase, int(number), getattr(signal.getsignal(number), "__name__", signal.getsignal(number)))


def hang_up(phase):
    os.kill(os.getpid(), signal.SIGHUP)
    print(phase, signal.getsignal(signal.SIGHUP) == signal.SIG_IGN)


loop.in_each_phase({"handlers": send, "getsignal": dispositions, "ignored": hang_up}[mode])
print(got)
