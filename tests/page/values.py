"""Does a text say a value? Written against what people read, and not against the page's own formatter.

A number says a value if it is right to its last digit, has three digits or is exact (of plain numbers and shares some
decimals will do), groups its thousands, and carries a unit that its column may have. What is not known is a dash, and
only that is.
"""
import math
import re
from decimal import Decimal

DASHES = {"–", "—", "-", "−"}
# Of what a unit of --json is a multiple; the first word is what a number without a unit means.
UNITS = {
    "us": {"": 1, "us": 1, "µs": 1, "ms": 1000, "s": 10 ** 6},
    "bytes": {"": 1, "b": 1, "bytes": 1, "kb": 2 ** 10, "mb": 2 ** 20, "gb": 2 ** 30, "tb": 2 ** 40},
    "percent": {"": 1, "%": 1},
    "gflop": {"": 1, "flop": Decimal(10) ** -9, "kflop": Decimal(10) ** -6, "mflop": Decimal(10) ** -3, "gflop": 1,
              "tflop": 1000, "pflop": 10 ** 6},
    "tflops": {"": 1, "flop/s": Decimal(10) ** -12, "kflop/s": Decimal(10) ** -9, "mflop/s": Decimal(10) ** -6,
               "gflop/s": Decimal(10) ** -3, "tflop/s": 1, "pflop/s": 1000},
}
# Left out of texts: marks that keep names apart from their surroundings.
INVISIBLE = re.compile("[\u200b\u200e\u200f\u2060-\u2069\u202a-\u202e\ufeff]")
NUMBER = re.compile(r"([+\-−]?)(\d{1,3}(?:,\d{3})+|\d+)(\.\d+)?\s*(\D*)")
SHORTEST = 3  # digits
ENOUGH = {"percent": 1, "number": 3}  # decimals


def plain(text):
    """A text without what is not seen; any white space is one space."""
    return re.sub(r"\s+", " ", INVISIBLE.sub("", text)).strip()


def wrong(text, value, unit):
    """Why `text` does not say `value`; empty where it does. Units are those of --json's columns, or empty."""
    shown = plain(text)
    if value is None:
        return "" if shown in DASHES else "what is not known is no dash"
    if isinstance(value, bool):
        return "" if shown.lower() in {True: ("yes", "true"), False: ("no", "false")}[value] else "not the same answer"
    if isinstance(value, str):
        return wrong_name(shown, value)
    if isinstance(value, (int, float)):
        return wrong_number(shown, value, unit)
    return "neither a text nor a number"


def wrong_name(shown, value):
    """Names stand as they are, or with a mark where something was cut out; frames of a stack may be file:line."""
    frames = re.sub(r"\((\d+)\): ", r":\1 ", value).replace(";", "")
    if shown == plain(value) or squeezed(shown) in (squeezed(value.replace(";", "")), squeezed(frames)):
        return ""
    if value == "" and shown in DASHES:
        return ""
    if "…" in shown:
        rest = plain(value)
        for piece in shown.split("…"):
            found = rest.find(piece.strip())
            if found < 0:
                return "a part of the short name is not in the name"
            rest = rest[found + len(piece.strip()):]
        return "" if len(shown) > 4 else "nothing of the name is left"
    return "not the name"


def squeezed(text):
    return plain(text).replace(" ", "")


def wrong_number(shown, value, unit):
    if isinstance(value, float) and not math.isfinite(value):
        return "not a number"
    match = NUMBER.fullmatch(shown)
    if not match:
        return "no number as people read it"
    sign, whole, fraction, suffix = match.group(1), match.group(2), match.group(3) or "", match.group(4).strip()
    if len(whole) > 3 and "," not in whole and unit != "name":
        return "thousands are not grouped"
    scales = UNITS.get(unit, {"": 1, "x": 1, "×": 1})
    if suffix.lower() not in scales:
        return "%r is no unit of %s" % (suffix, unit or "a plain number")
    scale = Decimal(scales[suffix.lower()])
    digits = whole.replace(",", "") + fraction
    exact = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    said = Decimal(digits) * scale * (-1 if sign in ("-", "−") else 1)
    last = scale * Decimal(10) ** -max(0, len(fraction) - 1)
    if abs(said - exact) > last / 2 * (1 + Decimal("1e-9")):
        return "says %s, is %s" % (said.normalize(), exact)
    if said == exact:
        return ""
    if exact and not said and unit not in ENOUGH:
        return "something is shown as zero"
    if len(digits.replace(".", "").lstrip("0")) < SHORTEST and len(fraction) - 1 < ENOUGH.get(unit, SHORTEST):
        return "fewer than %d digits of %s" % (SHORTEST, exact)
    return ""
