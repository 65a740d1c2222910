"""What is written to the pods (chapter 10 §5.7, chapter 11.4.9), and the result document."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ascendctl.engine.api import place
from tests.engine.build import A910, NPU, Node, cluster, job, policy

AFFINITY = "huawei.com/AscendReal"


def annotations(found, *nodes):
    return dict(place(found, cluster(list(nodes))).pods[0].annotations)


def test_operator_pods_name_the_real_chips():
    """Chapter 10 §5.7, example: chips 2 and 3, one pod."""
    found = job(2, kind="AscendJob", annotations=policy("chip8-node8"))
    assert annotations(found, Node("a", [2, 3])) == {
        "distributed-job": "false",
        A910: "Ascend910-2,Ascend910-3",
        AFFINITY: "Ascend910-2,Ascend910-3",
    }


def test_other_pods_only_if_they_take_every_healthy_chip():
    found = job(8, 2, annotations=policy("chip8-node8"))
    written = annotations(found, Node("a", range(8)), Node("b", range(8)))
    assert (written["distributed-job"], AFFINITY in written) == ("true", True)
    assert AFFINITY not in annotations(job(2, annotations=policy("chip8-node8")), Node("a", [2, 3]))
    sick = Node("a", range(7), unhealthy=[7])
    assert AFFINITY not in annotations(job(7, annotations=policy("chip8-node8")), sick)  # eight names, seven chips


def test_rank_annotation():
    found = replace(job(1), owner_kind="ReplicaSet")
    assert annotations(found, Node("a", [0]))["hccl/rankIndex"] == "0"
    assert "hccl/rankIndex" not in annotations(job(1), Node("a", [0]))
    gang = job(1, annotations={"huawei.com/schedule_minAvailable": "1"})
    assert annotations(gang, Node("a", [0]))["hccl/rankIndex"] == "0"


def test_selection_order_is_written():
    """R5: Box16 pairs."""
    found = job(10, kind="AscendJob", annotations=policy("chip8-node16"))
    result = place(found, cluster([Node("a", [0, 1, 2, 3, 4, 8, 9, 10, 11, 12, 15], 16)]))
    order = [0, 8, 1, 9, 2, 10, 3, 11, 4, 12]
    assert list(result.pods[0].npus) == order
    assert result.pods[0].annotations[A910] == ",".join(f"Ascend910-{i}" for i in order)


def test_ascend950_nodes_get_device_ids():
    """K14."""
    node = Node("a", [0, 4, 5], resource=NPU, devices={0: 7, 4: 3, 5: 2},
                labels={"node.kubernetes.io/npu.chip.name": "Ascend950PR"})  # fmt: skip
    found = job(2, kind="AscendJob", resource=NPU, annotations=policy("chip4-node8"))
    result = place(found, cluster([node]))
    assert list(result.pods[0].npus) == [4, 5]
    assert result.pods[0].annotations[NPU] == "npu-3,npu-2"
    assert result.pods[0].annotations[AFFINITY] == "npu-4,npu-5"


@pytest.mark.parametrize("order", [1, -1])
def test_document_does_not_depend_on_node_order(order):
    nodes = [Node(f"n{i}", range(i % 8 + 1)) for i in range(12)]
    found = job(2, 3, annotations=policy("chip8-node8"))
    document = place(found, cluster(nodes[::order])).to_dict()
    assert document == place(found, cluster(nodes)).to_dict()
    assert document["job"]["policy"] == "chip8-node8"
    assert document["nodes"]["rejected"] == [
        {"code": "NPU_SHORTAGE", "message": "too few free NPUs on the node", "count": 2, "nodes": ["n0", "n8"]}
    ]
