"""Checks on an existing rank table (chapter 50 §4.6)."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from ascendctl.ranks.table_check import check_table
from ascendctl.ranks.table_v1 import SOFT, table_1_0, table_1_2
from ascendctl.ranks.table_v2 import table_2_0
from tests.ranks.test_table_examples import a2, a3, a950


def found(table: Any, **more: Any) -> list[tuple[str, str]]:
    return [(one.code, one.level) for one in check_table(table, **more)]


def changed(table: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return copy.deepcopy(table) | fields


def test_good_tables() -> None:
    assert found(table_1_0(a2()), expected="1.0") == []
    assert found(table_1_2(a3(), 32), expected="1.2", block_npus=32) == []
    assert found(table_2_0(a950()), expected="2.0") == []


def test_status_and_version() -> None:
    assert found(changed(table_1_0(a2()), status="initializing")) == [("RT-01", "error")]
    message = check_table(changed(table_1_0(a2()), status="initializing"))[0].message
    assert "earlier run" in message
    assert found(changed(table_1_0(a2()), version="1.1")) == [("RT-01", "error")]
    assert found(table_1_0(a2()), expected="1.2") == [("RT-01", "error")]
    assert found([]) == [("RT-01", "error")]


def test_global_rank_table_is_recognised() -> None:
    (only,) = check_table({"version": "1.0", "status": "completed", "server_group_list": []})
    assert "global rank table of MindIE" in only.message


def test_counts_and_ranks() -> None:
    table = table_1_0(a2())
    assert found(changed(table, server_count="3")) == [("RT-02", "error")]
    assert found(changed(table, server_count=2)) == [("RT-02", "error")]  # a string, always
    assert found(changed(table, server_list=table["server_list"][::-1])) == [("RT-02", "error")]
    assert found(changed(table_2_0(a950()), rank_count=3)) == [("RT-02", "error")]


@pytest.mark.parametrize(("ip", "count"), [("-1", 1), ("", 1), ("eth0", 1), ("10.20.0.1", 1)])
def test_addresses(ip: str, count: int) -> None:
    table = changed(table_1_0(a2()))
    table["server_list"][1]["device"][3]["device_ip"] = ip
    assert found(table) == [("RT-03", "error")] * count


def test_a_single_block_may_lack_addresses() -> None:
    table = changed(table_1_2(a3(), 0))
    table["server_list"][1]["device"][3]["device_ip"] = "-1"
    assert found(table) == []
    assert found(table, block_npus=32) == [("RT-03", "error")]


def test_server_ids() -> None:
    table = changed(table_1_0(a2()))
    table["server_list"][1]["server_id"] = table["server_list"][0]["server_id"]
    assert found(table) == [("RT-06", "error")]
    table["server_list"][1]["server_id"] = ""
    assert found(table) == [("RT-05", "error")]


def test_super_pods() -> None:
    assert ("RT-07", "error") in found(table_1_2(a3(), 32, SOFT))  # no super-pod-rank: a hole
    table = table_1_2(a3(), 32)
    listed = table["super_pod_list"]
    assert found(changed(table, super_pod_list=listed[:1])) == [("RT-07", "error")]
    assert found(changed(table, super_pod_list=listed[::-1])) == [("RT-07", "warning")]
    mixed = copy.deepcopy(listed)
    mixed[0]["server_list"][0], mixed[1]["server_list"][0] = mixed[1]["server_list"][0], mixed[0]["server_list"][0]
    assert found(changed(table, super_pod_list=mixed)) == [("RT-08", "error")]  # servers 0 and 3; 1 and 2 do


def test_an_entry_must_lie_in_one_superpod() -> None:
    homes = {"10.0.5.14": 5, "10.0.5.15": 5, "10.0.6.11": 6, "10.0.6.12": 6}
    assert found(table_1_2(a3(), 32), superpods=homes) == []
    assert found(table_1_2(a3(), 64), superpods=homes) == [("RT-09", "error")]


def test_super_device_ids() -> None:
    table = changed(table_1_2(a3(), 32))
    table["server_list"][2]["device"][1]["super_device_id"] = "99"
    assert found(table) == [("RT-I1", "info")]


def test_levels() -> None:
    table = changed(table_2_0(a950(), "uboe"))
    assert found(table) == [("RT-04", "error")]  # layer 2 without addresses
    table = changed(table_2_0(a950()))
    table["rank_list"][1]["level_list"] = table["rank_list"][1]["level_list"][1:]
    assert found(table) == [("RT-04", "error")]
    assert found(table, single_cards=True) == []
