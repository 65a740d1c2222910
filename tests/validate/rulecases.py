"""A wrong manifest and a nearly wrong one for rules that the tables of the families do not have."""

from __future__ import annotations

from typing import Any

from ascendctl.snapshot.config import TreeLevel
from ascendctl.snapshot.load import load_snapshot
from tests.engine.policies.switch_world import case
from tests.validate.manifests import A910, DROP, NPU, ascend_job, change, deployment, infer_service, pod, volcano_job
from tests.validate.rules.test_acj import MINDSPORE, RULE, SPECS, scaling
from tests.validate.rules.test_card_limits import (
    A2,
    A310,
    A310P,
    CARD,
    CORE,
    DUO,
    DUO_NODE,
    P310,
    H,
    cores,
    made,
    node,
    quota,
    shared,
    soft,
)  # fmt: skip
from tests.validate.rules.test_families import POLICY as OME_POLICY
from tests.validate.rules.test_families import RUNTIME, ome, rings, storm
from tests.validate.rules.test_families import group as worker_set
from tests.validate.rules.test_workloads import JOINED, META, group

Case = tuple[str, Any, Any, dict[str, Any]]
"""(rule, wrong documents, right documents, options)."""
LABELS, NOTES = "/metadata/labels", "/metadata/annotations"
SP16, SP8, SP850, SP950 = "chip2-node16-sp", "chip2-node8-sp", "chip8-node8-sp", "chip8-node8-ra64-sp"
A3 = "chip2-node16"
POD = """apiVersion: v1
kind: Pod
metadata:
  name: try
  namespace: research
  labels:
    app: trial
spec:
  containers:
  - name: main
    image: registry.local/main:1.0
"""


def noted(base: dict[str, Any], **notes: str) -> dict[str, Any]:
    """With annotations of the job; _ stands for -, and __ for the prefix huawei.com/."""
    names = {key.replace("__", "huawei.com~1").replace("_", "-"): value for key, value in notes.items()}
    return change(base, {f"{NOTES}/{key.replace('schedule-', 'schedule_')}": value for key, value in names.items()})


def labelled(base: dict[str, Any], **labels: str) -> dict[str, Any]:
    """With labels of the job; _ stands for -."""
    return change(base, {f"{LABELS}/{key.replace('_', '-')}": value for key, value in labels.items()})


def sp(policy: str, *counts: int, block: str = "", **more: Any) -> dict[str, Any]:
    """A job of a super-pod policy."""
    base = made(A910 if policy in (SP16, SP8) else NPU, *counts, policy=policy, **more)
    return noted(base, sp_block=block) if block else base


def rack(counts: int, pods: int, block: str, rack_block: str = "", **notes: str) -> dict[str, Any]:
    base = noted(sp(SP950, counts, block=block, replicas=pods), **notes)
    return noted(base, ra_block=rack_block) if rack_block else base


def levels(config: str, pods: int = 4, **more: Any) -> dict[str, Any]:
    base = ascend_job(pods - 1, 16)
    notes = {"huawei.com/schedule_policy": "multilevel", **({"huawei.com/affinity-config": config} if config else {})}
    selectors = {f"{SPECS}/{role}/template/spec/nodeSelector": DROP for role in ("Master", "Worker")}
    return change(base, {NOTES: notes, **selectors, **more})


def zero(base: dict[str, Any], task: int = 1) -> dict[str, Any]:
    """Without NPUs in one task."""
    box = f"/spec/tasks/{task}/template/spec/containers/0"
    return change(base, {f"{box}/resources": DROP, f"{box}/env": DROP})


def scheduler(base: dict[str, Any]) -> dict[str, Any]:
    """The second task is exempt: it is called scheduler."""
    return change(base, {"/spec/tasks/1/name": "scheduler"})


def leaf_world(**changes: Any) -> dict[str, Any]:
    """A sound leaf topology of four-node leaves, with some facts changed, and a job that asks for it."""
    example = case(4, "L1{0,1,2,3} L2{0,1,2,3}", "normal 2")
    example["job"]["labels"]["tor-affinity"] = "normal-schema"
    for pointer, value in changes.items():
        holder: Any = example["leaves"] if pointer == "tor_level" else example["leaves"]["tor_info"]
        parts = [int(part) if part.isdigit() else part for part in pointer.split("/")]
        for part in parts[:-1]:
            holder = holder[part]
        if value is DROP:
            del holder[parts[-1]]
        else:
            holder[parts[-1]] = value
    return example


