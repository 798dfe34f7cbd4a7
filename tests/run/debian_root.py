"""Where packages are tried: a Debian root (tests/chroot) that has not seen tprof before."""
import os
import pathlib
import subprocess

import pytest

from harness import TESTS, missing_machine

ROOTS = pathlib.Path(os.environ.get("TPROF_TEST_CACHE", "/var/cache/tprof-chroots"))


class Root:
    """A fresh Debian root: what its commands change is gone with the test."""

    def __init__(self, suite, path):
        why = missing_machine(suite)
        if why:
            pytest.skip(why)
        self.suite, self.changes = suite, path / "changes"
        self.changes.mkdir()
        self("true")  # makes the places of what is mounted into it
        self.before = self.files()

    def __call__(self, *words, timeout=600, **environment):
        """Both outputs of a command that succeeds."""
        environment = {"PATH": "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "OMP_NUM_THREADS": "1",
                       "PYTHONDONTWRITEBYTECODE": "1", "TPROF_EXIT_WAIT": "60", **environment}
        done = subprocess.run([str(TESTS / "chroot"), self.suite, *map(str, words)], stdin=subprocess.DEVNULL,
                              env={"PATH": os.environ["PATH"], "TPROF_CHROOT_CHANGES": str(self.changes),
                                   "TPROF_CHROOT_ENV": "\n".join("%s=%s" % pair for pair in environment.items())},
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=timeout)
        assert done.returncode == 0, "%s: %s\n%s" % (self.suite, words, done.stdout)
        return done.stdout

    def files(self):
        """What there is that the root did not have, but for logs, caches and the lists of package managers."""
        upper, root = self.changes / "upper", ROOTS / self.suite
        found = {path.relative_to(upper) for path in upper.rglob("*") if not path.is_char_device()}  # those are gone
        return {str(path) for path in found if path.parts[0] not in ("var", "tmp", "root", "run") and
                not ((upper / path).is_dir() and (root / path).is_dir())}

    def left(self):
        return sorted(self.files() - self.before)
