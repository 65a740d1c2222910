"""Pod objects -> columns, batch by batch (chapter 30 §5.4)."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ascendctl.names import natural_order
from ascendctl.snapshot.columns import Pool, StringColumn, StringTable, TableBuilder, renumber, scalar_text
from ascendctl.snapshot.node_columns import as_dict, as_list, get_dicts
from ascendctl.snapshot.pod_requests import pod_requests
from ascendctl.snapshot.texts import TextColumn

FINISHED = ("Succeeded", "Failed")
_DOMAINS = frozenset(
    ("huawei.com", "ascend.kubectl.kubernetes.io", "hccl", "volcano.sh", "scheduling.k8s.io", "scheduling.volcano.sh")
)


def may_matter(key: str) -> bool:
    """True for pod annotations that somebody reads: those without a domain and those of the domains above."""
    domain, slash, _ = key.partition("/")
    return not slash or domain in _DOMAINS


@dataclass(frozen=True)
class PodColumns:
    """Fields of the P pods of a dump, bound or not, by namespace, then natural name.

    `labels` and `annotations` may have values that no pod has. `node` is the name of the node, no value = not bound;
    `phase` no value = unknown. `task_index` is the value of VC_TASK_INDEX. `requests`: thousandths by resource name,
    as (rows, amounts). `place` int64, see `Collected.where`.
    """

    names: tuple[str, ...]
    namespace: StringColumn
    uids: TextColumn
    ips: TextColumn
    node: StringColumn
    phase: StringColumn
    terminating: NDArray[np.bool_]
    labels: StringTable
    annotations: StringTable
    task_index: StringColumn
    requests: Mapping[str, tuple[NDArray[np.int64], NDArray[np.int64]]]
    place: NDArray[np.int64]

    def title(self, row: int) -> str:
        """For diagnostics."""
        return f"Pod {self.namespace.get(row)}/{self.names[row]}"

    @property
    def active(self) -> NDArray[np.bool_]:
        """bool[P]: pods that have not finished."""
        return ~(self.phase.equals(FINISHED[0]) | self.phase.equals(FINISHED[1]))


class _Coded:
    """A column under construction; the empty text is no value."""

    def __init__(self) -> None:
        self.codes, self.pool = array("i"), Pool({"": 0})

    def add(self, values: Sequence[Any]) -> None:
        """Append values; what is no text counts as none."""
        texts = values if set(map(type, values)) == {str} else [v if type(v) is str else "" for v in values]
        self.codes.extend(map(self.pool.__getitem__, texts))

    def column(self, order: NDArray[np.int64]) -> StringColumn:
        """The finished column of some rows."""
        codes = np.frombuffer(self.codes, np.int32)[order] if self.codes else np.zeros(0, np.int32)
        return renumber(codes - 1, tuple(self.pool)[1:])


class PodBuilder:
    """Gathers Pod objects. Rows count in the order of the dump; a newer copy takes the place of the older."""

    def __init__(self) -> None:
        self.row_of: dict[tuple[str, str], int] = {}
        self._places: list[int] = []
        self._uids: list[TextColumn] = []
        self._ips: list[TextColumn] = []
        self._node, self._phase, self._task_index = _Coded(), _Coded(), _Coded()
        self._terminating: list[bool] = []
        self._labels, self._annotations = TableBuilder(), TableBuilder(may_matter)
        self._requests: dict[str, tuple[array[int], array[int]]] = {}

    def __len__(self) -> int:
        return len(self._places)

    def add(self, objects: Sequence[Mapping[str, Any]], metas: Sequence[Mapping[str, Any]], places: list[int]) -> bool:
        """Append a batch of Pods with their metadata; the caller keeps `row_of`. True if a label or annotation
        is no text."""
        specs, statuses = get_dicts(objects, "spec"), get_dicts(objects, "status")
        odd = self._labels.add(get_dicts(metas, "labels")) | self._annotations.add(get_dicts(metas, "annotations"))
        self._node.add([spec.get("nodeName") for spec in specs])
        self._phase.add([status.get("phase") for status in statuses])
        self._task_index.add([_task_index(spec.get("containers")) for spec in specs])
        self._uids.append(TextColumn.of([scalar_text(meta.get("uid")) for meta in metas]))
        self._ips.append(TextColumn.of([scalar_text(status.get("podIP")) for status in statuses]))
        self._terminating += [meta.get("deletionTimestamp") is not None for meta in metas]
        for row, spec in enumerate(specs, len(self._places)):
            for name, amount in pod_requests(spec).items():
                rows, amounts = self._requests.setdefault(name, (array("q"), array("q")))
                rows.append(row)
                amounts.append(amount)
        self._places += places
        return odd

    def columns(self) -> PodColumns:
        """The columns of the copies of pods that count."""
        keys = list(self.row_of)
        order = natural_order([name for _, name in keys])
        order.sort(key=[namespace for namespace, _ in keys].__getitem__)
        keys = [keys[i] for i in order]
        rows = np.array([self.row_of[key] for key in keys], np.int64)
        place = np.full(len(self._places), -1, np.int64)
        place[rows] = np.arange(len(rows))
        requests = {}
        for name in sorted(self._requests):
            asking = place[np.frombuffer(self._requests[name][0], np.int64)]
            amounts = np.frombuffer(self._requests[name][1], np.int64)
            requests[name] = asking[asking >= 0], amounts[asking >= 0]
        namespace = _Coded()
        namespace.add([key[0] for key in keys])
        return PodColumns(
            names=tuple(name for _, name in keys),
            namespace=namespace.column(np.arange(len(keys))),
            uids=TextColumn.join(self._uids).take(rows) if self._uids else TextColumn.blank(0),
            ips=TextColumn.join(self._ips).take(rows) if self._ips else TextColumn.blank(0),
            node=self._node.column(rows),
            phase=self._phase.column(rows),
            terminating=np.array(self._terminating, np.bool_)[rows],
            labels=self._labels.table(rows, numbered=False),
            annotations=self._annotations.table(rows, numbered=False),
            task_index=self._task_index.column(rows),
            requests=requests,
            place=np.array(self._places, np.int64)[rows],
        )


def _task_index(containers: Any) -> str:
    for container in as_list(containers):
        for entry in as_list(as_dict(container).get("env")):
            if type(entry) is dict and entry.get("name") == "VC_TASK_INDEX":
                return scalar_text(entry.get("value"))
    return ""
