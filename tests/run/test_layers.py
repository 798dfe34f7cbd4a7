"""What a file may include is decided by its room, and what a room promises holds (see src/README.md)."""
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Room -> the rooms that it may include besides itself. A room is a folder below src/, or one beside it; of nested ones the
# innermost counts. Two rooms never include each other: test_rooms_lie_in_layers.
COLLECT = ['base', 'record', 'collect/recorder']
SESSION = COLLECT + ['collect/steps', 'collect/session']
STACKS = SESSION + ['collect/native', 'collect/interpreter']
MODEL = ['base', 'json', 'record', 'symbols', 'model']
KINETO = MODEL + ['kineto', 'kineto/read', 'kineto/write']
ANALYSIS = ['base', 'model', 'analysis/basis', 'analysis/time', 'analysis/tables', 'analysis/ranks']
SHOWN = ANALYSIS + ['analysis/advice', 'analysis/diff', 'plugin_compat']
MAY = {
    'base': [],
    'record': ['base'],
    # What runs in the profiled process.
    'collect/recorder': ['base', 'record'],
    'collect/steps': COLLECT,
    'collect/session': COLLECT + ['collect/steps'],
    'collect/native': SESSION,
    'collect/interpreter': SESSION,
    'collect/torch': STACKS,
    'collect/cuda': STACKS,
    'collect/nvtx': SESSION,
    'collect/python': STACKS + ['collect/torch'],
    'collect/start': STACKS + ['collect/torch', 'collect/cuda', 'collect/nvtx', 'collect/python'],
    'shim': STACKS + ['collect/torch', 'collect/cuda', 'collect/nvtx', 'collect/python', 'collect/start'],
    # What reads recordings and traces.
    'symbols': ['base', 'record'],
    'remote': ['base', 'record', 'symbols'],
    'json': ['base'],
    'model': ['base', 'json', 'record', 'symbols'],
    'kineto': MODEL,
    'kineto/read': MODEL + ['kineto'],
    'kineto/write': MODEL + ['kineto', 'kineto/read'],
    'convert': KINETO,
    'check': KINETO,
    'analysis/basis': ['base', 'model'],
    'analysis/time': ['base', 'model', 'analysis/basis'],
    'analysis/tables': ['base', 'model', 'analysis/basis', 'analysis/time'],
    'analysis/ranks': ['base', 'model', 'analysis/basis', 'analysis/time', 'analysis/tables'],
    'analysis/hang': ['base', 'model', 'analysis/basis', 'analysis/ranks'],
    'analysis/advice': ANALYSIS,
    'analysis/diff': ANALYSIS,
    'plugin_compat': ANALYSIS + ['analysis/diff'],
    'report': SHOWN + ['json', 'kineto'],
    'export': MODEL + ['kineto', 'kineto/write', 'analysis/basis', 'analysis/time', 'analysis/tables'],
    'parquet': ['base'],
    'dataset': SHOWN + ['json', 'parquet', 'report'],
    'live': ['base', 'record', 'symbols', 'model', 'analysis/basis', 'analysis/tables'],
    'viewer': [],
    'tools/stack': ['base', 'remote'],
    'tools/view': ['base', 'json', 'kineto/read'],
    'tools/tprof': KINETO + SHOWN + ['analysis/hang', 'remote', 'convert', 'check', 'report', 'export', 'parquet', 'dataset',
                                     'live', 'viewer'],
}

# (rooms, what none of their lines holds, why)
PROMISES = [
    ('base collect shim', r'\bthrow\b|\btry\s*\{|<iostream>|<mutex>|std::mutex', 'no exceptions, no locks of libc'),
    ('analysis plugin_compat report', r'\bkExit[A-Z]', 'the exit code is the command\'s'),
    ('analysis plugin_compat report', r'\b[A-Z]\w+Record\b', 'the format of recordings ends in the model'),
    ('base record collect shim symbols remote model kineto convert check analysis plugin_compat report export parquet dataset '
     'live viewer tools', r'nlohmann/', 'json/json.cpp alone compiles that library'),
]