READING: list[Case] = [
    ("DOC-01", POD + "kind: Pod\n", POD, {}),
    ("DOC-01", POD.replace("app: trial", "app:\t- trial\n\t"), POD.replace("app: trial", "app:\ttrial"), {}),
    ("DOC-02", POD.replace("kind: Pod\n", ""), POD, {}),
    ("DOC-03", POD.replace("v1", "apps/v1", 1), POD, {}),
    ("DOC-04", [POD, POD], [POD, POD.replace("name: try", "name: other")], {}),
    ("DOC-05", POD + '    command: [bash, "-c", "a\\r\\nb"]\n', POD + '    command: [python, "-c", "a\\r\\nb"]\n', {}),
    ("DOC-06", POD + "    imge: b\n", POD + "    tty: true\n", {}),
    ("DOC-07", POD.replace("trial", "7e6"), POD.replace("trial", "12e456"), {}),
    ("DOC-07", POD.replace("trial", "2025"), POD.replace("trial", "2025-01-02"), {}),
    ("DOC-08", POD.replace("trial", "on"), POD.replace("trial", "oN"), {}),
    ("DOC-09", change(deployment(), {"/spec/replicas": "1"}), change(deployment(), {"/spec/replicas": 1.0}), {}),
    ("DOC-10", change(volcano_job(), {"/spec/networkTopology": {"mode": "Hard"}}),
     change(volcano_job(), {"/spec/networkTopology": {"mode": "hard"}}), {}),
    ("DOC-11", POD + "    env: [{name: A, value: on}]\n", POD + "    env: [{name: A, value: }]\n", {}),
    ("DOC-12", POD.replace("trial", "{{ .Values.app }}"), POD + "    args: ['{{ .x }}']\n", {}),
    ("DOC-13", POD.replace("registry.local/main:1.0", "<image>"), POD + "    args: ['<image>', '$(A)']\n", {}),
    ("DOC-14", POD + "    resources:\n      limits: huawei.com/npu:4\n", POD + "    resources:\n      limits:\n", {}),
    ("DOC-15", POD + "    env: [&a {name: A, value: b}]\n  - image: c\n    <<: *a\n    name: d\n  - name: e\n    <<: {name: f}\n",
     POD + "  - <<: {name: f}\n    name: e\n    image: c\n", {}),
    ("DOC-16", POD.replace("app:", "subHeathyStrategy:"), POD.replace("app:", "subject:"), {}),
    ("DOC-17", POD + "...\nspec: {}\n", POD + "...\n# end\n", {}),
    ("CMT-01", POD.replace("trial", "trial  # ascendctl: disable=SPB-99 why"), POD, {}),
    ("CMT-02", POD.replace("trial", "trial  # ascendctl: disable=SPB-13 why"), POD, {}),
]  # fmt: skip

LOST = node("a", "Ascend910", {A910: 8})
CLUSTER = {"snapshot": load_snapshot([LOST, node("b", "Ascend910", {A910: 8})])}
NAMED = {"accelerator-type": "module-910b-8"}
ANTI = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
    {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "serve"}}}]}}  # fmt: skip
SPREAD = {"/spec/template/spec/affinity": ANTI,
          **{f"/spec/template/spec/containers/0/resources/{part}/huawei.com~1Ascend910": 1 for part in ("limits", "requests")}}  # fmt: skip
QUEUE = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": "default"}}
CLASSES = {"dumped": {("PriorityClass", "", "high"): {}}}
OLD = {"volcano": "1.12"}
BUDGET = "/metadata/annotations/volcano.sh~1jdb-min-available"

ROLES = infer_service()["spec"]
SET = {**infer_service(), "kind": "InferServiceSet", "spec": {"replicas": 1, "template": ROLES}}
INSTANCES = {**infer_service(), "kind": "InstanceSet", "spec": ROLES["roles"][0]}
SCALED = change(ascend_job(), {f"{LABELS}/mind-cluster~1scaling-rule": "rule", f"{LABELS}/mind-cluster~1group-name": "group0",
                               f"{LABELS}/jobID": "pd", f"{LABELS}/app": "mindie-ms-server"})  # fmt: skip
