"""What two traces of the same work say differently: each function gives a list of lines, empty when they agree.

`mine` is tprof's, `theirs` the reference's; both traces.Trace. Times, ids and addresses differ between two runs and are
not compared; names, counts, bytes, launch parameters and who launched what must be equal.
"""
from collections import Counter

from traces import argument, begin_ns, end_ns

LIMIT_PERCENT = 1.0
GEOMETRY = ("grid", "block", "registers per thread", "shared memory", "blocks per SM", "warps per SM")
OCCUPANCY = "est. achieved occupancy %"
KINETO_SHARED_LIMIT = 48 << 10  # above it Kineto says an occupancy of 0


def counters(what, mine, theirs):
    """Two Counters, entry by entry."""
    return ["%s: %s: %d in tprof's, %d in the reference" % (what, key, mine[key], theirs[key])
            for key in sorted(mine.keys() | theirs.keys(), key=str) if mine[key] != theirs[key]]


def percent(mine, theirs):
    return 100.0 * (mine - theirs) / theirs if theirs else (0.0 if not mine else float("inf"))


def amounts(what, mine, theirs, limit=LIMIT_PERCENT):
    """Two numbers that may differ by `limit` per cent."""
    if abs(percent(mine, theirs)) <= limit:
        return []
    return ["%s: %g in tprof's, %g in the reference (%+.2f %%, limit %g)" % (
        what, mine, theirs, percent(mine, theirs), limit)]


def names(events):
    return Counter(e["name"] for e in events)


def summed_us(events):
    return sum(e["dur"] for e in events)


def something(mine, theirs):
    """An empty trace equals an empty trace, and says nothing."""
    return [] if mine.kernels and theirs.kernels else ["%d kernels in tprof's, %d in the reference" % (
        len(mine.kernels), len(theirs.kernels))]


def kernels(mine, theirs):
    return something(mine, theirs) + counters("kernel", names(mine.kernels), names(theirs.kernels))


def geometry(mine, theirs):
    def of(trace, keys):
        return Counter((e["name"],) + tuple(rounded(argument(e, key)) for key in keys)
                                   for e in trace.kernels)

    def rounded(value):
        return tuple(value) if isinstance(value, list) else round(value, 3) if isinstance(value, float) else value

    return counters("launch of", of(mine, GEOMETRY), of(theirs, GEOMETRY)) + occupancy(mine, theirs)


def occupancy(mine, theirs):
    """Kernels that use more shared memory than Kineto can reckon with are compared with nothing."""
    def of(trace):
        return Counter((e["name"], argument(e, OCCUPANCY)) for e in trace.kernels
                                   if (argument(e, "shared memory") or 0) <= KINETO_SHARED_LIMIT)
    return counters("occupancy of", of(mine), of(theirs))


def copies(mine, theirs):
    def of(trace):
        return Counter((e["name"], argument(e, "bytes")) for e in trace.copies + trace.sets)
    return counters("copy or set", of(mine), of(theirs))


def streams(mine, theirs):
    """How much each stream had to do, whatever its number."""
    def of(trace):
        return sorted(Counter((argument(e, "device"), argument(e, "stream")) for e in trace.work).values())
    return [] if of(mine) == of(theirs) else ["events per stream: %s in tprof's, %s in the reference" % (
        of(mine), of(theirs))]


def attribution(mine, theirs):
    """Which operator launched which kernel."""
    def of(trace):
        return Counter("%s by %s" % (e["name"], (trace.operator_of(e) or {"name": "nobody"})["name"])
                                   for e in trace.kernels)
    return counters("kernel", of(mine), of(theirs))


def memory(mine, theirs):
    def of(trace):
        return Counter(argument(e, "Bytes") for e in trace.memory())
    return counters("GPU memory event of bytes", of(mine), of(theirs))


def peak(trace, bytes_peak):
    """Of GPU memory in a trace, against what torch.cuda.max_memory_allocated said."""
    totals = [argument(e, "Total Allocated") for e in trace.memory()]
    return amounts("peak of GPU memory", max(totals, default=0), bytes_peak)


