"""The complete examples of chapter 50 §4.7, byte for byte, and their variations."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import Any

import pytest

from ascendctl.ranks.server import Chip, Server, dumps
from ascendctl.ranks.table_v1 import MINDIE, SOFT, table_1_0, table_1_2
from ascendctl.ranks.table_v2 import ScaleOutError, table_2_0


def digest(text: str) -> tuple[int, str]:
    return len(text), hashlib.sha256(text.encode()).hexdigest()


def a2() -> list[Server]:
    return [
        Server(
            rank,
            tuple(Chip(i, f"10.20.{rank}.{i + 1}") for i in range(8)),
            f"10.0.0.{11 + rank}",
            f"10.0.0.{11 + rank}",
            f"172.16.0.{rank + 1}",
        )
        for rank in range(2)
    ]


def a3(chips: int = 16) -> list[Server]:
    places = [(5, 3, "10.0.5.14"), (5, 4, "10.0.5.15"), (6, 0, "10.0.6.11"), (6, 1, "10.0.6.12")]
    return [
        Server(
            rank,
            tuple(
                Chip(i, f"10.2{superpod}.{index}.{i + 1}", index << 22 | i // 2 << 18 | i % 2 << 16 | i)
                for i in range(chips)
            ),
            host,
            host,
            f"172.16.0.{rank + 1}",
            super_pod_id=str(superpod),
        )
        for rank, (superpod, index, host) in enumerate(places)
    ]


def element(layer: int, name: str, kind: str, *addresses: dict[str, Any]) -> dict[str, Any]:
    return {
        "net_layer": layer, "net_instance_id": name, "net_type": kind, "net_attr": "", "rank_addr_list": [*addresses],
    }  # fmt: skip


def address(text: str, ports: list[str], plane: str, kind: str = "EID") -> dict[str, Any]:
    return {"addr_type": kind, "addr": text, "ports": ports, "plane_id": plane}


def levels_950(server: int, chip: int, roce: bool = True) -> str:
    def eid(group: int) -> str:
        return f"{group}0{server}{chip}".rjust(32, "0")

    six, two = ["1/0", "1/1", "1/2", "1/3", "1/5", "1/6"], ["0/1", "0/2"]
    levels = [
        {"level": 0, "info": {"UB": element(0, f"7_{server}", "TOPO_FILE_DESC", address(eid(1), ["1/4"], "1"))}},
        {"level": 1, "info": {"UB": element(1, "7", "CLOS", address(eid(2), six, "0"), address(eid(3), two, "1"))}},
    ]
    if roce:
        nic = address(f"10.30.{server}.{chip + 1}", ["d2h"], "CLUSTER", "IPV4")
        levels.append({"level": 3, "info": {"ROCE": element(3, "CLUSTER1", "CLOS", nic)}})
    return json.dumps(levels)


def a950(roce: bool = True) -> list[Server]:
    return [
        Server(r, tuple(Chip(i, levels=levels_950(r, i, roce)) for i in range(2)), f"h{r}", f"h{r}") for r in range(2)
    ]


def test_e1() -> None:
    expected = (1149, "4ee49d33d2c9f294ec703855d33657bca960b2b6e3e52da351e534d1730a56ea")
    assert digest(dumps(table_1_0(a2()))) == expected


def test_e2() -> None:
    expected = (6118, "6576b3a22a41c6e8a44e2987643258b3f4cac229bd027da8e2a10f2d178db94e")
    assert digest(dumps(table_1_2(a3(), 32))) == expected


def test_e3() -> None:
    expected = (3003, "0fc58ee9dd097001f497e018ba9868330db8ca9e571fcbda552e425d237f45e8")
    assert digest(dumps(table_2_0(a950()))) == expected


def test_e4_server_ids_are_pod_uids() -> None:
    table = table_1_0([replace(server, server_id=f"uid-{server.rank}") for server in a2()])
    assert [entry["server_id"] for entry in table["server_list"]] == ["uid-0", "uid-1"]
    assert [entry["host_ip"] for entry in table["server_list"]] == ["10.0.0.11", "10.0.0.12"]


def super_pods(table: dict[str, Any]) -> list[Any]:
    return [
        entry and (entry["super_pod_id"], [one["server_id"][-2:] for one in entry["server_list"]])
        for entry in table["super_pod_list"]
    ]


def test_e5_without_block_all_servers_are_one() -> None:
    assert super_pods(table_1_2(a3()[:2], 0)) == [("0", ["14", "15"])]


def test_e7_soft_groups_by_super_pod_rank() -> None:
    servers = [replace(s, super_pod_rank=rank) for s, rank in zip(a3(2), ("0", "0", "0", "1"), strict=True)]
    assert super_pods(table_1_2(servers, 4, SOFT)) == [("0", ["14", "15", "11"]), ("1", ["12"])]


def test_e8_an_empty_super_pod_rank_leaves_a_hole() -> None:
    assert table_1_2(a3(2), 4, SOFT)["super_pod_list"] == [None]


@pytest.mark.parametrize(
    ("ranks", "found"),
    [
        (("0", "5", "0", "0"), [("0", ["14", "11", "12"]), None]),  # 5 is no position among two
        (("1", "1", "x", "0"), [("0", ["12"]), ("1", ["14", "15"]), None]),
    ],
)
def test_soft_entries_out_of_range_are_lost(ranks: tuple[str, ...], found: list[Any]) -> None:
    servers = [replace(s, super_pod_rank=rank) for s, rank in zip(a3(2), ranks, strict=True)]
    assert super_pods(table_1_2(servers, 4, SOFT)) == found


def test_e9_mindie_lists_physical_super_pods_and_the_hardware() -> None:
    table = table_1_2([replace(server, hardware_type="800I-A3") for server in a3(2)], 4, MINDIE)
    assert super_pods(table) == [("5", ["14", "15"]), ("6", ["11", "12"])]
    assert list(table["server_list"][0]) == ["device", "hardware_type", "server_id", "host_ip", "container_ip"]


def test_e10_blocks_of_a_multi_level_job() -> None:
    assert super_pods(table_1_2(a3(2), 4)) == [("0", ["14", "15"]), ("1", ["11", "12"])]


def test_hard_blocks_count_by_position_and_a_small_block_is_one_server() -> None:
    assert super_pods(table_1_2(a3(), 8)) == [("0", ["14"]), ("1", ["15"]), ("2", ["11"]), ("3", ["12"])]
    assert super_pods(table_1_2(a3(), 40)) == [("0", ["14", "15"]), ("1", ["11", "12"])]  # floored


def layers(table: dict[str, Any]) -> list[tuple[int, int]]:
    return [(one["net_layer"], len(one["rank_addr_list"])) for one in table["rank_list"][0]["level_list"]]


def test_e11_scale_out() -> None:
    assert dumps(table_2_0(a950(), "RoCE")) == dumps(table_2_0(a950()))
    assert layers(table_2_0(a950())) == [(0, 1), (1, 2), (3, 1)]
    assert layers(table_2_0(a950(), " uboe ")) == [(0, 1), (1, 2), (2, 0)]
    assert layers(table_2_0(a950(roce=False))) == [(0, 1), (1, 2)]
    with pytest.raises(ScaleOutError):
        table_2_0(a950(), "xx")


def test_one_node_with_roce_flips_the_whole_job() -> None:
    mixed = [a950()[0], a950(roce=False)[1]]
    table = table_2_0(mixed)
    assert [[one["net_layer"] for one in rank["level_list"]] for rank in table["rank_list"]] == [[0, 1, 3]] * 4
    assert table["rank_list"][2]["level_list"][2] == element(3, "CLUSTER1", "CLOS")


def test_a_table_without_ranks_has_no_rank_list() -> None:
    assert dumps(table_2_0([])) == '{"status":"completed","version":"2.0","rank_count":0}'
