"""What a file may include is decided by its layer (see src/README.md)."""
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2] / 'src'
MAY = {'base': {'base'}, 'record': {'base', 'record'}, 'collect': {'base', 'record', 'collect'},
       'model': {'base', 'record', 'model'}, 'kineto': {'base', 'record', 'model', 'kineto'},
       'analysis': {'base', 'model', 'analysis'}, 'report': {'base', 'model', 'analysis', 'report'},
       'viewer': {'viewer'}}


def test_layers_include_only_what_lies_below():
    bad, seen = [], 0
    for path in ROOT.rglob('*'):
        if path.suffix not in ('.h', '.cpp'):
            continue
        layer = path.relative_to(ROOT).parts[0]
        for include in re.findall(r'#include "(\w+)/', path.read_text()):
            seen += 1
            if include not in MAY[layer]:
                bad.append(f'{path.relative_to(ROOT)} includes {include}/')
    assert seen > 50 and not bad, bad
