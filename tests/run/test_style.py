"""What every source keeps to: the formatting of .clang-format, the columns of .editorconfig, no trailing blanks."""
import pathlib
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ('src', 'shim', 'include', 'tools', 'tests')
COLUMNS = {'.h': 120, '.cpp': 120, '.c': 120, '.build': 120, '.ts': 120, '.tsx': 120, '.mjs': 120, '.py': 128}
VERSION = 14  # of clang-format: others lay some lines out differently


def sources(suffixes):
    found = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob('*'))
             if path.suffix in suffixes and path.is_file() and 'node_modules' not in path.parts]
    assert len(found) > 50
    return found


def test_c_and_cpp_are_formatted():
    if not shutil.which('clang-format'):
        pytest.skip('there is no clang-format')
    said = subprocess.run(['clang-format', '--version'], capture_output=True, text=True).stdout
    if int(re.search(r'version (\d+)', said).group(1)) != VERSION:
        pytest.skip(f'clang-format is not version {VERSION}')
    done = subprocess.run(['clang-format', '--dry-run', '--Werror', *sources({'.h', '.cpp', '.c'})], cwd=ROOT,
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:4000]


def test_lines_fit_and_end_clean():
    bad = []
    for path in sources(COLUMNS):
        text = path.read_text()
        for number, line in enumerate(text.splitlines(), 1):
            too_long = len(line) > COLUMNS[path.suffix] and 'R"(' not in line
            if too_long or line != line.rstrip():
                bad.append(f'{path.relative_to(ROOT)}:{number}: {len(line)} columns')
        if text and not text.endswith('\n'):
            bad.append(f'{path.relative_to(ROOT)}: no newline at the end')
    assert not bad, '\n'.join(bad)
