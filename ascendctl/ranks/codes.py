"""Codes of what follows a placement: ranks (RK), rank tables (RT), network quality (NQ), patches (P); chapter 50."""

from __future__ import annotations

from typing import Final

from ascendctl.snapshot.diagnostics import Code

OUTPUT_CODES: Final[dict[str, Code]] = {
    "RK-01": Code(
        "error", "the ranks of the pods with NPUs are not 0 to N-1", "no rank table, or one with gaps",
        "let ranks count from 0 without gaps",
    ),
    "RK-02": Code(
        "error", "pods of one job have different numbers of NPUs",
        "chip ranks collide, for every pod counts by its own number", "give every pod the same number of NPUs",
    ),
    "RK-03": Code(
        "error", "ranks of a logical SuperPoD do not follow each other", "HCCL refuses or misgroups them",
        "renumber the ranks, or place the job anew",
    ),
    "RK-04": Code(
        "warning", "ranks of a SuperPoD do not follow each other",
        "harmless where HCCL sees logical SuperPoDs; an error for rank table 2.0, which shows the physical ones",
        "place the job anew, or renumber the ranks where they are free",
    ),
    "RK-05": Code(
        "error", "a Volcano Job of several tasks with plugin env has no preset ranks",
        "every task counts from 0, so ranks repeat",
        "use one task, or preset hccl/rankIndex on tasks of one replica (`ascendctl patch` does)",
    ),
    "RK-06": Code(
        "info", "the scheduler hands out the ranks in no fixed order", "the ranks shown are one choice it can make",
        "nothing, unless the job needs fixed ranks: use a kind that fixes them",
    ),
    "RK-07": Code(
        "warning", "hccl/rankIndex stands on a template of an AscendJob", "the operator overwrites it",
        "remove it: an AscendJob's ranks follow from its replicas",
    ),
    "RK-08": Code(
        "info", "a rank above 1000", "the code takes it, the vendor's documents end at 1000", "nothing",
    ),
    "RT-01": Code(
        "error", "status or version of a rank table is not what it should be",
        "a table that is not completed may hold old lists", "wait for completed; check what selects the version",
    ),
    "RT-02": Code(
        "error", "counts or rank_id of a rank table do not fit its lists", "HCCL refuses the table",
        "let ranks count from 0 without gaps",
    ),
    "RT-03": Code(
        "error", "a device_ip is missing, no address, or there twice", "RoCE between servers cannot be set up",
        "configure the NPU's address; look at annotation baseDeviceInfos of the node",
    ),
    "RT-04": Code(
        "error", "a chip does not say how it is connected (levelList), or scaleout-type names no network",
        "no rank table 2.0", "look at annotation baseDeviceInfos of the node, and at label scaleout-type",
    ),
    "RT-05": Code(
        "error", "server_id is unknown", "where pods share nodes it is the pod's UID, which only the cluster knows",
        "export the pods too, or take --server-id host-ip",
    ),
    "RT-06": Code(
        "error", "two servers have the same server_id", "HCCL takes them for one", "spread the pods over nodes",
    ),
    "RT-07": Code(
        "error", "super_pod_list does not hold every server exactly once, or has an empty slot",
        "HCCL refuses the table", "look at super-pod-rank of the pods (soft strategy)",
    ),
    "RT-08": Code(
        "error", "servers of a super_pod_list entry do not follow each other", "HCCL needs consecutive ranks",
        "renumber the ranks",
    ),
    "RT-09": Code(
        "error", "a super_pod_list entry lies in several SuperPoDs", "HCCL would use UB where there is none",
        "set sp-block when pods are pinned across SuperPoDs",
    ),
    "RT-I1": Code(
        "info", "a super_device_id is not made as usual", "nothing by itself", "check baseDeviceInfos of the node",
    ),
    "NQ-01": Code(
        "error", "the parallel sizes do not multiply to the NPUs of the job", "no parallel groups can be named",
        "correct --parallel, or leave dp out: it takes what is left",
    ),
    "NQ-02": Code(
        "error", "nested experts: ep does not divide dp", "no parallel groups can be named", "correct --parallel",
    ),
    "P-01": Code(
        "error", "a placement leaves out a pod with NPUs", "nothing is written",
        "give a placement of this very manifest",
    ),
    "P-02": Code(
        "error", "a planned node is not in the snapshot", "nothing is written", "give a dump that holds the node",
    ),
    "P-03": Code(
        "info", "a node cannot be named by label kubernetes.io/hostname", "it is pinned by metadata.name instead",
        "nothing",
    ),
    "P-04": Code(
        "error", "the manifest's nodeSelector names another host than the plan", "nothing is written",
        "remove the selector, or keep its placement",
    ),
    "P-05": Code(
        "error", "the manifest's nodeName is another node than the plan's", "nothing is written", "remove nodeName",
    ),
    "P-06": Code(
        "info", "an anti-affinity was added", "pods that leave NPUs free cannot meet on one node of their set",
        "nothing",
    ),
    "P-07": Code(
        "error", "a policy that plans the whole job would get pins that differ between roles",
        "the job would never start: the plan lacks nodes", "pin every pod (--pods), or all to one set (--pin set)",
    ),
    "P-08": Code(
        "error", "super-pod-affinity soft with pods pinned one by one",
        "super-pod-rank stays empty, which breaks HCCL_LOGIC_SUPERPOD_ID and the rank table",
        "take --pin set, or --pin annotate for a job of one pod",
    ),
    "P-09": Code(
        "warning", "switch affinity 2.0 with pods pinned one by one",
        "the scheduler annotates 0/0, so later jobs do not see the leaf switches as taken", "take --pin set",
    ),
    "P-10": Code(
        "error", "pods of one volcano.sh/task-spec are pinned to different nodes",
        "Volcano remembers refusals by role: the pods starve each other", "give every Pod a role of its own",
    ),
    "P-11": Code(
        "error", "the patched manifest would not land where the plan says",
        "nothing is written; a warning where the set was widened, or the order inside a set differs",
        "take --pods for exact pins, or --pin set to accept another order of ranks",
    ),
    "P-12": Code(
        "error", "the patched manifest would break a rule of `validate`", "nothing is written",
        "correct the manifest first",
    ),
}  # fmt: skip
