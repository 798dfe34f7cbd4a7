"""What a program can tell tprof while tprof profiles it; otherwise nothing here does anything.

    import tprof

    for batch in loader:
        with tprof.range("forward"):
            loss = model(batch)
        loss.backward()
        optimizer.step()
        tprof.step()

A program is profiled when it was started by tprof-run or with libtprof.so preloaded. That is looked up once, when this
module is imported. The functions are those of tprof.h and may be called from any thread.
"""
import contextlib
import ctypes

__all__ = ["active", "flush", "range", "start", "step", "stop"]


def _function(library, name, *types):
    """The function of the libtprof.so in this process; without one, a function that did nothing."""
    function = getattr(library, name, None)
    if function is None:
        return lambda *_: -1
    function.argtypes = types
    return function


# These may wait for another thread, which in turn may wait for the interpreter lock: a CDLL gives that up.
_process = ctypes.CDLL(None)
_start = _function(_process, "tprof_start")
_stop = _function(_process, "tprof_stop")
_step = _function(_process, "tprof_step")
_flush = _function(_process, "tprof_flush")
# These wait for nothing; to give up the lock and take it again would last longer than they do.
_at_once = ctypes.PyDLL(None)
_active = _function(_at_once, "tprof_active")
_push = _function(_at_once, "tprof_range_push", ctypes.c_char_p)
_pop = _function(_at_once, "tprof_range_pop")


def start():
    """Starts the schedule at its step 0 now; an open window is closed first and written.

    With TPROF_AUTOSTART=0 (tprof-run --autostart=0) nothing is recorded before the first call. Without a schedule all
    is recorded until stop(). Returns whether it did so: False if the program is not profiled.
    """
    return _start() == 0


def stop():
    """Ends the open window, which is then written by another process; nothing is recorded until the next start().

    Returns whether it did so: False if the program is not profiled, or was not started.
    """
    return _stop() == 0


def step():
    """Ends a step and begins the next one. After the first call no other source of steps counts.

    Returns whether it did so: False if the program is not profiled.
    """
    return _step() == 0


def flush():
    """Has what the open window has recorded so far written as a trace; recording goes on.

    Returns whether it did so: False if the program is not profiled, or no window is open. With --trigger the next step
    opens one if none is.
    """
    return _flush() == 0


def active():
    """Whether a window records at this moment. False if the program is not profiled."""
    return _active() == 1


class range(contextlib.ContextDecorator):  # noqa: A001  (as torch.cuda.nvtx.range)
    """A labelled range on this thread, shown like torch's record_function: with range("load"): ... or @range("load").

    Ranges of a thread must nest. Therefore none may be open across an await or yield during which another task of the
    same thread opens one, and as a decorator it is for plain functions: of others it covers the call alone.
    """

    def __init__(self, name):
        self._name = str(name).encode(errors="replace")

    def __enter__(self):
        _push(self._name)
        return self

    def __exit__(self, *_):
        _pop()
