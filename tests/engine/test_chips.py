"""Chips inside a node, on the worked examples of chapter 10 §13 and chapter 11.19.1."""

from __future__ import annotations

import re

import numpy as np
import pytest

from ascendctl.engine.chips import chip_codes, chip_scores, pick_chips, wiring
from ascendctl.engine.predicate import CODES
from ascendctl.engine.state import new_state
from tests.engine.build import A310, A310P, A910, NPU, Node, cluster

RESOURCES = {"310-card": A310, "310-chip": A310, "310P": A310P, "duo-card": A310P, "duo-chip": A310P}


def chips(text: str) -> list[int]:
    """ "0-3,8" -> [0, 1, 2, 3, 8]."""
    found: list[int] = []
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


def judge(policy: str, n: int, nodes: list[Node], pods: int = 1):
    """(code, raw score, chips) of each node, in the order given; a code stands alone."""
    made = cluster(nodes)
    state = new_state(made, nodes[0].resource)
    w, distributed = wiring(policy), pods > 1
    codes = np.zeros(made.size, dtype=np.int16)
    chip_codes(w, state, n, distributed, codes)
    scores = chip_scores(w, state, n, distributed, codes == 0)
    found = []
    for node in nodes:
        i = made.index[node.name]
        if codes[i]:
            found.append(CODES[codes[i]])
        else:
            found.append((int(scores[i]), pick_chips(w, state, i, n, distributed)))
    return found


def node(policy: str, free: str, name: str = "a", **more) -> Node:
    w = wiring(policy)
    resource = RESOURCES.get(policy, NPU if w.npu_key else A910)
    size = min(64, max(w.max_node, *(chip + 1 for chip in chips(free)), 0))
    return Node(name, chips(free), chips=more.pop("chips", size), resource=resource, **more)


def one(policy: str, n: int, free: str, pods: int = 1, **more):
    healthy = wiring(policy).max_node - len(list(more.get("unhealthy", ())))
    more.setdefault("allocatable", healthy)
    return judge(policy, n, [node(policy, free, **more)], pods)[0]


RINGS = [
    ("A1", 1, "0", 263, "0"),
    ("A1", 1, "0-2", 253, "0"),
    ("A1", 1, "4,5", 246, "4"),
    ("A1", 1, "4-7", 236, "4"),
    ("A2", 1, "0,1,4-6", 251, "4"),
    ("A3", 1, "0,1,4-7", 242, "0"),
    ("A4", 1, "0-6", 249, "4"),
    ("A5", 1, "3,7", 262, "3"),
    ("A6", 2, "2,3", 262, "2,3"),
    ("A6", 2, "0-3,6", 251, "0,1"),
    ("A6", 2, "0-2,4-6", 242, "0,1"),
    ("A7", 2, "0-2,4-7", 249, "4,5"),
    ("A10", 4, "1,4-7", 259, "4-7"),
    ("A11", 8, "0-7", 256, "0-7"),
]


@pytest.mark.parametrize(("example", "n", "free", "raw", "picked"), RINGS)
def test_hccs_rings(example, n, free, raw, picked):
    assert one("module", n, free) == (raw, tuple(chips(picked)))


def test_hccs_rings_refuse():
    assert one("module", 2, "0,4") == "TOPO_NOT_MET"  # A8
    assert one("module", 4, "0-2,4,5") == "TOPO_NOT_MET"  # A9
    assert one("module", 8, "0-6") == "TOPO_NOT_MET"  # A11
    assert one("module", 3, "0-7") == "TOPO_NOT_MET"
    assert one("module", 2, "0-3", pods=2, net=[0, 1]) == (262, (2, 3))  # A13
    assert one("module", 2, "0-3", pods=2, net=[0, 1, 2]) == "TOPO_NOT_MET"
    assert one("module", 4, "0-3", pods=2, net=None) == "NO_NET_KEY"  # A14
    assert one("module", 4, "0-3", net=None) == (260, (0, 1, 2, 3))
    assert one("module", 1, "0,1", bad=True) == "TOPO_NOT_MET"  # A16: a blank in the list
    assert one("module", 1, "", listed=0) == "NO_FREE_LIST"
    assert one("module", 1, "0,9", chips=16) == "BAD_TOPOLOGY"


