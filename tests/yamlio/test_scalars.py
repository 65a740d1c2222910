"""Chapter 40 §8.2 and §8.3 row by row, through the reader and through the dump reader."""

from __future__ import annotations

import pytest

from ascendctl.yamlio.fast import load_documents
from ascendctl.yamlio.read import read_documents
from ascendctl.yamlio.scalars import json_number, key_text, resolve

TRUE = ["y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"]
FALSE = ["n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"]
NULL = ["~", "null", "Null", "NULL", ""]
NUMBERS = {
    "0": 0, "16": 16, "+12": 12, "-3": -3, "1_000": 1000, "1_": 1, "+_1": 1,
    "010": 8, "012": 10, "0640": 416, "0_7": 7, "00": 0,
    "08": 8, "09": 9, "0128": 128, "0888": 888,
    "0o640": 416, "0O17": 15, "-0o17": -15,
    "0x10": 16, "0X1F": 31, "-0x1F": -31, "0x1_F": 31,
    "0b1": 1, "0B11": 3, "-0b11": -3,
    "1.0": 1, "2.50": 2.5, "5.": 5, ".5": 0.5, "-.5": -0.5, "1.10": 1.1, "2.0": 2,
    "1e3": 1000, "1E5": 100_000, "12e4": 120_000, "7e6": 7_000_000, "1.5e3": 1500, "5.e3": 5000, "1e-3": 0.001,
    "1e-400": 0, "20250102": 20250102, "1e1": 10, "8e1": 80, "0x180": 384, "0600": 384, "0o600": 384,
    "18446744073709551615": 18446744073709551615, "18446744073709551616": 1.8446744073709552e19,
    "9223372036854775807": 2**63 - 1, "-9223372036854775808": -(2**63), ".1_0": 0.1, "1_000.5": 1000.5,
}  # fmt: skip
TEXTS = [
    "yEs", "oN", "tRUE", "t", "f", "nULL", "nil", "none", "None", "undefined", "_1",
    "0o8", "0o", "0x", "0xg", "0b102", "12e456", "12e4567", "1e400", "1e", "e1", ".e5", "1f", "12e4567f", "1.2.3",
    "v1", "10.0.0.1", "1:30", "01:02", "12:30:45", "2025-01-02", "2025-1-2", "2025-01-02T03:04:05Z",
    "inf", "nan", "NaN", "Infinity", "-.nan", ".Nan", "<<", "=", "1Gi", "500m", "25%", "1,000", "12 000", "x#y",
    "._5", ".5_", ".", "+", "-1-", "0x1.8p3", "1__0.", "0b", "١",
]  # fmt: skip
TEXTS.remove("1__0.")  # underscores are dropped before the number is looked at: 10


def one(text: str) -> object:
    """The value of a field, read both ways."""
    (document,) = read_documents(f"a: {text}\n")
    assert not document.problems
    (dump,) = load_documents(f"a: {text}\n".encode(), "x.yaml")
    value = document.value["a"]
    assert dump == document.value and type(dump["a"]) is type(value)
    assert document.marks["a",].plain
    return value


@pytest.mark.parametrize("text", TRUE)
def test_true_words(text: str) -> None:
    assert one(text) is True


@pytest.mark.parametrize("text", FALSE)
def test_false_words(text: str) -> None:
    assert one(text) is False


@pytest.mark.parametrize("text", NULL)
def test_null_words(text: str) -> None:
    assert one(text) is None


@pytest.mark.parametrize(("text", "value"), NUMBERS.items())
def test_numbers(text: str, value: float) -> None:
    found = one(text)
    assert found == value and type(found) is type(value)


@pytest.mark.parametrize("text", TEXTS)
def test_texts_stay_as_written(text: str) -> None:
    assert one(text) == text


@pytest.mark.parametrize("text", ["1__0.", "1_000", "-1_0"])
def test_underscores_are_dropped(text: str) -> None:
    assert one(text) == float(text.replace("_", ""))


@pytest.mark.parametrize("text", [".inf", ".Inf", ".INF", "+.inf", "-.inf", "-.INF", ".nan", ".NaN", ".NAN"])
def test_numbers_that_json_cannot_hold(text: str) -> None:
    (document,) = read_documents(f"a:\n  b: {text}\n")
    (problem,) = document.problems
    assert document.value is None and problem.fatal
    assert (problem.rule, problem.line, problem.column) == ("DOC-01", 2, 6)


