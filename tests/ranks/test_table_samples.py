"""Rank tables 2.0 of the samples: layers, units and addresses by product (chapter 50 §4.5), worked out by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ascendctl import load_jobs, load_snapshot, place
from ascendctl.engine.result import Placement
from ascendctl.ranks.server import dumps
from ascendctl.ranks.table import RankTable, rank_table
from ascendctl.ranks.table_check import check_table
from tests.ranks.world import NPU

SAMPLES = Path(__file__).parents[2] / "samples"


def table_of(manifest: str, text: str = "") -> RankTable:
    path = SAMPLES / manifest
    cluster = load_snapshot(str(path.parent / "dump"))
    (job,) = load_jobs(text or str(path))
    assert job.resource == NPU
    result = place(job, cluster)
    assert isinstance(result, Placement), result
    return rank_table(job, result.pods, cluster)


def layer(number: int, name: str, kind: str, *addresses: tuple[str, str, list[str], str]) -> dict[str, Any]:
    keys = ("addr_type", "addr", "ports", "plane_id")
    listed = [dict(zip(keys, one, strict=True)) for one in addresses]
    return {
        "net_layer": number, "net_instance_id": name, "net_type": kind, "net_attr": "", "rank_addr_list": listed,
    }  # fmt: skip


# manifest -> device ids in rank order, layers, units on layer 0 and layer 1 by pod
SHAPES: dict[str, tuple[list[int], list[int], list[str], list[str]]] = {
    # single cards: nothing but RoCE
    "350/sixteen-cards.yaml": ([*range(3, 16)], [3], [], []),
    # meshes of four: UB inside the node
    "350/mesh-two-pods.yaml": ([4, 5, 6, 7, 0, 1, 2, 3], [0, 3], ["10.20.8.33", "10.20.8.31"], []),
    # a server without SuperPoD and without a mapping from NPUs to NICs: UBoE outside
    "850/two-by-four.yaml": ([4, 5, 6, 7, 1, 2, 3, 4], [0, 2], ["10.20.9.12", "10.20.9.11"], []),
    # SuperPoDs: servers are <SuperPoD>_<server index>, two SuperPoDs of two servers
    "850-superpod/two-logical-superpods.yaml": (
        [*range(8)] * 4, [0, 1, 3], ["10_0", "10_1", "11_4", "11_5"], ["10", "10", "11", "11"],
    ),
    # racks are invisible: four servers of SuperPoD 1
    "950-superpod/one-rack.yaml": ([*range(8)] * 4, [0, 1, 3], ["1_6", "1_7", "1_8", "1_9"], ["1"] * 4),
}  # fmt: skip


@pytest.mark.parametrize("manifest", SHAPES)
def test_layers_and_units(manifest: str) -> None:
    devices, layers, servers, superpods = SHAPES[manifest]
    table = table_of(manifest)
    assert (table.version, table.document["status"]) == ("2.0", "completed")
    ranks = table.document["rank_list"]
    assert [rank["rank_id"] for rank in ranks] == [*range(len(devices))]
    assert [rank["device_id"] for rank in ranks] == [rank["local_id"] for rank in ranks] == devices
    assert table.document["rank_count"] == len(devices)
    assert [[one["net_layer"] for one in rank["level_list"]] for rank in ranks] == [layers] * len(devices)
    size = len(devices) // max(1, len(servers))
    for number, units in ((0, servers), (1, superpods)):
        found = [one["net_instance_id"] for rank in ranks for one in rank["level_list"] if one["net_layer"] == number]
        assert found == [unit for unit in units for _ in range(size)]
    outer = {one["net_instance_id"] for rank in ranks for one in rank["level_list"] if one["net_layer"] > 1}
    assert outer == {"CLUSTER1"}
    assert check_table(table.document, "2.0", single_cards=layers == [3]) == []


def test_a_rank_of_a_950_superpod() -> None:
    """As example E3: UB to the server's and the SuperPoD's other chips, RoCE outside; 950 has no UBG addresses."""
    rank = table_of("950-superpod/one-rack.yaml").document["rank_list"][9]
    six, two = ["1/0", "1/1", "1/2", "1/3", "1/5", "1/6"], ["0/1", "0/2"]
    expected = {
        "rank_id": 9, "local_id": 1, "device_id": 1, "level_list": [
            layer(0, "1_7", "TOPO_FILE_DESC", ("EID", "00000000000000000000000000010121", ["1/4"], "1")),
            layer(
                1, "1", "CLOS", ("EID", "00000000000000000000000000020121", six, "0"),
                ("EID", "00000000000000000000000000030121", two, "1"),
            ),
            layer(3, "CLUSTER1", "CLOS", ("IPV4", "172.16.18.2", ["d2h"], "CLUSTER")),
        ],
    }  # fmt: skip
    assert dumps(rank) == dumps(expected)


def test_a_rank_of_an_850_server() -> None:
    rank = table_of("850/two-by-four.yaml").document["rank_list"][4]
    ports = [f"0/{port}" for port in range(7)]
    expected = {
        "rank_id": 4, "local_id": 1, "device_id": 1, "level_list": [
            layer(0, "10.20.9.11", "TOPO_FILE_DESC", ("EID", "000000000000000000000000000100b1", ports, "0")),
            layer(2, "CLUSTER1", "CLOS", ("IPV4", "172.20.11.2", ["1/8"], "CLUSTER")),
        ],
    }  # fmt: skip
    assert dumps(rank) == dumps(expected)


@pytest.mark.parametrize(
    ("wanted", "outer"),
    [
        ("uboe", layer(2, "CLUSTER1", "CLOS", ("IPV4", "172.20.10.1", ["1/8"], "CLUSTER"))),
        ("roce", layer(3, "CLUSTER1", "CLOS", ("IPV4", "172.16.10.1", ["d2h"], "CLUSTER"))),
    ],
)
def test_the_label_chooses_the_network_between_superpods(wanted: str, outer: dict[str, Any]) -> None:
    manifest = "850-superpod/two-logical-superpods.yaml"
    text = (SAMPLES / manifest).read_text(encoding="utf-8")
    table = table_of(
        manifest, text.replace("framework: pytorch", f"framework: pytorch\n    scaleout-type: {wanted}", 1)
    )
    assert table.document["rank_list"][0]["level_list"][2] == outer
