"""A script's own clock: when its iterations end, stamped by the script's process itself, in the manner of
`batch_time.update(time.time() - end)`. See "The clock" in README.md.

Bare, `Loops` finds the loop whose turns are the iterations. Under tprof, `start` has the sources of the line and of the
loop rewritten as they are loaded: stamps "enter" before the loop, "end" at the end of its body and before each
`continue`, "leave" after it, and "turn" before the line that the truth counts. Loops around that one get stamps, too.
"""
import ast
import atexit
import builtins
import collections
import importlib.machinery
import json
import os
import runpy
import statistics
import time

STAMP = "_real_scripts_stamp"
LOOPS = ast.For, ast.AsyncFor, ast.While


def lines_of(path, text):
    with open(path, encoding="utf-8") as file:
        return [i for i, line in enumerate(file, 1) if line.strip().startswith(text)]


def loops_around(path, number):
    """The lines of the loops in the bodies of which a line is, within its function; the innermost is the first."""
    try:
        with open(path, encoding="utf-8") as file:
            node = ast.parse(file.read())
    except (OSError, SyntaxError, ValueError):
        return []
    loops = []
    while node:
        inside = None
        for child in ast.iter_child_nodes(node):
            if getattr(child, "lineno", number + 1) <= number <= getattr(child, "end_lineno", 0):
                inside = child
                if isinstance(node, LOOPS) and child in node.body:
                    loops.insert(0, node.lineno)
                if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
                    loops = []
        node = inside
    return loops


class Loops:
    """Which loop goes round from one turn of a line to the next: the innermost that is still running."""

    def __init__(self):
        self.frames = []
        self.known = {}  # (file, line) -> lines of loops
        self.votes = collections.Counter()

    def turn(self, frame):
        frames, before = [], self.frames
        while frame:
            frames.append(frame)
            frame = frame.f_back
        self.frames = frames
        for frame in frames:
            if not any(frame is other for other in before):
                continue
            at = frame.f_code.co_filename, frame.f_lineno
            if at not in self.known:
                self.known[at] = loops_around(*at)
            if self.known[at]:
                self.votes[at[0], self.known[at][0]] += 1
                return

    def usual(self, work):
        self.frames = []
        if not self.votes:
            return None
        (path, number), _ = self.votes.most_common(1)[0]
        return [path.replace(work + "/", "{work}/"), number]


class Stamps(ast.NodeTransformer):
    """Puts the stamps into a module."""

    def __init__(self, turns, loops):
        self.turns, self.loops = turns, loops
        self.within = 0  # the loop that a `continue` belongs to

    def visit(self, node):
        if isinstance(node, ast.Continue) and self.within in self.loops:
            return [stamp("end", node, self.within), node]
        outside = self.within
        if isinstance(node, LOOPS):
            self.within = node.lineno
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            self.within = 0
        self.generic_visit(node)
        self.within = outside
        if isinstance(node, LOOPS) and node.lineno in self.loops:
            node.body.append(stamp("end", node.body[-1], node.lineno))
            return [stamp("enter", node, node.lineno), node, stamp("leave", node, node.lineno)]
        if isinstance(node, ast.stmt) and node.lineno in self.turns:
            self.turns.remove(node.lineno)  # a line may hold several statements
            return [stamp("turn", node), node]
        return node


def stamp(kind, where, loop=0):
    call = ast.parse(f"{STAMP}({kind!r}, {loop})").body[0]
    for node in ast.walk(call):
        if hasattr(node, "lineno"):
            ast.copy_location(node, where)
    return call


def start(file, loop, lines):
    """Writes the stamps into a file when this process exits; `lines`: (end of path, first words)."""
    stamps, process, now = [], os.getpid(), time.perf_counter_ns
    told = {"begin": [time.time_ns(), now()], "loops": [loop[1], *loops_around(*loop)], "stamps": stamps}
    setattr(builtins, STAMP, lambda kind, loop: stamps.append((kind, loop, now())))

    def wanted(path):
        return path == loop[0] or any(path == line[0] or path.endswith("/" + line[0]) for line in lines)

    def rewritten(source, path):
        turns = {number for line in lines if path == line[0] or path.endswith("/" + line[0])
                 for number in lines_of(path, line[1])}
        return Stamps(turns, told["loops"] if path == loop[0] else []).visit(ast.parse(source, path))

    def compile_script(source, path, mode, *more, **words):
        return compile(rewritten(source, path) if wanted(path) else source, path, mode, *more, **words)

    plain = importlib.machinery.SourceFileLoader.get_code

    def get_code(self, name):
        path = self.get_filename(name)
        if not wanted(path):
            return plain(self, name)
        return compile(rewritten(self.get_data(path), path), path, "exec", dont_inherit=True)

    def write():
        if os.getpid() == process:
            with open(file, "w", encoding="utf-8") as output:
                json.dump(told, output)
    runpy.compile = compile_script
    importlib.machinery.SourceFileLoader.get_code = get_code
    atexit.register(write)


def iterations(file):
    """{number: (begin, end)} in us of the wall clock. The one in which turn N of the line lies begins where the one
    before it ended, or where the loop was entered. Those of more or fewer bodies than usual are left out: a loop whose
    first bodies have no update, or whose last have too few for one."""
    with open(file, encoding="utf-8") as stamps:
        told = json.load(stamps)
    seen = collections.Counter((kind, loop) for kind, loop, _ in told["stamps"])
    for loop in told["loops"]:  # a loop over micro batches, inside of an iteration, is entered for each turn
        if seen["enter", loop] < seen["turn", 0]:
            break
    offset = told["begin"][0] - told["begin"][1]
    found, begin, turns, last, bodies = {}, None, 0, -1, 0
    for kind, of, at in told["stamps"]:
        if kind == "turn":
            last += 1
            turns += 1
        elif of == loop and kind == "enter":
            begin, turns, bodies = at, 0, 0
        elif of == loop:
            bodies += 1
            if turns == 1 and begin is not None:
                found[last] = (begin + offset, at + offset, bodies)
            if turns:
                begin, turns, bodies = at, 0, 0
    usual = statistics.median_low([bodies for *_, bodies in found.values()]) if found else 0
    return {number: (begin / 1000, end / 1000) for number, (begin, end, bodies) in found.items() if bodies == usual}
