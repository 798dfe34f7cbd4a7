"""The build backend of pyproject.toml: meson-python, and from the package index only what is missing (fetched.py).

Without a hook of its own for metadata: that would configure everything, and fetch what the page is made of, once more.
"""
import mesonpy
from mesonpy import build_editable, build_sdist, build_wheel  # noqa: F401

import fetched


def get_requires_for_build_wheel(config_settings=None):
    return mesonpy.get_requires_for_build_wheel(config_settings) + fetched.lacking()


def get_requires_for_build_editable(config_settings=None):
    return mesonpy.get_requires_for_build_editable(config_settings) + fetched.lacking()


def get_requires_for_build_sdist(config_settings=None):
    """A source distribution carries headers, whatever the machine has that makes it."""
    return mesonpy.get_requires_for_build_sdist(config_settings) + sorted({*fetched.lacking(), fetched.HEADERS})
