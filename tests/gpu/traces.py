"""A trace as the GPU checks see it: what the GPU did, the calls that launched it, and the operators around those calls.

    trace = Trace(path)
    trace.kernels, trace.copies, trace.sets, trace.work   events of the GPU, in order of time
    trace.call_of(event)      the call that launched it, None if there is none
    trace.operator_of(event)  the operator that its External id names, None if there is none
    trace.around(call)        the innermost operator around a call on its thread, by time alone
"""
import bisect
import collections
import functools
import gzip
import json
import pathlib

OPERATORS = ("cpu_op", "user_annotation")
CALLS = ("cuda_runtime", "cuda_driver")
WORK = ("kernel", "gpu_memcpy", "gpu_memset")


def begin_ns(event):
    return round(event["ts"] * 1000)


def end_ns(event):
    return begin_ns(event) + round(event["dur"] * 1000)


def argument(event, name):
    return event.get("args", {}).get(name)


class Trace:
    def __init__(self, source):
        """Of a file, or of what json.load makes of one."""
        self.data = source if isinstance(source, dict) else load(source)
        self.events = self.data["traceEvents"]
        self.ranges = sorted((e for e in self.events if e.get("ph") == "X" and "ts" in e), key=begin_ns)

    def of(self, *categories):
        return [e for e in self.ranges if e.get("cat") in categories]

    @functools.cached_property
    def work(self):
        return self.of(*WORK)

    @functools.cached_property
    def kernels(self):
        return self.of("kernel")

    @functools.cached_property
    def copies(self):
        return self.of("gpu_memcpy")

    @functools.cached_property
    def sets(self):
        return self.of("gpu_memset")

    @functools.cached_property
    def operators(self):
        return self.of(*OPERATORS)

    @functools.cached_property
    def calls(self):
        return self.of(*CALLS)

    @functools.cached_property
    def _calls_by_correlation(self):
        found = {}
        for call in self.calls:  # the outermost of a runtime call and the driver call inside it comes first
            found.setdefault(argument(call, "correlation"), call)
        return found

    @functools.cached_property
    def _operators_by_id(self):
        return {argument(e, "External id"): e for e in self.operators if argument(e, "External id") is not None}

    @functools.cached_property
    def _operators_by_thread(self):
        found = collections.defaultdict(list)
        for event in sorted(self.operators, key=lambda e: (begin_ns(e), -e["dur"])):
            found[event["tid"]].append(event)
        return found

    @functools.cached_property
    def _arrows(self):
        """Flows from calls to the GPU: {id: where it leaves}, {where it comes in: id}; a place is (pid, tid, ns)."""
        leave, come_in = {}, {}
        for event in self.events:
            if event.get("cat") == "ac2g":
                place = event["pid"], event["tid"], begin_ns(event)
                if event["ph"] == "s":
                    leave[event["id"]] = place
                elif event["ph"] == "f":
                    come_in[place] = event["id"]
        return leave, come_in

    def arrow_to(self, work):
        """(pid, tid, ns) from where the arrow that ends at the begin of this work comes; None: there is none."""
        leave, come_in = self._arrows
        at = argument(work, "device"), argument(work, "stream"), begin_ns(work)
        return leave.get(come_in.get(at))

    def call_of(self, work):
        return self._calls_by_correlation.get(argument(work, "correlation"))

    def operator_of(self, event):
        return self._operators_by_id.get(argument(event, "External id") or None)

    def around(self, call):
        operators = self._operators_by_thread[call["tid"]]
        at = bisect.bisect_right(operators, begin_ns(call), key=begin_ns) - 1
        while at >= 0 and end_ns(operators[at]) < end_ns(call):
            at -= 1  # one that ended before is not around; its elder may be
        return operators[at] if at >= 0 else None

    def memory(self, device_type=1):
        """[memory] events in the order of time; 1: of GPUs."""
        found = [e for e in self.events if e.get("name") == "[memory]" and argument(e, "Device Type") == device_type]
        return sorted(found, key=begin_ns)

    def steps(self):
        return sorted(int(e["name"].split("#")[1]) for e in self.of("user_annotation")
                      if e["name"].startswith("ProfilerStep#"))


def load(path):
    with gzip.open(path) if str(path).endswith(".gz") else open(path, "rb") as file:
        return json.load(file)


def files(directory):
    """The finished traces of a directory."""
    return sorted(p for p in pathlib.Path(directory).glob("*.pt.trace.json*") if not p.name.endswith(".tmp"))
