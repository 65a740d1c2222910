"""Checks of pods against their nodes, and of the times in a dump (chapter 30 §8.5). They report only."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ascendctl.snapshot.build import Frame
from ascendctl.snapshot.chip_lists import CHIP_TYPES, chip_names
from ascendctl.snapshot.cluster import Cluster
from ascendctl.snapshot.derive import PREFIX
from ascendctl.snapshot.rows import Rows

PREDICATE_TIME = "predicate-time"
MOUNTED = (1 << 64) - 1
NANOSECONDS = 1_000_000_000
MINUTES_APART = 5
MAX_SECONDS = 1 << 40


def check_pods(frame: Frame, rows: Rows, cluster: Cluster) -> None:
    """All checks of pods; what they find goes to the frame's findings."""
    counted = frame.held.parts >= 0
    whole = ~frame.soft[frame.bound.node] & ~frame.nodes.base.virtual[frame.bound.node]
    _shared_chips(frame, cluster, counted & whole)
    _requests(frame, counted, whole)
    _times(frame, rows)


def _tell(frame: Frame, code: str, i: int, message: str) -> None:
    pods, row = frame.pods, int(frame.bound.rows[i])
    node = frame.nodes.names[int(frame.bound.node[i])]
    frame.collected.findings.add(code, message, pods.title(row), node, frame.collected.where(int(pods.place[row])))


def _shared_chips(frame: Frame, cluster: Cluster, counted: NDArray[np.bool_]) -> None:
    """S334: two pods that name the same chip."""
    node, chips = frame.bound.node, frame.held.chips
    named = np.zeros(cluster.size, np.int64)
    np.add.at(named, node[counted], np.bitwise_count(chips[counted]))
    union = np.zeros(cluster.size, np.uint64)
    np.bitwise_or.at(union, node[counted], chips[counted])
    crowded = named > np.bitwise_count(union)
    taken: dict[int, int] = {}
    for i in np.flatnonzero(counted & crowded[node]).tolist():
        place, mask = int(node[i]), int(chips[i])
        common = taken.get(place, 0) & mask
        if common:
            name = CHIP_TYPES[int(frame.effective.chip_type[place])]
            _tell(frame, "S334", i, f"{chip_names(common, name)} also belongs to another pod on {cluster.names[place]}")
        taken[place] = taken.get(place, 0) | mask


def _requests(frame: Frame, counted: NDArray[np.bool_], whole: NDArray[np.bool_]) -> None:
    """S335: pods that request more or fewer chips than they name."""
    pods, rows = frame.pods, frame.bound.rows
    wanted, special = np.zeros(len(pods.names), np.int64), np.zeros(len(pods.names), np.bool_)
    for name, (asking, amounts) in pods.requests.items():
        if name.removeprefix(PREFIX) in CHIP_TYPES:
            wanted[asking] += amounts // 1000
        else:
            special[asking] = True  # AI cores and virtual devices are not named chip by chip
    named = np.where(counted, frame.held.parts, 0)
    told = ~counted & (frame.held.chips != 0)  # names that do not count have a diagnostic of their own
    odd = whole & ~told & ~special[rows] & pods.active[rows] & (wanted[rows] != named)
    for i in np.flatnonzero(odd).tolist():
        _tell(frame, "S335", i, f"requests {wanted[rows[i]]} chips, names {named[i] or 'none'}")


def _times(frame: Frame, rows: Rows) -> None:
    """S307, S332: pods that were scheduled long before, or after, the rest of the dump was written."""
    column = frame.pods.annotations.column(PREDICATE_TIME)
    seconds = [int(text) // NANOSECONDS if text.isdecimal() and len(text) <= 20 else 0 for text in column.values]
    known = [0 if second >= MOUNTED // NANOSECONDS or second > MAX_SECONDS else second for second in seconds]
    scheduled = column.spread(known, 0, np.int64)[frame.bound.rows]
    active = frame.pods.active[frame.bound.rows]
    newest_row = max((row.update_time for row in rows.device.values()), default=0)
    newest_pod = int(scheduled[active].max(initial=0))
    if newest_row and newest_pod > newest_row + MINUTES_APART * 60:
        minutes = (newest_pod - newest_row) // 60
        message = f"the newest pod was scheduled {minutes} minutes after the newest device row was written"
        frame.collected.findings.add("S307", message, "Pod")
    now = max(newest_row, newest_pod)
    for i in np.flatnonzero(active & (scheduled > 0) & (scheduled < now - MINUTES_APART * 60)).tolist():
        _tell(frame, "S332", i, f"scheduled {(now - int(scheduled[i])) // 60} minutes ago, its chips are not mounted")
