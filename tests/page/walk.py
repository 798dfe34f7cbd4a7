"""Walks all figures of a view and compares them with what the commands say of the same input."""
import json
import re
import urllib.parse

import flames
from answers import Missing, escape
from values import wrong

# In the page: texts with a digit that are in no figure and in nothing that names or explains, and where they stand.
STRAY = r"""
  const labels = '[data-figure], [data-derived], [data-label], script, style, template, select, option, dialog, footer, ' +
    'a, th, dt, .name, .flame, [role=status], .tick, .u-axis, .u-legend';
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), found = [];
  while (texts.nextNode()) {
    const element = texts.currentNode.parentElement;
    if (/\d/.test(texts.currentNode.data) && !element.closest(labels) && element.getClientRects().length)
      found.push([texts.currentNode.data.trim(), element.tagName + '.' + element.className]);
  }
  return found;
"""


def differences(page, answers):
    """(what is wrong with the page's figures, the pointers seen in tables)"""
    found, seen = [], set()
    for figure in page.figures():
        if figure.in_table:
            seen.add(figure.pointer)
        try:
            value, unit = answers.at(figure.pointer)
        except Missing as why:
            found.append(str(why))
            continue
        if isinstance(value, (dict, list)) or not same(figure.value, value):
            found.append("%s: the page holds %s, the command says %s"
                         % (figure.pointer, json.dumps(figure.value)[:200], json.dumps(value)[:200]))
            continue
        why = wrong(figure.text, value, unit)
        if why:
            found.append("%s: %r for %s (%s): %s"
                         % (figure.pointer, figure.text[:120], json.dumps(value)[:120], unit, why))
    return found, seen


def total(answers, rule, _):
    """The sum of a column; of what is behind its largest values; of the rows that say something else."""
    table, _ = answers.at(rule["table"])
    rows = table["rows"]
    if rule["column"]:
        rows = [row for row in rows if (row[rule["column"]] or "null") == rule["wanted"]]
    values = sorted((row[rule["key"]] for row in rows if row[rule["key"]] is not None), reverse=True)
    return sum(values[int(rule["most"] or 0):]), next(c["unit"] for c in table["columns"] if c["key"] == rule["key"])


def minor(answers, _, address):
    recommendations, _ = answers.at("advise/workers/%s/recommendations" % address.get("worker", ["0"])[0])
    return sum(one["minor"] for one in recommendations), "count"


def share(answers, rule, _):
    """What a part is of a whole; which part, is not said, so any part of the same row will do."""
    whole, _ = answers.at(rule["whole"])
    row, _ = answers.at(rule["whole"].rpartition("/")[0])
    return [100 * value / whole for value in row.values() if isinstance(value, (int, float))], "percent"


def peak(answers, rule, address):
    """Where a curve is highest in a range: [time, bytes]. What it holds at the range's begin counts too. Between the few
    points that are printed of it, what all blocks say."""
    curve, _ = answers.at(rule["curve"])
    worker, _, device = rule["curve"].rpartition("/curve/")
    begin, end = (round(1000 * float(one)) for one in address["range"][0].split(":"))
    points = [(round(1000 * at), bytes) for at, bytes, _ in curve["points"]]
    first = ([point for point in points if point[0] < begin] or points[:1])[-1]
    changes = sorted((round(1000 * block[key]), sign * block["size"]) for block in answers.at(worker + "/events/rows")[0]
                     for key, sign in (("allocation_time", 1), ("release_time", -1))
                     if block["device"] == device and block[key] is not None)
    values, now = [first], first[1]
    for at, size in changes:
        if first[0] < at <= end:
            now += size
            values.append((at, now))
    before = [bytes for at, bytes in values if at < begin]
    inside = [(at / 1000, bytes) for at, bytes in values if begin <= at <= end]
    return max([(begin / 1000, bytes) for bytes in before[-1:]] + inside, key=lambda one: one[1])


def chosen_span(rule, address):
    """The ends, or the length, of a range that the address has: #sel=10:20."""
    begin, end = (float(one) for one in address[rule["key"]][0].split(":"))
    return [{"begin": begin, "end": end, "length": end - begin}[rule["what"]]], "us"


def busy_share(answers, rule, address):
    """Time of a track in which a slice is open, as a share of what is in sight: what each slice has of its own, together."""
    worker = address.get("worker", ["0"])[0]
    tracks = answers.at("stats/track/workers/" + worker)[0]["rows"]
    begin, end = (float(address.get(key, [ends(row[column] for row in tracks)])[0])
                  for key, ends, column in (("from", min, "first_start"), ("to", max, "last_end")))
    rows, _ = answers.at("stats/slice/workers/%s/rows --range %s:%s" % (worker, plain(begin), plain(end)))
    return [100 * sum(row["self"] for row in rows if row["track"] == rule["track"]) / (end - begin)], "percent"


