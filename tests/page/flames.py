"""What a flame graph says, computed from `tprof stats --by flame --json` in another way than the page does: as a list of
stacks with weights, and not as a tree.

    stacks = Stacks(table, rule)         the rule of a derived figure: see src/viewer/flame/choice.ts
    stacks.path(["op aten::mm"], cost)   of all stacks that begin so
"""
import collections
import json
import re

LINE = re.compile(r"(.*)\((\d+)\): (.*)", re.S)
LEFT_OUT = "left_out contexts that are not in this page"
KINDS = {"python": "Python function", "native": "Native function", "module": "nn.Module", "op": "Operator",
         "label": "User annotation", "step": "Step", "call": "CUDA call", "kernel": "Kernel", "copy": "Copy",
         "set": "Memory set", "graph": "CUDA graph", "outside": "Outside of all contexts",
         "left_out": "Left out of the page"}
LIBRARIES = {"step": "steps", "label": "user annotations", "call": "CUDA calls", "kernel": "kernels", "copy": "copies",
             "set": "memory sets", "graph": "CUDA graphs", "outside": "outside", "left_out": "left out"}


def key_of(name, kind, lines):
    found = LINE.fullmatch(name) if kind in ("python", "native") else None
    return "%s %s" % (kind, "%s: %s" % found.group(1, 3) if found and not lines else name)


def library_of(name, kind):
    if kind in LIBRARIES:
        return LIBRARIES[kind]
    if kind == "op":
        space = re.match(r"([A-Za-z0-9_-]+)::", name)
        return space.group(1) if space else "autograd" if re.search(r"Backward\d*$", name) else "operators"
    if kind == "module":
        return re.sub(r"_\d+$", "", name.removeprefix("nn.Module: "))
    found = LINE.fullmatch(name)
    if kind == "native":
        image = re.match(r"([^:]+?)(?:\+0x[0-9a-f]+$|: )", name)
        place = found.group(1) if found else image.group(1) if image else "native"
        return re.sub(r"\.so[\d.]*$", ".so", re.split(r"[/\\]", place)[-1])
    place = found.group(1) if found else name
    package = re.match(r".*[/\\](?:site|dist)-packages[/\\]([^/\\]+)", place)
    if package:
        return re.sub(r"\.py$", "", package.group(1))
    if re.search(r"[/\\]lib[/\\]python\d|<frozen |^<built-in|<string>", place):
        return "Python"
    return "torch" if re.match(r"torch[/\\]", place) else "program"


def own_key(key):
    """The column of what a context itself costs."""
    return re.sub(r"_total(?=_|$)", "_self", key)


class Stacks:
    def __init__(self, table, rule):
        keys = {c["key"] for c in table["columns"]}
        self.costs = [key for key in keys if key == "calls" or own_key(key) != key and own_key(key) in keys]
        self.names, self.kinds, self.libraries = collections.defaultdict(set), {}, {}
        rows, self.stacks = table["rows"], []
        below = collections.defaultdict(list)
        for row in rows:
            if row["parent"] is not None:
                below[row["parent"]].append(row)
        paths = []
        for number, row in enumerate(rows):
            if row["parent"] is None:
                paths.append(((), str("none" if row["thread"] is None else row["thread"])))
            else:
                outer, thread = paths[row["parent"]]
                key = key_of(row["name"], row["kind"], rule["lines"])
                self.names[key].add(row["name"])
                self.kinds[key] = row["kind"]
                self.libraries.setdefault(key, library_of(row["name"], row["kind"]))
                paths.append((outer + (key,), thread))
            path, thread = paths[number]
            self.add(path, thread, {c: row[own_key(c)] for c in self.costs}, rule)
            if row["left_out"]:
                rest = {c: row[c] - row[own_key(c)] - sum(one[c] for one in below[number]) for c in self.costs}
                rest = {cost: weight for cost, weight in rest.items() if weight > 1e-6}
                if rest:
                    self.add(path + (LEFT_OUT,), thread, rest, rule)
        self.names[LEFT_OUT].add(LEFT_OUT.partition(" ")[2])
        self.kinds[LEFT_OUT], self.libraries[LEFT_OUT] = "left_out", "left out"
        self.sums, self.own = collections.Counter(), collections.Counter()  # by frame and cost
        for path, weights in self.stacks:
            for cost, weight in weights.items():
                for frame in set(path):
                    self.sums[frame, cost] += weight
                if path:
                    self.own[path[-1], cost] += weight

    def add(self, path, thread, weights, rule):
        is_one = lambda frame, of: frame in of or "library " + self.libraries.get(frame, "left out") in of
        if rule["thread"] not in ("", thread) or any(is_one(frame, rule["without"]) for frame in path):
            return
        self.stacks.append((tuple(frame for frame in path if not is_one(frame, rule["hidden"])), weights))

    def shaped(self, shape, of):
        """The stacks as a graph of this shape has them."""
        for path, weights in self.stacks:
            if shape == "path":
                yield path, weights
            elif shape == "inverted":
                yield path[::-1], weights
            elif of in path:
                first = path.index(of)
                yield (path[first::-1] if shape == "callers" else path[first:]), weights

    def of_path(self, path, cost, shape="path", of=None, own=False):
        path = tuple(path)
        return sum(weights.get(cost, 0) for stack, weights in self.shaped(shape, of)
                   if (stack == path if own else stack[:len(path)] == path))

    def matched(self, text, cost):
        text = text.strip().lower()
        found = {key for key in self.kinds
                 if any(text in ("%s\n%s" % (name, self.libraries[key])).lower() for name in self.names[key])}
        return sum(weights.get(cost, 0) for path, weights in self.stacks if found & set(path))


made = {}


def figure(answers, rule, _):
    """What the rule of a derived figure says: (value, unit)."""
    rule = json.loads(rule["flame"])
    table, _ = answers.at(rule["table"])
    state = id(answers), json.dumps([rule[key] for key in ("table", "thread", "lines", "hidden", "without")])
    if state not in made:
        made[state] = Stacks(table, rule)
    stacks, cost = made[state], rule["cost"]
    if cost == "n_rows":
        return len({frame for path, _ in stacks.stacks for frame in path}), "count"
    if "function" in rule:
        frame = rule["function"]
        if cost in ("name", "kind", "library"):
            texts = {"name": [frame.partition(" ")[2]], "kind": [KINDS[stacks.kinds[frame]]],
                     "library": [stacks.libraries[frame]]}
            return texts[cost], "text"
        if cost in stacks.costs and cost != "calls":
            value = stacks.sums[frame, cost]
        else:
            value = stacks.own[frame, re.sub(r"_self(?=_|$)", "_total", cost)]
    elif "matched" in rule:
        value = stacks.matched(rule["matched"], cost)
        if rule["share"]:
            return 100 * value / stacks.of_path([], cost), "percent"
    else:
        value = stacks.of_path(rule["path"], cost, rule["shape"], rule.get("of"), rule["what"] == "self")
        if rule["what"] == "share":
            return 100 * value / stacks.of_path([], cost), "percent"
    return value, next(c["unit"] for c in table["columns"] if c["key"] == cost)
