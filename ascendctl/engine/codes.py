"""Reason codes: of nodes that are refused (chapter 10 §2.6, §6 and the policy chapters) and of whole jobs."""

from __future__ import annotations

from typing import Final

NODE_CODES: Final[dict[str, str]] = {
    "": "accepted",
    # Kubernetes' own filters, before the plugin
    "NODE_NOT_READY": "the node is not Ready or its NPU data cannot be read, the scheduler plugin does not see it",
    "NODE_UNSCHEDULABLE": "the node is cordoned",
    "NODE_TAINTED": "the node has a taint that the pod does not tolerate",
    "NODE_SELECTOR": "the node labels do not match the pod's node selector, node affinity or node name",
    "POD_AFFINITY": "the pod's required (anti-)affinity to other pods excludes the node",
    # chapter 10 §2.6
    "NODE_UNKNOWN": "the scheduler plugin has no view of the node",
    "NODE_NOT_IN_FAULT_TABLE": "the node label accelerator is missing or names no chip type",
    "NODE_UNHEALTHY": "the node is unhealthy",
    "NODE_PRESEPARATE": "the node health status is PreSeparate",
    "NODE_SUBHEALTHY": "the node is sub-healthy and the job's sub-healthy strategy is not ignore",
    "RES_MISSING": "the node does not offer the resource, or its device list is missing",
    "RES_UNSTABLE": "device list, idle and capacity disagree: the node is not stable",
    "NPU_SHORTAGE": "too few free NPUs on the node",
    # chapter 10 §5.3, §6
    "NO_FREE_LIST": "the node has no free NPU",
    "FREE_LIST_TOO_LONG": "the node lists more NPUs than the policy's nodes can have",
    "NO_NET_KEY": "the device data lacks the network health that a distributed job needs",
    "BAD_COUNT": "the NPU count is outside what the policy allows",
    "BAD_TOPOLOGY": "the node lists chip ids that the policy's nodes cannot have",
    "TOPO_NOT_MET": "the free NPUs do not fit the interconnect that the policy needs",
    "DIE_PAIR_NOT_MET": "too few complete die pairs are free",
    "JOB_UNKNOWN": "the scheduler plugin does not know the job, so it refuses its pods on every node",
    "SELECT_FAILED": "the node passes every check, but no chips can be chosen on it",
    # chapter 11
    "E_TOPOLOGY": "the free NPUs do not fit the cards or meshes that the pod needs",
    "E_CARD_LABEL": "the node label infer-card-type is not card-300i-duo",
    "E_VNODE_INVALID": "the node cannot be cut into dynamic vNPUs: core counts or labels are missing or do not match",
    "E_VNPU_TEMPLATE": "no vNPU template of the node has the requested cores, level and dvpp",
    "E_VNPU_SHORT": "no chip of the node has enough free cores, CPUs and video units for the vNPU",
    "E_VNPU_PENDING": "the node has an unconfirmed cut of another vNPU template",
    "E_SOFT_LABEL": "the node label huawei.com/scheduler.chip1softsharedev.enable is not true",
    "E_SOFT_MEM": "the node label mind-cluster/npu-chip-memory is missing or not a number",
    "E_SOFT_NODE_TOTAL": "the node cannot hold all pods of the job together",
    "E_SOFT_NO_CHIP": "no chip of the node has enough quota left with the job's sharing policy",
    "E_SOFT_NODE": "the chips of the node are shared softly, its device plugin refuses whole chips",
    # chapter 22 §8.5
    "ML-N01": "the node's topology tree is not configured: topology label does not match config",
    "ML-N02": "the node lacks the label of a level of its tree: topology label does not match config",
    "ML-N03": "the usable NPUs of the node are not exactly as many as the pod asks for",
    "ML-N04": "the device data lists no or more than 16 NPUs, or lacks the network health",
    # chapter 23 §10.3: the texts of the reference are the codes
    "check node err by: large model job can not over tor": "switch affinity 1.0 never replaces single pods of a job "
    "labelled large-model-schema that has fewer than 4 pods",
    "node is not in tor node list by not get server": "basic-tor-node-cm does not list the node",
    "node sliceId is not meet task require": "the node is not in the slice that lost pods may use, or a job that runs "
    "across leaf switches uses its leaf switch",
    "tor check failed node by nslb2.0": "the leaf switch of the node is closed to the job's lost pods: the job lives "
    "in one leaf switch, or this one is exclusive to others, or the job may not use a further shared one",
    "NODE_HOLDS_POD": "another pod of the job runs on the node; with switch affinity each has its own",
    # chapters 20, 21
    "NO_SUPERPOD_ID": "the node reports no SuperPoD id",
    "NO_RACK_ID": "the node reports no rack id",
    # chapter 22 §2.3 no. 6
    "ML-N07": "the node is not in the level1 unit of the pod that the backup pod stands in for",
}
"""Code -> sentence. Policy modules may extend the list with the codes of their chapter."""

JOB_CODES: Final[dict[str, str]] = {
    "JobEnqueueFailed": "it asks for more NPUs than are free in all",
    "NodePredicateFailed": "a pod of it finds no node that passes all checks",
    # chapter 22 §8.5
    "ML-P01": "fewer nodes pass the checks than it has pods: select node failed by not enough node",
    "ML-P02": "no configured tree has as many levels as its affinity-config: no resource tree found for npu nodes",
    "ML-P03": "no tree has room for its groups: no valid task tree found for task",
    "ML-R01": "lost pods find no nodes below the units of their groups, and no more of the job may be given up: "
    "rescheduleWithSuperPods: all escalation levels exhausted",
    # chapter 23 §10.2: the texts of the reference are the codes
    "tor check failed not enough resource for job": "no leaf switch has room for all its pods",
    "logicTor is illegal": "neither completely free leaf switches nor rows of nodes at different positions suffice "
    "(switch affinity 1.0), for a normal job not even the usable nodes of all open leaf switches",
    "taskRow and taskColumn is illegal": "tor_count of basic-tor-node-cm is 0",
    "job's task number is bigger than torCount": "it has more pods than a leaf switch of the single-layer network has "
    "servers",
    "tor check failed not enough resource for fill job": "no leaf switch has room for all pods of a job with fewer "
    "than 4 (switch affinity 2.0)",
    "set tor failed by not enough nodes": "idle leaf switches and the shared ones that one job may use have too few "
    "nodes (switch affinity 2.0)",
    "not enough node for normal job to schedule": "not even all leaf switches that no large-model job crosses have "
    "enough nodes (switch affinity 2.0)",
    "shared tor num is over global shared tor num": "it already uses more shared leaf switches than shared-tor-num, so "
    "its lost pods cannot be replaced one by one",
    "not enough tor for fill job restart": "the leaf switch of a job with fewer than 4 pods has no room for the lost "
    "ones",
    "not enough tor for job restart": "neither its own leaf switches nor further ones that it may use have room for "
    "the lost pods",
}
"""Code -> why a job is refused, a sentence whose subject is the job."""