def test_healthy_chips_weigh_more_than_a_ring_that_fits():
    nodes = [node("module", "3", "a", allocatable=7), node("module", "4-7", "b", allocatable=8)]
    assert [found[0] for found in judge("module", 1, nodes)] == [231, 236]  # A15


BASE = [
    ("H1", "chip4-node4", 2, "1,3", {}, 398, "1,3"),
    ("H1", "chip4-node4", 2, "0-3", {}, 396, "0,1"),
    ("H3", "chip4-node4", 1, "2,3", {"unhealthy": [0, 1]}, 198, "2"),
    ("C1", "chip1-node2", 2, "0,1", {}, 798, "0,1"),
    ("B1", "chip8-node8", 3, "1,4,6,7", {}, 796, "1,4,6"),
    ("B1", "chip8-node8", 3, "0-7", {}, 792, "0-2"),
    ("B2", "chip8-node8", 2, "0-4", {"unhealthy": [5]}, 695, "0,1"),
    ("B2", "chip8-node8", 2, "0-4", {"unhealthy": [5, 6]}, 595, "0,1"),
    ("B2", "chip8-node8", 2, "0-5", {"unhealthy": [6, 7]}, 594, "0,1"),
    ("B4", "chip8-node8", 4, "0-4", {"net": [2, 3]}, 795, "0-3"),
    ("B6", "chip8-node8", 8, "0-7", {}, 792, "0-7"),
    ("C1", "310P", 2, "1,3,4", {}, 6397, "1,3"),
    ("C3", "310P", 3, "0,2,4,6", {"unhealthy": [1]}, 6396, "0,2,4"),
    ("F1", "chip1-node8", 3, "1,3,5,7", {}, 796, "1,3,5"),
    ("F3", "chip1-node8", 3, "0-5", {"unhealthy": [6, 7]}, 594, "0-2"),
    ("F6", "chip1-node8", 2, "4,9,12,13", {}, 796, "4,9"),
    ("G1", "chip1-node16", 13, "0-15", {}, 1584, "0-12"),
    ("G2", "chip1-node16", 13, "3-15", {}, 1587, "3-15"),
    ("H1", "chip8-node8", 3, "0,2,4,6", {}, 796, "0,2,4"),
]


@pytest.mark.parametrize(("example", "policy", "n", "free", "more", "raw", "picked"), BASE)
def test_base(example, policy, n, free, more, raw, picked):
    assert one(policy, n, free, **more) == (raw, tuple(chips(picked)))


def test_base_refuses():
    assert one("chip4-node4", 4, "0-3", pods=2, net=[3]) == "NPU_SHORTAGE"  # H4
    assert one("chip1-node2", 1, "0,1", pods=2, net=[0]) == (798, (0,))  # C3: network faults do not matter
    assert one("chip1-node2", 3, "0,1") == "NPU_SHORTAGE"  # C2
    assert one("chip8-node8", 4, "0,2,5") == "NPU_SHORTAGE"  # B3
    assert one("chip8-node8", 4, "0-4", pods=2, net=[2, 3]) == "NPU_SHORTAGE"  # B4
    assert one("chip8-node8", 1, "0-8") == "FREE_LIST_TOO_LONG"  # B7
    assert one("chip8-node8", 9, "0-7") == "BAD_COUNT"
    assert one("chip1-node8", 2, "0-15") == "FREE_LIST_TOO_LONG"  # F5
    assert one("chip8-node8", 4, "0-7", pods=2, net=[0, 5]) == (794, (1, 2, 3, 4))  # 11.19 H4
    assert one("chip8-node8", 4, "0-7", pods=2, net=None) == "NO_NET_KEY"  # H5
    assert one("chip8-node8", 4, "0-4", pods=2, net=[0, 1]) == "NPU_SHORTAGE"  # H6
    assert one("chip1-node8", 4, "0-7", pods=2, net=[0, 1]) == (792, (0, 1, 2, 3))  # F7
    assert one("310P", 2, "5") == "NPU_SHORTAGE"  # C2


