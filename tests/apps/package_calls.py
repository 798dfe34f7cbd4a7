"""Calls the Python package tprof: package_calls.py steps | windows | flush. Prints what each call returned."""
import sys
import threading

import tprof


@tprof.range("decorated")
def decorated(value):
    """Its own words."""
    return value


def steps():
    """Three steps of two updates each, in ranges; and a range on another thread meanwhile."""
    import loop
    for _ in range(3):
        with tprof.range("outer"), tprof.range("inner é"):
            loop.step()
            other = threading.Thread(target=tprof.range("other thread")(loop.note), args=("note",))
            other.start()
            other.join()
        loop.step()
        try:
            with tprof.range("raises"):
                raise KeyError("as it was")
        except KeyError as error:
            print(error)
        print(decorated(5), decorated.__name__, decorated.__doc__)
        print("step", tprof.step(), file=sys.stderr)


def windows():
    """Of seven training steps 2, 3 and 5 lie between start() and stop()."""
    import loop
    for number in range(7):
        if number in (2, 5):
            print("start", tprof.start(), file=sys.stderr)
        if number in (4, 6):
            print("stop", tprof.stop(), file=sys.stderr)
        loop.step()
        print(number, tprof.active(), file=sys.stderr)


def flush():
    import loop
    loop.step(4)
    print("flush", tprof.flush(), file=sys.stderr)
    loop.step(2)


{"steps": steps, "windows": windows, "flush": flush}[sys.argv[1]]()
