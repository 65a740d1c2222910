"""What holds for every plan of the rack policy (chapter 21 §5.3, §9.1, §11)."""

from __future__ import annotations

import random
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from ascendctl.engine.api import place, reschedule
from ascendctl.engine.policies.rack_order import sizes_of
from ascendctl.engine.result import Placement
from tests.engine.policies.rack_world import FULL, Node, Running, by_rank, cluster_of, job_of, recover

EXAMPLES = settings(max_examples=60, deadline=None)

clusters = st.lists(
    st.tuples(st.integers(0, 3), st.sampled_from([0, 1, 2, 15, 16, 17]), st.sampled_from([0, 0, 0, 0, FULL, 1])),
    min_size=1,
    max_size=40,
).map(
    lambda rows: [
        Node(f"n{i}", superpod, rack, used=used, network=int(i % 11 == 5))
        for i, (superpod, rack, used) in enumerate(rows)
    ]
)


@st.composite
def jobs(draw):
    """Valid jobs: K blocks of B nodes, logical racks of R nodes that divide B."""
    rack = draw(st.sampled_from([1, 1, 2, 4]))
    block = rack * draw(st.integers(1, 3))
    pods = block * draw(st.integers(1, 4))
    labels = {"inferserviceid": "svc"} if draw(st.integers(0, 4)) == 0 else {}
    flags = {"soft": draw(st.booleans()), "ub": draw(st.booleans())}
    if pods == 1:
        return job_of(1, draw(st.integers(1, 8)), None, 8, labels=labels, **flags)
    return job_of(pods, 8, 8 * block, 8 * rack, labels=labels, **flags)


@EXAMPLES
@given(clusters, jobs(), st.sampled_from([16, 40]))
def test_plans_respect_nodes_blocks_and_racks(nodes, job, size):
    cluster = cluster_of(nodes, size)
    result = place(job, cluster)
    if not isinstance(result, Placement):
        assert result.outcome == "unschedulable"
        return
    placed = by_rank(result)
    assert len(placed) == len(set(placed)) == job.npu_pod_count
    by_name = {node.name: node for node in nodes}
    for pod in result.pods:
        assert by_name[pod.node].used & sum(1 << chip for chip in pod.npus) == 0
    sizes = sizes_of(job, cluster.config)
    if any("affinity broken" in note for note in result.trace.notes):
        assert sizes.soft
        return
    home = [by_name[name] for name in placed]
    for first in range(0, len(home), sizes.block):
        assert len({node.superpod for node in home[first : first + sizes.block]}) == 1
    service = "inferserviceid" in job.labels
    if service:
        for first in range(0, len(home), sizes.block):
            assert len({(node.superpod, node.rack) for node in home[first : first + sizes.block]}) == 1
    else:
        for first in range(0, len(home), sizes.rack):
            assert len({(node.superpod, node.rack) for node in home[first : first + sizes.rack]}) == 1
    if sizes.ub_memory and sizes.pods > 8 and not service:
        assert len({(node.superpod, node.rack // 16) for node in home}) == 1
    assert {key: list(found) for key, found in result.blocks.items()} == {
        str(k): placed[k * sizes.block : (k + 1) * sizes.block] for k in range(sizes.count)
    }


@EXAMPLES
@given(clusters, jobs(), st.randoms(use_true_random=False))
def test_order_of_objects_does_not_matter(nodes, job, rng: random.Random):
    shuffled = list(nodes)
    rng.shuffle(shuffled)
    assert place(job, cluster_of(nodes, 40)).to_dict() == place(job, cluster_of(shuffled, 40)).to_dict()


@EXAMPLES
@given(st.integers(0, 6), st.integers(0, 6), st.integers(0, 8), st.integers(1, 11), st.sampled_from([1, 2, 4, 7]))
def test_healthy_pods_keep_their_nodes_in_repairs(spare0, spare1, spare2, faulty, sessions):
    spares = [f"S0/r{r}:n{4}-{3 + n}" for r, n in ((0, spare0), (1, spare1)) if n]
    spares += [f"S1/r0:n0-{spare2 - 1}"] if spare2 else []
    job = job_of(12, sp=32, ra=16, labels={"fault-scheduling": "grace", "pod-rescheduling": "on"})
    earlier = "0: S0/r0:n0-3; 1: S0/r1:n0-3; 2: S0/r2:n0-3"
    result = recover(" ".join(spares), earlier, job, [faulty], sessions)
    if not isinstance(result, Placement):
        return
    before = [f"S0-r{rank // 4}-n{rank % 4}" for rank in range(12)]
    width = {1: 1, 2: 1, 4: 2, 7: 4}[sessions]
    window = range(faulty // width * width, faulty // width * width + width)
    if 0 in window:
        return
    now = by_rank(result)
    assert [now[rank] for rank in range(12) if rank not in window] == [
        before[rank] for rank in range(12) if rank not in window
    ]
    assert before[faulty] not in now
    assert len(set(now)) == 12


@EXAMPLES
@given(clusters, jobs(), st.data())
def test_every_recovery_of_a_placement_seats_all_pods(nodes, job, data):
    job = replace(job, labels=dict(job.labels) | {"fault-scheduling": "force", "pod-rescheduling": "on"})
    first = place(job, cluster_of(nodes, 40))
    if not isinstance(first, Placement):
        return
    used = by_rank(first)
    broken = data.draw(st.sampled_from(sorted(set(used))))
    after = [
        replace(node, used=FULL if node.name in used else node.used, healthy=node.name != broken) for node in nodes
    ]
    running = [Running("train", pod.name, pod.node, FULL, pod.rank, job.labels) for pod in first.pods]
    document = first.to_dict()
    document["fault"] = {
        "kind": data.draw(st.sampled_from(["pod", "job", "auto"])),
        "pending_sessions": data.draw(st.sampled_from([0, 4, 7, 13])),
    }
    result = reschedule(job, cluster_of(after, 40, running), document, [broken])
    if not isinstance(result, Placement):
        assert result.outcome == "unschedulable"
        return
    now = by_rank(result)
    assert len(set(now)) == len(now) == len(used)
    assert broken not in now
    assert sum(a == b for a, b in zip(now, used, strict=True)) >= result.metrics["keptPods"]
    assert {name for members in result.blocks.values() for name in members} == set(now)