BOX16 = [
    ("X1", 3, "0-3,8-10", 1, 265, "8,9,10"),
    ("X3", 2, "4,5", 1, 270, "4,5"),
    ("X3", 2, "0-2,8", 1, 252, "0,1"),
    ("X3", 2, "0-15", 1, 160, "0,1"),
    ("X4", 4, "0-3,12-15", 1, 264, "0-3"),
    ("X5", 8, "1-15", 1, 257, "8-15"),
    ("X5", 8, "0-7", 1, 264, "0-7"),
    ("X7", 10, "0-4,8-12,15", 1, 261, "0,8,1,9,2,10,3,11,4,12"),
    ("X9", 10, "0-5,10-15", 2, 244, "0,10,1,11,2,12,3,13,4,14"),
    ("X10", 12, "0-13", 1, 258, "0,8,1,9,2,10,3,11,4,12,5,13"),
    ("X12", 16, "0-15", 1, 256, "0-15"),
    ("X16", 1, "0-2,8-10", 1, 234, "0"),
    ("X19", 10, "0-4,8-12", 1, 262, "0,8,1,9,2,10,3,11,4,12"),
    ("X19", 10, "0-15", 1, 208, "0,8,1,9,2,10,3,11,4,12"),
]


@pytest.mark.parametrize(("example", "n", "free", "pods", "raw", "picked"), BOX16)
def test_box16(example, n, free, pods, raw, picked):
    assert one("chip8-node16", n, free, pods) == (raw, tuple(chips(picked)))


@pytest.mark.parametrize(
    ("example", "n", "free", "pods"),
    [
        ("X2", 3, "0,1,8,9", 1),
        ("X8", 10, "0-5,10-15", 1),
        ("X11", 14, "0-13", 1),
        ("X12", 16, "0-14", 1),
        ("X15", 5, "0-3,8-11", 1),
        ("X17", 8, "0-6,8-14", 1),
        ("X18", 10, "0-3,8-11", 2),
        ("odd", 9, "0-15", 1),
    ],
)
def test_box16_refuses(example, n, free, pods):
    assert one("chip8-node16", n, free, pods) == "TOPO_NOT_MET"


def test_box16_health_and_network():
    nodes = [node("chip8-node16", "0,1", "a", allocatable=15), node("chip8-node16", "0-2", "b", allocatable=16)]
    assert [found[0] for found in judge("chip8-node16", 2, nodes)] == [254, 253]  # X13
    assert one("chip8-node16", 6, "0-6", pods=2, net=[0]) == (266, (1, 2, 3, 4, 5, 6))  # X14


DIES = [
    ("T1", 2, "0,2-4", 480, "2,3"),
    ("T2", 1, "0,1", 240, "0"),
    ("T2", 1, "0-2", 480, "2"),
    ("T5", 6, "0,1,3,6-9", 496, "0,1,6-9"),
    ("T7", 10, "0-9", 512, "0-9"),
    ("T7", 10, "0-10", 496, "0-9"),
    ("T9", 1, "0-3,6,7,11", 416, "11"),
    ("T12", 16, "0-15", 512, "0-15"),
    ("T13", 8, "0-7", 512, "0-7"),
    ("T15", 1, "4", 512, "4"),
    ("T16", 2, "0,1,5", 496, "0,1"),
    ("T16", 2, "0,1,4,5", 480, "0,1"),
    ("T17", 14, "1-15", 496, "2-15"),
    ("worst", 1, "0-15", 16, "0"),
]


@pytest.mark.parametrize(("example", "n", "free", "raw", "picked"), DIES)
def test_die_pairs(example, n, free, raw, picked):
    assert one("chip2-node16", n, free) == (raw, tuple(chips(picked)))


def test_die_pairs_refuse():
    assert one("chip2-node16", 4, "0,1,3,5,7") == "DIE_PAIR_NOT_MET"  # T6
    assert one("chip2-node16", 2, "0,2,4,6") == "DIE_PAIR_NOT_MET"  # T10
    assert one("chip2-node16", 4, "0-3", pods=2, net=[3]) == "NPU_SHORTAGE"  # T11
    assert one("chip2-node16", 2, "0,1", pods=2, net=None) == "NO_NET_KEY"
    assert one("chip2-node8-sp", 2, "0-15", chips=16) == "FREE_LIST_TOO_LONG"