PART = change(MINDSPORE, {f"{SPECS}/Scheduler/template/spec/containers/0/{part}": DROP for part in ("resources", "env")}
              | {f"{SPECS}/Worker/replicas": 2, "/spec/runPolicy/schedulingPolicy/minAvailable": 3,
                 f"{NOTES}/huawei.com~1schedule_policy": A3} | {
                  f"{SPECS}/{role}/template/spec/nodeSelector": DROP for role in ("Scheduler", "Worker")})  # fmt: skip

KINDS: list[Case] = [
    ("K8S-21", change(deployment(3), SPREAD), change(deployment(2), SPREAD), CLUSTER),
    ("K8S-24", change(pod(), {"/spec/priorityClassName": "hgih"}), change(pod(), {"/spec/priorityClassName": "high"}), CLASSES),
    ("SCH-05", volcano_job(3), volcano_job(2), CLUSTER),
    ("SCH-06", change(volcano_job(), {"/spec/tasks/0/template/spec/nodeSelector": {"pool": "x"}}), volcano_job(), CLUSTER),
    ("SCH-08", [{**QUEUE, "spec": {"capability": {"cpu": 8}}}, volcano_job()],
     [{**QUEUE, "spec": {"capability": {A910: 16}}}, volcano_job()], {}),
    ("ACJ-03", labelled(ascend_job(), framework="tensorflow"), ascend_job(), {}),
    ("ACJ-06", change(MINDSPORE, {f"{SPECS}/Scheduler": DROP, "/spec/runPolicy/schedulingPolicy/minAvailable": 1}),
     MINDSPORE, {}),
    ("ACJ-21", [ascend_job(), change(deployment(), {"/metadata/name": "train"})], [ascend_job(), deployment()], {}),
    ("ACJ-23", change(ascend_job(), {f"{SPECS}/Worker/template/spec/containers/0/resources": {
        "requests": {A910: 4}, "limits": {A910: 4}}}), ascend_job(), {}),
    ("ACJ-26", [scaling({**RULE, "version": "2.0"}), SCALED], [scaling(RULE), SCALED], {}),
    ("ACJ-33", change(PART, {f"{NOTES}/huawei.com~1schedule_policy": SP850}), PART, {}),
    ("INF-01", change(SET, {"/spec/replicas": 65}), change(SET, {"/spec/replicas": 64}), {}),
    ("INF-07", INSTANCES, change(INSTANCES, {
        f"{LABELS}/infer.huawei.com~1{key}-name": "a" for key in ("inferservice", "instanceset")}), {}),
    ("VCJ-18", change(volcano_job(), {"/spec/queue": DROP}), volcano_job(), OLD),
    ("VCJ-27", change(volcano_job(), {"/spec/tasks/1": made(NPU, 8)["spec"]["tasks"][0], "/spec/minAvailable": 3}),
     change(volcano_job(), {"/spec/tasks/1": made(A910, 8)["spec"]["tasks"][0], "/spec/minAvailable": 3}), {}),
    ("PGR-01", [group(minMember=3), JOINED], [group(), JOINED], {}),
    ("PGR-02", [group(minResources={A910: 8}), JOINED], [group(), JOINED], {}),
    ("PGR-03", JOINED, [group(), JOINED], {}),
    ("PGR-04", [labelled(group(), fault_scheduling="force"), change(JOINED, {f"{META}/labels/fault-scheduling": "grace"})],
     [labelled(group(), fault_scheduling="grace"), change(JOINED, {f"{META}/labels/fault-scheduling": "grace"})], {}),
    ("PGR-05", [noted(group(), __schedule_policy="chip8-node16"), JOINED],
     [noted(group(), __schedule_policy="chip8-node8"), JOINED], {}),
    ("PGR-06", noted(ascend_job(), __schedule_minAvailable="2"), noted(ascend_job(0), __schedule_minAvailable="1"), {}),
    ("PGR-07", change(pod(), {BUDGET: "100%"}), change(pod(), {BUDGET: "99%"}), {}),
    ("PGR-08", [group(), deployment(2)], [group(), JOINED], {}),
    ("EXT-01", [RUNTIME, ome(OME_POLICY)], [RUNTIME, ome({**OME_POLICY, "huawei.com/schedule_minAvailable": "2"})], {}),
    ("EXT-02", storm(2, True), storm(1, True), {}),
    ("EXT-03", worker_set(3), worker_set(), {}),
    ("RTB-03", [rings("rings-config-other"), deployment()], [rings("rings-config-serve"), deployment()], {}),
    ("RTB-04", change(rings(), {"/data/hccl.json": "{}"}), rings(), {}),
    ("RTB-07", labelled(rings(), jobID="pd"), change(labelled(rings(), jobID="pd"), {f"{LABELS}/mx-consumer-cim": "true"}), {}),
]  # fmt: skip

