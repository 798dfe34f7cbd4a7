"""What tprof says to a command line that is not one of its own, and what completion offers."""
import re
import subprocess

import pytest

from harness import REPO, TPROF, tprof


@pytest.mark.parametrize("words", [("--version",), ("-V",), ("run", "--version"), ("stats", "--version")])
def test_the_version_is_told_by_tprof_and_by_every_command(words):
    said = tprof(*words)
    assert (said.returncode, said.stderr) == (0, "") and said.stdout.startswith("tprof ")


def test_the_version_is_that_of_meson_and_of_the_newest_release_in_the_changelog():
    """meson.build is where it stands; what is Unreleased has none yet. Packages derive theirs, and no page repeats it."""
    version, = re.findall(r"^  version: '(.*)',$", (REPO / "meson.build").read_text(), re.M)
    headings = re.findall(r"^## (.*)$", (REPO / "CHANGELOG.md").read_text(), re.M)
    released = headings[headings[0] == "Unreleased":]
    assert re.fullmatch(re.escape(version) + r" \(\d{4}-\d\d-\d\d\)", released[0])
    assert tprof("--version").stdout.startswith(f"tprof {version}\n")
    pages = [REPO / "README.md", *(REPO / "tools/manual").glob("*.md")]
    assert [page.name for page in pages if f"{version}-" in page.read_text() or f"{version}_" in page.read_text()] == []


def test_tprof_run_tells_its_version():
    said = subprocess.run([str(TPROF.parent / "tprof-run"), "--version"], capture_output=True, text=True)
    assert (said.returncode, said.stdout) == (0, tprof("--version").stdout)


def test_help_of_a_command_in_both_orders():
    assert tprof("help", "stats").stdout == tprof("stats", "--help").stdout != ""
    assert tprof("help").stdout == tprof("--help").stdout != ""
    said = tprof("help", "stat")
    assert said.returncode == 2 and said.stderr == "tprof: unknown command 'stat'; did you mean tprof stats?\n"


@pytest.mark.parametrize("words, cure", [
    (["train.py", "--lr", "1"], "to profile it: tprof run -- python train.py --lr 1"),
    (["python3", "train.py"], "to profile it: tprof run -- python3 train.py"),
    (["./program"], "to profile it: tprof run -- ./program"),
    (["logs"], "to read it: tprof overview logs"),
    (["x.1.pt.trace.json.gz"], "to read it: tprof overview x.1.pt.trace.json.gz"),
    (["ovreview"], "did you mean tprof overview?"),
    (["nothing-like-it"], "see tprof --help"),
])
def test_a_word_that_is_no_command_is_told_what_was_meant(words, cure, tmp_path):
    (tmp_path / "logs").mkdir()
    (tmp_path / "program").touch()
    said = tprof(*words, cwd=tmp_path)
    assert said.returncode == 2 and said.stderr == "tprof: unknown command '%s'; %s\n" % (words[0], cure)


@pytest.mark.parametrize("typed, meant", [("--with-memory", "--profile-memory"), ("--with-shapes", "--record-shapes"),
                                          ("--with-stak", "--with-stack"), ("--shedule", "--schedule")])
def test_an_unknown_option_is_told_the_one_that_was_meant(typed, meant):
    said = tprof("run", typed, "--", "true")
    assert said.returncode == 2 and said.stderr == "tprof: unknown option %s; did you mean %s?\n" % (typed, meant)


def completed(*words):
    script = tprof("options", "--format", "bash").stdout + \
        "COMP_WORDS=(%s) COMP_CWORD=%d; _tprof; echo ${COMPREPLY[@]}" % (" ".join("'%s'" % w for w in words),
                                                                         len(words) - 1)
    return subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True).stdout.split()


@pytest.mark.parametrize("words, offered", [
    (["tprof-run", "--preset", ""], ["light", "default", "full"]),
    (["tprof", "run", "--preset", "=", "li"], ["light"]),
    (["tprof", "run", "--preset", "="], ["light", "default", "full"]),
    (["tprof", "run", "--step", ""], ["auto", "optimizer", "dataloader", "backward:", "range:", "nvtx:"]),
    (["tprof", "run", "--window", "c"], ["cudaProfilerApi"]),
    (["tprof", "stats", "--by", "op+s"], ["op+shape", "op+stack", "op+shape+stack"]),
    (["tprof", "stats", "--sort", "self_cuda_"], ["self_cuda_time_total"]),
    (["tprof", "advise", "--fail-on", ""], ["high", "moderate"]),
    (["tprof", "help", "st"], ["steps", "stats", "stack"]),
])
def test_bash_completes_values(words, offered):
    assert completed(*words) == offered
