"""Steps of loop.py; then an import hangs, and a watchdog ends the program: watchdog.py LIBRARY"""
import ctypes
import faulthandler
import os
import sys

import loop

loop.step(3)
reached, says = os.pipe()
os.environ["SLOW_LIBRARY_FD"] = str(says)
faulthandler.dump_traceback_later(1, exit=True)
ctypes.CDLL(sys.argv[1])
