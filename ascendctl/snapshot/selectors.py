"""Label selectors and match expressions, on one object and on the rows of a table of labels.

Objects in a dump are the API server's own, but manifests and files written by hand may hold anything: a selector that
the API server would refuse selects nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ascendctl.manifest.job import parse_go_int
from ascendctl.snapshot.columns import StringColumn

Flags = NDArray[np.bool_]


def mappings(value: Any) -> list[Mapping[str, Any]]:
    """The items of a list that are mappings; none for anything else."""
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


def matches(expression: Mapping[str, Any], value: str | None) -> bool:
    """One match expression (In, NotIn, Exists, DoesNotExist, Gt, Lt) on a label's value; None = the label is absent."""
    operator = expression.get("operator")
    values = expression.get("values")
    wanted = [str(item) for item in values] if isinstance(values, list) else []
    if operator == "In":
        return value in wanted
    if operator == "NotIn":
        return value not in wanted
    if operator == "Exists":
        return value is not None
    if operator == "DoesNotExist":
        return value is None
    if operator in ("Gt", "Lt") and value is not None and len(wanted) == 1:
        left, right = parse_go_int(value), parse_go_int(wanted[0])
        if left is not None and right is not None:
            return left > right if operator == "Gt" else left < right
    return False


def matching_rows(expression: Mapping[str, Any], column: StringColumn) -> Flags:
    """Rows that a match expression accepts; an unknown operator accepts none."""
    holds = [matches(expression, value) for value in (*column.values, None)]
    return np.array(holds, dtype=np.bool_)[column.codes]


def requirements(selector: Any) -> list[Mapping[str, Any]] | None:
    """The match expressions that a label selector stands for, matchLabels among them; None for what is no selector."""
    if not isinstance(selector, Mapping):
        return None
    exact, expressions = selector.get("matchLabels"), selector.get("matchExpressions")
    exact, expressions = {} if exact is None else exact, [] if expressions is None else expressions
    if not isinstance(exact, Mapping) or not isinstance(expressions, list):
        return None
    found: list[Mapping[str, Any]] = [{"key": key, "operator": "In", "values": [value]} for key, value in exact.items()]
    found += [item if isinstance(item, Mapping) else {} for item in expressions]
    return found if all(item.get("operator") not in ("Gt", "Lt") for item in found) else None


def selects(selector: Any, labels: Mapping[str, str]) -> bool:
    """True if a label selector selects an object with these labels. An empty selector selects everything, an absent one
    nothing."""
    found = requirements(selector)
    return found is not None and all(matches(one, labels.get(str(one.get("key")))) for one in found)


def selected_rows(selector: Any, column: Callable[[str], StringColumn], size: int) -> Flags:
    """bool[size]: the rows that a label selector selects; `column` gives the labels of one key."""
    found = requirements(selector)
    flags = np.full(size, found is not None)
    for one in found or ():
        flags &= matching_rows(one, column(str(one.get("key"))))
    return flags