def launches(trace, everything_in_operators=True):
    """Of one trace: each piece of GPU work has its call, its arrow and its operator, and they lie as they must."""
    found = []
    for event in trace.work:
        call = trace.call_of(event)
        if call is None:
            found.append("%s: no call launched it" % event["name"])
            continue
        if begin_ns(event) < begin_ns(call):
            found.append("%s: begins before its launch, %s" % (event["name"], call["name"]))
        found += arrow(trace, event, call)
        around = trace.around(call)
        said = trace.operator_of(event)
        if around is None and everything_in_operators:
            found.append("%s: %s lies in no operator" % (event["name"], call["name"]))
        elif said is not around:
            found.append("%s: External id names %s, its launch lies in %s" % (
                event["name"], (said or {"name": "nothing"})["name"], (around or {"name": "nothing"})["name"]))
    return summary(found)


def arrow(trace, event, call):
    """It comes in where the work begins on its stream, and left within the call on the call's thread."""
    origin = trace.arrow_to(event)
    if origin is None:
        return ["%s: no arrow comes in" % event["name"]]
    _, tid, at = origin
    if tid != call["tid"] or not begin_ns(call) <= at <= end_ns(call):
        return ["%s: its arrow does not come from its launch, %s" % (event["name"], call["name"])]
    return []


def summary(lines):
    """Equal lines once, with their number."""
    return ["%s%s" % (line, " (%d times)" % n if n > 1 else "") for line, n in Counter(lines).items()]


def own_counts(trace, facts):
    """What a program counted itself: {"kernels": {part of a name: count}, "copies": {part of a name: [count, bytes]},
    "sets": [count, bytes]}."""
    found = []
    for part, count in facts.get("kernels", {}).items():
        seen = sum(part in e["name"] for e in trace.kernels)
        if seen != count:
            found.append("kernel %s: %d in tprof's, the program launched %d" % (part, seen, count))
    for part, expected in facts.get("copies", {}).items():
        found += count_and_bytes("copy " + part, [e for e in trace.copies if part in e["name"]], expected)
    if "sets" in facts:
        found += count_and_bytes("set", trace.sets, facts["sets"])
    return found


def count_and_bytes(what, events, expected):
    seen = [len(events), sum(argument(e, "bytes") for e in events)]
    return [] if seen == list(expected) else ["%s: [count, bytes] %s in tprof's, the program did %s" % (
        what, seen, list(expected))]


def witnessed(trace, witness):
    """tprof's trace of a whole program against the independent count of witness.cpp: {"kernels": {mangled name: [count,
    ns]}, "copies": {kind: [count, bytes]}, "sets": [count, bytes], "lost": n}. Names are compared by their counts:
    those of a trace are demangled."""
    mine = sorted(names(trace.kernels).values())
    theirs = sorted(count for count, _ in witness["kernels"].values())
    found = [] if mine and mine == theirs else ["launches per kernel: %s in tprof's, %s in the witness's" % (
        mine, theirs)]
    found += amounts("number of copies", len(trace.copies), sum(n for n, _ in witness["copies"].values()), 0)
    found += amounts("bytes copied", sum(argument(e, "bytes") for e in trace.copies),
                     sum(b for _, b in witness["copies"].values()), 0)
    found += count_and_bytes("set", trace.sets, witness["sets"])
    return found + (["the witness itself lost %d records" % witness["lost"]] if witness["lost"] else [])


def overlapping(trace, part):
    """Kernels with this in their name ran at the same time on two streams."""
    chosen = [e for e in trace.kernels if part in e["name"]]
    for i, first in enumerate(chosen):
        for second in chosen[i + 1:]:
            if begin_ns(second) < end_ns(first) and argument(first, "stream") != argument(second, "stream"):
                return []
    return ["no two of %d kernels %s ran at the same time on two streams" % (len(chosen), part)]
