"""The ways in which programs end: fall, exit, exception, _exit, or the name of a signal that the program sends itself."""
import os
import signal
import sys
import time


def end(how):
    if how == "exit":
        sys.exit(3)
    if how == "exception":
        raise ValueError("the program's own error")
    if how == "_exit":
        os._exit(5)
    if how.startswith("SIG"):
        os.kill(os.getpid(), getattr(signal, how))
        time.sleep(30)  # SIGINT is raised at the next bytecode
