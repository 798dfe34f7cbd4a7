"""NVIDIA's own libcupti, from their packages on PyPI: fetched once into TPROF_TEST_CACHE, never part of this repository."""
import os
import pathlib
import subprocess
import sys
import tempfile
import zipfile

import pytest

CACHE = pathlib.Path(os.environ.get("TPROF_TEST_CACHE", "/var/cache/tprof-chroots")) / "cupti"
PACKAGES = {
    "11.8": "nvidia-cuda-cupti-cu11==11.8.87",
    "12.1": "nvidia-cuda-cupti-cu12==12.1.105",
    "12.8": "nvidia-cuda-cupti-cu12==12.8.90",
    "13.0": "nvidia-cuda-cupti==13.0.85",
    "13.2": "nvidia-cuda-cupti==13.2.86",  # any function calls itself until the stack ends if there is no driver
}


def libcupti(version):
    """The path of that version's library; skips the test with the reason where it cannot be had."""
    folder = CACHE / PACKAGES[version]
    if not folder.exists():
        fetch(PACKAGES[version], folder)
    return next(folder.glob("libcupti.so.*"))


def fetch(package, folder):
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as part:
        got = subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:", "-d", part,
                              package], stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if got.returncode:
            pytest.skip("not run, %s cannot be had: %s" % (package, got.stderr.strip().splitlines()[-1]))
        with zipfile.ZipFile(next(pathlib.Path(part).glob("*.whl"))) as wheel:
            name, = [name for name in wheel.namelist() if "/libcupti.so." in name]
            made = pathlib.Path(part) / "made"
            made.mkdir()
            (made / name.rsplit("/", 1)[1]).write_bytes(wheel.read(name))
        made.rename(folder)
