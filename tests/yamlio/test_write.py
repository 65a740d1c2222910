"""What is written is read back as the same values, by kubectl's rules and by a YAML 1.1 library."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given, settings

from ascendctl.yamlio.read import read_documents
from ascendctl.yamlio.write import flow_text, quoted, to_yaml
from tests.yamlio.test_scalars import FALSE, NULL, NUMBERS, TEXTS, TRUE
from tests.yamlio.texts import DOCUMENTS


def back(text: str) -> Any:
    documents = read_documents(text)
    assert not [p for d in documents for p in d.problems]
    return documents[0].value


@settings(max_examples=300, deadline=None)
@given(DOCUMENTS)
def test_round_trip(value: dict[str, Any]) -> None:
    text = to_yaml(value)
    assert back(text) == value
    assert yaml.safe_load(text) == value
    assert not any(line.startswith("---") for line in text.split("\n"))


@settings(max_examples=200, deadline=None)
@given(DOCUMENTS)
def test_round_trip_in_flow_style(value: dict[str, Any]) -> None:
    text = "a: " + flow_text(value) + "\n"
    assert text.count("\n") == 1
    assert back(text) == {"a": value}
    assert yaml.safe_load(text) == {"a": value}


@pytest.mark.parametrize(
    "text", [*TRUE, *FALSE, *NULL, *NUMBERS, *TEXTS, ".inf", ".nan", "- a", "a: b", "#", " x", "x "]
)
def test_ambiguous_texts_are_quoted_for_every_reader(text: str) -> None:
    written = to_yaml({"a": text, text: "b"})
    assert back(written) == {"a": text, text: "b"}
    assert yaml.safe_load(written) == {"a": text, text: "b"}


@pytest.mark.parametrize(
    "text",
    [
        "1:30",
        "2025-01-02",
        "08",
        "0o17",
        "1e3",
        "7e6",
        "yes",
        "y",
        "NaN",
        "null",
        "~",
        "",
        "=",
        "<<",
        "10.0.0.1",
        "128",
    ],
)
def test_quotes(text: str) -> None:
    assert to_yaml({"a": text}) == f'a: "{text}"\n'


@pytest.mark.parametrize(
    "text", ["module-910b-8", "huawei.com/Ascend910", "a b", "registry.local/train:1", "x#y", "In", "é"]
)
def test_harmless_texts(text: str) -> None:
    written = to_yaml({"a": text})
    assert written == f"a: {text}\n" if text.isascii() and "#" not in text else back(written) == {"a": text}


def test_style() -> None:
    value = {
        "apiVersion": "v1",
        "items": [{"name": "a", "args": ["x", "z"]}, [1, [2]], {}],
        "script": "set -e\n  run\n",
        "json": '{"v":1}',
        "none": None,
        "yes": [True, 1.5, -3],
        "nested": {"lines": ["one\ntwo", "three\n\n"]},
    }
    assert to_yaml(value) == (
        "apiVersion: v1\n"
        "items:\n"
        "- name: a\n"
        "  args:\n"
        "  - x\n"
        "  - z\n"
        "- - 1\n"
        "  - - 2\n"
        "- {}\n"
        "script: |\n"
        "  set -e\n"
        "    run\n"
        "json: '{\"v\":1}'\n"
        "none: null\n"
        '"yes":\n'
        "- true\n"
        "- 1.5\n"
        "- -3\n"
        "nested:\n"
        "  lines:\n"
        "  - |-\n"
        "    one\n"
        "    two\n"
        "  - |+\n"
        "    three\n"
        "\n"
    )


def test_long_keys() -> None:
    value = {"k" * 5000: {"x": [1]}, "l" * 2000: "a\nb\n", "m" * 1500: 1}
    assert back(to_yaml(value)) == value


@pytest.mark.parametrize("value", [float("inf"), float("nan"), 2**64, -(2**63) - 1, "\ud800"])
def test_values_that_no_reader_keeps(value: object) -> None:
    with pytest.raises(ValueError, match=r"written|fit"):
        to_yaml({"a": value})


@pytest.mark.parametrize("value", [{1: "a"}, {"a": object()}, {"a": b"x"}])
def test_values_that_are_no_yaml(value: object) -> None:
    with pytest.raises(TypeError):
        to_yaml(value)


def test_nesting_is_bounded() -> None:
    value: list[Any] = []
    for _ in range(1000):
        value = [value]
    with pytest.raises(ValueError, match="levels"):
        to_yaml(value)


def test_asked_quotes() -> None:
    assert quoted("a", style="'") == "'a'"
    assert quoted("it's", style="'") == "'it''s'"
    assert quoted("a", style='"') == '"a"'
    assert quoted("a\nb", style="'") == '"a\\nb"'
