"""tools/quickstart: what root does, and what the user does who typed sudo. All programs that it starts are stand-ins."""
import os
import pathlib
import shutil
import subprocess
import tempfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
USER = 65534  # nobody

pytestmark = pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("setpriv"),
                                reason="needs root and setpriv, to be somebody else")

# Each writes its name and user.
STAND_INS = {
    "apt-get": 'touch "$home/installed"',
    "dpkg-query": '[ -e "$home/installed" ] && printf installed',
    "sudo": 'printf "in place of sudo: %s\\n" "$1" >> "$home/who"; exec "$@"',
    "node": "true", "npm": "true", "esbuild": "true",
    "meson": 'mkdir "$3" && touch "$3/build.ninja"',
    "ninja": 'mkdir "$2/tools"; for one in tprof-run tprof; do ln -s "$home/bin/$one" "$2/tools/"; done',
    "tprof-run": """mkdir -p "$2"
        printf '{"traceEvents": [{"ph": "X", "name": "ProfilerStep#4"}]}' > "$2/worker.1.pt.trace.json" """,
    "tprof": 'touch "$4"',
}


@pytest.fixture
def home():
    """A directory of the user with a checkout."""
    path = pathlib.Path(tempfile.mkdtemp(prefix="tprof-quickstart-", dir="/tmp"))
    try:
        (path / "bin").mkdir()
        for name, does in STAND_INS.items():
            (path / "bin" / name).write_text(
                '#!/bin/sh\nhome="%s"\nprintf "%%s %%s %%s\\n" %s "$(id -u)" "$HOME" >> "$home/who"\n%s\n' % (path, name, does))
            (path / "bin" / name).chmod(0o755)
        (path / "who").touch()
        (path / "who").chmod(0o666)
        for name in ("quickstart", "setup.sh", "demo/train.py"):
            (path / "checkout" / "tools" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / "tools" / name, path / "checkout" / "tools" / name)
        subprocess.run(["chown", "-R", "%d:%d" % (USER, USER), path], check=True)
        path.chmod(0o755)
        yield path
    finally:
        shutil.rmtree(path)


def quickstart(home, wrapper=(), **environment):
    """How it ended, and the (program, user, HOME) of all that was started but dpkg-query."""
    done = subprocess.run([*wrapper, home / "checkout" / "tools" / "quickstart"], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, cwd="/",
                          env={"PATH": "%s:/usr/bin:/bin:/usr/sbin" % (home / "bin"), "HOME": "/root", **environment})
    started = [tuple(line.rsplit(" ", 2)) for line in (home / "who").read_text().splitlines()]
    return done, [one for one in started if one[0] not in ("dpkg-query", "in place of sudo:")]


def owners(home):
    made = [path for top in ("build", "tprof_log") for path in (home / "checkout" / top).rglob("*")]
    assert len(made) >= 4, made
    return {path.lstat().st_uid for path in made}


SUDO = {"SUDO_UID": str(USER), "SUDO_GID": str(USER), "SUDO_USER": "nobody"}


def test_under_sudo_root_does_nothing_but_apt(home):
    done, started = quickstart(home, **SUDO)
    assert done.returncode == 0, done.stderr
    assert {name for name, user, _ in started if user == "0"} == {"apt-get"}
    others = [one for one in started if one[1] != "0"]
    assert [name for name, _, _ in others] == ["meson", "ninja", "tprof-run", "tprof"]
    assert {(user, at) for _, user, at in others} == {(str(USER), os.path.expanduser("~nobody"))}
    assert owners(home) == {USER}


def test_root_without_sudo_does_all_of_it(home):
    """As in a container."""
    done, started = quickstart(home)
    assert done.returncode == 0, done.stderr
    assert {user for _, user, _ in started} == {"0"} and owners(home) == {0}


def test_a_user_needs_sudo_for_apt(home):
    done, started = quickstart(home, wrapper=["setpriv", "--reuid", str(USER), "--regid", str(USER), "--clear-groups"])
    assert done.returncode == 0, done.stderr
    assert "in place of sudo: env" in (home / "who").read_text()
    assert "apt-get" in [name for name, _, _ in started] and owners(home) == {USER}


def test_what_belongs_to_root_is_not_built_in_by_who_typed_sudo(home):
    os.chown(home / "checkout", 0, 0)
    done, started = quickstart(home, **SUDO)
    assert done.returncode == 1 and done.stderr.count("\n") == 1, done.stderr
    assert "nobody, who typed sudo, may not write to %s" % (home / "checkout") in done.stderr
    assert {name for name, _, _ in started} == {"apt-get"}
    assert not (home / "checkout" / "build").exists()
