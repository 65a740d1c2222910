"""Why a node refuses a pod: every policy inside a node against the order of chapter 10 §2.6 and chapter 11.4, on nodes
whose numbers disagree, whose lists are broken, too long or empty, or that miss a key."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ascendctl.engine.api import place
from ascendctl.engine.result import Invalid, Placement
from tests.engine import naive
from tests.engine.build import Node, cluster
from tests.engine.policies.test_intra_invariants import POLICIES, made_job, resource_of

TOPOLOGY = {
    "module": "TOPO_NOT_MET", "chip8-node16": "TOPO_NOT_MET", "chip2-node16": "DIE_PAIR_NOT_MET",
    "chip4-node8": "E_TOPOLOGY", "chip4-node16": "E_TOPOLOGY", "310-card": "E_TOPOLOGY", "duo-card": "E_TOPOLOGY",
    "duo-chip": "E_TOPOLOGY",
}  # fmt: skip
"""Policy -> what it calls chips that do not fit together; the base policies count chips only."""
COUNTS_FIRST = {"chip2-node16"} | naive.BASE
"""Policies that compare the number of usable chips before they look at groups."""
DUO = {"infer-card-type": "card-300i-duo"}


def code(name: str, node: Node, n: int, pods: int, distributed: bool) -> str:
    """The code of a node for the first pod, "" = accepted."""
    free = list(node.free)
    parts = len(free) if node.listed is None else node.listed
    capacity = node.chips if node.capacity is None else node.capacity
    idle = len(free) if node.idle is None else node.idle
    if capacity < 0 or parts < 0:
        return "RES_MISSING"
    if parts > idle or parts > capacity or idle > capacity:
        return "RES_UNSTABLE"
    if idle < n:
        return "NPU_SHORTAGE"
    if parts == 0:
        return "NO_FREE_LIST"
    readable = [] if node.bad else free
    if len(readable) > naive.MAX[name]:
        return "FREE_LIST_TOO_LONG"
    if pods > 1 and name in naive.NET and node.net is None:
        return "NO_NET_KEY"
    is_duo = node.labels == DUO
    if name == "duo-chip" and not is_duo:
        return "E_CARD_LABEL"
    view = naive.View(readable, None if node.net is None else list(node.net), 0, 0, is_duo)
    if name in COUNTS_FIRST and len(naive.usable(name, view, pods)) < n:
        return "NPU_SHORTAGE"
    return "" if naive.accepts(name, view, n, pods, distributed) else TOPOLOGY.get(name, "NPU_SHORTAGE")


@st.composite
def odd_nodes(draw, name):
    """A node; the chips of the policies that index tables by chip id stay inside the node (chapter 10 §11)."""
    chips = draw(st.sampled_from([naive.MAX[name], naive.MAX[name], 16, 2])) if naive.MAX[name] <= 16 else 16
    inside = naive.MAX[name] if name in ("module", "chip8-node16", "chip2-node16") else 64
    free = [c for c in range(min(chips, inside)) if draw(st.integers(0, 3))]
    bad = draw(st.integers(0, 9)) == 0
    return Node(
        "n0",
        free,
        chips,
        net=draw(st.sampled_from([None, (), [0, 1], [1, 5, 6]])),
        resource=resource_of(name),
        capacity=draw(st.sampled_from([None, None, None, None, len(free) - 1, -1])),
        idle=draw(st.sampled_from([None, None, None, None, len(free) - 1, len(free) + 1, chips + 1])),
        listed=draw(st.sampled_from([None, None, None, None, 0, -1, len(free) + 1])) if not bad else None,
        bad=bad,
        labels=draw(st.sampled_from([DUO, DUO, DUO, {}])),
    )


@pytest.mark.parametrize("name", POLICIES)
@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_codes(name, data):
    node = data.draw(odd_nodes(name))
    n = data.draw(st.integers(1, min(naive.MAX[name], 16)))
    distributed = name == "duo-chip" and data.draw(st.booleans())
    pods = 1 if distributed else data.draw(st.sampled_from([1, 1, 2]))
    if node.listed is not None and node.listed == 0:
        node = Node(**{**node.__dict__, "free": []})
    result = place(made_job(name, n, pods, distributed), cluster([node]))
    if isinstance(result, Invalid):
        return
    expected = code(name, node, n, pods, distributed)
    if isinstance(result, Placement):
        assert expected == ""
    elif expected:
        assert [group.code for group in result.rejected] == [expected]
    else:
        assert pods > 1, result.message
