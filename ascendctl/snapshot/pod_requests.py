"""What pods request and nodes offer of huawei.com/ resources, in thousandths of a unit as the scheduler counts."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import ROUND_CEILING
from typing import Any, Final

from ascendctl.manifest.quantity import parse_quantity

NPU_MARK = "huawei.com/"
NO_REQUESTS: Final[Mapping[str, int]] = {}
MAX_UNITS = (1 << 31) - 1
_LIMIT = MAX_UNITS * 1000
_CACHE_LIMIT = 1 << 16
_known: dict[Any, int | None] = {}


def milli(value: Any) -> int | None:
    """A quantity in thousandths, rounded up as Kubernetes does; None if it is no quantity. Huge ones are cut."""
    if type(value) is str:
        found = _known.get(value, -1)
        if found is None or found >= 0:
            return found
    number = parse_quantity(value)
    if number is None:
        result = None
    elif abs(number) >= MAX_UNITS:
        result = _LIMIT if number > 0 else -_LIMIT
    else:
        result = int((number * 1000).to_integral_value(ROUND_CEILING))
    if type(value) is str and len(_known) < _CACHE_LIMIT:
        _known[value] = result
    return result


def units(thousandths: int) -> int:
    """Whole units, cut towards zero; int32."""
    whole = abs(thousandths) // 1000
    return min(whole, MAX_UNITS) if thousandths >= 0 else -min(whole, MAX_UNITS)


def _of_container(container: Any) -> Mapping[str, int]:
    resources = container.get("resources") if type(container) is dict else None
    if not resources or type(resources) is not dict:
        return NO_REQUESTS
    result: dict[str, int] = {}
    requests, limits = resources.get("requests"), resources.get("limits")
    if limits and limits != requests:  # requests are defaulted from limits
        _add(limits, result)
    if requests:
        _add(requests, result)
    return result or NO_REQUESTS


def _add(quantities: Any, result: dict[str, int]) -> None:
    if type(quantities) is dict:
        for name, value in quantities.items():
            if NPU_MARK in name and (amount := milli(value)) is not None:
                result[name] = amount


def pod_requests(spec: Mapping[str, Any]) -> Mapping[str, int]:
    """Requests of a pod (chapter 30 §5.4): the larger of the sum over containers and each init container, plus
    overhead."""
    containers, initial, overhead = spec.get("containers"), spec.get("initContainers"), spec.get("overhead")
    if isinstance(containers, list) and len(containers) == 1 and not initial and not overhead:
        return _of_container(containers[0])
    total: dict[str, int] = {}
    for container in containers if isinstance(containers, list) else ():
        for name, amount in _of_container(container).items():
            total[name] = total.get(name, 0) + amount
    for container in initial if isinstance(initial, list) else ():
        for name, amount in _of_container(container).items():
            total[name] = max(total.get(name, 0), amount)
    for name, value in overhead.items() if type(overhead) is dict else ():
        if NPU_MARK in name and (amount := milli(value)) is not None:  # type: ignore[assignment]
            total[name] = total.get(name, 0) + amount
    return total or NO_REQUESTS
