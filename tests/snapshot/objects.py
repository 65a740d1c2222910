"""Kubernetes objects for tests: nodes, pods and the ConfigMaps of both modes, small and plain."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

Obj = dict[str, Any]
NOW = 1788000000


def compact(value: Any) -> str:
    """JSON without blanks, as the writers of the cluster write it (test texts hold no characters that they escape)."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def names(ids: Sequence[int], prefix: str = "Ascend910-") -> str:
    """A list text as the device plugin writes it: sorted as text."""
    return ",".join(sorted(f"{prefix}{i}" for i in ids))


def base_infos(entries: Sequence[str], device_ids: Sequence[int] | None = None) -> str:
    """The annotation baseDeviceInfos of some chips."""
    return compact(
        {
            name: ({} if device_ids is None else {"DeviceID": device_ids[i]})
            | {"IP": f"192.168.10.{i + 1}", "SuperDeviceID": i}
            for i, name in enumerate(entries)
        }
    )


def node(
    name: str = "n1",
    chips: int = 8,
    resource: str = "huawei.com/Ascend910",
    *,
    labels: Mapping[str, str | None] = {},
    annotations: Mapping[str, str | None] = {},
    capacity: Mapping[str, Any] | None = None,
    allocatable: Mapping[str, Any] | None = None,
    ready: bool = True,
    address: str = "10.0.0.1",
    base: str | None = None,
) -> Obj:
    """A Node. A label or annotation None is left out."""
    kind = resource.removeprefix("huawei.com/")
    given = {"accelerator": f"huawei-{kind}"} | dict(labels)
    noted = {"baseDeviceInfos": base or base_infos([f"{kind}-{i}" for i in range(chips)])} | dict(annotations)
    offered = {resource: str(chips)} if capacity is None else capacity
    status = {
        "capacity": {"cpu": "192", "memory": "1584871020Ki", "pods": "110"} | dict(offered),
        "allocatable": {"cpu": "191", "memory": "1564871020Ki", "pods": "110"}
        | dict(offered if allocatable is None else allocatable),
        "conditions": [{"type": "Ready", "status": "True" if ready else "False"}],
        "addresses": [{"type": "InternalIP", "address": address}, {"type": "Hostname", "address": name}],
    }
    meta = {
        "name": name,
        "labels": {key: value for key, value in given.items() if value is not None},
        "annotations": {key: value for key, value in noted.items() if value is not None},
    }
    return {"apiVersion": "v1", "kind": "Node", "metadata": meta, "status": status}


def pod(
    name: str,
    node_name: str = "n1",
    *,
    namespace: str = "ns1",
    annotations: Mapping[str, str] = {},
    labels: Mapping[str, str] = {},
    requests: Mapping[str, Any] = {},
    phase: str = "Running",
    **meta: Any,
) -> Obj:
    """A Pod with one container."""
    resources = {"resources": {"requests": dict(requests)}} if requests else {}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "uid": f"uid-{name}"}
        | {"annotations": dict(annotations), "labels": dict(labels)}
        | meta,
        "spec": {"containers": [{"name": "main", "image": "x"} | resources]}
        | ({"nodeName": node_name} if node_name else {}),
        "status": {"phase": phase},
    }


def config_map(name: str, namespace: str, data: Mapping[str, Any], label: str = "") -> Obj:
    """A ConfigMap; `label` is a consumer label that becomes "true"."""
    meta: Obj = {"name": name, "namespace": namespace}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": meta | ({"labels": {label: "true"}} if label else {}),
        "data": dict(data),
    }


def device_list(
    free: str = "",
    unhealthy: str = "",
    network: str = "",
    recovering: str = "",
    fault: Any = (),
    resource: str = "huawei.com/Ascend910",
) -> dict[str, str]:
    """The five keys of a DeviceList."""
    return {
        resource: free,
        f"{resource}-Fault": fault if isinstance(fault, str) else compact(list(fault)),
        f"{resource}-NetworkUnhealthy": network,
        f"{resource}-Recovering": recovering,
        f"{resource}-Unhealthy": unhealthy,
    }


def device_map(
    lists: Mapping[str, str] | None,
    name: str = "n1",
    *,
    time: int = NOW,
    superpod: int | None = -2,
    rack: int | None = None,
    index: int = -2,
    code: str | None = None,
    **more: str,
) -> Obj:
    """mindx-dl-deviceinfo-<node> with the right CheckCode unless one is given ("" = none)."""
    info = {"DeviceList": lists, "UpdateTime": time}
    right = hashlib.sha256(compact(info).encode()).hexdigest()
    row: Obj = {"DeviceInfo": info}
    row |= {} if superpod is None else {"SuperPodID": superpod}
    row |= {"ServerIndex": index, "CheckCode": right if code is None else code}
    row |= {} if rack is None else {"RackID": rack}
    data = {"DeviceInfoCfg": compact(row), "ManuallySeparateNPU": "", "UpgradeFaultReason": "{}"} | more
    return config_map(f"mindx-dl-deviceinfo-{name}", "kube-system", data, "mx-consumer-cim")


def switch_info(status: str) -> str:
    """SwitchInfoCfg with a NodeStatus."""
    row = {"FaultCode": None, "FaultLevel": "", "UpdateTime": NOW, "NodeStatus": status, "FaultTimeAndLevelMap": None}
    return compact(row)


def host_map(status: str, name: str = "n1") -> Obj:
    """mindx-dl-nodeinfo-<node> with the right CheckCode."""
    fault = {"DeviceType": "CPU", "DeviceId": 1, "FaultCode": ["00000011"], "FaultLevel": "SeparateFault"}
    info = {"FaultDevList": [fault], "NodeStatus": status}
    row = {"NodeInfo": info, "CheckCode": hashlib.sha256(compact(info).encode()).hexdigest()}
    data = {"NodeInfo": compact(row), "updateTime": "2026-08-29T10:39:12Z"}
    return config_map(f"mindx-dl-nodeinfo-{name}", "mindx-dl", data, "mx-consumer-cim")


def entry(
    lists: Mapping[str, str] | None, name: str = "n1", *, time: int = NOW, superpod: Any = -2, rack: int = 0
) -> tuple[str, Obj]:
    """Key and value of a node in cluster-info-device-<n>."""
    key = f"mindx-dl-deviceinfo-{name}"
    row = {"DeviceList": lists, "UpdateTime": time, "CmName": key, "SuperPodID": superpod, "RackID": rack}
    return key, row | {"ServerIndex": -2}


def shard(number: int, *entries: tuple[str, Obj]) -> Obj:
    """cluster-info-device-<n>; no entries = an emptied surplus shard."""
    name = f"cluster-info-device-{number}"
    return config_map(name, "mindx-dl", {name: compact(dict(entries)) if entries else ""}, "mx-consumer-volcano")


def aggregate(name: str, rows: Mapping[str, Obj]) -> Obj:
    """cluster-info-node-cm or cluster-info-switch-<n>."""
    return config_map(name, "mindx-dl", {name: compact(dict(rows)) if rows else ""}, "mx-consumer-volcano")


def scheduler_config(**params: str) -> Obj:
    """volcano-scheduler-configmap; underscores in parameter names stand for dashes."""
    lines = [f"    {key.replace('_', '-')}: {json.dumps(value)}" for key, value in params.items()]
    text = "\n".join(['actions: "enqueue, allocate"', "configurations:", "- name: init-params", "  arguments:", *lines])
    return config_map("volcano-scheduler-configmap", "volcano-system", {"volcano-scheduler.conf": text + "\n"})


DEVICE_MODE = scheduler_config(useClusterInfoManager="false")
