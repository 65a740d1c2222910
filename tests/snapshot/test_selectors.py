"""Label selectors, right ones and what people write in their place."""

from __future__ import annotations

from typing import Any

import pytest

from ascendctl.snapshot.columns import StringTable
from ascendctl.snapshot.selectors import matches, selected_rows, selects

ROWS = [{"a": "1", "b": "2"}, {"a": "2"}, {}]
TABLE = StringTable.from_rows(ROWS)


def expression(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values)}


@pytest.mark.parametrize(
    ("selector", "rows"),
    [
        ({"matchLabels": {"a": "1"}}, [0]),
        ({"matchLabels": {"a": "1", "b": "3"}}, []),
        ({"matchExpressions": [expression("a", "NotIn", "2")]}, [0, 2]),
        ({"matchExpressions": [expression("a", "In", "1", "2"), expression("b", "DoesNotExist")]}, [1]),
        ({"matchLabels": {"a": "2"}, "matchExpressions": [expression("a", "Exists")]}, [1]),
        ({"matchExpressions": [expression("a", "Gt", "1")]}, []),
        ({"matchExpressions": [expression("a", "Like", "1")]}, []),
        ({}, [0, 1, 2]),
        ({"matchLabels": None, "matchExpressions": None}, [0, 1, 2]),
        ({"matchLabels": ["a"]}, []),
        ({"matchLabels": "a=1"}, []),
        ({"matchLabels": 0}, []),
        ({"matchLabels": {"a": 1}}, [0]),
        ({"matchLabels": {"a": {}}}, []),
        ({"matchExpressions": "a"}, []),
        ({"matchExpressions": {"key": "a"}}, []),
        ({"matchExpressions": [None]}, []),
        ({"matchExpressions": [{"key": ["a"], "operator": ["In"], "values": 3}]}, []),
        (None, []),
        ("a=1", []),
        ([{"matchLabels": {"a": "1"}}], []),
    ],
)
def test_selectors(selector: Any, rows: list[int]) -> None:
    assert [i for i, labels in enumerate(ROWS) if selects(selector, labels)] == rows
    assert selected_rows(selector, TABLE.column, len(ROWS)).nonzero()[0].tolist() == rows


def test_numbers_compare_in_node_selectors_only() -> None:
    assert matches({"operator": "Gt", "values": ["3"]}, "4")
    assert not matches({"operator": "Gt", "values": ["3"]}, None)
    assert not matches({"operator": "Lt", "values": ["x"]}, "4")
