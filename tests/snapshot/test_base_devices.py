"""baseDeviceInfos: the quick look and the thorough one agree."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ascendctl.snapshot.base_devices import BaseInfos, BaseReader
from ascendctl.snapshot.base_scan import scan
from ascendctl.snapshot.chip_lists import CHIP_TYPES
from tests.snapshot import objects as o


def infos(*annotations: Any, order: list[int] | None = None) -> BaseInfos:
    reader = BaseReader()
    reader.add(annotations)
    rows = range(len(annotations)) if order is None else order
    return reader.infos(np.array(list(rows), np.int64))


def chips(found: BaseInfos, node: int) -> list[tuple[int, int, int, str, str]]:
    table = found.chips
    rows = range(int(table.ptr[node]), int(table.ptr[node + 1]))
    columns = (table.physical_id, table.device_id, table.super_device_id, table.ip, table.levels)
    return [tuple(column[row] for column in columns) for row in rows]  # type: ignore[misc]


def entry(ip: str = "10.0.0.1", serial: Any = 5, **more: Any) -> dict[str, Any]:
    return {"IP": ip, "SuperDeviceID": serial} | more


def test_nodes_of_all_forms_in_another_order() -> None:
    texts = [
        o.base_infos(["Ascend910-0", "Ascend910-1"]),
        o.base_infos(["npu-0", "npu-1"], [8, 9]),
        None,
        json.dumps({"Ascend310P-3": entry(serial=7), "Ascend310P-1": entry("x", 4294967295)}),
        o.compact({"npu-0": entry(DeviceID=4, levelList=[{"level": 1}]), "npu-1": entry(DeviceID=5)}),
        "null",
        "broken",
    ]
    found = infos(*texts, order=[6, 5, 4, 3, 2, 1, 0])
    assert found.readable.tolist() == [False, True, True, True, False, True, True]
    assert found.mask.tolist() == [0, 0, 3, 10, 0, 3, 3]
    assert found.count.tolist() == [0, 0, 2, 2, 0, 2, 2]
    assert found.complete.tolist() == [False, True, True, False, False, True, False]
    assert [CHIP_TYPES[kind] if kind >= 0 else "" for kind in found.kind.tolist()] == [
        *("", "", "npu", "Ascend310P", "", "npu", "Ascend910")
    ]
    assert chips(found, 2) == [(0, 4, 5, "10.0.0.1", '[{"level":1}]'), (1, 5, 5, "10.0.0.1", "")]
    assert chips(found, 3) == [(1, -1, 4294967295, "x", ""), (3, -1, 7, "10.0.0.1", "")]
    assert chips(found, 5) == [(0, 8, 0, "192.168.10.1", ""), (1, 9, 1, "192.168.10.2", "")]
    assert chips(found, 6) == [(0, -1, 0, "192.168.10.1", ""), (1, -1, 1, "192.168.10.2", "")]


def test_nodes_that_no_longer_count() -> None:
    found = infos(o.base_infos(["Ascend910-0"]), o.base_infos(["Ascend910-1"]), order=[1])
    assert found.mask.tolist() == [2] and chips(found, 0) == [(1, -1, 0, "192.168.10.1", "")]
    nothing = infos()
    assert nothing.chips.ptr.tolist() == [0] and len(nothing.chips.ip) == 0


@pytest.mark.parametrize(
    ("names", "mask", "kind", "virtual"),
    [
        (["Ascend910-0", "Ascend910-2c-100-0"], 1, "Ascend910", True),
        (["Ascend910-0", "npu-1"], 3, "", False),
        (["Ascend910-00"], 1, "", False),
        (["Ascend910-64"], 0, "", False),
        (["Other-1"], 2, "", False),
        (["Ascend910-x", "Ascend910-1"], 2, "", False),
        (["chip"], 0, "", False),
    ],
)
def test_names_that_are_odd(names: list[str], mask: int, kind: str, virtual: bool) -> None:
    found = infos(o.base_infos(names))
    assert (int(found.mask[0]), bool(found.virtual[0])) == (mask, virtual)
    assert (CHIP_TYPES[found.kind[0]] if found.kind[0] >= 0 else "") == kind
    assert (0 in found.odd) == (kind == "")
    if kind == "":
        assert found.odd[0].base == tuple(names)


@pytest.mark.parametrize(
    "value",
    [
        entry(serial=-1),
        entry(serial=4294967296),
        entry(serial="5"),
        entry(serial=5.0),
        entry(serial=True),
        entry(ip=5),  # type: ignore[arg-type]
        entry(DeviceID="8"),
        entry(DeviceID=1 << 31),
        entry(levelList=5),
        [],
        5,
    ],
)
def test_one_wrong_type_makes_the_annotation_bad(value: Any) -> None:
    good = {"Ascend910-0": entry(), "Ascend910-1": entry(DeviceID=3)}
    assert infos(o.compact(good)).readable.tolist() == [True]
    assert infos(o.compact(good | {"Ascend910-2": value})).readable.tolist() == [False]


def test_members_in_other_letter_case_and_absent_ones() -> None:
    text = o.compact({"npu-0": {"ip": "a", "superdeviceid": 3, "deviceId": 4, "Other": 1}, "npu-1": {}, "npu-2": None})
    found = infos(text)
    assert found.readable[0] and not found.complete[0]
    assert chips(found, 0) == [(0, 4, 3, "a", ""), (1, -1, 0, "", ""), (2, -1, 0, "", "")]


MUTATIONS = st.lists(
    st.tuples(st.sampled_from("rid"), st.integers(0, 400), st.sampled_from('0123456789"{}:,-.AINP npu\\\n+e/\t?é')),
    max_size=3,
)


@settings(max_examples=400, deadline=None)
@given(st.integers(1, 4), st.booleans(), MUTATIONS)
def test_the_quick_look_never_sees_what_is_not_there(
    count: int, numbered: bool, changes: list[tuple[str, int, str]]
) -> None:
    kind = "npu" if numbered else "Ascend910"
    good = o.base_infos([f"{kind}-{i}" for i in range(count)], list(range(8, 8 + count)) if numbered else None)
    text = good
    for action, place, char in changes:
        at = place % len(text)
        text = text[:at] + (char if action != "d" else "") + text[at + (action != "i") :]
    found = scan([good, text, good], numbered)
    assert found.good[0] and found.good[2]
    if text == good:
        assert found.good[1]
    if found.good[1]:
        value = json.loads(text)
        rows = np.flatnonzero(found.owner == 1).tolist()
        seen = [
            (
                f"{CHIP_TYPES[found.kind[row]]}-{found.chip[row]}",
                {"IP": found.ip[row], "SuperDeviceID": int(found.super_device[row])}
                | ({"DeviceID": int(found.device[row])} if numbered else {}),
            )
            for row in rows
        ]
        assert seen == list(value.items())


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 64), st.booleans(), st.integers(0, 1 << 32), st.randoms(use_true_random=False))
def test_what_a_device_plugin_writes_is_read_the_quick_way(count: int, numbered: bool, start: int, rng: Any) -> None:
    ids = sorted(rng.sample(range(64), count))
    kind = "npu" if numbered else rng.choice(CHIP_TYPES)
    rows = {
        f"{kind}-{i}": ({"DeviceID": i + 8} if numbered else {})
        | {"IP": f"10.0.{i}.1", "SuperDeviceID": (start + i) % (1 << 32)}
        for i in ids
    }
    found = scan([o.compact(rows)], numbered)
    assert found.good.tolist() == [True]
    assert found.chip.tolist() == ids and found.super_device.tolist() == [row["SuperDeviceID"] for row in rows.values()]
    assert list(found.ip) == [row["IP"] for row in rows.values()]
