"""Comma lists of chip names -> bit masks (chapter 30 §6.2, §6.6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ascendctl.manifest.job import parse_go_int

MAX_CHIP_ID = 63
CHIP_TYPES = ("Ascend910", "npu", "Ascend310P", "Ascend310")
"""Chip types in the order of `cluster.CHIP_RESOURCES`; the resource is huawei.com/<type>, a chip is <type>-<id>."""


@dataclass(frozen=True)
class Lists:
    """Facts about some list texts, one row a text.

    `count` int32: parts by text, 0 for "". `mask` uint64: ids that can be read (0..63). `exact` uint64: ids whose part
    is written exactly <prefix><id>, which is what subtraction by text takes away. `bad` bool: the scheduler reads no id
    at all from the text, or would read one twice or one that no node has.
    """

    count: NDArray[np.int32]
    mask: NDArray[np.uint64]
    exact: NDArray[np.uint64]
    bad: NDArray[np.bool_]


@lru_cache(maxsize=16)
def _bits(chip_type: str) -> dict[str, int]:
    return {f"{chip_type}-{i}": 1 << i for i in range(MAX_CHIP_ID + 1)}


def parse_lists(texts: Sequence[str], chip_type: str) -> Lists:
    """Parse list texts of chips named <chip_type>-<id>."""
    rows = [parse_list(text, chip_type) for text in texts]
    count, mask, exact, bad = zip(*rows, strict=True) if rows else ((), (), (), ())
    return Lists(
        np.array(count, np.int32),
        np.array(mask, np.uint64),
        np.array(exact, np.uint64),
        np.array(bad, np.bool_),
    )


def parse_list(text: str, chip_type: str) -> tuple[int, int, int, bool]:
    """Count, mask, exact and bad of one text, see `Lists`."""
    if not text:
        return 0, 0, 0, False
    bits = _bits(chip_type)
    parts = text.split(",")
    mask = 0
    try:
        for part in parts:
            mask |= bits[part]
    except KeyError:
        return _odd_list(parts, chip_type + "-")
    return len(parts), mask, mask, mask.bit_count() != len(parts)


def _odd_list(parts: list[str], prefix: str) -> tuple[int, int, int, bool]:
    """A list with a part that is not <prefix><id>: the prefix may be missing, Go's integers may carry a sign or
    zeros."""
    bits, mask, exact, bad = _bits(prefix[:-1]), 0, 0, False
    for part in parts:
        chip = parse_go_int(part.removeprefix(prefix))
        exact |= bits.get(part, 0)
        if chip is None or not 0 <= chip <= MAX_CHIP_ID or mask >> chip & 1:
            bad = True
        else:
            mask |= 1 << chip
    return len(parts), mask, exact, bad


def chip_names(mask: int, chip_type: str) -> str:
    """The list text of a mask in the order of the device plugin: by text, so 10 stands before 2."""
    return ",".join(sorted(f"{chip_type}-{i}" for i in chip_ids(mask)))


@lru_cache(maxsize=1024)
def chip_ids(mask: int) -> tuple[int, ...]:
    """Chip ids of a bit mask, ascending."""
    return tuple(i for i in range(mask.bit_length()) if mask >> i & 1)
