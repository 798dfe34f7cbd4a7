"""Waits of Python and asyncio that end by a timeout, each in a thread of its own while the main thread trains. Prints as
JSON what came out of each one, and how many seconds it took.

    sample_waits.py SECONDS        of each wait
"""
import asyncio
import json
import queue
import select
import signal
import socket
import struct
import sys
import threading
import time

import torch

SECONDS = float(sys.argv[1])


def socket_with_timeouts():
    ours, theirs = socket.socketpair()
    limit = struct.pack("ll", int(SECONDS), int(SECONDS % 1 * 1e6))
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, limit)
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)
    return ours, theirs


def recv():
    ours, theirs = socket_with_timeouts()
    return ours.recv(1)


def send():
    ours, theirs = socket_with_timeouts()
    while ours.send(bytes(1 << 16)):
        pass


def epoll():
    return select.epoll().poll(SECONDS)


def poll():
    return select.poll().poll(SECONDS * 1000)


def sigtimedwait():
    return signal.sigtimedwait([signal.SIGUSR2], SECONDS)


def sleep():
    return time.sleep(SECONDS)


def queue_get():
    return queue.Queue().get(timeout=SECONDS)


def event_wait():
    return threading.Event().wait(SECONDS)


def settimeout():
    ours, theirs = socket.socketpair()
    ours.settimeout(SECONDS)
    return ours.recv(1)


def asyncio_sleep():
    return asyncio.run(asyncio.sleep(SECONDS))


def asyncio_wait_for():
    async def main():
        return await asyncio.wait_for(asyncio.Event().wait(), SECONDS)
    return asyncio.run(main())


WAITS = [recv, send, epoll, poll, sigtimedwait, sleep, queue_get, event_wait, settimeout, asyncio_sleep, asyncio_wait_for]
results = {}


def measured(wait):
    before = time.monotonic()
    try:
        outcome = repr(wait())
    except Exception as error:
        outcome = repr(error)
    results[wait.__name__] = [outcome, round(time.monotonic() - before, 3)]


signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])
model = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
threads = [threading.Thread(target=measured, args=(wait,)) for wait in WAITS]
for thread in threads:
    thread.start()
while any(thread.is_alive() for thread in threads):
    model(torch.ones(2, 4)).sum().backward()
    optimizer.step()
    time.sleep(0.02)
print(json.dumps(results))
