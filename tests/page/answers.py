"""What the commands say of an input, found by the pointers of the page's figures.

    answers = Answers([log])
    answers.at("stats/op/workers/0/rows/3/calls")   ->  (12, "count")
    answers.tables()                                ->  {"stats/op/workers/0": Table(rows=88, keys=["name", ...]), ...}
"""
import collections
import functools
import json
import re

from harness import tprof

Table = collections.namedtuple("Table", "rows keys")

# What stands in no column is told by a word of its name: saving_us_per_step, memory_bytes.
WORDS = {"us": "us", "at": "us", "time": "us", "duration": "us", "bytes": "bytes", "size": "bytes",
         "percent": "percent"}
NUMBERS_OF = {"thread", "pid", "tid", "device", "rank", "stream", "address", "id", "line"}  # names, not amounts


class Missing(Exception):
    """A pointer to nothing."""


def escape(key):
    return key.replace("~", "~0").replace("/", "~1")


def unescape(key):
    return key.replace("~1", "/").replace("~0", "~")


class Answers:
    def __init__(self, paths, behind=()):
        """`behind`: what a diff compares `paths` with."""
        self.paths, self.behind = [str(p) for p in paths], [str(p) for p in behind]

    @functools.lru_cache(maxsize=None)
    def document(self, name, options=""):
        """What the command says of that name, with options such as "--range 10:20"."""
        words = {"stats": ["stats", "--by", name.partition("/")[2]]}.get(name.split("/")[0], [name])
        if name == "diff":
            words += [*self.paths, "--vs", *self.behind]
        else:
            words += self.paths + self.behind
        if name == "advise":
            words.append("--all")
        done = tprof(*words, *options.split(), "--json")
        if done.returncode not in (0, 4):
            raise Missing("tprof %s: %s" % (" ".join(words), done.stderr))
        return json.loads(done.stdout)

    def split(self, pointer):
        """(name of the document, the keys inside)"""
        keys = [unescape(key) for key in pointer.split("/")]
        return ("/".join(keys[:2]), keys[2:]) if keys[0] == "stats" else (keys[0], keys[1:])

    def at(self, pointer):
        """(value, unit). What is said only with options has them behind the pointer: "stats/... --range 10:20"."""
        pointer, _, options = pointer.partition(" --")
        name, keys = self.split(pointer)
        value, columns = self.document(name, options and "--" + options), None
        for key in keys:
            if isinstance(value, dict) and "columns" in value and "rows" in value:
                columns = value["columns"]
            if isinstance(value, list) and key.isdigit() and int(key) < len(value):
                value = value[int(key)]
            elif isinstance(value, dict) and key in value:
                value = value[key]
            else:
                raise Missing("%s: no %r" % (pointer, key))
        return value, unit_of(keys, columns)

    def names(self):
        """Every document that there is of this input."""
        words = ["stats/" + word for word in stats_words()]
        return ["overview", "steps", "advise", *words, *(["diff"] if self.behind else [])]

    def tables(self):
        found = {}
        for name in self.names():
            collect(self.document(name), name, found)
        return found


def unit_of(keys, columns):
    for column in columns or []:
        if isinstance(column, dict) and column["key"] == keys[-1] and "rows" in keys:
            return "name" if keys[-1] in NUMBERS_OF else column["unit"]
    if columns and not isinstance(columns[0], dict):  # the overview's steps: all but the first are times
        return "us" if keys[-1] != "0" else ""
    if "points" in keys:  # of a memory curve: time, allocated, reserved
        return "us" if keys[-1] == "0" else "bytes"
    if keys[-1] in NUMBERS_OF:
        return "name"
    return next((WORDS[word] for word in keys[-1].split("_") if word in WORDS), "")


def collect(value, pointer, found):
    """All tables in `value`: dicts with columns and rows."""
    if isinstance(value, list):
        value = dict(enumerate(value))
    if not isinstance(value, dict):
        return
    if "columns" in value and isinstance(value.get("rows"), list):
        columns = value["columns"]
        keys = [c["key"] if isinstance(c, dict) else str(i) for i, c in enumerate(columns)]
        found[pointer] = Table(len(value["rows"]), keys)
    for key, inner in value.items():
        if key not in ("rows", "columns", "curve"):
            collect(inner, "%s/%s" % (pointer, escape(str(key))), found)


@functools.lru_cache(maxsize=None)
def stats_words():
    """As `tprof stats` itself lists them."""
    said = tprof("stats", "--by", "?", "/dev/null").stderr
    return re.fullmatch(r".* is none of (.*)", said.strip()).group(1).split(", ")