def sources():
    for top in ('src', 'shim', 'tools/stack', 'tools/view', 'tools/tprof'):
        for path in sorted((ROOT / top).rglob('*')):
            if path.suffix in ('.h', '.cpp', '.def') and 'node_modules' not in path.parts:
                yield path


def room_of(path):
    """The longest name in MAY that the path, relative to src/ or to the top, begins with."""
    parts = path.parts[1:] if path.parts[0] == 'src' else path.parts
    for n in range(len(parts), 0, -1):
        if '/'.join(parts[:n]) in MAY:
            return '/'.join(parts[:n])
    return None


def included(path, text):
    """The files of ours that are included, relative to the top."""
    for name in re.findall(r'^\s*#include "([^"]+)"', text, re.M):
        for base in (path.parent, ROOT / 'src', ROOT / 'tools/tprof', ROOT / 'tools/stack', ROOT / 'tools/view', ROOT):
            if (base / name).exists():
                yield (base / name).resolve().relative_to(ROOT)
                break


def wrong_includes(texts):
    """'FILE includes ROOM' for each include that `texts` ({path: text}) must not have."""
    bad = []
    for path, text in texts.items():
        room = room_of(path.relative_to(ROOT))
        for other in included(path, text):
            target = room_of(other)
            if target is not None and target != room and target not in MAY[room]:
                bad.append(f'{path.relative_to(ROOT)} includes {other}')
    return bad


def test_every_source_lies_in_a_room():
    assert not [path for path in sources() if room_of(path.relative_to(ROOT)) is None]


def test_rooms_lie_in_layers():
    done = []
    while len(done) < len(MAY):
        ready = [room for room in MAY if room not in done and all(r in done for r in MAY[room] if r != room)]
        assert ready, f'in a circle: {[room for room in MAY if room not in done]}'
        done += ready


def test_rooms_include_only_what_lies_below():
    bad = wrong_includes({path: path.read_text() for path in sources()})
    assert not bad, '\n'.join(bad)


def test_an_upward_include_is_found_in_each_room():
    files = list(sources())
    for room in MAY:
        path = next((p for p in files if room_of(p.relative_to(ROOT)) == room), None)
        assert path, f'{room} has no sources'
        above = [r for r in MAY if r != room and r not in MAY[room] and r not in ('shim', 'viewer')]
        for other in above:
            header = next(p for p in files if room_of(p.relative_to(ROOT)) == other and p.suffix == '.h')
            planted = f'#include "{header.relative_to(ROOT)}"\n' + path.read_text()
            assert wrong_includes({path: planted}), f'{room} may include {other}'


def test_rooms_keep_their_promises():
    bad = []
    for path in sources():
        room = room_of(path.relative_to(ROOT))
        for rooms, pattern, why in PROMISES:
            if room.split('/')[0] not in rooms.split():
                continue
            for number, line in enumerate(path.read_text().splitlines(), 1):
                if re.search(pattern, line.split('//')[0]):
                    bad.append(f'{path.relative_to(ROOT)}:{number}: {line.strip()} ({why})')
    assert not bad, '\n'.join(bad)


def test_types_of_headers_have_names_of_their_own():
    """Two types of one name in one namespace would be taken for each other by the linker, where one program has both."""
    found, bad = {}, []
    for path in sources():
        namespace, half = '', room_of(path.relative_to(ROOT)).startswith('collect/')
        for line in path.read_text().splitlines() if path.suffix == '.h' else []:
            if inside := re.match(r'namespace ([\w:]+) \{', line):
                namespace = inside[1]
            elif declared := re.match(r'(?:struct|class)(?: alignas\(\w+\))? (\w+)(?: final)?(?: : .*)? \{', line):
                first = found.setdefault((half, namespace, declared[1]), path)
                if first != path:
                    bad.append(f'{namespace}::{declared[1]}: {first.relative_to(ROOT)}, {path.relative_to(ROOT)}')
    assert len(found) > 300 and not bad, '\n'.join(bad)
