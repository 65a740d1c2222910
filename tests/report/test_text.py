from __future__ import annotations

import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ascendctl.report.machine import dump
from ascendctl.report.text import padded, paint, printable, ranges, some, table, wants_color, width


@pytest.mark.parametrize(
    ("ids", "text"),
    [
        ((), ""),
        ((3,), "3"),
        ((0, 1, 2, 3, 6), "0-3,6"),
        ((2, 3, 0, 1), "2-3,0-1"),
        ((1, 3, 5), "1,3,5"),
        ((0, 1), "0-1"),
    ],
)
def test_ranges(ids: tuple[int, ...], text: str) -> None:
    assert ranges(ids) == text


def test_control_characters() -> None:
    assert printable("a\x1b[31m\r\nb\x9b\u2028\u202e\ud800") == "a\\x1b[31m\\x0d\\x0ab\\x9b\\u2028\\u202e\\ud800"
    assert printable("n\u00fc-\u4e2d") == "n\u00fc-\u4e2d"


@given(st.text())
def test_nothing_printable_breaks_a_line_or_starts_an_escape(text: str) -> None:
    shown = printable(text)
    assert len(shown.splitlines()) <= 1 and "\x1b" not in shown


def test_some() -> None:
    assert some(["a", "b", "c", "d"], 2) == "a, b (+2)"
    assert some([]) == ""


def test_table() -> None:
    assert table([("n1", 16, ""), ("node-10", "-", "x")], ("NODE", "NPUS", "WHY")) == (
        "NODE     NPUS    WHY\n"
        "n1       16\n"
        "node-10  -       x"
    )  # fmt: skip
    assert table([("a", 1), ("bcd", 2)], ()) == "a    1\nbcd  2"
    assert table([], ("NODE", "WHY")) == "NODE    WHY"


def test_wide_characters_take_two_columns() -> None:
    assert width("\u8282\u70b9") == 4 and width("e\u0301") == 1
    assert padded("\u8282", 4) == "\u8282  "
    first, second = table([("\u8282\u70b9", 1), ("node", 2)], ()).splitlines()
    assert width(first.removesuffix("1")) == width(second.removesuffix("2"))


def test_control_characters_in_a_table() -> None:
    assert table([("a\nb", "c")], ()) == "a\\x0ab  c"


def test_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert wants_color("auto", Terminal()) and not wants_color("auto", io.StringIO())
    assert wants_color("always", io.StringIO()) and not wants_color("never", Terminal())
    monkeypatch.setenv("NO_COLOR", "1")
    assert not wants_color("auto", Terminal())
    assert paint("x", "red", True) == "\x1b[31mx\x1b[0m" and paint("x", "red", False) == "x"


@pytest.mark.parametrize(
    "value",
    ["a\x7fb", "a\x9b31mb", "\u202e\u2028", "\ud800", "n\u00fc\u4e2d\n\t\x1b", 10**25, [1 << 63, {"\x85": 2.5}]],
)
def test_machine_formats_hold_no_control_characters(value: Any) -> None:
    text = dump({"key": value}, "json")
    assert json.loads(text) == {"key": value}
    assert all(printable(line) == line for line in text.split("\n"))
