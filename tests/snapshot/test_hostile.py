"""Whatever stands in a dump: a Cluster comes out or a ReadError, never anything else."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ascendctl.snapshot.load import load_snapshot
from ascendctl.snapshot.pack import pack, unpack
from ascendctl.snapshot.profiles import PROFILES, LoadOptions
from ascendctl.yamlio.errors import ReadError
from tests.snapshot import objects as o
from tests.snapshot.test_pack import dump, equal

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(1 << 70), 1 << 70)
    | st.floats(allow_nan=False)
    | st.sampled_from(["", "x", "0", "Ascend910-0", "huawei.com/npu", "True", "\ud800", "a\nb\x1b[31m", "é" * 50])
)
VALUES = st.recursive(
    SCALARS,
    lambda child: (
        st.lists(child, max_size=3)
        | st.dictionaries(
            st.sampled_from(["name", "kind", "items", "type", "status", "huawei.com/Ascend910"]), child, max_size=3
        )
    ),
    max_leaves=6,
)


def paths(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """All places inside a value."""
    found = [at] if at else []
    if isinstance(value, dict):
        for key, item in value.items():
            found += paths(item, (*at, key))
    elif isinstance(value, list):
        for i, item in enumerate(value):
            found += paths(item, (*at, i))
    return found


def changed(value: Any, at: tuple[Any, ...], new: Any) -> Any:
    result = copy.deepcopy(value)
    place = result
    for key in at[:-1]:
        place = place[key]
    place[at[-1]] = new
    return result


BASE = [*dump()[:2], *dump()[12:14], dump()[21], dump()[22], *dump()[23:25], *dump()[-3:]]
CLUSTERD = [
    o.node(),
    o.shard(0, o.entry(o.device_list(o.names(range(8))))),
    o.aggregate("cluster-info-switch-0", {"mindx-dl-switchinfo-n1": {"NodeStatus": "Healthy"}}),
    o.aggregate("cluster-info-node-cm", {"mindx-dl-nodeinfo-n1": {"NodeStatus": "Healthy"}}),
]
PLACES = {"device": paths(BASE), "clusterd": paths(CLUSTERD)}


def survives(objects: Any, options: LoadOptions) -> None:
    try:
        cluster = load_snapshot(objects, options=options)
    except ReadError:
        return
    assert equal(cluster, unpack(pack(cluster))) or any("\ud800" in str(d) for d in cluster.diagnostics)


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_a_field_of_another_type(data: st.DataObject) -> None:
    mode = data.draw(st.sampled_from(sorted(PLACES)))
    objects: Any = BASE if mode == "device" else CLUSTERD
    for _ in range(data.draw(st.integers(1, 2))):
        at = data.draw(st.sampled_from(PLACES[mode]))
        try:
            objects = changed(objects, at, data.draw(VALUES))
        except (KeyError, IndexError, TypeError):
            return  # an earlier change took the place away
    options = LoadOptions(strict=data.draw(st.booleans()), profile=data.draw(st.sampled_from(sorted(PROFILES))))
    try:
        json.dumps(objects)
    except (TypeError, ValueError):
        return
    survives(objects, options)


TEXTS = [
    (1, "baseDeviceInfos"),
    (9, "DeviceInfoCfg"),
]


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_json_inside_of_texts(data: st.DataObject) -> None:
    inner: dict[str, Any] = {
        "DeviceInfo": {
            "DeviceList": o.device_list("Ascend910-0", fault=[{"npu_name": "Ascend910-0"}]),
            "UpdateTime": 5,
        },
        "SuperPodID": 1,
        "ServerIndex": 0,
        "CheckCode": "x",
        "RackID": 0,
    }
    base = json.loads(o.base_infos(["Ascend910-0", "Ascend910-1"]))
    entry = dict([o.entry(o.device_list("Ascend910-0"))])
    texts = []
    for value in (inner, base, entry):
        for _ in range(data.draw(st.integers(0, 2))):
            places = paths(value)
            if places:
                value = changed(value, data.draw(st.sampled_from(places)), data.draw(VALUES))
        text = json.dumps(value)
        cut = data.draw(st.integers(0, 3))
        texts.append(text[: len(text) - cut])
    objects = [
        o.node(base=texts[1]),
        o.config_map("mindx-dl-deviceinfo-n1", "kube-system", {"DeviceInfoCfg": texts[0]}, "mx-consumer-cim"),
        o.config_map("cluster-info-device-0", "mindx-dl", {"cluster-info-device-0": texts[2]}, "mx-consumer-volcano"),
    ]
    survives(objects, LoadOptions(cm_source=data.draw(st.sampled_from(["device", "clusterd", "auto"]))))


@pytest.mark.parametrize(
    "objects",
    [
        [],
        [None],
        [5, "x"],
        [[]],
        [{"kind": "List"}],
        [{"kind": ["Node"]}],
        [{"kind": "Node"}],
        [{"kind": "Node", "metadata": {"name": ""}}],
        [{"kind": "Node", "metadata": {"name": "n" * 5000}}],
        [{"kind": "Node", "metadata": {"name": "9" * 5000}}],
    ],
)
def test_dumps_without_anything_usable(objects: Any) -> None:
    with pytest.raises(ReadError, match="holds neither nodes nor device ConfigMaps"):
        load_snapshot(objects)


def test_objects_that_cannot_be_used_are_counted() -> None:
    junk = [None, 5, {"kind": "Secret"}, {"kind": "Secret"}, {"a": 1}, {"kind": "Pod", "metadata": None}]
    cluster = load_snapshot(
        [o.node(), *junk, {"kind": "List", "items": [{"kind": "Event"}]}, o.config_map("x", "y", {})]
    )
    assert cluster.skipped == {
        "(no kind)": 1,
        "(no object)": 1,
        "ConfigMap": 1,
        "Event": 1,
        "Pod without a usable name": 1,
        "Secret": 2,
    }
    assert cluster.read == {"Node": 1}


def test_a_name_of_253_characters_is_fine() -> None:
    assert load_snapshot([o.node("9" * 253), o.node("8" * 252 + "a")]).size == 2


@example("18446744073709551616000", "1e99")
@example("-5", "NaN")
@given(st.text(max_size=12), st.text(max_size=12))
def test_quantities_of_any_form(capacity: str, request: str) -> None:
    pods = [o.pod("p", requests={"huawei.com/Ascend910": request})]
    survives([o.node(capacity={"huawei.com/Ascend910": capacity}), *pods], LoadOptions())


def test_the_caller_keeps_his_objects() -> None:
    before = dump()
    load_snapshot(before)
    assert before == dump()
