"""Every source passes tests/lint, and tests/lint sees what it is for."""
import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
RULES = [".clang-format", ".codespellrc", ".ruff.toml", ".shellcheckrc", "tests/lint", "tests/pip/install",
         "tests/pip/lint.txt"]
# A file with a fault, and what is said of it.
FAULTS = {
    "src/deep/narrow.cpp": ("int   x;\n", "clang-format"),
    "wide.ts": ("// " + "x" * 120 + "\n", "longer than 120 columns"),
    "unused.py": ("import os\n", "F401"),
    "without_ending": ("#!/usr/bin/env python3\nprint(nothing)\n", "F821"),
    "quotes": ("#!/bin/sh\nrm $1\n", "SC2086"),
    "words.md": ("This is t" "eh end.\n", "==> the"),
    "blanks.md": ("A line. \n", "blanks at the end"),
    "end.md": ("A line.", "no newline at the end"),
}


def lint(root, *words):
    done = subprocess.run([root / "tests/lint", *words], cwd=root, capture_output=True, text=True)
    if done.returncode == 77:
        pytest.skip(done.stderr.strip().splitlines()[-1])
    return done


def test_every_source_passes():
    done = lint(ROOT)
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """A repository of its own with the rules of this one, the files of FAULTS, and one without a fault."""
    root = tmp_path_factory.mktemp("checkout")
    for name in RULES:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, root / name)
    for name, (text, _) in FAULTS.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    (root / "good.py").write_text("print(1)\n")
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    return root


def test_each_fault_is_found_alone_and_among_all_files(checkout):
    found = lint(checkout)
    assert found.returncode == 1 and "tests/lint --fix" in found.stderr
    for name, (_, word) in FAULTS.items():
        alone = lint(checkout, name)
        assert alone.returncode == 1
        for said in (found.stdout + found.stderr, alone.stdout + alone.stderr):
            assert any(name in line and word in line for line in said.splitlines()), (name, said)


def test_a_good_file_passes_and_one_that_is_not_there_is_named(checkout):
    done = lint(checkout, "good.py")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    done = lint(checkout, "nothing.py")
    assert (done.returncode, done.stderr) == (2, "tests/lint: there is no nothing.py\n")


def test_fix_mends_what_a_tool_can(checkout, tmp_path):
    root = shutil.copytree(checkout, tmp_path / "fixed")
    names = ("src/deep/narrow.cpp", "unused.py", "words.md")
    lint(root, "--fix", *names)
    assert [(root / name).read_text() for name in names] == [
        "int x;\n", "", "This is the end.\n"]
