"""The judge of the page's texts: what it lets pass, and what it must not."""
import pytest

from values import wrong

RIGHT = [
    ("1,234.5 ms", 1234500.0, "us"), ("177.592 ms", 177592, "us"), ("178 ms", 177592, "us"),
    ("1.00 s", 999999.5, "us"), ("0 us", 0, "us"), ("0.25 us", 0.25, "us"), ("12.00 KB", 12288, "bytes"),
    ("33.4 %", 33.3696, "percent"), ("33.37%", 33.3696, "percent"), ("0.0 %", 0.03, "percent"), ("–", None, "us"),
    ("Yes", "Yes", "yes/no"), ("12,345", 12345, "count"), ("-4.25", -4.25, "number"), ("−4.25 ms", -4250, "us"),
    ("\u2068aten::mm\u2069", "aten::mm", "text"), ("void f…(int)", "void f<float, 3>(int)", "text"),
    ("a.py(3): f\nb.py(4): g", "a.py(3): f;b.py(4): g", "text"),
    ("/a b.py:3 f/b.py:4 g", "/a b.py(3): f;/b.py(4): g", "text"), ("192 kFLOP", 0.000192, "gflop"),
    ("5555", 5555, "name"), ("0.013", 0.0125, "number"), ("0.050", 0.0500001, "number"),
    ("0.000", 0.0001, "number"),
]
WRONG = [
    ("1234.5 ms", 1234500.0, "us"), ("177.593 ms", 177592, "us"), ("180 ms", 177592, "us"), ("0 us", None, "us"),
    ("–", 0, "us"), ("0 ms", 0.3, "us"), ("177.592 us", 177592, "us"), ("12 KB", 12900, "bytes"),
    ("34.4 %", 33.3696, "percent"), ("33 %", 33.3696, "percent"), ("12,346", 12345, "count"),
    ("12.3 K", 12345, "count"), ("4.25", -4.25, "number"), ("aten::m", "aten::mm", "text"),
    ("…", "aten::mm", "text"), ("void g…", "void f<float>", "text"), ("", "aten::mm", "text"),
    ("a.py:3 f", "a.py(3): f;b.py(4): g", "text"), ("a.py:4 f", "a.py(3): f", "text"), ("12 KB", 12000, "bytes"),
    ("NaN", 3, "count"), ("No", "Yes", "yes/no"), ("0.01", 0.0125, "number"), ("0.3 ms", 340, "us"),
    ("5555", 5555, "count"),
]


@pytest.mark.parametrize("text,value,unit", RIGHT)
def test_a_right_text_passes(text, value, unit):
    assert wrong(text, value, unit) == ""


@pytest.mark.parametrize("text,value,unit", WRONG)
def test_a_wrong_text_does_not(text, value, unit):
    assert wrong(text, value, unit)
