"""MindIE and infer-service jobs: the worked examples of chapter 20 §12.8, §12.9 and chapter 21 §8.2, and the traps."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ascendctl.engine.api import place
from ascendctl.engine.policies.infer_service import plan_blocks
from ascendctl.engine.policies.superpod_mindie import affinity_labels, plan_mindie
from ascendctl.manifest.job import Role
from tests.engine.build import A910, Pod
from tests.engine.policies.superpods import ATLAS_850, blocks, code, config, counted, node, request, world

MINDIE = {"app": "mindie-ms-server", "jobID": "llama"}

EXAMPLES: list[tuple[str, list[int], tuple[int, int], int, bool, list[int] | None, list[int] | None]] = [
    # id, candidates, (S, R), N, sp-fit idlest, affine nodes, SuperPoD of each block
    ("M1", [2], (2, 2), 4, False, None, None),
    ("M2", [4, 3], (2, 2), 2, False, None, [0]),
    ("M3", [4, 5], (2, 2), 2, False, None, [0]),
    ("M4", [4, 5], (2, 2), 2, True, None, [1]),
    ("M5", [4, 4], (2, 2), 2, True, [1, 2], [1]),
    ("M6", [6, 9], (2, 2), 6, False, [1, 0], [0, 0, 1]),
    ("M7", [8, 8], (2, 2), 8, True, None, [1, 0, 0, 1]),
    ("M8", [8, 8], (2, 2), 8, False, None, [0, 0, 0, 1]),
    ("M9", [3, 48], (2, 2), 2, False, [5, 0], [1]),
    ("M10", [40, 30, 48], (16, 2), 48, True, None, [2, 0, 2]),
    ("M11", [40, 30, 48], (16, 2), 48, False, None, [1, 0, 0]),
    ("M12", [10, 10, 9], (3, 2), 9, True, None, [1, 0, 2]),
]


@pytest.mark.parametrize("example", EXAMPLES, ids=[example[0] for example in EXAMPLES])
def test_mindie_examples(example: Any) -> None:
    _, free, (size, reserve), nodes, idlest, affine, expected = example
    found = plan_mindie(free, affine or [0] * len(free), size, reserve, nodes // size, idlest, affine is not None)
    assert (found and [block.superpod for block in found]) == expected


@given(st.lists(st.integers(0, 30), min_size=1, max_size=20), st.integers(1, 8), st.integers(1, 8), st.booleans())
@settings(max_examples=150, deadline=None)
def test_mindie_plans_are_complete(free: list[int], size: int, count: int, idlest: bool) -> None:
    found = plan_mindie(free, [0] * len(free), size, 2, count, idlest, False)
    if sum(n // size for n in free) < count:
        assert found is None
        return
    assert found is not None
    assert [block.lsp for block in found] == list(range(count))
    assert all(sum(b.count for b in found if b.superpod == i) <= n for i, n in enumerate(free))


@pytest.mark.parametrize(
    ("free", "size", "count", "hosts", "expected"),
    [
        ([2, 2], 2, 1, [1], [1]),  # I1
        ([2, 4], 4, 1, [0], [1]),  # I2
        ([3, 4], 2, 2, [0], [0, 1]),  # I3
        ([10, 12], 4, 3, [], [1, 1, 1]),  # I4
        ([12, 12], 4, 4, [], [0, 0, 0, 1]),  # I5
        ([5, 20, 7], 4, 2, [0, 2], [2, 0]),  # I6
        ([1], 2, 1, [], []),  # I7
        ([48, 16], 16, 1, [1], [1]),  # I8
        ([5, 9, 9], 4, 2, [0], [0, 1]),  # chapter 21 §8.2
    ],
)
def test_service_examples(free: list[int], size: int, count: int, hosts: list[int], expected: list[int]) -> None:
    assert plan_blocks(free, hosts, size, count) == expected


@given(
    st.lists(st.integers(0, 30), min_size=1, max_size=15),
    st.sets(st.integers(0, 14)),
    st.integers(1, 6),
    st.integers(1, 12),
)
@settings(max_examples=150, deadline=None)
def test_service_plan_follows_the_rule_step_by_step(free: list[int], hosts: set[int], size: int, count: int) -> None:
    left, same, expected = list(free), {h for h in hosts if h < len(free)}, []
    for _ in range(count):
        eligible = [i for i, n in enumerate(left) if n >= size]
        if not eligible:
            break
        best = min(eligible, key=lambda i: (i not in same, -left[i], i))
        expected.append(best)
        same.add(best)
        left[best] -= size
    assert plan_blocks(free, hosts & set(range(len(free))), size, count) == expected


def test_only_match_labels_of_the_first_preferred_term_count() -> None:
    def term(key: str) -> dict[str, Any]:
        return {"weight": 1, "podAffinityTerm": {"labelSelector": {"matchLabels": {key: "x"}}, "topologyKey": "t"}}

    preferred = "preferredDuringSchedulingIgnoredDuringExecution"
    assert affinity_labels({preferred: [term("a"), term("b")]}) == {"a": "x"}
    assert affinity_labels({}) == {}
    assert affinity_labels({"requiredDuringSchedulingIgnoredDuringExecution": [term("a")["podAffinityTerm"]]}) == {}
    assert affinity_labels({preferred: [{"podAffinityTerm": {"labelSelector": {"matchExpressions": []}}}]}) == {}


def running(job: str, at: str, **annotations: str) -> Pod:
    return Pod(f"{job}-0", at, job, 0, range(16), annotations)


def labelled(cluster: Any, labels: dict[str, dict[str, str]]) -> Any:
    """The cluster with labels on its running jobs."""
    from dataclasses import replace

    from ascendctl.snapshot.columns import StringTable

    rows = [labels.get(name, {}) for name in cluster.jobs.names]
    return replace(cluster, jobs=replace(cluster.jobs, labels=StringTable.from_rows(rows)))


def test_inference_service_goes_before_mindie_soft_and_sub_health() -> None:
    made = world(
        {0: [node(f"a{i}", health=4) for i in range(2)], 1: [node(f"b{i}") for i in range(3)] + [node("b3", ())]},
        pods=[running("other", "b3")],
    )
    cluster = labelled(made, {"other": {"inferserviceid": "svc"}})
    labels = {"inferserviceid": "svc", **MINDIE, "super-pod-affinity": "soft"}
    assert blocks(place(request(2, block=2, labels=labels), cluster)) == {"0": ["b0", "b1"]}
    assert code(place(request(4, block=4, labels=labels), cluster)) == "NOT_ENOUGH_LOGICAL_SUPERPODS"


def test_annotation_super_pod_id_of_a_service_pod_counts_before_its_node() -> None:
    made = world(
        {0: [node("a0"), node("a1")], 1: [node("b0"), node("b1"), node("b2", ())]},
        pods=[running("other", "b2", **{"super-pod-id": "0"})],
    )
    cluster = labelled(made, {"other": {"inferserviceid": "svc"}})
    assert blocks(place(request(2, block=2, labels={"inferserviceid": "svc"}), cluster)) == {"0": ["a0", "a1"]}


def test_an_empty_service_id_is_none() -> None:
    # R = 2: the ordinary path takes SuperPoD 0, which keeps its reserve; the service path would take the largest
    cluster = counted({0: 4, 1: 9})
    assert blocks(place(request(2, block=2, labels={"inferserviceid": ""}), cluster)) == {"0": ["s0-n00", "s0-n01"]}
    assert blocks(place(request(2, block=2, labels={"inferserviceid": "x"}), cluster)) == {"0": ["s1-n00", "s1-n01"]}


def test_mindie_needs_both_labels_and_an_a3_policy() -> None:
    cluster = counted({0: 8, 1: 8}, config())
    job = request(2, block=2, labels=MINDIE)
    job.annotations["sp-fit"] = "idlest"
    assert blocks(place(job, cluster)) == {"0": ["s1-n00", "s1-n01"]}
    half = request(2, block=2, labels={"jobID": "llama"})
    half.annotations["sp-fit"] = "idlest"
    assert blocks(place(half, cluster)) == {"0": ["s0-n00", "s0-n01"]}
    atlas = request(2, 8, 2, ATLAS_850, MINDIE)
    atlas.annotations["sp-fit"] = "idlest"
    from tests.engine.build import NPU

    eight = counted({0: 8, 1: 8}, chips=8, resource=NPU)
    assert blocks(place(atlas, eight)) == {"0": ["s0-n00", "s0-n01"]}


def test_mindie_affinity_counts_busy_nodes_of_matching_jobs() -> None:
    preferred = "preferredDuringSchedulingIgnoredDuringExecution"
    term = {"podAffinityTerm": {"labelSelector": {"matchLabels": {"jobID": "llama"}}}}
    role = Role("worker", 2, 16, A910, task_spec="worker", pod_affinity={preferred: [term]})
    made = world(
        {0: [node(f"a{i}") for i in range(4)], 1: [node(f"b{i}") for i in range(5)] + [node("b5", ())]},
        pods=[running("other", "b5")],
    )
    job = request(2, block=2, labels=MINDIE, roles=(role,))
    assert blocks(place(job, made)) == {"0": ["a0", "a1"]}
    assert blocks(place(job, labelled(made, {"other": {"jobID": "llama", "app": "x"}}))) == {"0": ["b0", "b1"]}
    assert blocks(place(job, labelled(made, {"other": {"jobID": "llama|b"}}))) == {"0": ["a0", "a1"]}


def test_mindie_ignores_sub_health_and_the_soft_label() -> None:
    cluster = world({0: [node("a0", health=4), node("a1"), node("a2"), node("a3")]})
    labels = {**MINDIE, "super-pod-affinity": "soft"}
    assert blocks(place(request(2, block=2, labels=labels), cluster)) == {"0": ["a0", "a1"]}
    assert code(place(request(3, block=3, labels=labels), counted({0: 2, 1: 2}))) == "NOT_ENOUGH_LOGICAL_SUPERPODS"