COUNTS: list[Case] = [
    ("RES-04", made(A910, 3, selector={"accelerator-type": "module"}), made(A910, 4, selector={"accelerator-type": "module"}), {}),
    ("RES-04", made(A910, 9, policy="chip8-node16"), made(A910, 7, policy="chip8-node16"), {}),
    ("RES-04", made(A910, 11, policy="chip8-node16"), made(A910, 10, policy="chip8-node16"), {}),
    ("RES-04", made(A910, 3, policy="chip4-node4"), made(A910, 2, policy="chip4-node4"), {}),
    ("RES-04", made(A910, 9, policy="chip8-node8"), made(A910, 5, policy="chip8-node8"), {}),
    ("RES-05", made(A910, 3, policy="chip1-node2"), made(A910, 2, policy="chip1-node2"), {}),
    ("RES-05", made(A910, 5, policy="chip4-node8"), made(A910, 8, policy="chip4-node8"), {}),
    ("RES-06", made(A910, 1, policy=A3, replicas=2, minimum=1), made(A910, 2, policy=A3, replicas=2), {}),
    ("RES-07", made(A910, 3, policy=A3), made(A910, 14, policy=A3), {}),
    ("RES-07", made(A910, 18, policy=A3), made(A910, 16, policy=A3), {}),
    ("RES-08", zero(made(A910, 16, 16, policy=A3)), scheduler(zero(made(A910, 16, 16, policy=A3))), {}),
    ("RES-09", made(NPU, 9, policy="chip4-node8"), made(NPU, 8, policy="chip4-node8"), {}),
    ("RES-10", made(NPU, 6, policy="chip4-node16"), made(NPU, 12, policy="chip4-node16"), {}),
    ("RES-10", made(NPU, 5, policy="chip4-node8"), made(NPU, 3, policy="chip4-node8"), {}),
    ("RES-11", change(made(A910, 4, policy="chip8-node8", replicas=3), {"/spec/minAvailable": 3, "/spec/tasks/1": {
        **made(A910, 8)["spec"]["tasks"][0], "name": "t0"}}), made(A910, 4, 8, policy="chip8-node8"), {}),
    ("RES-12", volcano_job(2, 4), volcano_job(1, 4), {"product": "a2"}),
    ("SPB-01", sp(SP16, 16, block="16 "), sp(SP16, 16, block="16"), {}),
    ("SPB-01", sp(SP850, 8, block="0"), sp(SP850, 8, block="8"), {}),
    ("SPB-02", sp(SP16, 4, block="8"), sp(SP16, 4, block="4"), {}),
    ("SPB-03", sp(SP16, 16, block="24", replicas=3), sp(SP16, 16, block="32", replicas=4), {}),
    ("SPB-04", sp(SP16, 16, block="784", replicas=49), sp(SP16, 16, block="768", replicas=48), {}),
    ("SPB-04", sp(SP8, 8, block="392", replicas=49), sp(SP8, 8, block="384", replicas=48), {}),
    ("SPB-05", sp(SP16, 3), sp(SP16, 1), {}),
    ("SPB-05", sp(SP850, 16, block="16"), sp(SP850, 7), {}),
    ("SPB-06", sp(SP16, 16, block="32"), sp(SP16, 8, block="8"), {}),
    ("SPB-07", sp(SP16, 16, block="32", replicas=3), sp(SP16, 16, block="32", replicas=4), {}),
    ("SPB-08", sp(SP16, 8, block="16", replicas=4), sp(SP8, 8, block="16", replicas=4), {}),
    ("SPB-09", zero(sp(SP16, 16, 16, 16, block="16")), scheduler(zero(sp(SP16, 16, 16, 16, block="16"))), {}),
    ("SPB-10", noted(made(A910, 16, policy=A3), sp_block="16"), sp(SP16, 16, block="16"), {}),
    ("SPB-12", sp(SP16, 16), sp(SP16, 16, block="16"), {}),
    ("SPB-13", sp(SP16, 16, block="32", replicas=4), sp(SP16, 16, block="64", replicas=4), {}),
    ("SPB-14", labelled(sp(SP16, 16, block="16"), super_pod_affinity="Soft"),
     labelled(sp(SP16, 16, block="16"), super_pod_affinity="soft"), {}),
    ("SPB-14", labelled(made(A910, 16, policy=A3), super_pod_affinity="soft"),
     labelled(sp(SP850, 8, block="8"), super_pod_affinity="hard"), {}),
    ("SPB-15", noted(sp(SP16, 16, block="16"), sp_fit="idlest"),
     labelled(noted(sp(SP16, 16, block="16"), sp_fit="idlest"), app="mindie-ms-server", jobID="a"), {}),
    ("SPB-16", labelled(sp(SP16, 16, block="16"), tor_affinity="normal-schema"),
     labelled(sp(SP16, 16, block="16"), tor_affinity="null"), {}),
    ("SPB-17", sp(SP16, 16, block="32", replicas=4, minimum=2), sp(SP16, 16, block="32", replicas=4), {}),
    ("RAB-01", rack(8, 2, "16", "65"), rack(8, 2, "16", "1"), {"super_pod_size": 128}),
    ("RAB-02", rack(8, 8, "64", "48"), rack(8, 8, "64", "64"), {"super_pod_size": 128}),
    ("RAB-03", rack(8, 4, "16", "32"), rack(8, 4, "32", "32"), {"super_pod_size": 128}),
    ("RAB-04", rack(8, 3, "24", "16"), rack(8, 4, "32", "16"), {"super_pod_size": 128}),
    ("RAB-05", rack(8, 6, "24", "16"), rack(8, 4, "16", "16"), {"super_pod_size": 128}),
    ("RAB-06", rack(8, 5, "32"), rack(8, 8, "32"), {"super_pod_size": 128}),
    ("RAB-07", rack(6, 2, "4", "8"), rack(8, 2, "4", "8"), {"super_pod_size": 128}),
    ("RAB-08", rack(8, 9, "72"), rack(8, 8, "64"), {"super_pod_size": 8}),
    ("RAB-09", rack(8, 129, "8", __schedule_ubmemory="true"), rack(8, 128, "8", __schedule_ubmemory="true"),
     {"super_pod_size": 128}),
    ("RAB-10", noted(sp(SP850, 8, block="8"), ra_block="8"), rack(8, 1, "8", "8"), {"super_pod_size": 128}),
    ("RAB-11", rack(8, 2, "16"), rack(8, 2, "16", "16"), {"super_pod_size": 128}),
    ("RAB-12", rack(8, 2, "16", "4"), rack(8, 2, "16", "8"), {"super_pod_size": 128}),
    ("RAB-13", rack(8, 4, "32", "8", __schedule_ubmemory="true"), rack(8, 16, "32", "8", __schedule_ubmemory="true"),
     {"super_pod_size": 128}),
    ("RAB-14", labelled(rack(8, 2, "4", "8"), inferserviceid="chat"), labelled(rack(8, 2, "8", "8"), inferserviceid="chat"),
     {"super_pod_size": 128}),
    ("MLV-01", levels(""), levels("level1=2"), {}),
    ("MLV-02", levels("level1=2, level2=4"), levels("level1=2,level2=4"), {}),
    ("MLV-03", levels("level1=2,level3=4"), levels("level2=4,level1=2"), {}),
    ("MLV-04", levels("level1=0"), levels("level1=1"), {}),
    ("MLV-05", levels("level1=3"), levels("level1=4"), {}),
    ("MLV-06", levels("level1=1", **{f"{SPECS}/Master/template/spec/containers/0/resources": DROP}),
     levels("level1=1", 4, **{f"{SPECS}/Master/template/spec/containers/0/resources": DROP,
                           f"{SPECS}/Master/template/metadata/annotations/huawei.com~1skip-ascend-plugin": "enabled"}), {}),
    ("MLV-08", noted(volcano_job(), __affinity_config="level1=2"), levels("level1=2"), {}),
    ("MLV-11", noted(made(A910, 16, policy="multilevel", replicas=2), __affinity_config="level1=2"), levels("level1=2"), {}),
    ("MLV-12", noted(levels("level1=2"), sp_block="32"), levels("level1=2"), {}),
    ("MLV-13", levels("level1=2"), ascend_job(), {"product": "a2"}),
]  # fmt: skip

