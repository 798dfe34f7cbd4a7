"""The sources of tprof report's page: what npm is told, types, and that each column has its text. Browsers: tests/page."""
import json
import os
import pathlib
import re
import shutil
import subprocess

import pytest

import page
from harness import tprof

ROOT = pathlib.Path(__file__).resolve().parents[2]
VIEWER = ROOT / "src" / "viewer"
GOLDEN = ROOT / "tests" / "golden"


def test_the_lockfile_pins_by_hash_and_names_no_registry():
    lock = json.loads((VIEWER / "package-lock.json").read_text())
    packages = {name: one for name, one in lock["packages"].items() if name}
    assert {"node_modules/preact", "node_modules/uplot"} <= set(packages)
    for name, one in packages.items():
        assert one["integrity"].startswith("sha512-") and "resolved" not in one, name
    wanted = json.loads((VIEWER / "package.json").read_text())
    for name, version in {**wanted["dependencies"], **wanted["devDependencies"]}.items():
        assert packages["node_modules/" + name]["version"] == version


@pytest.fixture(scope="module")
def packages(tmp_path_factory):
    """A copy of the sources, with the packages of package-lock.json beside them."""
    if not shutil.which("npm"):
        pytest.skip("there is no npm")
    sources = shutil.copytree(VIEWER, tmp_path_factory.mktemp("npm") / "viewer", ignore=shutil.ignore_patterns("node_modules"))
    fetched = subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=sources, capture_output=True)
    if fetched.returncode:
        pytest.skip("npm could not fetch the packages")
    return sources


def test_types_hold(packages):
    done = subprocess.run(["node_modules/.bin/tsc", "-p", "."], cwd=packages, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_sources_are_formatted(packages):
    files = [path for pattern in ("src/viewer/**/*.ts", "src/viewer/**/*.tsx", "src/viewer/**/*.css", "tests/page/*.mjs",
                                         "tools/view/*.mjs", "tools/view/*.css")
             for path in sorted(ROOT.glob(pattern)) if "node_modules" not in path.parts]
    assert len(files) > 50
    done = subprocess.run([str(packages / "node_modules/.bin/prettier"), "--check", *files], cwd=ROOT,
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_each_column_of_each_word_has_a_text(tmp_path):
    texts = set(re.findall(r'^  "?([\w ]+)"?:(?: |$)', (VIEWER / "texts.ts").read_text(), re.M))
    paths = [GOLDEN / "gpu-ops.1.pt.trace.json.gz", GOLDEN / "modules.1.pt.trace.json.gz", GOLDEN / "kineto-traces"]
    done = tprof("report", *paths, "-o", tmp_path / "report.html")
    if "-Dviewer=off" in done.stderr:
        pytest.skip("this build has no page")
    found = page.documents(tmp_path / "report.html")
    missing = set()

    def look(value):
        if isinstance(value, list):
            for one in value:
                look(one)
        elif isinstance(value, dict):
            if "n_rows" in value:
                missing.update(column["key"] for column in value["columns"] if column["key"] not in texts)
            for one in value.values():
                look(one)

    look([found["stats"], found["steps"]])
    assert not missing


def test_why_npm_could_not_fetch_is_said_in_one_line(tmp_path):
    if not shutil.which("npm"):
        pytest.skip("there is no npm")
    (tmp_path / "npmrc").write_text("registry=http://127.0.0.1:9/\nfetch-retries=0\n")
    env = {**os.environ, "npm_config_userconfig": str(tmp_path / "npmrc"), "npm_config_cache": str(tmp_path / "cache")}
    out = tmp_path / "fetched"
    done = subprocess.run(["/usr/bin/python3", str(VIEWER / "build.py"), "fetch", str(VIEWER / "package.json"),
                           str(VIEWER / "package-lock.json"), str(out)], env=env)
    assert done.returncode == 0 and out.read_text().startswith("npm could not fetch its packages: ")
    assert "\n" not in out.read_text()


def test_no_source_writes_html_or_evaluates():
    for path in [*VIEWER.rglob("*.ts"), *VIEWER.rglob("*.tsx")]:
        if "node_modules" in path.parts:
            continue
        for bad in ("innerHTML", "outerHTML", "insertAdjacentHTML", "eval(", "new Function(", "document.write",
                    "localStorage", "fetch("):
            allowed = bad == "fetch(" and path.name == "served.ts"  # asks the server of the page; a file has none
            assert allowed or bad not in path.read_text(), path