MESH8 = [
    ("V1", 3, "0-2", 256, "0-2"),
    ("V1", 3, "0-2,4-6", 80, "0-2"),
    ("V1", 3, "0-7", 48, "0-2"),
    ("V2", 1, "0,1,4-6", 64, "0"),
    ("V3", 5, "0-2,4-6", 56, "0-2,4,5"),
    ("V4", 4, "0-3", 256, "0-3"),
    ("V5", 8, "0-7", 256, "0-7"),
    ("I1", 2, "0-3", 224, "0,1"),
    ("I2", 2, "0,1,4,5", 96, "0,1"),
    ("I3", 2, "0-2", 240, "0,1"),
    ("I5", 2, "0-2,4,5", 80, "4,5"),
    ("I6", 4, "0-7", 64, "0-3"),
    ("I7", 4, "0-2,4-7", 208, "4-7"),
    ("I9", 5, "0-7", 40, "0-4"),
    ("I10", 5, "1,2,4-6", 64, "1,2,4-6"),
    ("I11", 8, "0-7", 256, "0-7"),
]
MESH16 = [
    ("J1", 8, "0-15", 1536, "0-7"),
    ("J2", 8, "0-13", 2688, "0-7"),
    ("J3", 8, "0-11", 2816, "0-7"),
    ("J4", 8, "0-3,8-11", 4096, "0-3,8-11"),
    ("J5", 8, "0-6,9-15", 3712, "0-3,12-15"),
    ("J6", 3, "0-5,8-10,12-15", 1408, "8-10"),
    ("J8", 12, "0-5,8-15", 3968, "0-3,8-15"),
    ("J9", 6, "2,5,7,8,11,14", 256, "2,5,7,8,11,14"),
]


@pytest.mark.parametrize(
    ("policy", "example", "n", "free", "raw", "picked"),
    [("chip4-node8", *row) for row in MESH8] + [("chip4-node16", *row) for row in MESH16],
)
def test_meshes(policy, example, n, free, raw, picked):
    assert one(policy, n, free) == (raw, tuple(chips(picked)))


def test_meshes_refuse():
    assert one("chip4-node8", 2, "0,4") == "E_TOPOLOGY"  # I4
    assert one("chip4-node8", 4, "0-2,4-6") == "E_TOPOLOGY"  # I8
    assert one("chip4-node8", 4, "0-7", pods=2, net=[2]) == (208, (4, 5, 6, 7))  # I12
    assert one("chip4-node16", 3, "0,1,4,5,8,9,12,13") == "E_TOPOLOGY"  # J7
    assert one("chip4-node16", 6, "0-4") == "E_TOPOLOGY"  # J10
    assert one("chip4-node8", 9, "0-7") == "E_TOPOLOGY"  # K9


CARDS = [
    ("A1", "310-card", 1, "0", 32, "0"),
    ("A2", "310-card", 1, "0-2", 24, "0"),
    ("A3", "310-card", 1, "0,1", 16, "0"),
    ("A4", "310-card", 1, "0-3", 8, "0"),
    ("A5", "310-card", 1, "0,1,4-6", 24, "4"),
    ("A6", "310-card", 1, "0,4,5", 32, "0"),
    ("A8", "310-card", 2, "0-2,4,5", 32, "4,5"),
    ("A9", "310-card", 2, "0-6", 24, "4,5"),
    ("A11", "310-card", 3, "0-6", 32, "4-6"),
    ("A13", "310-card", 4, "0-2,8-11", 32, "8-11"),
    ("B1", "310-chip", 1, "0,4,5", 6397, "0"),
    ("B2", "310-chip", 3, "0,4,5,8-11", 6393, "0,4,5"),
    ("B3", "310-chip", 6, "0-3,5,8,9,12-14", 6390, "5,8,9,12,13,14"),
    ("B4", "310-chip", 1, "0-6", 6393, "4"),
    ("D1", "duo-card", 1, "0,1,3", 16, "3"),
    ("D2", "duo-card", 1, "0,1", 8, "0"),
    ("D4", "duo-card", 2, "1,2,4,5", 16, "4,5"),
    ("E1", "duo-chip", 3, "0,1,3-5", 0, "3,0,1"),
    ("E2", "duo-chip", 3, "2,4,6", 0, "2,4,6"),
    ("E4", "duo-chip-distributed", 1, "5", 120, "5"),
    ("E5", "duo-chip-distributed", 1, "0,1", 56, "0"),
    ("E6", "duo-chip-distributed", 1, "0,1,3", 104, "3"),
    ("E7", "duo-chip-distributed", 1, "0,3", 112, "0"),
    ("E8", "duo-chip-distributed", 3, "0,2,3", 120, "0,2,3"),
    ("E9", "duo-chip-distributed", 3, "0-3", 56, "0-2"),
    ("E11", "duo-chip-distributed", 3, "1,3-5", 112, "1,4,5"),
    ("E13", "duo-chip-distributed", 2, "1-3", 112, "2,3"),
    ("E14", "duo-chip-distributed", 4, "0-2,4,6,7", 104, "0,1,6,7"),
    ("E15", "duo-chip-distributed", 7, "1-7", 120, "1-7"),
    ("E16", "duo-chip-distributed", 7, "0-7", 56, "0-6"),
    ("E17", "duo-chip-distributed", 10, "0-11", 0, "0-9"),
]