def plain(us):
    return ("%.3f" % us).rstrip("0").rstrip(".")


COUNTED = object()  # what other tests count


# What depends on a choice of the reader is said by data-derived: how, and how the tests find the same.
RULES = [
    (r"flame (?P<flame>\{.*\})(?: by function)?", flames.figure),
    (r"(?P<pointer>\S.* --.*)", lambda answers, rule, _: answers.at(rule["pointer"])),
    (r"sum of (?P<table>.+)/rows/\*/(?P<key>[^/ ]+)"
     r"(?: behind the largest (?P<most>\d+)| where (?P<column>\w+) is (?P<wanted>.+))?", total),
    (r"percent of (?P<whole>.+)", share),
    (r"recommendations that are minor", minor),
    (r"#(?P<key>\w+)", lambda _, rule, address: ([float(end) for end in address[rule["key"]][0].split(":")], "us")),
    (r"peak of (?P<curve>.+) in #range", lambda *which: (peak(*which)[1], "bytes")),
    (r"time of the peak of (?P<curve>.+) in #range", lambda *which: (peak(*which)[0], "us")),
    (r"(?P<what>begin|end|length) of #(?P<key>\w+)", lambda _, rule, address: chosen_span(rule, address)),
    (r"share of the time in sight in which (?P<track>.+) is busy", busy_share),
    # Counted by the tests of the timeline, from the trace.
    (r"time in sight|begin of what is in sight|(begin|duration|self time) of the slice|(distance|gap) to the mark|"
     r"time of the hits", lambda *_: (COUNTED, "us")),
    (r"slices that are found|number of the hit|names that are found|hits of the name|arrows of the slice",
     lambda *_: (COUNTED, "count")),
    (r"rows that are shown", lambda *_: (COUNTED, "count")),  # counted by the tests of searching
]


def derived(page, answers):
    """What is wrong with figures that are computed in the page: their rule, applied to what the commands say."""
    found, address = [], urllib.parse.parse_qs(page.address())
    for figure in page.figures("data-derived"):
        matches = ((re.fullmatch(pattern, figure.pointer), find) for pattern, find in RULES)
        rule, find = next((one for one in matches if one[0]), (None, None))
        if not rule:
            found.append("a rule that the tests do not know: %s" % figure.pointer)
            continue
        try:
            value, unit = find(answers, rule, address)
        except Missing as why:
            found.append(str(why))
            continue
        values = value if isinstance(value, list) else [figure.value if value is COUNTED else value]
        if not any(close(figure.value, one) for one in values):
            found.append("%s: the page holds %r, the rule gives %r" % (figure.pointer, figure.value, value))
            continue
        why = wrong(figure.text, figure.value, unit)
        if why:
            found.append("%s: %r for %r: %s" % (figure.pointer, figure.text, figure.value, why))
    return found


def close(one, other):
    """Sums may differ in their last digit."""
    if isinstance(one, (int, float)) and isinstance(other, (int, float)):
        return abs(one - other) <= 1e-9 * max(1, abs(other))
    return same(one, other)


def same(one, other):
    """Equal as JSON values; 3 and 3.0 are one number, true is none."""
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def strays(page):
    """Numbers that are no figures: digits outside of words such as worker0 and names such as ProfilerStep#5."""
    return [[text, where] for text, where in page.evaluate(STRAY)
            if re.search(r"(?<![\w#.:/-])[\d][\d,.]*(?![\w:/-]*[a-zA-Z_]{3})", re.sub(r"torch before [\d.]+", "", text))]


# Tables of which a view shows a part that its reader chooses among many.
PARTLY = {"diff/totals"}


def gaps(seen, tables):
    """Rows and columns that a view leaves out of the tables that it shows."""
    found = []
    for pointer, table in tables.items():
        if pointer in PARTLY:
            continue
        rows = {}
        for one in seen:
            if one.startswith(pointer + "/rows/"):
                row, _, key = one[len(pointer) + len("/rows/"):].partition("/")
                rows.setdefault(row, set()).add(key)
        if not rows:
            continue
        missing = [str(row) for row in range(table.rows) if str(row) not in rows]
        if missing:
            found.append("%s: %d of %d rows are not there: %s ..." % (pointer, len(missing), table.rows, missing[:3]))
        wanted = {escape(key) for key in table.keys}
        short = {row: wanted - keys for row, keys in rows.items() if wanted - keys}
        if short:
            row, keys = next(iter(short.items()))
            found.append("%s: %d rows lack columns; row %s lacks %s" % (pointer, len(short), row, sorted(keys)))
    return found

