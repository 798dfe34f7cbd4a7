"""Started with one of stdin, stdout or stderr closed: the first file it opens gets that number.

    closed_standard.py FILE NUMBER
"""
import os
import sys

descriptor = os.open(sys.argv[1], os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
os.write(descriptor, b"number %d is mine\n" % descriptor)

import loop  # noqa: E402

loop.step(12)
os.write(descriptor, b"done\n")
os._exit(0 if descriptor == int(sys.argv[2]) else 9)