STATIC, VNPU310 = H + "Ascend310P-2c", made(CORE, 4, labels=P310)
DYNAMIC = {"preset_vdev": False}
SHARE = "/spec/tasks/0/template/metadata/labels/huawei.com~1scheduler.softShareDev."
TASK_BOX = "/spec/tasks/0/template/spec/containers/0"


def sharing(key: str, value: Any) -> dict[str, Any]:
    """A soft-share job with one quota changed; job and pods share their labels."""
    return change(soft(30, 4096, 1), {SHARE + key: value})


def devices(base: dict[str, Any], resource: str) -> dict[str, Any]:
    field = {"fieldRef": {"fieldPath": f"metadata.annotations['{resource}']"}}
    return change(base, {f"{TASK_BOX}/env": [{"name": "ASCEND_VISIBLE_DEVICES", "valueFrom": field}]})


SHARES: list[Case] = [
    ("D31-01", made(A310, 2, labels={"npu-310-strategy": "cards"}), made(A310, 2, labels=CARD), {}),
    ("D31-02", made(A310P, 2, labels={"npu-310-strategy": "Card"}), made(A310P, 2, labels={"npu-310-strategy": "chip"}), {}),
    ("D31-03", made(A310, 5, labels=CARD), made(A310, 5), {}),
    ("D31-04", made(A310, 65), made(A310, 64), {}),
    ("D31-04", made(A310P, 17, labels=DUO), made(A310P, 16, labels=DUO), {}),
    ("D31-05", made(A310P, 1, labels={"duo": "yes"}), made(A310P, 1, labels=DUO), {}),
    ("D31-06", made(A310P, 2, 2, labels=DUO | {"distributed": "true"}), made(A310P, 2, labels=DUO | {"distributed": "true"}), {}),
    ("D31-07", made(A310P, 3, labels=DUO | CARD), made(A310P, 3, labels=DUO), {}),
    ("D31-08", made(A310P, 9, labels=DUO), made(A310P, 8, labels=DUO), {}),
    ("D31-09", made(A310P, 2, labels=DUO), made(A310P, 2, labels={}), {"snapshot": load_snapshot([node("p", "Ascend310P", {A310P: 8})])}),
    ("D31-10", made(A310P, 1), made(A310P, 1, labels=DUO), {"product": "300i-duo"}),
    ("D31-11", made(A910, 8, policy="chip8-node8", labels=DUO), made(A310P, 1, labels=DUO), {}),
    ("D31-12", made(A310P, 1, labels=DUO | {"distributed": "True"}), made(A310P, 1, labels=DUO | {"distributed": "false"}), {}),
    ("VNP-01", made(CORE, 4, labels={"ring-controller.atlas": "ascend-npu"}), VNPU310, DYNAMIC),
    ("VNP-02", VNPU310, made(STATIC, 1, labels=P310), {}),
    ("VNP-03", made(CORE, 12, labels=P310), made(CORE, 30, labels=P310), DYNAMIC),
    ("VNP-04", made(CORE, 2, labels=P310 | {"vnpu-dvpp": "no"}), made(CORE, 2, labels=P310 | {"vnpu-dvpp": "null"}), DYNAMIC),
    ("VNP-05", made(CORE, 6, labels=A2), made(CORE, 5, labels=A2),
     DYNAMIC | {"snapshot": load_snapshot([cores("b3", "910B3", 20)])}),
    ("VNP-06", made(CORE, 5, labels=A2 | {"vnpu-level": "high"}), made(CORE, 5, labels=A2 | {"vnpu-level": "low"}), DYNAMIC),
    ("VNP-07", made(CORE, 4, labels=P310 | {"vnpu-level": "middle"}), made(CORE, 4, labels=P310 | {"vnpu-level": "high"}), DYNAMIC),
    ("VNP-08", made(STATIC, 2, labels=P310), made(STATIC, 1, labels=P310), {}),
    ("VNP-09", made(H + "Ascend310P-8c", 1), made(H + "Ascend310P-4c.3cpu.ndvpp", 1), {}),
    ("VNP-10", made(CORE, 4, 4, labels=P310), VNPU310, DYNAMIC),
    ("VNP-11", devices(VNPU310, CORE), VNPU310, DYNAMIC),
    ("VNP-12", change(VNPU310, {f"{TASK_BOX}/securityContext/runAsUser": 1000}),
     change(VNPU310, {f"{TASK_BOX}/securityContext/runAsUser": 0}), DYNAMIC),
    ("VNP-13", VNPU310, made(STATIC, 1, labels=P310),
     DYNAMIC | {"snapshot": load_snapshot([cores("duo", "310P3", 8, **DUO_NODE), node("s", "Ascend310P", {STATIC: 8})])}),
    ("VNP-14", made(CORE, 10, labels=P310), made(CORE, 8, labels=P310),
     DYNAMIC | {"snapshot": load_snapshot([cores("p8", "310P3", 8)])}),
    ("VNP-15", labelled(made(STATIC, 1, labels=P310), fault_scheduling="grace"), made(STATIC, 1, labels=P310), {}),
    ("SFT-01", sharing("policy", DROP), soft(30, 4096, 1), {}),
    ("SFT-02", sharing("aicoreQuota", "101"), soft(100, 4096, 1), {}),
    ("SFT-03", sharing("hbmQuota", "10G"), soft(30, 1, 1), {}),
    ("SFT-04", sharing("policy", "fixed-shared"), sharing("policy", "best-effort"), {}),
    ("SFT-05", sharing("aicoreQuota", "31"), soft(31, 4096, 1), {}),
    ("SFT-06", made(A910, 8, policy="chip8-node8", labels=quota(8, 1024)), soft(8, 1024, 1), {}),
    ("SFT-07", devices(soft(30, 4096, 1), A910), soft(30, 4096, 1), {}),
    ("SFT-08", noted(sharing("aicoreQuota", DROP), **{"__scheduler.softShareDev.aicoreQuota": "30"}), soft(30, 4096, 1), {}),
    ("SFT-09", soft(50, 1024, 17), soft(50, 1024, 16), {"snapshot": load_snapshot([shared("a", 8, "32G")])}),
    ("TOR-01", labelled(volcano_job(), tor_affinity=""), labelled(volcano_job(), tor_affinity="null"), {}),
    ("TOR-02", labelled(volcano_job(), tor_affinity="normal-schema"), labelled(volcano_job(), tor_affinity="null"), CLUSTER),
    ("TOR-03", labelled(volcano_job(3), tor_affinity="large-model-schema"),
     labelled(volcano_job(4), tor_affinity="large-model-schema"), {}),
    ("TOR-05", labelled(sp(SP16, 16), tor_affinity="normal-schema"), labelled(volcano_job(), tor_affinity="normal-schema"), {}),
    ("TOR-06", labelled(change(volcano_job(4), {"/spec/minAvailable": 2}), tor_affinity="large-model-schema"),
     labelled(volcano_job(4), tor_affinity="large-model-schema"), {}),
]  # fmt: skip

