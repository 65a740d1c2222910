"""Small clusters and manifests for tests of ranks, tables and pins."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ascendctl import load_jobs, load_snapshot, place
from ascendctl.engine.result import Placement
from ascendctl.manifest.job import Job
from ascendctl.snapshot.cluster import Cluster
from tests import cases

A910, NPU = "huawei.com/Ascend910", "huawei.com/npu"


def objects(
    nodes: Mapping[str, Mapping[str, Any]], resource: str = A910, chips: int = 8, hostnames: bool = True, **case: Any
) -> list[dict[str, Any]]:
    """Objects of a cluster; `nodes` as in the recorded cases, by name. Hostname labels are h-<name>."""
    whole: dict[str, Any] = {
        "id": "world/0",
        "params": case.pop("params", {}),
        "leaves": None,
        "running": [],
        "nodes": [{"name": name, "resource": resource, "chips": chips, **node} for name, node in nodes.items()],
        "job": {"kind": "AscendJob", "name": "other", "labels": {}, "roles": [{"name": "w", "replicas": 1, "npus": 1}]},
    }
    found = cases.objects(whole | case)
    for one in found:
        if one["kind"] == "Node" and hostnames:
            one["metadata"]["labels"]["kubernetes.io/hostname"] = "h-" + one["metadata"]["name"]
    return found


def two_leaves(width: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """A2 nodes n0, n1, ... below two leaf switches 10.9.0.0 and 10.9.0.1 of so many servers: nodes and `leaves`."""
    servers = [{"server_ip": f"10.0.0.{i}", "npu_count": 8, "slice_id": i % width} for i in range(2 * width)]
    nodes = {
        f"n{i}": {"labels": {"accelerator-type": "module-910b-8"}, "ip": server["server_ip"]}
        for i, server in enumerate(servers)
    }
    switches = [{"tor_id": t, "tor_ip": f"10.9.0.{t}", "server": servers[width * t :][:width]} for t in range(2)]
    return nodes, {"tor_level": None, "tor_info": {"tor_count": width, "server_list": switches}}


def cluster(nodes: Mapping[str, Mapping[str, Any]], **more: Any) -> Cluster:
    return load_snapshot(objects(nodes, **more))


def a2(*names: str, selector: str = "module-910b-8", **more: Any) -> Cluster:
    """A2 nodes of 8 chips."""
    return cluster({name: {"labels": {"accelerator-type": selector}} for name in names}, **more)


def a3(**superpods: int) -> Cluster:
    """A3 nodes of 16 chips by name and SuperPoD."""
    labels = {"accelerator-type": "module-a3-16-super-pod"}
    return cluster({name: {"superpod": s, "labels": labels} for name, s in superpods.items()}, chips=16)


def with_levels(found: list[dict[str, Any]], levels: Any) -> list[dict[str, Any]]:
    """The objects with levelList on every chip; `levels(node name, chip)` gives it."""
    for one in found:
        if one["kind"] == "Node":
            base = json.loads(one["metadata"]["annotations"]["baseDeviceInfos"])
            for chip, entry in base.items():
                entry["levelList"] = levels(one["metadata"]["name"], int(chip.rpartition("-")[2]))
            one["metadata"]["annotations"]["baseDeviceInfos"] = json.dumps(base)
    return found


def acjob(
    roles: Mapping[str, tuple[int, int]],
    framework: str = "pytorch",
    selector: str = "module-910b-8",
    policy: str = "chip8-node8",
    annotations: str = "",
    labels: str = "",
    resource: str = A910,
    name: str = "demo",
    template: str = "",
) -> str:
    """An AscendJob; roles: name -> (replicas, NPUs)."""
    text = f"""\
apiVersion: mindxdl.gitee.com/v1
kind: AscendJob
metadata:
  name: {name}
  labels: {{framework: {framework}{", " + labels if labels else ""}}}
  annotations: {{{", ".join(part for part in (f"huawei.com/schedule_policy: {policy}" if policy else "", annotations) if part)}}}
spec:
  schedulerName: volcano
  runPolicy: {{schedulingPolicy: {{minAvailable: {sum(n for n, _ in roles.values())}, queue: default}}}}
  replicaSpecs:
"""
    for role, (replicas, npus) in roles.items():
        asked = f"{{{resource}: {npus}}}" if npus else "{}"
        text += f"""\
    {role}:
      replicas: {replicas}
      restartPolicy: Never
      template:
        metadata: {{labels: {{ring-controller.atlas: ascend-910b}}{template}}}
        spec:
          nodeSelector: {{accelerator-type: {selector}}}
          containers:
          - name: ascend
            image: registry.local/train:1
            env:
            - name: ASCEND_VISIBLE_DEVICES
              valueFrom: {{fieldRef: {{fieldPath: "metadata.annotations['{resource}']"}}}}
            resources: {{requests: {asked}, limits: {asked}}}
"""
    return text


def vcjob(
    tasks: Mapping[str, tuple[int, int]],
    plugins: str = "env: [], svc: []",
    annotations: str = "huawei.com/schedule_policy: chip8-node8",
    labels: str = "ring-controller.atlas: ascend-910b",
    name: str = "demo-vc",
    selector: str = "module-910b-8",
    ranks: Mapping[str, str] | None = None,
) -> str:
    """A Volcano Job; tasks: name -> (replicas, NPUs); `ranks`: task -> preset hccl/rankIndex."""
    text = f"""\
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata:
  name: {name}
  labels: {{{labels}}}
  annotations: {{{annotations}}}
spec:
  minAvailable: {sum(n for n, _ in tasks.values())}
  schedulerName: volcano
  queue: default
  plugins: {{{plugins}}}
  tasks:
"""
    for task, (replicas, npus) in tasks.items():
        rank = (ranks or {}).get(task)
        meta = f"      metadata: {{annotations: {{hccl/rankIndex: '{rank}'}}}}\n" if rank is not None else ""
        asked = f"{{{A910}: {npus}}}" if npus else "{}"
        text += f"""\
  - name: {task}
    replicas: {replicas}
    template:
{meta}      spec:
        restartPolicy: Never
        nodeSelector: {{accelerator-type: {selector}}}
        containers:
        - name: ascend
          image: registry.local/train:1
          resources: {{requests: {asked}, limits: {asked}}}
"""
    return text


def placed(text: str, where: Cluster) -> tuple[Job, Placement]:
    """The only job of a manifest and its placement."""
    (job,) = load_jobs(text)
    result = place(job, where)
    assert isinstance(result, Placement), result
    return job, result