@pytest.mark.parametrize(("example", "policy", "n", "free", "raw", "picked"), CARDS)
def test_inference_cards(example, policy, n, free, raw, picked):
    assert one(policy, n, free) == (raw, tuple(chips(picked)))


@pytest.mark.parametrize(
    ("example", "policy", "n", "free", "code"),
    [
        ("A7", "310-card", 2, "0,4", "E_TOPOLOGY"),
        ("A10", "310-card", 3, "0,1,4", "E_TOPOLOGY"),
        ("A12", "310-card", 4, "1-4", "E_TOPOLOGY"),
        ("A14", "310-card", 5, "0-7", "E_TOPOLOGY"),
        ("B5", "310-chip", 3, "0,1", "NPU_SHORTAGE"),
        ("D3", "duo-card", 2, "0,2,4", "E_TOPOLOGY"),
        ("D5", "duo-card", 3, "0-7", "E_TOPOLOGY"),
        ("short", "duo-chip", 3, "0,1", "E_TOPOLOGY"),
        ("E10", "duo-chip-distributed", 3, "0,2,4", "E_TOPOLOGY"),
        ("E12", "duo-chip-distributed", 2, "0,2", "E_TOPOLOGY"),
    ],
)
def test_inference_cards_refuse(example, policy, n, free, code):
    assert one(policy, n, free) == code


TABLE = """
1 single    120 112 104  96  88  80  72  32
1 no single   .  56   .  48   .  40   .  32
2 -           . 120 112 104  96  88  80  72
3 single      .   . 120 112 104  96  88  40
3 no single   .   .   .  56   .  48   .  40
4 -           .   .   . 120 112 104  96  88
5 single      .   .   .   . 120 112 104  48
5 no single   .   .   .   .   .  56   .  48
6 -           .   .   .   .   . 120 112 104
7 single      .   .   .   .   .   . 120  56
7 no single   .   .   .   .   .   .   .  56
8 -           .   .   .   .   .   .   . 120
"""


@pytest.mark.parametrize("row", [line for line in TABLE.splitlines() if line])
def test_distributed_duo_scores(row):
    """Chapter 11.10, expanded table: columns are 1 to 8 free chips."""
    request, case, values = re.fullmatch(r"(\d) (single|no single|-) +(.*)", row).groups()
    for free, value in enumerate(values.split(), 1):
        halves = free % 2 if case != "single" or free % 2 else 2
        if case == "no single" and halves:
            continue
        full = (free - halves) // 2
        ids = [*range(2 * full), *range(2 * full, 2 * (full + halves), 2)]
        found = one("duo-chip-distributed", int(request), ",".join(map(str, ids)))
        if value != "." and not isinstance(found, str):
            assert found[0] == int(value), (free, ids)


def test_nothing_can_be_picked():
    made = cluster([node("module", "0,4")])
    state = new_state(made, A910)
    assert pick_chips(wiring("module"), state, 0, 2, False) == ()


def test_malformed_list_leaves_no_chips():
    assert one("chip8-node8", 1, "0-7", bad=True) == "NPU_SHORTAGE"
