"""Health of nodes and cards (chapter 30 §6.4, §6.7)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ascendctl.manifest.job import parse_go_int
from ascendctl.snapshot.chip_lists import MAX_CHIP_ID
from ascendctl.snapshot.cluster import (
    CARD_NETWORK_UNHEALTHY,
    CARD_UNHEALTHY,
    NODE_UNHEALTHY,
    PRE_SEPARATE,
    SUB_HEALTHY_CARD,
    SUB_HEALTHY_SWITCH,
    UNKNOWN_ACCELERATOR,
)
from ascendctl.snapshot.columns import StringColumn, StringTable
from ascendctl.snapshot.derive import PREFIX, WorkingMap
from ascendctl.snapshot.gojson import loads
from ascendctl.snapshot.profiles import Profile
from ascendctl.snapshot.rows import Rows

ACCELERATOR = "accelerator"
HOST_STATUS = "NodeHealthyStatus"
SUB_HEALTH = "SubHealthFault"
LINK_DOWN_CODE, LINK_DOWN_LEVEL = "81078603", "NotHandleFault"


def accelerator_kinds(column: StringColumn) -> list[str | None]:
    """The chip kind that each node's label accelerator names: the text between first and second dash; None = no
    kind."""
    kinds: list[str | None] = []
    for value in column.values:
        parts = value.split("-")
        kinds.append(parts[1] if len(parts) > 1 else None)
    kinds.append(None)
    return [kinds[code] for code in column.codes.tolist()]


def faults(text: str) -> list[dict[str, Any]] | None:
    """The elements of a -Fault value; None if it cannot be decoded."""
    if text in ("", "[]", "null"):
        return []
    try:
        value = loads(text)
    except ValueError:
        return None
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        return None
    return value


def _sub_healthy(text: str) -> bool:
    """True if a card is sub-healthy. The quick look at the text is right: no writer escapes these letters."""
    if SUB_HEALTH not in text and "\\u" not in text:
        return False
    return any(fault.get("fault_handling") == SUB_HEALTH for fault in faults(text) or ())


def health_bits(
    working: WorkingMap,
    annotations: StringTable,
    names: Sequence[str],
    is_npu: NDArray[np.bool_],
    accelerators: Sequence[str | None],
    rows: Rows,
    profile: Profile,
) -> NDArray[np.uint8]:
    """uint8[N]: the bits of `Cluster.health`."""
    n = len(names)
    bits = np.zeros(n, np.uint8)
    index = {name: i for i, name in enumerate(names)}
    forced = annotations.column(HOST_STATUS).equals("UnHealthy") & profile.node_annotation
    bits[forced] |= NODE_UNHEALTHY
    for name, status in rows.host.items():
        i = index.get(name, -1)
        if i >= 0 and not forced[i]:
            bits[i] |= {"UnHealthy": NODE_UNHEALTHY, "PreSeparate": PRE_SEPARATE}.get(status, 0)
    for name, status in rows.switch.items():
        i = index.get(name, -1)
        if i >= 0:
            bits[i] |= {"UnHealthy": NODE_UNHEALTHY, "SubHealthy": SUB_HEALTHY_SWITCH}.get(status, 0)
    for kind in dict.fromkeys(accelerators):
        same = np.array([other == kind for other in accelerators], np.bool_) & is_npu
        if kind is None:
            bits[same] |= UNKNOWN_ACCELERATOR
        else:
            _card_bits(working, kind, same, bits)
    return bits


def _card_bits(working: WorkingMap, kind: str, where: NDArray[np.bool_], bits: NDArray[np.uint8]) -> None:
    """Bits of the cards of nodes whose label accelerator names `kind`."""
    fault = working.column(f"{PREFIX}{kind}-Fault")
    sub_healthy = np.array([*map(_sub_healthy, fault.values), False], np.bool_)[fault.codes]
    bits[where & sub_healthy] |= SUB_HEALTHY_CARD
    listed = where & (working.column(PREFIX + kind).codes >= 0)
    for suffix, bit in (("-Unhealthy", CARD_UNHEALTHY), ("-NetworkUnhealthy", CARD_NETWORK_UNHEALTHY)):
        bits[listed & (working.chips(PREFIX + kind + suffix, kind).count > 0)] |= bit


def link_down_masks(column: StringColumn, chip_type: str) -> NDArray[np.uint64]:
    """uint64[N]: chips whose faults hold the link-down code at the level that only the live rule looks at."""
    masks = []
    for text in column.values:
        mask = 0
        for fault in (faults(text) or ()) if LINK_DOWN_CODE in text else ():
            codes = str(fault.get("fault_code", "")).split(",")
            chip = parse_go_int(str(fault.get("npu_name", "")).removeprefix(chip_type + "-"))
            if (
                LINK_DOWN_CODE in codes
                and fault.get("fault_handling") == LINK_DOWN_LEVEL
                and chip is not None
                and 0 <= chip <= MAX_CHIP_ID
            ):
                mask |= 1 << chip
        masks.append(mask)
    return np.array([*masks, 0], np.uint64)[column.codes]
