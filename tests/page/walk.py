"""Walks all figures of a view and compares them with what the commands say of the same input."""
import json
import re

from answers import Missing, escape
from values import wrong

# In the page: texts with a digit that are in no figure and in nothing that names or explains, and where they stand.
STRAY = r"""
  const labels = '[data-figure], [data-derived], [data-label], script, style, template, select, option, dialog, footer, a, .name, [role=status], .tick, .u-axis, .u-legend';
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
            found.append("%s: %r for %s (%s): %s" % (figure.pointer, figure.text[:120], json.dumps(value)[:120], unit, why))
    return found, seen


# How the page computes what depends on a choice of its reader, as data-derived says it.
RULE = re.compile(r"sum of (?P<table>.+)/rows/\*/(?P<key>[^/ ]+)(?: behind the largest (?P<most>\d+)"
                  r"| where (?P<column>\w+) is (?P<wanted>.+))?")


def derived(page, answers):
    """What is wrong with figures that are computed in the page: the rule that they name, applied to what commands say."""
    found = []
    for figure in page.figures("data-derived"):
        rule = RULE.fullmatch(figure.pointer)
        if not rule:
            found.append("a rule that the tests do not know: %s" % figure.pointer)
            continue
        table, _ = answers.at(rule["table"])
        rows = table["rows"]
        if rule["column"]:
            rows = [row for row in rows if (row[rule["column"]] or "null") == rule["wanted"]]
        values = sorted((row[rule["key"]] for row in rows if row[rule["key"]] is not None), reverse=True)
        value = sum(values[int(rule["most"] or 0):])
        unit = next(column["unit"] for column in table["columns"] if column["key"] == rule["key"])
        if abs(figure.value - value) > 1e-9 * max(1, abs(value)):
            found.append("%s: the page holds %r, the rule gives %r" % (figure.pointer, figure.value, value))
        elif wrong(figure.text, figure.value, unit):
            found.append("%s: %r for %r: %s" % (figure.pointer, figure.text, figure.value, wrong(figure.text, figure.value, unit)))
    return found


def same(one, other):
    """Equal as JSON values; 3 and 3.0 are one number, true is none."""
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def strays(page):
    """Numbers that are no figures: digits outside of words such as worker0 and names such as ProfilerStep#5."""
    return [[text, where] for text, where in page.evaluate(STRAY)
            if re.search(r"(?<![\w#.:/-])[\d][\d,.]*(?![\w:/-]*[a-zA-Z_]{3})", text)]


def gaps(seen, tables):
    """Rows and columns that a view leaves out of the tables that it shows."""
    found = []
    for pointer, table in tables.items():
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


def shown(seen, tables):
    """The tables of which the view shows rows."""
    return {pointer for pointer in tables if any(one.startswith(pointer + "/rows/") for one in seen)}
