"""pip builds tprof where there is a compiler, Python and git, and nothing else of what it is made of: from a repository, and
from the source distribution of that."""
import os
import pathlib
import shutil

import pytest

from debian_root import Root
from harness import REPO, TESTS

pytestmark = pytest.mark.full

MOST = 3600  # seconds of a build


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return Root("compiler", tmp_path_factory.mktemp("root"))


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """What pip and npm need to reach their registries from in there as they do from here."""
    out = {"PIP_NO_CACHE_DIR": "1", "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*"}
    for name in ("PIP_CERT", "NODE_EXTRA_CA_CERTS"):
        if os.environ.get(name):
            out[name] = shutil.copy(os.environ[name], tmp_path_factory.mktemp("certificates"))
    for name in ("PIP_INDEX_URL", "npm_config_registry", "http_proxy", "https_proxy", "no_proxy"):
        if os.environ.get(name):
            out[name] = os.environ[name]
    return out


@pytest.fixture(scope="module")
def installed(root, environment, tmp_path_factory):
    """The folder of an environment into which pip has built the last commit, as for pip install git+URL."""
    place = tmp_path_factory.mktemp("git")
    root("python3", "-m", "venv", place)
    root(place / "bin" / "pip", "install", "git+file://%s" % REPO, timeout=MOST, **environment)
    return place


def files(root, place):
    said = root(place / "bin" / "pip", "show", "--files", "tprof-profiler").split("Files:\n")[1].split()
    return sorted(name for name in said if "dist-info" not in name and not name.endswith(".pyc"))


def test_what_is_missing_is_left_out_and_doctor_says_so(root, installed, tmp_path):
    tprof = installed / "bin" / "tprof"
    doctor = root("sh", "-c", '"$0" doctor || true', tprof)
    assert "a child process loads the library" in doctor and "Python frames only" in doctor, doctor
    assert "built without SQLite" in doctor, doctor
    trace = TESTS / "golden" / "gpu.1.pt.trace.json.gz"
    root(tprof, "report", trace, "-o", tmp_path / "page.html")
    assert (tmp_path / "page.html").stat().st_size > 200_000
    assert "rows: " in root(tprof, "export", "--to", "parquet", "-o", tmp_path / "tables", trace)
    said = root("sh", "-c", '"$0" "$@" || echo "status $?"', tprof, "export", "--to", "sqlite", "-o", tmp_path / "db", trace)
    assert "built without SQLite; --to parquet writes the same tables" in said and "status 2" in said, said


def test_the_source_distribution_installs_the_same(root, installed, environment, tmp_path):
    sources, place = tmp_path / "sources", tmp_path / "environment"
    root("git", "clone", "--quiet", "file://%s" % REPO, sources, **environment)
    root("python3", "-m", "venv", place)
    root(place / "bin" / "pip", "install", "build", **environment)
    root(place / "bin" / "python", "-m", "build", "--sdist", sources, timeout=MOST, **environment)
    (archive,) = pathlib.Path(sources, "dist").glob("*.tar.gz")
    holds = root("tar", "-tzf", archive)
    for name in ("src/viewer/prebuilt.html", "third_party/cli11/LICENSE", "third_party/cli11/include/CLI/CLI.hpp",
                 "third_party/nlohmann_json/LICENSE.MIT", "third_party/nlohmann_json/include/nlohmann/json.hpp"):
        assert name in holds
    said = root(place / "bin" / "pip", "install", "--verbose", archive, timeout=MOST, **environment)
    assert "Downloading pgm" not in said and "Downloading nodejs" not in said
    assert files(root, place) == files(root, installed)