@pytest.mark.parametrize("text", [*TRUE, *FALSE, *NULL[:-1], *list(NUMBERS)])
@pytest.mark.parametrize("quote", ["'", '"'])
def test_quoted_is_always_text(text: str, quote: str) -> None:
    (document,) = read_documents(f"a: {quote}{text}{quote}\n")
    assert document.value == {"a": text}
    assert document.marks["a",].text == text and not document.marks["a",].plain


def test_block_scalars_are_texts() -> None:
    (document,) = read_documents("a: |\n  16\nb: >-\n  on\n")
    assert document.value == {"a": "16\n", "b": "on"}


def test_folded_before_resolving() -> None:
    (document,) = read_documents("a: 16\n  17\n")
    assert document.value == {"a": "16 17"}


def test_comment_is_cut() -> None:
    (document,) = read_documents("a: x #y\nb: x#y\n")
    assert document.value == {"a": "x", "b": "x#y"}


KEYS = {
    "on": "true", "yes": "true", "off": "false", "010": "8", "1.0": "1", "1e3": "1000", "7e6": "7e+06",
    "0o17": "15", "-3": "-3", "1.5": "1.5", "123456.5": "123456.5", "1234567.5": "1.2345675e+06", "1e-5": "1e-05",
    "0.0001": "0.0001", "1.23456789": "1.2345679", ".inf": ".inf", "-.inf": "-.inf", ".nan": ".nan", "1e39": ".inf",
    '"on"': "on", "'010'": "010", "v1": "v1", "9223372036854775807": "9223372036854775807",
}  # fmt: skip


@pytest.mark.parametrize(("key", "name"), KEYS.items())
def test_keys(key: str, name: str) -> None:
    (document,) = read_documents(f"{key}: x\n")
    assert document.value == {name: "x"}
    mark = document.marks[name,]
    written = key.strip("\"'")
    assert mark.key_text == (written if written != name else None)


@pytest.mark.parametrize("key", ["null", "~", "", "[a]", "{a: b}", "9223372036854775808"])
def test_impossible_keys(key: str) -> None:
    (document,) = read_documents(
        f"b: 1\n{'? ' if key[:1] in '[{' else ''}{key}\n: x\n" if key[:1] in ("[", "{") else f"b: 1\n{key}: x\n"
    )
    (problem,) = document.problems
    assert problem.rule == "DOC-01" and problem.line == 2


def test_same_word_twice_is_a_duplicate_but_a_quoted_one_is_not() -> None:
    (document,) = read_documents('"y": 1\ny: 2\n')
    assert document.value == {"y": 1, "true": 2} and not document.problems
    (document,) = read_documents("on: 1\nyes: 2\n")
    assert document.value == {"true": 2} and document.problems[0].rule == "DOC-01"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("!!str 16", "16"), ("! 16", "16"), ("!custom 16", "16"), ("!!foo 16", "16"), ('!!int "16"', 16),
        ("!!float 16", 16), ('!!bool "yes"', True), ('!!null ""', None), ("!!binary aGk=", "hi"),
        ("!!python/object:os.system x", "x"), ("!!timestamp 2025-01-02", "2025-01-02"), ("!!str", ""),
    ],
)  # fmt: skip
def test_tags(text: str, value: object) -> None:
    (document,) = read_documents(f"a: {text}\n")
    assert document.value == {"a": value} and type(document.value["a"]) is type(value)


@pytest.mark.parametrize("text", ["!!int 16.5", "!!null x", "!!bool 1", "!!float x", "!!binary ===", "!!int ''"])
def test_impossible_tags(text: str) -> None:
    (document,) = read_documents(f"a: {text}\n")
    assert [p.rule for p in document.problems] == ["DOC-01"] and document.value is None


def test_collections_ignore_tags() -> None:
    (document,) = read_documents("a: !!python/dict {b: 1}\nc: !foo [1]\n")
    assert document.value == {"a": {"b": 1}, "c": [1]}


def test_json_numbers() -> None:
    assert json_number("2.0") == 2 and isinstance(json_number("2.0"), int)
    assert json_number("18446744073709551615") == 2**64 - 1
    assert isinstance(json_number("18446744073709551616"), float)
    with pytest.raises(ValueError, match="out of range"):
        json_number("1e999")


def test_long_digit_strings_take_no_time() -> None:
    assert resolve("1" * 1_000_000) == "1" * 1_000_000
    assert resolve("0x" + "0" * 100_000 + "1") == 1
    assert key_text(resolve("0" * 5000 + "7")) == "7"
