"""tools/quickstart: what root does and what the user does who typed sudo, whose torch is profiled, and what it says
meanwhile. All programs that it starts are stand-ins."""
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
    "apt-get": 'for word; do touch "$home/installed/$word"; done',
    "dpkg-query": 'for word; do :; done; [ -e "$home/installed/$word" ] && printf installed',
    "sudo": 'printf "in place of sudo: %s\\n" "$1" >> "$home/who"; exec "$@"',
    "npm": "true",
    "python": "exit 1",
    "python3": """case "$*" in
        *find_spec*) [ -e "$home/installed/python3-torch" ] ;;
        *metadata*) echo 1.13.1 ;;
        *fetched.py*) cat "$home/lacking" 2>/dev/null ;;
        *venv*) mkdir -p "$3/bin"; for one in pip python; do ln -s "$home/bin/$one" "$3/bin/"; done ;;
        esac""",
    "pip": 'shift; for one; do [ ! -e "$home/kept/$one" ] || cp "$home/kept/$one" "$(dirname "$0")/"; done',
    "meson": 'mkdir -p "$3" && touch "$3/build.ninja"',
    "ninja": 'mkdir -p "$2/tools"; for one in tprof-run tprof; do ln -sf "$home/bin/$one" "$2/tools/"; done',
    "tprof-run": 'mkdir -p "$2"; touch "$2/worker.1.pt.trace.json"; printf "profiled: %s\\n" "$6"',
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
        (path / "installed").mkdir()
        (path / "who").touch()
        (path / "who").chmod(0o666)
        for name in ("quickstart", "setup.sh", "progress.sh", "demo/train.py"):
            (path / "checkout" / "tools" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / "tools" / name, path / "checkout" / "tools" / name)
        subprocess.run(["chown", "-R", "%d:%d" % (USER, USER), path], check=True)
        path.chmod(0o755)
        yield path
    finally:
        shutil.rmtree(path)


QUIET = ("dpkg-query", "python", "python3", "in place of sudo:")


def quickstart(home, wrapper=(), **environment):
    """How it ended, and the (program, user, HOME) of all that was started but what only looks."""
    done = subprocess.run([*wrapper, home / "checkout" / "tools" / "quickstart"], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, cwd="/",
                          env={"PATH": "%s:/usr/bin:/bin:/usr/sbin" % (home / "bin"), "HOME": "/root", **environment})
    started = [tuple(line.rsplit(" ", 2)) for line in (home / "who").read_text().splitlines()]
    return done, [one for one in started if one[0] not in QUIET]


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


@pytest.fixture
def no_torch(home):
    """The words by which a command sees a machine whose own Python has none before apt has brought it."""
    python = os.path.realpath("/usr/bin/python3")
    words = [shutil.which("unshare"), "-m", "/bin/sh", "-c", '/bin/mount --bind "$0" "$1" && shift && exec "$@"',
             home / "bin/python3", python]
    if subprocess.run([*words, "true"], stderr=subprocess.DEVNULL).returncode != 0:
        pytest.skip("cannot mount in a namespace of its own")
    return words


def test_the_torch_of_the_active_environment_is_profiled(home):
    active = home / "venv" / "bin" / "python"
    active.parent.mkdir(parents=True)
    active.write_text("#!/bin/sh\ncase $* in *metadata*) echo 2.9.0 ;; esac\n")
    active.chmod(0o755)
    done, _ = quickstart(home, VIRTUAL_ENV=str(active.parents[1]))
    assert done.returncode == 0, done.stderr
    assert "Profiling tools/demo/train.py with %s (torch 2.9.0)" % active in done.stdout
    assert "profiled: %s\n" % active in done.stdout and not (home / "installed" / "python3-torch").exists()
    page = pathlib.Path(done.stdout.splitlines()[-1])
    assert page.name == "report.html" and page.exists()


def test_torch_of_debian_is_installed_only_where_there_is_none(home, no_torch):
    done, started = quickstart(home, no_torch)
    assert done.returncode == 0, done.stderr
    assert "No Python here has torch: that of Debian is installed" in done.stdout
    assert "with %s/bin/python3 (torch 1.13.1)" % home in done.stdout
    (home / "who").write_text("")
    done, started = quickstart(home, no_torch)
    assert done.returncode == 0 and "No Python" not in done.stdout, done.stderr
    assert "apt-get" not in [name for name, _, _ in started]


def hide_apt(home):
    """PATH with what the scripts need of this machine, but no apt."""
    (home / "bin" / "apt-get").unlink()
    (home / "kept").mkdir()
    for name in ("meson", "ninja"):
        (home / "bin" / name).rename(home / "kept" / name)
    for name in "bash cat chmod cp cut date dirname env grep id ln mkdir mktemp rm sh sleep tail touch tr true".split():
        (home / "bin" / name).symlink_to(shutil.which(name))
    return str(home / "bin")


def test_without_apt_pip_fetches_what_builds(home):
    path = hide_apt(home)
    (home / "lacking").write_text("zlib-of-pip\n")
    (home / "installed" / "python3-torch").touch()
    done, started = quickstart(home, PATH=path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Fetching zlib-of-pip meson ninja with pip\nBuilding into" in done.stdout
    assert [name for name, _, _ in started] == ["pip", "meson", "ninja", "tprof-run", "tprof"]
    (home / "lacking").write_text("")
    done, started = quickstart(home, PATH=path)
    assert done.returncode == 0 and "with pip" not in done.stdout, done.stderr


def test_without_apt_and_torch_it_says_what_to_install(home, no_torch):
    done, started = quickstart(home, no_torch, PATH=hide_apt(home))
    assert (done.returncode, started) == (1, []) and "pip install torch" in done.stderr, done.stderr


def test_while_it_waits_it_says_how_far_it_is(tmp_path):
    """The command ends when it has been said."""
    said = tmp_path / "said"
    command = """. "$1"; patiently "$2.log" sh -c 'echo "[3/4] c++ a.cpp"; until grep -q "3 of 4 files, about . s left" "$0"; do
        sleep 0.1; done' "$2" """
    with open(said, "w") as out:
        done = subprocess.run(["bash", "-ec", command, "", ROOT / "tools" / "progress.sh", said], stdout=out, timeout=300)
    assert done.returncode == 0


def test_a_command_that_fails_fails_under_progress_too(tmp_path):
    done = subprocess.run(["bash", "-ec", '. "$1"; patiently "$2" sh -c "echo why; exit 5" || echo "$?"', "",
                           ROOT / "tools" / "progress.sh", tmp_path / "log"], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("5\n", "") and (tmp_path / "log").read_text() == "why\n"
