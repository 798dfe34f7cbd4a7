"""What the checks found, as JSON for machines and as a page of Markdown for people.

A Section collects checks (a sentence and the differences found, none when it holds) and figures. A section that cannot
run where a package is missing raises Absent with the reason.
"""
import dataclasses
import json

KEPT_DIFFERENCES = 25


class Absent(Exception):
    """This section needs something that the machine lacks."""


@dataclasses.dataclass
class Section:
    name: str
    what: str
    absent: str = ""       # why it did not run
    broken: str = ""       # the exception that ended it
    seconds: float = 0
    checks: list = dataclasses.field(default_factory=list)
    figures: list = dataclasses.field(default_factory=list)
    notes: list = dataclasses.field(default_factory=list)

    def check(self, what, differences):
        differences = list(differences)
        self.checks.append({"what": what, "ok": not differences, "count": len(differences),
                            "differences": differences[:KEPT_DIFFERENCES]})
        return not differences

    def figure(self, what, value, unit, at_most=None):
        """A measured value; one above its limit fails."""
        self.figures.append({"what": what, "value": value, "unit": unit, "at_most": at_most})
        if at_most is not None:
            self.check("%s: at most %g %s" % (what, at_most, unit), [] if value <= at_most else [
                "%.4g %s" % (value, unit)])

    @property
    def failed(self):
        return bool(self.broken) or any(not check["ok"] for check in self.checks)

    @property
    def verdict(self):
        if self.absent:
            return "absent: " + self.absent
        if self.broken:
            return "BROKEN: " + self.broken.strip().splitlines()[-1]
        bad = sum(not check["ok"] for check in self.checks)
        counts = "%d of %d FAILED" % (bad, len(self.checks)) if bad else "%d passed" % len(self.checks)
        return "; ".join([counts] + self.notes)


def read(path):
    """(machine, runs, sections) of a report that was written before."""
    with open(path) as file:
        data = json.load(file)
    return data["machine"], data["runs"], [Section(**each) for each in data["sections"]]


def write(directory, machine, runs, sections):
    data = {"schema": 1, "machine": machine, "runs": runs, "sections": [dataclasses.asdict(s) for s in sections]}
    (directory / "report.json").write_text(json.dumps(data, indent=1) + "\n")
    (directory / "report.md").write_text(page(machine, runs, sections))


def page(machine, runs, sections):
    lines = ["# tprof on a GPU", "", "| | |", "|---|---|"]
    lines += ["| %s | %s |" % (key, value) for key, value in machine.items()]
    lines += ["", "```sh"]
    lines += ["%s   # %s, %.0f s" % (run["command"], run["date"], run["seconds"]) for run in runs]
    lines += ["```", "", "| checks | | |", "|---|---|---|"]
    lines += ["| %s | %s | %s |" % (s.name, s.what, s.verdict) for s in sections]
    figures = [(s.name, f) for s in sections for f in s.figures]
    if figures:
        lines += ["", "| figures | | | at most |", "|---|---|---|---|"]
        lines += ["| %s | %s | %.4g %s | %s |" % (name, f["what"], f["value"], f["unit"],
                                                 "" if f["at_most"] is None else "%g" % f["at_most"])
                  for name, f in figures]
    bad = [(s.name, check) for s in sections for check in s.checks if not check["ok"]]
    if bad:
        lines += ["", "What failed:", ""]
        for name, check in bad:
            lines += ["* %s: %s (%d differences)" % (name, check["what"], check["count"])]
            lines += ["  * %s" % line for line in check["differences"][:3]]
    return "\n".join(lines) + "\n"
