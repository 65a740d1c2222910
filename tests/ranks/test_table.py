"""Version and generator of rank tables (chapter 50 §4.1, §4.6; vectors V8 to V13)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ascendctl import load_jobs, load_snapshot
from ascendctl.engine.result import PlacedPod
from ascendctl.manifest.job import Job
from ascendctl.ranks.configmap import rings_config
from ascendctl.ranks.summary import job_summary
from ascendctl.ranks.table import RankTableError, rank_table
from ascendctl.ranks.version import logical_superpod, table_block, table_version
from tests.ranks.test_table_examples import levels_950
from tests.ranks.world import A910, NPU, a2, a3, acjob, cluster, objects, placed, vcjob, with_levels

TWO = {"Master": (1, 8), "Worker": (1, 8)}
SP = "module-a3-16-super-pod"


def job_of(text: str) -> Job:
    (job,) = load_jobs(text)
    return job


@pytest.mark.parametrize(
    ("text", "version", "reason"),
    [
        (acjob(TWO, policy="", annotations='sp-block: "32"'), "1.2", "sp-block is there"),  # V8
        (acjob(TWO, policy="chip2-node16", annotations='sp-block: "32"'), "1.0", "although sp-block"),  # V9, E6
        (acjob(TWO, policy="multilevel", resource=NPU), "2.0", "requests huawei.com/npu"),  # V10
        (acjob(TWO, policy="", selector="module-a3-8-super-pod"), "1.2", "module-a3-8-super-pod"),  # V11
        (acjob(TWO, policy="chip2-node16-sp"), "1.2", "schedule_policy is chip2-node16-sp"),  # E5
        (acjob(TWO, policy="chip2-node8-sp"), "1.2", "chip2-node8-sp"),
        (acjob(TWO, policy="multilevel"), "1.2", "multilevel"),
        (acjob(TWO), "1.0", "chip8-node8, no SuperPoD policy"),
        (acjob(TWO, policy="", selector="module-a3-16"), "1.0", "neither"),
    ],
)
def test_version(text: str, version: str, reason: str) -> None:
    found = table_version(job_of(text))
    assert found[0] == version
    assert reason in found[1]


def test_annotations_of_the_template_do_not_count_for_a_volcano_job() -> None:
    text = vcjob({"a": (2, 16)}, annotations="").replace(
        "    template:\n",
        "    template:\n      metadata: {annotations: {huawei.com/schedule_policy: chip2-node16-sp}}\n",
    )
    job = job_of(text)
    assert job.policy_name == "chip2-node16-sp"  # the scheduler takes it
    assert table_version(job)[0] == "1.0"  # the operator does not


def test_annotations_of_the_template_count_for_a_deployment() -> None:
    text = (
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec:\n  replicas: 1\n  template:\n    metadata: "
        "{annotations: {huawei.com/schedule_policy: chip2-node16-sp}}\n    spec: {containers: [{name: c, resources: "
        "{requests: {huawei.com/Ascend910: 16}}}]}\n"
    )
    assert table_version(job_of(text))[0] == "1.2"


def test_limits_alone_never_make_a_table_2_0() -> None:
    text = acjob(TWO, policy="chip8-node8", resource=NPU).replace(f"requests: {{{NPU}: 8}}, ", "")
    assert table_version(job_of(text))[0] == "1.0"


@pytest.mark.parametrize(
    ("annotations", "policy", "resource", "block"),
    [
        ('sp-block: "32"', "", A910, 32),
        ("", "", A910, 0),
        ('sp-block: "x"', "chip2-node16-sp", A910, 0),
        ('huawei.com/affinity-config: "level1=2,level2=4"', "multilevel", A910, 16),
        ('huawei.com/affinity-config: "level1=2,level2=4"', "multilevel", NPU, 0),  # only Ascend910 is counted
        ('sp-block: "32", huawei.com/affinity-config: "level1=2"', "multilevel", A910, 32),
    ],
)
def test_block(annotations: str, policy: str, resource: str, block: int) -> None:
    assert table_block(job_of(acjob(TWO, policy=policy, annotations=annotations, resource=resource))) == block


@pytest.mark.parametrize(
    ("block", "npus", "groups"),
    [(32, 16, [0, 0, 1, 1, 2, 2]), (8, 16, [0, 1, 2, 3]), (40, 16, [0, 0, 1, 1, 2, 2]), (0, 16, [0, 0, 0, 0])],
)
def test_logical_superpod(block: int, npus: int, groups: list[int]) -> None:
    assert [logical_superpod(block, npus, rank) for rank in range(len(groups))] == groups


def test_table_1_0_of_a_placement() -> None:
    where = a2("a", "b")
    job, found = placed(acjob(TWO), where)
    table = rank_table(job, found.pods, where)
    assert (table.version, table.document["status"], table.document["server_count"]) == ("1.0", "completed", "2")
    first, second = table.document["server_list"]
    assert (first["server_id"], first["host_ip"]) == (where.addresses[0], where.addresses[0])
    assert "container_ip" not in first
    assert [d["rank_id"] for d in second["device"]] == [str(i) for i in range(8, 16)]
    assert "super_device_id" not in first["device"][0]
    assert table.notes == ()


def test_table_1_2_blocks_follow_the_plan() -> None:
    where = a3(a0=1, a1=1, b0=2, b1=2)
    roles = {"Master": (1, 16), "Worker": (3, 16)}
    job, found = placed(acjob(roles, selector=SP, policy="chip2-node16-sp", annotations='sp-block: "32"'), where)
    table = rank_table(job, found.pods, where)
    assert table.version == "1.2"
    address = {name: where.addresses[i] for i, name in enumerate(where.names)}
    listed = [[one["server_id"] for one in entry["server_list"]] for entry in table.document["super_pod_list"]]
    assert listed == [[address[node] for node in found.blocks[key]] for key in ("0", "1")]


def test_soft_table_goes_by_the_plan() -> None:
    where = a3(a0=1, a1=1, a2=1, b0=2)
    text = acjob(
        {"Master": (1, 16), "Worker": (3, 16)}, selector=SP, policy="chip2-node16-sp", annotations='sp-block: "32"',
        labels="super-pod-affinity: soft",
    )  # fmt: skip
    job, found = placed(text, where)
    groups = [len(entry["server_list"]) for entry in rank_table(job, found.pods, where).document["super_pod_list"]]
    assert groups == [len(nodes) for nodes in found.blocks.values()]
    assert sum(groups) == 4


def test_table_2_0_of_a_placement() -> None:
    nodes = {name: {"superpod": 7, "rack": 0, "labels": {"accelerator-type": "x"}} for name in ("a", "b")}
    found = with_levels(
        objects(nodes, resource=NPU, params={"super-pod-size": "8"}),
        lambda node, chip: json.loads(levels_950(0 if node == "a" else 1, chip)),
    )
    where = load_snapshot(found)
    text = acjob(
        TWO, policy="chip8-node8-ra64-sp", selector="x", resource=NPU, annotations='sp-block: "16", ra-block: "8"'
    )
    job, placement = placed(text, where)
    table = rank_table(job, placement.pods, where)
    assert (table.version, table.document["rank_count"]) == ("2.0", 16)
    assert [one["net_layer"] for one in table.document["rank_list"][9]["level_list"]] == [0, 1, 3]
    assert table.document["rank_list"][9]["device_id"] == 1


def test_levels_must_be_there_for_2_0() -> None:
    where = cluster({"a": {"labels": {"accelerator-type": "x"}}}, resource=NPU)
    job, found = placed(acjob({"Master": (1, 8)}, policy="chip8-node8", selector="x", resource=NPU), where)
    with pytest.raises(RankTableError, match="RT-04: chip 0 of node a has no levelList"):
        rank_table(job, found.pods, where)


def addressed(found: list[dict[str, Any]], node: str, chip: int, ip: str) -> list[dict[str, Any]]:
    for one in found:
        if one["kind"] == "Node" and one["metadata"]["name"] == node:
            base = json.loads(one["metadata"]["annotations"]["baseDeviceInfos"])
            base[f"Ascend910-{chip}"]["IP"] = ip
            one["metadata"]["annotations"]["baseDeviceInfos"] = json.dumps(base)
    return found


@pytest.mark.parametrize("ip", ["-1", ""])
@pytest.mark.parametrize(("block", "made"), [("32", False), ("64", True)])
def test_v13_an_address_may_be_unknown_in_a_single_block(ip: str, block: str, made: bool) -> None:
    nodes = {f"a{i}": {"superpod": 1, "labels": {"accelerator-type": SP}} for i in range(4)}
    where = load_snapshot(addressed(objects(nodes, chips=16), "a1", 3, ip))
    roles = {"Master": (1, 16), "Worker": (3, 16)}
    text = acjob(roles, selector=SP, policy="chip2-node16-sp", annotations=f'sp-block: "{block}"')
    job, found = placed(text, where)
    if made:
        table = rank_table(job, found.pods, where)
        assert table.document["status"] == "initializing"
        assert "chip 3 of node a1" in table.notes[0]
    else:
        with pytest.raises(RankTableError, match="RT-03: chip 3 of node a1 has no address"):
            rank_table(job, found.pods, where)


@pytest.mark.parametrize("ip", ["eth0", "10.0.0.300", "10.0.0"])
def test_what_is_no_address_is_refused(ip: str) -> None:
    nodes = {"a": {"labels": {"accelerator-type": "module-910b-8"}}}
    where = load_snapshot(addressed(objects(nodes), "a", 2, ip))
    job, found = placed(acjob({"Master": (1, 8)}), where)
    with pytest.raises(RankTableError, match=r"RT-03: .* is no address"):
        rank_table(job, found.pods, where)


def test_one_address_twice_is_refused() -> None:
    nodes = {"a": {"labels": {"accelerator-type": "module-910b-8"}}}
    where = load_snapshot(addressed(objects(nodes), "a", 2, "172.16.0.1"))
    job, found = placed(acjob({"Master": (1, 8)}), where)
    with pytest.raises(RankTableError, match="RT-03: chip 1 of node a and chip 2 of node a have the same address"):
        rank_table(job, found.pods, where)


def test_pods_on_one_node_need_uids() -> None:
    where = a2("a")
    job, found = placed(vcjob({"w": (2, 4)}, plugins="env: []"), where)
    with pytest.raises(RankTableError, match="RT-05"):
        rank_table(job, found.pods, where)
    with pytest.raises(RankTableError, match="RT-06: two servers would have server_id"):
        rank_table(job, found.pods, where, server_id="host-ip")


def test_uids_come_from_the_snapshot() -> None:
    running = [{"job": "demo-vc", "name": f"demo-vc-w-{i}", "node": "b", "chips": "0x0", "rank": i} for i in range(2)]
    nodes = {name: {"labels": {"accelerator-type": "module-910b-8"}} for name in ("a", "b")}
    where = cluster(nodes, running=running)
    job, found = placed(vcjob({"w": (2, 4)}, plugins="env: []"), where)
    ids = [entry["server_id"] for entry in rank_table(job, found.pods, where).document["server_list"]]
    rows = dict(zip(where.pods.names, where.pods.uids, strict=True))
    assert ids == [rows["demo-vc-w-0"], rows["demo-vc-w-1"]]
    assert len(set(ids)) == 2


def test_addresses_of_pods_that_run_where_the_placement_has_them() -> None:
    """container_ip comes from the job's own pod on that very node; a pod that moves, one that has finished and one of
    another namespace give none (chapter 50 §4.6: the key may be absent)."""
    nodes = {name: {"labels": {"accelerator-type": "module-910b-8"}} for name in "abcd"}
    running = [
        {"job": "demo-vc", "name": f"demo-vc-w-{i}", "node": node, "chips": "0xff", "rank": i}
        for i, node in enumerate("abcd")
    ]
    dump = objects(nodes, running=running)
    for one in dump:
        if one["kind"] == "Pod":
            number = int(one["metadata"]["name"][-1])
            one["status"] = {"phase": "Succeeded" if number == 2 else "Running", "podIP": f"172.16.0.{number + 1}"}
            one["metadata"]["namespace"] = "other" if number == 3 else one["metadata"]["namespace"]
    (job,) = load_jobs(vcjob({"w": (4, 8)}, plugins="env: []"))
    plan = [("demo-vc-w-0", "a"), ("demo-vc-w-1", "d"), ("demo-vc-w-2", "c"), ("demo-vc-w-3", "b")]
    pods = [PlacedPod(name, "w", rank, node, tuple(range(8)), {}) for rank, (name, node) in enumerate(plan)]
    servers = rank_table(job, pods, load_snapshot(dump)).document["server_list"]
    assert [server.get("container_ip") for server in servers] == ["172.16.0.1", None, None, None]
    assert list(servers[0]) == ["device", "server_id", "host_ip", "container_ip"]
    assert rank_table(job, pods, load_snapshot(dump)).document["status"] == "completed"


def test_uids_of_pods_that_wait_for_a_node() -> None:
    found = objects({"a": {"labels": {"accelerator-type": "module-910b-8"}}})
    found += [
        {
            "apiVersion": "v1", "kind": "Pod", "spec": {"containers": []}, "status": {"phase": "Pending"},
            "metadata": {"name": f"demo-vc-w-{i}", "namespace": namespace, "uid": f"{namespace}-{i}"},
        }
        for i in range(2)
        for namespace in ("default", "other")
    ]  # fmt: skip
    where = load_snapshot(found)
    job, placement = placed(vcjob({"w": (2, 4)}, plugins="env: []"), where)
    servers = rank_table(job, placement.pods, where).document["server_list"]
    assert [server["server_id"] for server in servers] == ["default-0", "default-1"]
    (summary,) = job_summary(job, placement.pods, where)
    listed = json.loads(summary["data"]["hccl.json"])["server_list"]
    assert [server["server_id"] for server in listed] == ["default-0", "default-1"]


def test_another_version_on_request() -> None:
    where = a2("a", "b")
    job, found = placed(acjob(TWO), where)
    table = rank_table(job, found.pods, where, version="1.2")
    assert table.version == "1.2"
    assert "the operator would write version 1.0" in table.notes[0]
    assert table.document["super_pod_list"][0]["super_pod_id"] == "0"


@pytest.mark.parametrize(
    ("text", "note"),
    [
        (vcjob({"w": (1, 8)}, labels=""), "neither label ring-controller.atlas nor a volume named ranktable"),
        (
            "apiVersion: v1\nkind: Pod\nmetadata: {name: p, annotations: {huawei.com/schedule_policy: chip8-node8}}\n"
            "spec: {containers: [{name: c, resources: {requests: {huawei.com/Ascend910: 8}}}]}\n",
            "no rank table for kind Pod",
        ),
    ],
)
def test_where_the_operator_writes_none(text: str, note: str) -> None:
    where = a2("a")
    job, found = placed(text, where)
    assert any(note in one for one in rank_table(job, found.pods, where).notes)


def test_v12_helpers_without_npus_prevent_2_0() -> None:
    nodes = {name: {"labels": {"accelerator-type": "x"}} for name in ("a", "b")}
    where = load_snapshot(with_levels(objects(nodes, resource=NPU), lambda n, c: json.loads(levels_950(0, c))))
    text = acjob({"Scheduler": (1, 0), "Worker": (2, 8)}, "mindspore", policy="chip8-node8", selector="x", resource=NPU)
    job, found = placed(text, where)
    notes = rank_table(job, found.pods, where, server_id="host-ip").notes
    assert any("no table 2.0 for a job with pods without NPUs (Scheduler)" in note for note in notes)


def test_configmap() -> None:
    where = a2("a")
    job, found = placed(acjob({"Master": (1, 8)}, labels="ring-controller.atlas: ascend-910b"), where)
    made = rings_config(job, rank_table(job, found.pods, where))
    assert made["metadata"] == {
        "name": "rings-config-demo", "namespace": "default", "labels": {"ring-controller.atlas": "ascend-910b"},
    }  # fmt: skip
    assert json.loads(made["data"]["hccl.json"])["version"] == "1.0"
    assert made["data"]["version"] == "0"
    assert " " not in made["data"]["hccl.json"]
