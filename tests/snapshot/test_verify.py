"""CheckCode verification of device and node rows (chapter 30 §2)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ascendctl.snapshot.load import load_snapshot
from ascendctl.snapshot.profiles import LoadOptions
from ascendctl.snapshot.verify import check_device_code, check_node_code
from tests.snapshot import objects as o

LISTS = o.device_list(o.names(range(8)))
EXAMPLE = (
    '{"DeviceInfo":{"DeviceList":{"huawei.com/npu":"npu-0,npu-1,npu-2,npu-3,npu-4,npu-5,npu-6,npu-7",'
    '"huawei.com/npu-Fault":"[]","huawei.com/npu-NetworkUnhealthy":"","huawei.com/npu-Recovering":"",'
    '"huawei.com/npu-Unhealthy":""},"UpdateTime":1788000000},"SuperPodID":4,"ServerIndex":2,'
    '"CheckCode":"699c0f5f8099953e89d9360367ace5b2f5718214f6c043add545be1a092bf9d4","RackID":0}'
)


def device(raw: str) -> Any:
    return check_device_code(raw, json.loads(raw))


def test_the_example_of_the_chapter() -> None:
    assert device(EXAMPLE) is None


def test_the_code_does_not_cover_ids() -> None:
    assert device(EXAMPLE.replace('"SuperPodID":4', '"SuperPodID":7')) is None


def test_a_changed_payload() -> None:
    code, message = device(EXAMPLE.replace("1788000000", "1788000001"))
    assert code == "S310" and "699c0f5f8099" in message


@pytest.mark.parametrize("cut", [',"CheckCode":"699c0f5f8099953e89d9360367ace5b2f5718214f6c043add545be1a092bf9d4"', ""])
def test_an_absent_or_empty_code(cut: str) -> None:
    raw = EXAMPLE.replace(cut, "") if cut else EXAMPLE.replace(EXAMPLE[EXAMPLE.index("699c") :][:64], "")
    assert device(raw) == ("S311", "CheckCode is missing")


def test_another_order_of_members_matches_in_canonical_form() -> None:
    value = json.loads(EXAMPLE)
    value["DeviceInfo"]["DeviceList"] = dict(reversed(value["DeviceInfo"]["DeviceList"].items()))
    assert device(json.dumps(value, indent=1)) is None


def test_a_newer_writer_with_more_fields_matches_by_its_raw_text() -> None:
    info = {"DeviceList": LISTS, "UpdateTime": 5, "NewField": {"a": [1, "}"]}}
    from ascendctl.snapshot.gojson import sha256

    row = {"DeviceInfo": info, "CheckCode": sha256(o.compact(info)), "SuperPodID": 1}
    assert device(o.compact(row)) is None
    assert device('{"Other":1,' + o.compact(row)[1:]) is None


def test_folded_text_is_told_apart() -> None:
    wrong = json.dumps(json.loads(EXAMPLE.replace("npu-7", "npu-8")), indent=1)
    code, message = device(wrong)
    assert code == "S310" and "folded or indented" in message


def test_node_rows_old_and_new() -> None:
    new = json.loads(o.host_map("UnHealthy")["data"]["NodeInfo"])
    assert check_node_code(o.compact(new), new) is None
    old = {"FaultDevList": [], "HeartbeatTime": 1729850400, "HeartbeatInterval": 5, "NodeStatus": "Healthy"}
    row = {"CheckCode": "856156d9952c88ebb7d14bf1f5327d61cebc5c9df0324c6d3acda1682378d8c3", "NodeInfo": old}
    assert check_node_code(json.dumps(row), row) is None
    row["NodeInfo"] = old | {"NodeStatus": "UnHealthy"}
    problem = check_node_code(o.compact(row), row)
    assert problem is not None and problem[0] == "S310"


@pytest.mark.parametrize(
    ("check", "profile", "code", "length", "found"),
    [
        ("warn", "26.1", "bad", 8, ["S310"]),
        ("warn", "26.1", "", 8, ["S311"]),
        ("strict", "26.1", "bad", -1, ["S310"]),
        ("off", "26.1", "bad", 8, []),
        ("warn", "6.0", "bad", -1, ["S310"]),
        ("off", "6.0-RC3", "bad", 8, []),
        ("warn", "7.0", "bad", 8, ["S310"]),
    ],
)
def test_what_a_wrong_code_does(check: Any, profile: str, code: str, length: int, found: list[str]) -> None:
    options = LoadOptions(check_codes=check, profile=profile)
    cluster = load_snapshot([o.node(), o.device_map(LISTS, code=code), o.DEVICE_MODE], options=options)
    assert cluster.resources["huawei.com/Ascend910"].list_length.tolist() == [length] if length >= 0 else True
    assert (cluster.resources["huawei.com/Ascend910"].list_length[0] >= 0) == (length >= 0)
    assert [d.code for d in cluster.diagnostics] == found


def test_a_refused_node_row_counts_as_healthy() -> None:
    row = json.loads(o.host_map("UnHealthy")["data"]["NodeInfo"]) | {"CheckCode": "bad"}
    host = o.config_map("mindx-dl-nodeinfo-n1", "mindx-dl", {"NodeInfo": o.compact(row)}, "mx-consumer-cim")
    dump = [o.node(), o.device_map(LISTS), host, o.DEVICE_MODE]
    assert load_snapshot(dump).health.tolist() == [1]
    assert load_snapshot(dump, options=LoadOptions(check_codes="strict")).health.tolist() == [0]
