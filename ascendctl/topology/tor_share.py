"""ConfigMap `tor-share-cm`: what the scheduler publishes of the leaf switches (chapter 23 §1.3)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ascendctl.snapshot.cluster import Cluster
from ascendctl.topology.leaf_states import leaf_states

NAME, NAMESPACE, KEY = "tor-share-cm", "volcano-system", "global-tor-info"


def tor_share(cluster: Cluster, states: Mapping[str, Mapping[str, int]] | None = None) -> dict[str, Any] | None:
    """The ConfigMap as an object, None where the scheduler writes none: without topology, or with nslb-version 1.0.

    `states` are the leaf states after a placement (`Placement.metrics["leaf_states"]`), by tor_ip; default: those of
    the snapshot. Jobs are listed by the name of their owner, those with a bound pod in the snapshot.
    """
    topology = cluster.leaves
    if topology is None or cluster.config.nslb_version != "2.0":
        return None
    found = leaf_states(cluster, topology)
    users = _users(cluster)
    content: dict[str, Any] = {}
    for i, ip in enumerate(topology.leaf_ips):
        given = (states or {}).get(ip, {})
        servers = range(int(topology.server_ptr[i]), int(topology.server_ptr[i + 1]))
        content[ip] = {
            "IsHealthy": int(given.get("IsHealthy", found.health[i])),
            "IsSharedTor": int(given.get("IsSharedTor", found.shared[i])),
            "nodes": [_node(cluster, topology.server_ip[s], int(topology.server_node[s]), users) for s in servers],
        }
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": NAME, "namespace": NAMESPACE},
        "data": {KEY: _text(content)},
    }


def _node(cluster: Cluster, ip: str, node: int, users: Mapping[int, set[str]]) -> dict[str, Any]:
    name = cluster.names[node] if node >= 0 else ""
    return {"NodeIp": ip, "NodeName": name, "JobName": sorted(users.get(node, ()))}


def _users(cluster: Cluster) -> dict[int, set[str]]:
    """Node -> names of the jobs with a pod there."""
    jobs, users = cluster.jobs, dict[int, set[str]]()
    names = [owner or name for owner, name in zip(jobs.owners, jobs.names, strict=True)] if jobs.owners else jobs.names
    for node, job in zip(cluster.pods.node.tolist(), cluster.pods.job.tolist(), strict=True):
        if job >= 0:
            users.setdefault(node, set()).add(names[job])
    return users


def _text(content: Mapping[str, Any]) -> str:
    import json

    return json.dumps(dict(sorted(content.items())), separators=(",", ":"), ensure_ascii=False)
