"""Node objects -> columns, batch by batch (chapter 30 §5.1 to §5.3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ascendctl.names import natural_order
from ascendctl.snapshot.base_devices import BaseInfos, BaseReader
from ascendctl.snapshot.columns import StringTable, TableBuilder, scalar_text

BASE_INFO = "baseDeviceInfos"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
NPU_MARK = "huawei.com/"
NOTHING: Final[dict[str, Any]] = {}


def as_dict(value: Any) -> dict[str, Any]:
    """The value if it is an object, else an empty one."""
    return value if type(value) is dict else NOTHING


def as_list(value: Any) -> list[Any]:
    """The value if it is a list, else an empty one."""
    return value if type(value) is list else []


def get_dicts(objects: Iterable[Mapping[str, Any]], key: str) -> list[dict[str, Any]]:
    """A member of each object, an empty one where it is absent or no object."""
    found: list[Any] = [value.get(key) for value in objects]
    return found if set(map(type, found)) == {dict} else list(map(as_dict, found))


@dataclass(frozen=True)
class NodeColumns:
    """Fields of N nodes in natural name order. `scalars` bool: capacity names any scalar resource; `capacity` and
    `allocatable` hold the huawei.com/ quantities as written; `place` int64, see `Collected.where`."""

    names: tuple[str, ...]
    place: NDArray[np.int64]
    labels: StringTable
    annotations: StringTable
    capacity: StringTable
    allocatable: StringTable
    base: BaseInfos
    scalars: NDArray[np.bool_]
    ready: NDArray[np.bool_]
    cordoned: NDArray[np.bool_]
    address: tuple[str, ...]
    taints: tuple[str, ...]


class _Scalars(dict[tuple[str, ...], bool]):
    """Whether the keys of a capacity map name a scalar resource. Remembers its answers."""

    def __missing__(self, keys: tuple[str, ...]) -> bool:
        answer = self[keys] = any(key not in ("cpu", "memory") for key in keys)
        return answer


class NodeBuilder:
    """Gathers Node objects. Rows count in the order of the dump; a newer copy of a node takes the place of the
    older."""

    def __init__(self) -> None:
        self.row_of: dict[str, int] = {}
        self._places: list[int] = []
        self._labels = TableBuilder()
        self._annotations = TableBuilder(lambda key: key != BASE_INFO and key != LAST_APPLIED)
        self._capacity = TableBuilder(lambda key: NPU_MARK in key)
        self._allocatable = TableBuilder(lambda key: NPU_MARK in key)
        self._base = BaseReader()
        self._scalars: list[bool] = []
        self._ready: list[bool] = []
        self._cordoned: list[bool] = []
        self._address: list[str] = []
        self._taints: dict[int, str] = {}
        self._known_keys = _Scalars()

    def __len__(self) -> int:
        return len(self._places)

    def add(self, objects: Sequence[Mapping[str, Any]], metas: Sequence[Mapping[str, Any]], places: list[int]) -> bool:
        """Append a batch of Nodes with their metadata; the caller keeps `row_of`. True if a label or annotation
        is no text."""
        annotations = get_dicts(metas, "annotations")
        odd = self._labels.add(get_dicts(metas, "labels")) | self._annotations.add(annotations)
        self._base.add([found.get(BASE_INFO) for found in annotations])
        statuses = get_dicts(objects, "status")
        capacities = get_dicts(statuses, "capacity")
        self._capacity.add(capacities)
        self._allocatable.add(get_dicts(statuses, "allocatable"))
        self._scalars += [self._known_keys[keys] for keys in map(tuple, capacities)]
        self._ready += [_is_ready(status.get("conditions")) for status in statuses]
        self._address += [_internal_address(status.get("addresses")) for status in statuses]
        for row, spec in enumerate(get_dicts(objects, "spec"), len(self._cordoned)):
            self._cordoned.append(spec.get("unschedulable") is True)
            if taints := spec.get("taints"):
                self._taints[row] = _json_text(taints)
        self._places += places
        return odd

    def columns(self) -> NodeColumns:
        """The columns of the copies of nodes that count."""
        names = list(self.row_of)
        order = natural_order(names)
        names = [names[i] for i in order]
        rows = np.array([self.row_of[name] for name in names], np.int64)
        return NodeColumns(
            names=tuple(names),
            place=np.array(self._places, np.int64)[rows],
            labels=self._labels.table(rows),
            annotations=self._annotations.table(rows),
            capacity=self._capacity.table(rows),
            allocatable=self._allocatable.table(rows),
            base=self._base.infos(rows),
            scalars=np.array(self._scalars, np.bool_)[rows],
            ready=np.array(self._ready, np.bool_)[rows],
            cordoned=np.array(self._cordoned, np.bool_)[rows],
            address=tuple(map(self._address.__getitem__, rows.tolist())),
            taints=tuple(self._taints.get(row, "") for row in rows.tolist()),
        )


def _is_ready(conditions: Any) -> bool:
    """The first condition Ready decides."""
    for condition in conditions if type(conditions) is list else ():
        if type(condition) is dict and condition.get("type") == "Ready":
            return condition.get("status") in ("True", True)
    return False


def _internal_address(addresses: Any) -> str:
    for entry in addresses if type(addresses) is list else ():
        if type(entry) is dict and entry.get("type") == "InternalIP":
            address = entry.get("address")
            return address if type(address) is str else scalar_text(address)
    return ""


def _json_text(value: Any) -> str:
    import orjson

    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS, default=str).decode()
