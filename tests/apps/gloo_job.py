"""Starts the ranks of a job on gloo, as launchers do, and ends them."""
import os
import socket
import subprocess
import sys
import time


def meet():
    """Says in the environment where the ranks meet."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=port, GLOO_SOCKET_IFNAME="lo", USE_LIBUV="0")


def start(world):
    """This program again for each rank, with RANK and WORLD_SIZE set; prints what each returned."""
    meet()
    job = [subprocess.Popen([sys.executable, *sys.argv], stdout=subprocess.DEVNULL, env={
        **os.environ, "WORLD_SIZE": str(world), "RANK": str(rank), "LOCAL_RANK": str(rank)}) for rank in range(world)]
    print([process.wait() for process in job])


def leave(dist):
    """gloo's threads free the last collective after the main thread went on. One that does so while Python ends makes torch
    abort ("terminate called without an active exception", pytorch/pytorch issue 190489), also without tprof: here they
    get the time that a program needs to save its model."""
    time.sleep(1)
    dist.destroy_process_group()