ARCH = "/spec/tasks/0/template/spec/nodeSelector/host-arch"
HALF, CARD_NODES = {"accelerator-type": "half"}, {"accelerator-type": "card"}
SECOND = "/spec/tasks/1/template/spec/nodeSelector"
CHOICE: list[Case] = [
    ("SEL-01", made(A910, 8, policy="chip8-node-8"), made(A910, 8, policy="chip8-node8"), {}),
    ("SEL-02", made(NPU, 8), made(NPU, 8, policy="chip1-node8"), {}),
    ("SEL-03", made(A910, 8, selector={"accelerator-type": "module-a3-8"}),
     made(A910, 8, selector={"accelerator-type": "module-910b-8"}), {}),
    ("SEL-04", made(A910, 8), made(A910, 8, selector={"accelerator-type": "module"}), {}),
    ("SEL-05", change(made(A910, 1, 1, selector=HALF), {SECOND: CARD_NODES}), made(A910, 1, 1, selector=HALF), {}),
    ("SEL-06", made(A910, 8, policy="chip8-node8", selector={"accelerator-type": "module-a3-16"}),
     made(A910, 16, policy=SP16, selector={"accelerator-type": "module-a3-16"}), {}),
    ("SEL-06", made(NPU, 8, policy="chip8-node8", selector={"accelerator-type": "350-Atlas-8"}),
     made(NPU, 8, policy="chip1-node8", selector={"accelerator-type": "350-Atlas-8"}), {}),
    ("SEL-07", made(NPU, 16, policy=A3), made(NPU, 8, policy="chip8-node8"), {}),
    ("SEL-08", change(made(A910, 8, 8), {"/spec/tasks/0/template/metadata/annotations/huawei.com~1schedule_policy": "chip8-node8"}),
     made(A910, 8, 8, policy="chip8-node8"), {}),
    ("SEL-09", change(labelled(volcano_job(), fault_scheduling="grace"),
                      {"/spec/tasks/0/template/metadata/labels/fault-scheduling": "force"}),
     change(labelled(volcano_job(), fault_scheduling="grace"),
            {"/spec/tasks/0/template/metadata/labels/fault-scheduling": "grace"}), {}),
    ("SEL-10", change(volcano_job(), {ARCH: "arm64"}), change(volcano_job(), {ARCH: "huawei-arm"}), {}),
    ("SEL-11", labelled(volcano_job(), **{"ring-controller.atlas": "ascend910"}),
     labelled(volcano_job(), **{"ring-controller.atlas": "ascend-910b"}), {}),
    ("SEL-12", made(A910, 16, policy="module-a3-16"), made(A910, 16, policy=A3), {}),
    ("SEL-13", made(A310P, 1, policy="chip8-node8"), made(A310P, 1), {}),
    ("SEL-14", labelled(sp(SP16, 16, block="16"), podgroup_sched_enable="on"),
     labelled(sp(SP16, 16, block="16"), podgroup_sched_enable="true"), {}),
    ("SEL-15", made(A310P, 1, selector={"servertype": "SoC"}), made(A310P, 1, selector={"servertype": "soc"}), {}),
    ("SEL-16", ascend_job(), deployment(), {"product": "soft-share"}),
    ("SEL-17", made(A910, 4, policy="chip4-node8"), made(NPU, 4, policy="chip4-node8"), {}),
    ("SPB-11", noted(made(A910, 16, selector=NAMED), sp_block="16"),
     noted(made(A910, 16, selector={"accelerator-type": "module-a3-16"}), sp_block="16"), {}),
]  # fmt: skip
TREE = {"default": (TreeLevel("level1", "leaf", 0),)}
HALF_LABELLED = {
    "snapshot": load_snapshot([node("a", "Ascend910", {A910: 16}), node("b", "Ascend910", {A910: 16}, leaf="l1")])
}
LABELLED = {"snapshot": load_snapshot([node(name, "Ascend910", {A910: 16}, leaf="l1") for name in "ab"])}
CLUSTERS: list[Case] = [
    ("MLV-07", levels("level1=2", **{f"{SPECS}/Worker/template/spec/containers/0/resources": {
        part: {A910: 8} for part in ("requests", "limits")}}), levels("level1=2"), {}),
    ("MLV-09", levels("level1=1,level2=2", 2), levels("level1=2", 2), LABELLED | {"resource_levels": TREE}),
    ("MLV-10", levels("level1=2", 2), change(ascend_job(), {
        f"{SPECS}/{role}/template/spec/nodeSelector": DROP for role in ("Master", "Worker")}), HALF_LABELLED | {"resource_levels": TREE}),
]  # fmt: skip
CASES = READING + KINDS + COUNTS + SHARES + CHOICE + CLUSTERS
