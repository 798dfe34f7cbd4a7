"""What tools/release and tools/packaging/build rely on. What they make is tried with --full (test_packages.py)."""
import json
import pathlib
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_the_tree_is_packed_without_compiling_again_what_the_wheel_holds(tmp_path):
    if not shutil.which("meson"):
        pytest.skip("there is no meson")
    options = json.loads(re.search(r"^setup = (\[.*\])$", (ROOT / "pyproject.toml").read_text(), re.MULTILINE)[1])
    commands = []
    for words in (["setup", *options, "-Dviewer=off", tmp_path, ROOT], ["configure", "-Dwheel=false", tmp_path]):
        subprocess.run(["meson", *words], check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        subprocess.run(["ninja", "-C", tmp_path, "build.ninja"], check=True, stdout=subprocess.DEVNULL)
        commands.append((tmp_path / "compile_commands.json").read_text())
    assert commands[0] == commands[1]
