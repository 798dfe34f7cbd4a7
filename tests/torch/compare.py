"""Traces as text, so that two of them can be compared: line by line, without times, ids and addresses.

Threads are called main, thread 1, thread 2 ... in the order of their first operator.
"""
import bisect
import dataclasses
import difflib
import json

INPUTS = ("Input Dims", "Input type", "Input Strides", "Concrete Inputs")
SEQUENCE = ("Sequence number", "Fwd thread id")
OLDER = "an older block"


def nanoseconds(event):
    return round(event["ts"] * 1000)


def end(event):
    return nanoseconds(event) + round(event["dur"] * 1000)


@dataclasses.dataclass
class Op:
    event: dict
    thread: str
    number: int  # on its thread, in order of begin
    parent: "Op" = None

    @property
    def depth(self):
        return self.parent.depth + 1 if self.parent else 0

    def __str__(self):
        return "%s %d %s" % (self.thread, self.number, self.event["name"])


def facts(*keys):
    """A describer: these arguments of an event. What says nothing (none, empty, -1, 0) is as good as absent."""
    def describe(event):
        values = ((key, event["args"].get(key)) for key in keys)
        return " ".join("%s=%s" % (key, json.dumps(v)) for key, v in values if v not in (None, [], -1, 0))
    return describe


class Outline:
    """The operators of a trace, labels and ProfilerStep spans among them, as the trees that their times make."""

    def __init__(self, trace):
        self.trace = trace
        self.threads = {}  # tid -> what it is called
        self.ops = {}      # tid -> Op in order of begin
        for event in sorted(trace.step_spans() + trace.ops(), key=lambda e: (nanoseconds(e), -e["dur"])):
            name = "main" if event["tid"] == event["pid"] else "thread %d" % (len(self.ops.keys() - {event["pid"]}) + 1)
            ops = self.ops.setdefault(event["tid"], [])
            thread = self.threads.setdefault(event["tid"], name)
            parent = ops[-1] if ops else None
            while parent and end(parent.event) <= nanoseconds(event):
                parent = parent.parent
            ops.append(Op(event, thread, len(ops), parent))

    def all(self):
        return [op for tid in sorted(self.ops, key=self.threads.get) for op in self.ops[tid]]

    def lines(self, describe=lambda event: ""):
        """Each operator on a line, indented by its depth, and what describe says of it."""
        return [" ".join([op.thread, "  " * op.depth + op.event["name"], op.event["cat"], describe(op.event)]).rstrip()
                for op in self.all()]

    def around(self, event):
        """The innermost operator around an instant on its thread; None outside of all."""
        ops, at = self.ops.get(event["tid"], []), nanoseconds(event)
        found = bisect.bisect_right(ops, at, key=lambda op: nanoseconds(op.event))
        op = ops[found - 1] if found else None
        while op and end(op.event) <= at:
            op = op.parent
        return op

    def flows(self):
        """Each link from an operator to its backward node, in the order of the operators."""
        at = {(tid, nanoseconds(op.event)): op for tid, ops in self.ops.items() for op in ops}
        ends = {(e["ph"], e["id"]): e for e in self.trace.events if e.get("cat") == "fwdbwd"}
        starts = sorted((e for (ph, _), e in ends.items() if ph == "s"), key=nanoseconds)
        return ["%s -> %s" % tuple(at.get((e["tid"], nanoseconds(e))) for e in (start, ends["f", start["id"]]))
                for start in starts]

    def memory(self):
        """Allocations and releases, each with its thread and the operator around it. A release says which
        allocation of this trace it ends; that of an older block, OLDER."""
        alive, found = {}, []
        for event in memory(self.trace):
            args = event["args"]
            if args["Bytes"] > 0:
                block = alive[args["Addr"]] = "block %d" % sum(" +" in line for line in found)
            else:
                block = alive.pop(args["Addr"], OLDER)
            found.append("%s %+d bytes, %s, device %d:%d, reserved %d, in %s" % (
                self.threads[event["tid"]], args["Bytes"], block, args["Device Type"], args["Device Id"],
                args["Total Reserved"], self.around(event)))
        return found


def without_python_scalars(trace):
    """The trace, less the scalar inputs of autograd Functions written in Python. torch looks at those for its own
    profiler alone (unpack_input in torch/csrc/autograd/python_function.cpp); other observers are given the tensors."""
    for event in trace.ops():
        if "::" not in event["name"] and event["cat"] == "cpu_op" and "Input type" in event["args"]:
            tensors = [i for i, kind in enumerate(event["args"]["Input type"]) if kind != "Scalar"]
            event["args"].update({key: [event["args"][key][i] for i in tensors] for key in INPUTS})
    return trace


def memory(trace):
    """[memory] events in the order of time."""
    return sorted((e for e in trace.events if e["name"] == "[memory]"), key=nanoseconds)


def total_jumps(events):
    """Pairs of [memory] events between which the running total changes by something else than the second's bytes."""
    return [(before["args"], after["args"]) for before, after in zip(events, events[1:])
            if after["args"]["Total Allocated"] != before["args"]["Total Allocated"] + after["args"]["Bytes"]]


def assert_same(mine, theirs):
    """Two lists of lines are equal; their diff if not."""
    diff = list(difflib.unified_diff(theirs, mine, "theirs", "tprof", n=2, lineterm=""))
    assert not diff, "\n".join(diff[:100])
