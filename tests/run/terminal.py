"""A terminal of a given size with a program in it, as far as `tprof top` needs one: what stands on its screen, whether
anything would have wrapped or scrolled, and how its modes are when the program has ended.

    with Terminal([TPROF, "top", pid], 80, 24) as t:
        t.until("Step 12"); t.press("q"); status = t.ended()
"""
import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time
import unicodedata

ENTERED = b"\x1b[?1049h"
LEAVES = b"\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l"
SEQUENCE = re.compile(rb"\x1b\[([?]?)([0-9;]*)([A-Za-z])")
# Runs a command as the foreground job of its terminal, as a shell does: stopped, it gives the terminal to itself, says "S"
# on descriptor 3, and goes on when told on descriptor 4. Then it ends as the command did.
SHELL = r"""
import os, signal, sys
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
job = os.fork()
if job == 0:
    os.setpgid(0, 0)
    os.tcsetpgrp(0, os.getpid())
    signal.signal(signal.SIGTTOU, signal.SIG_DFL)
    os.execvp(sys.argv[1], sys.argv[1:])
while True:
    _, status = os.waitpid(job, os.WUNTRACED)
    os.tcsetpgrp(0, os.getpgrp())
    if not os.WIFSTOPPED(status):
        break
    os.write(3, b"S")
    os.read(4, 1)
    os.tcsetpgrp(0, job)
    os.killpg(job, signal.SIGCONT)
if os.WIFSIGNALED(status):
    signal.signal(os.WTERMSIG(status), signal.SIG_DFL)
    os.kill(os.getpid(), os.WTERMSIG(status))
os._exit(os.WEXITSTATUS(status))
"""


def width_of(character):
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


class Terminal:
    def __init__(self, argv, columns, rows, env=None, shell=False):
        self.master, slave = pty.openpty()
        self.columns, self.rows = columns, rows
        self.resize(columns, rows, signal_it=False)
        self.modes_before = termios.tcgetattr(slave)
        self.output = b""
        self.rest = b""          # bytes that end in the middle of a sequence or a character
        self.overflows = []      # texts that reached beyond the last column, or moved the screen
        self.alternate = False
        self.cells = {}
        self.row = self.column = 0
        argv = [str(word) for word in argv]
        environment = {"PATH": os.environ["PATH"], "TERM": "xterm-256color", "LANG": "C.UTF-8", **(env or {})}
        stopped_r, stopped_w = os.pipe()
        go_r, go_w = os.pipe()
        self.stopped, self.go = stopped_r, go_w
        self.pid = os.fork()
        if self.pid == 0:
            os.setsid()
            fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
            for target, source in ((0, slave), (1, slave), (2, slave)):
                os.dup2(source, target)
            if shell:
                keep = os.dup(go_r)
                os.dup2(stopped_w, 3)
                os.dup2(keep, 4)
                argv = [sys.executable, "-c", SHELL, *argv]
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores it
            os.closerange(5 if shell else 3, 256)
            os.execvpe(argv[0], argv, environment)
        self.slave = slave  # is kept, so that its modes can be read after the program's end
        os.close(stopped_w)
        os.close(go_r)
        self.status = None

    def __enter__(self):
        return self

    def __exit__(self, *error):
        if self.status is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        for descriptor in (self.master, self.slave, self.stopped, self.go):
            with contextlib.suppress(OSError):
                os.close(descriptor)

    def resize(self, columns, rows, signal_it=True):
        self.columns, self.rows = columns, rows
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def press(self, keys):
        os.write(self.master, keys.encode())

    def hang_up(self):
        os.close(self.master)

    def until_stopped(self):
        assert select.select([self.stopped], [], [], 60)[0], "it was not stopped"
        assert os.read(self.stopped, 1) == b"S"
        self.read(0.2)

    def read(self, seconds):
        """Takes what comes within this time. False: the program has closed its terminal."""
        ready, _, _ = select.select([self.master], [], [], seconds)
        if not ready:
            return True
        try:
            new = os.read(self.master, 1 << 16)
        except OSError:
            return False
        self.output += new
        self.show(new)
        return bool(new)

    def until(self, text, seconds=600):
        """Until this text, or what a function of the terminal says, is on the screen."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if text(self) if callable(text) else text in self.text():
                return self
            self.read(0.1)
        raise AssertionError("not on the screen within %g s: %s\n%s" % (seconds, text, self.text()))

    def ended(self, seconds=600):
        """How the program ended, as subprocess has it: exit status, or minus the signal."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and self.status is None:
            with contextlib.suppress(OSError):
                self.read(0.05)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = os.waitstatus_to_exitcode(status)
        assert self.status is not None, "it has not ended\n" + self.text()
        with contextlib.suppress(OSError):
            while select.select([self.master], [], [], 0)[0] and self.read(0):
                pass
        return self.status

    def is_restored(self):
        """Whether the terminal is as it was: modes, screen, wrap, cursor."""
        return termios.tcgetattr(self.slave) == self.modes_before and self.output.endswith(LEAVES) and not self.alternate

    def text(self):
        return "\n".join(self.lines())

    def lines(self):
        return ["".join(self.cells.get((row, column), " ") for column in range(self.columns)).rstrip()
                for row in range(self.rows)]

    def show(self, new):
        data = self.rest + new
        at = 0
        while at < len(data):
            if data[at:at + 1] == b"\x1b":
                found = SEQUENCE.match(data, at)
                if not found:
                    if len(data) - at < 32:
                        break
                    raise AssertionError("an unknown sequence: %r" % data[at:at + 32])
                self.obey(*found.groups())
                at = found.end()
                continue
            size = 1 if data[at] < 0x80 else 2 if data[at] < 0xe0 else 3 if data[at] < 0xf0 else 4
            if at + size > len(data):
                break
            self.put(data[at:at + size].decode("utf-8", "replace"))
            at += size
        self.rest = data[at:]

    def obey(self, private, numbers, letter):
        words = [int(n or 0) for n in numbers.split(b";")]
        if private:
            if words[0] == 1049:
                self.alternate = letter == b"h"
                self.cells.clear()
        elif letter == b"H":
            self.row, self.column = words[0] - 1, (words[1] if len(words) > 1 else 1) - 1
        elif letter == b"J":
            self.cells.clear()
        elif letter == b"K":
            for column in range(self.columns):
                self.cells.pop((self.row, column), None)
        elif letter != b"m":
            raise AssertionError("an unknown sequence: %r" % letter)

    def put(self, character):
        if character in "\r\n":
            if self.alternate:
                self.overflows.append("a line end on the screen")
            return
        width = width_of(character)
        if self.alternate and (self.column + width > self.columns or self.row >= self.rows):
            self.overflows.append("row %d, column %d: %r" % (self.row, self.column, character))
        if width:
            self.cells[self.row, self.column] = character
        self.column += width
