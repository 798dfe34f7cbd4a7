"""What tools/release makes, where users install it: in Debian roots that have not seen tprof before (tests/chroot).
TPROF_RELEASE names a directory in which it has been made already."""
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import tarfile
import zipfile

import pytest

from debian_root import Root
from harness import REPO, TESTS, load_traces, missing_machine, run, settle

pytestmark = pytest.mark.full

OLDEST_GLIBC = (2, 31)
TRAIN = REPO / "tools" / "demo" / "train.py"
SCHEDULE = "skip_first=2,wait=0,warmup=1,active=2,repeat=1"


def make_release(out):
    done = subprocess.run([str(REPO / "tools" / "release"), "--out", str(out)], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    if "TPROF_RELEASE" in os.environ:
        return pathlib.Path(os.environ["TPROF_RELEASE"])
    why = missing_machine("bullseye")
    if why:
        pytest.skip(why)
    out = tmp_path_factory.mktemp("release")
    make_release(out)
    return out


@pytest.fixture
def wheel(release):
    (path,) = release.glob("*.whl")
    return path


@pytest.fixture
def deb(release):
    (path,) = release.glob("*.deb")
    return path


@pytest.fixture
def tarball(release):
    (path,) = release.glob("*.tar.xz")
    return path


@pytest.fixture(params=["bookworm", "trixie"])
def torch_root(request, tmp_path):
    return Root(request.param, tmp_path)


@pytest.fixture
def old_root(tmp_path):
    return Root("bullseye", tmp_path)


def install_wheel(root, wheel):
    root("python3", "-m", "pip", "install", "--no-index", wheel, PIP_BREAK_SYSTEM_PACKAGES="1")


def remove_wheel(root):
    root("python3", "-m", "pip", "uninstall", "--yes", "tprof-profiler", PIP_BREAK_SYSTEM_PACKAGES="1")
    assert root.left() == []


def train_and_report(command, logdir):
    """`command` runs the words of an installed tprof."""
    said = command("tprof-run", "--logdir", logdir, "--schedule", SCHEDULE, "--", "python3", TRAIN)
    assert "tprof: wrote " in said and "Top operators" in said, said
    (trace,) = load_traces(logdir)
    assert trace.steps() == [3, 4]
    page = logdir / "report.html"
    command("tprof", "report", logdir, "-o", page)
    assert page.stat().st_size > 200_000 and "aten::convolution_backward" in command("tprof", "stats", logdir)
    tables = logdir / "tables"
    assert "1 trace; rows: step 2, " in command("tprof", "export", "--to", "parquet", "-o", tables, logdir)
    doctor = command("tprof", "doctor")
    assert "a child process loads the library" in doctor and "native" in doctor, doctor


def is_served(root, logdir):
    """Until it is interrupted."""
    said = root("timeout", "--preserve-status", "-s", "INT", "5", "tprof", "view", "--port", "0", logdir)
    return "tprof: serving %s\n  http://127.0.0.1:" % logdir in said


def test_wheel_where_there_is_torch(torch_root, wheel, tmp_path):
    install_wheel(torch_root, wheel)
    train_and_report(torch_root, tmp_path / "log")
    assert is_served(torch_root, tmp_path / "log")
    assert torch_root("python3", "-m", "tprof", "--version") == torch_root("tprof", "--version")
    torch_root("tprof-run", "--logdir", tmp_path / "own", "--", "python3", TESTS / "apps" / "package_calls.py", "steps")
    (trace,) = load_traces(tmp_path / "own")
    assert trace.steps() == [0, 1, 2, 3] and len(trace.ops("outer")) == 3
    assert torch_root("python3", "-c", "import tprof; print(tprof.step())") == "False\n"
    remove_wheel(torch_root)


def test_wheel_on_the_oldest_glibc(old_root, wheel, tmp_path):
    install_wheel(old_root, wheel)
    assert "a child process loads the library" in old_root("tprof", "doctor")
    build, logdir = tmp_path / "build", tmp_path / "log"
    old_root("meson", "setup", build, REPO, "-Dviewer=off", "-Dstack=disabled")
    program = build / "tests" / "apps" / "cuda" / "vector_add_13"
    old_root("ninja", "-C", build, "tests/fake/layout.stamp", program.relative_to(build))
    said = old_root("tprof-run", "--logdir", logdir, "--", build / "tests" / "fake" / "simcuda-run", program)
    assert "3 times 65536 elements, 0 wrong" in said and "tprof: wrote " in said, said
    (trace,) = load_traces(logdir)
    assert sum(event.get("cat") == "kernel" for event in trace.ranges) == 3
    assert "vector_add" in old_root("tprof", "stats", "--by", "kernel", logdir)
    remove_wheel(old_root)


def test_debian_package(torch_root, deb, tmp_path):
    torch_root("dpkg", "--install", deb)
    train_and_report(torch_root, tmp_path / "log")
    assert is_served(torch_root, tmp_path / "log")
    torch_root("dpkg", "--purge", "tprof")
    assert torch_root.left() == []


def test_debian_package_is_clean(deb):
    if not shutil.which("lintian"):
        pytest.skip("there is no lintian")
    done = subprocess.run(["lintian", "--allow-root", "--fail-on", "error,warning", str(deb)], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert (done.returncode, done.stdout) == (0, ""), done.stdout


@pytest.mark.parametrize("place", ["here", "a b"])
def test_tarball_works_wherever_it_is_unpacked(place, tarball, tmp_path):
    tarfile.open(tarball).extractall(tmp_path / place)
    (tree,) = (tmp_path / place).iterdir()

    def command(name, *words):
        done = run([tree / "bin" / name, *words], env={"TPROF_EXIT_WAIT": "60"})
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr

    train_and_report(command, tmp_path / "log")
    settle(tmp_path / "log")
    assert {"LICENSE", "README.md", "CHANGELOG.md", "copyright", "bin", "include", "lib", "libexec", "share"} == \
        {path.name for path in tree.iterdir()}


def test_all_hold_the_same_programs_and_the_oldest_glibc_suffices(wheel, deb, tarball, tmp_path):
    zipfile.ZipFile(wheel).extractall(tmp_path / "wheel")
    tarfile.open(tarball).extractall(tmp_path / "tarball")
    subprocess.run(["dpkg-deb", "--extract", str(deb), str(tmp_path / "deb")], check=True)
    sums = []
    for tree in tmp_path.iterdir():
        programs = [path for path in tree.rglob("*") if path.is_file() and path.read_bytes()[:4] == b"\x7fELF"]
        sums.append({path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in programs})
        symbols = subprocess.run(["objdump", "-T", *map(str, programs)], check=True, capture_output=True, text=True).stdout
        versions = {tuple(map(int, version.split("."))) for version in re.findall(r"GLIBC_([0-9.]+)", symbols)}
        assert max(versions) <= OLDEST_GLIBC
    assert set(sums[0]) == {"libtprof.so", "tprof", "tprof-stack", "tprof-view"} and sums[0] == sums[1] == sums[2]
    assert re.fullmatch(r"tprof_profiler-[0-9.]+-py3-none-manylinux_2_31_x86_64\.whl", wheel.name)


def test_sums_and_dockerfile_name_what_there_is(release, tarball):
    sums = dict(reversed(line.split("  ")) for line in (release / "SHA256SUMS").read_text().splitlines())
    assert set(sums) == {path.name for path in release.iterdir()} - {"SHA256SUMS"} and len(sums) == 4
    for name, digest in sums.items():
        assert hashlib.sha256((release / name).read_bytes()).hexdigest() == digest
    assert "ADD %s /opt/" % tarball.name in (release / "Dockerfile").read_text()


def test_the_same_commit_gives_the_same_bytes(release, tmp_path):
    make_release(tmp_path)
    assert (tmp_path / "SHA256SUMS").read_text() == (release / "SHA256SUMS").read_text()
