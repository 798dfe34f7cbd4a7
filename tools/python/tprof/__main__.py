"""The commands tprof and tprof-run of this package, and python -m tprof."""
import os
import sys


def _become(name):
    """Puts the program of the package in this process's place, with the same arguments."""
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", name)
    os.execv(program, [program, *sys.argv[1:]])


def main():
    _become("tprof")


def run():
    _become("tprof-run")


if __name__ == "__main__":
    main()
