"""The keys that MindCluster and Volcano read from a manifest, as data (chapter 40 §1.8, §2).

One row a key: what it may hold, who reads it, and by its group where it goes in each kind.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from ascendctl.validate.nearest import bare, is_near

LABEL, ANNOTATION, SELECTOR, RESOURCE, ENV, NODE_LABEL = (
    "label", "annotation", "nodeSelector", "resource", "env", "node label",
)  # fmt: skip


@dataclass(frozen=True)
class Key:
    """One key. `place` says in which map it stands; `group` is the letter of chapter 40 §1.8, "" = outside of them.

    `values` is for people, `legal` lists them where they are an enumeration. `user` False: controllers write it.
    """

    name: str
    place: str
    group: str = ""
    values: str = ""
    legal: tuple[str, ...] = ()
    default: str = ""
    readers: str = ""
    products: str = "all"
    bad: str = ""
    about: str = ""
    user: bool = True


def _enum(name: str, place: str, group: str, legal: str, **more: Any) -> Key:
    words = tuple(legal.split())
    return Key(name, place, group, ", ".join(words), words, **more)


_SCHEDULER, _OPERATOR, _CLUSTERD = "Ascend scheduler plugin", "ascend-operator", "clusterd"
_INFER_OPERATOR, _DEVICE_PLUGIN, _VOLCANO, _KUBERNETES = "infer-operator", "device plugin", "Volcano", "Kubernetes"
_SUPER_POD = "A3 super-pod, 850 SuperPoD, 950"
_SHARE = "800I A2, 800I A3, Atlas 350 with soft sharing"
_FALLS = "silently ignored"

POLICIES = (
    "chip1-node2", "chip4-node4", "chip8-node8", "chip8-node16", "chip2-node16", "chip2-node8", "chip2-node16-sp",
    "chip2-node8-sp", "chip4-node8", "chip4-node16", "chip1-node8", "chip1-node16", "chip8-node8-sp",
    "chip8-node8-ra64-sp", "chip1-softShareDev", "multilevel",
)  # fmt: skip

LABELS = (
    _enum("framework", LABEL, "D", "pytorch mindspore tensorflow", readers=_OPERATOR, bad="OPF InvalidFramework",
          about="required on every AscendJob"),
    _enum("ring-controller.atlas", LABEL, "C", "ascend-310 ascend-310P ascend-910 ascend-910b ascend-npu",
          readers=f"{_OPERATOR}, {_SCHEDULER}", bad="no effect but for dynamic vNPU, which then is not scheduled",
          about="by its presence the operator writes a rank table; selects the vNPU policy of huawei.com/npu-core"),
    _enum("tor-affinity", LABEL, "C", "large-model-schema normal-schema null", default="null", readers=_SCHEDULER,
          products="Atlas 800 training, A2; 800I A2 and A200I A2 Box in single-layer networks", bad="PEND-V",
          about='switch affinity; quote "null"'),
    _enum("super-pod-affinity", LABEL, "C", "soft hard", default="hard", readers=f"{_SCHEDULER}, {_OPERATOR}",
          products=_SUPER_POD, bad="counts as hard"),
    _enum("npu-310-strategy", LABEL, "C", "card chip", default="chip", readers=_SCHEDULER, products="300I, 310P family",
          bad="PEND-V on 310, another policy on 310P"),
    _enum("duo", LABEL, "C", "true", readers=_SCHEDULER, products="Atlas 300I Duo", bad="handled as plain 310P"),
    _enum("distributed", LABEL, "C", "true false", default="false", readers=_SCHEDULER, products="Atlas 300I Duo",
          bad="not distributed", about="true means: one pod with several cards"),
    _enum("fault-scheduling", LABEL, "C", "grace force off external-grace external-force", default="off",
          readers=_SCHEDULER, bad="no rescheduling"),
    Key("fault-retry-times", LABEL, "C", "whole number from 0", default="0", readers=f"{_SCHEDULER}, {_OPERATOR}",
        products="training", bad="0; an AscendJob without backoffLimit is never reconciled"),
    _enum("pod-rescheduling", LABEL, "C", "on", default="off", readers=_SCHEDULER, bad="off"),
    _enum("process-recover-enable", LABEL, "C", "on pause off", default="off", readers=f"{_SCHEDULER}, {_CLUSTERD}",
          products="800T A2, A3 training", bad="off"),
    _enum("subHealthyStrategy", LABEL, "C", "ignore graceExit forceExit hotSwitch", default="ignore",
          readers=_SCHEDULER, products="training", bad="ignore"),
    _enum("elastic-scheduling", LABEL, "C", "on off", default="off", readers=_SCHEDULER, bad="off",
          about="elastic training of the former Resilience Controller"),
    Key("minReplicas", LABEL, "", "whole number from 1 to replicas", readers="Resilience Controller",
        about="label of a vcjob; not a field of any kind"),
    Key("jobID", LABEL, "D", "any label value", readers=f"{_OPERATOR}, {_CLUSTERD}", products="MindIE"),
    Key("app", LABEL, "D", "mindie-ms-controller, mindie-ms-coordinator, mindie-ms-server for MindIE; else free",
        readers=f"{_OPERATOR}, {_SCHEDULER}", products="MindIE"),
    Key("mind-cluster/scaling-rule", LABEL, "D", "name of a scaling-rule ConfigMap", readers=_OPERATOR,
        products="MindIE on 800I A2, 800I A3", bad="OPF InvalidScalingConfig"),
    Key("mind-cluster/group-name", LABEL, "D", "a group of the scaling rule", readers=_OPERATOR,
        products="MindIE on 800I A2, 800I A3", bad="OPF InvalidScalingConfig"),
    Key("scaleout-type", LABEL, "D", "RoCE, UBoE (any case, no blanks)", ("RoCE", "UBoE"), readers=_OPERATOR,
        products="850, 950", bad="OPF InvalidScaleOutConfig"),
    _enum("podgroup-sched-enable", LABEL, "C", "true", default="off", readers="openFuyao Volcano",
          products="900 A3, 9000 A3, 800T A3", bad="off"),
    Key("deploy-name", LABEL, "F", "metadata.name of the workload", readers=_OPERATOR,
        bad="the rank table is never filled in", about="pod template of a Deployment or StatefulSet"),
    Key("inferserviceid", LABEL, "C", "any label value", default="set by the infer-operator for -sp policies",
        readers=_SCHEDULER, products=_SUPER_POD),
    _enum("vnpu-level", LABEL, "E", "low high", default="low", readers=_SCHEDULER, products="dynamic vNPU", bad="low"),
    _enum("vnpu-dvpp", LABEL, "E", "yes no null", default="null", readers=_SCHEDULER, products="dynamic vNPU",
          bad="PEND-V with 1 or 2 cores", about='quote all three: "yes", "no", "null"'),
    Key("huawei.com/scheduler.softShareDev.aicoreQuota", LABEL, "C", "1 to 100 (percent)", default="required",
        readers=_SCHEDULER, products=_SHARE, bad="PEND-V"),
    Key("huawei.com/scheduler.softShareDev.hbmQuota", LABEL, "C", "whole number from 1 (MB)", default="required",
        readers=_SCHEDULER, products=_SHARE, bad="PEND-V"),
    _enum("huawei.com/scheduler.softShareDev.policy", LABEL, "C", "fixed-share elastic best-effort",
          default="required", readers=_SCHEDULER, products=_SHARE, bad="PEND-V"),
    Key("customJobKey", LABEL, "R", "name of another label of the object", readers=_CLUSTERD, bad="unset"),
    Key("custom-job-id", LABEL, "R", "any", readers=_CLUSTERD),
    Key("ome.io/inferenceservice", LABEL, "", "written by OME", readers=_SCHEDULER, user=False),
    _enum("infer.huawei.com/gang-schedule", LABEL, "I", "true false", default="off", readers=_INFER_OPERATOR, bad="off",
          about="metadata of a role"),
    _enum("infer.huawei.com/container-snapshot", LABEL, "I", "true", default="off", readers=_INFER_OPERATOR, bad="off",
          about="metadata of a role, StatefulSet only"),
    Key("infer.huawei.com/inferservice-name", LABEL, "", "name", default="from the parent",
        readers=_INFER_OPERATOR, bad="INF", about="required on a hand-written InstanceSet"),
    Key("infer.huawei.com/instanceset-name", LABEL, "", "name", default="from the parent",
        readers=_INFER_OPERATOR, bad="INF", about="required on a hand-written InstanceSet"),
)  # fmt: skip

ANNOTATIONS = (
    Key("huawei.com/schedule_policy", ANNOTATION, "A", ", ".join(POLICIES), POLICIES, readers=_SCHEDULER,
        bad="another policy is used silently; absent with huawei.com/npu: PEND-V",
        about="which policy places the pods"),
    Key("sp-block", ANNOTATION, "A", "whole number of NPUs, a multiple of a node's", default="all NPUs of the job",
        readers=f"{_SCHEDULER}, {_OPERATOR}", products=_SUPER_POD, bad="PEND-V",
        about="NPUs of one logical SuperPoD; without a policy it alone selects the A3 super-pod policy"),
    Key("ra-block", ANNOTATION, "A", "1, 2, 4, 8, 16, 32, 64", ("1", "2", "4", "8", "16", "32", "64"), default="8",
        readers=_SCHEDULER, products="950", bad="PEND-V", about="NPUs that must share a rack"),
    Key("sp-fit", ANNOTATION, "A", "idlest", ("idlest",), readers=_SCHEDULER, products="A3 super-pod with MindIE",
        bad="default fit"),
    Key("huawei.com/affinity-config", ANNOTATION, "A", "level1=x,level2=y,...", default="required with multilevel",
        readers=f"{_SCHEDULER}, {_OPERATOR}", products="multilevel", bad="PEND-V; 0 crashes the scheduler"),
    Key("huawei.com/schedule_minAvailable", ANNOTATION, "A", "whole number from 1",
        default="replicas of a Deployment, else 1", readers=_SCHEDULER, bad="PEND-V InvalidArgument",
        about="gang size where no PodGroup says more than 1"),
    _enum("huawei.com/recover_policy_path", ANNOTATION, "A", "pod job pod,job", default="up to the job",
          readers=_SCHEDULER, bad="default"),
    _enum("huawei.com/infer_service_schedule", ANNOTATION, "A", "true", readers=_SCHEDULER, bad=_FALLS),
    _enum("huawei.com/schedule_ubmemory", ANNOTATION, "B", "true", default="off", readers=_SCHEDULER, products="950",
          bad="off; more than 1024 NPUs: PEND-V"),
    Key("recover-strategy", ANNOTATION, "B", "retry, recover, recover-in-place, elastic-training, dump, exit; a list",
        ("retry", "recover", "recover-in-place", "elastic-training", "dump", "exit"), readers=_OPERATOR,
        products="800T A2, A3 training", bad="the word is ignored", about="no blanks around the commas"),
    Key("wait-reschedule-timeout", ANNOTATION, "B", "30 to 270 (seconds)", default="270", readers=_CLUSTERD, bad="270"),
    Key("huawei.com/schedule.filter.faultCode", ANNOTATION, "B", "CODE:seconds[,CODE:seconds...], 0 to 86400",
        default="60", readers=_CLUSTERD, bad="the pair is ignored"),
    Key("huawei.com/schedule.filter.faultLevel", ANNOTATION, "B", "LEVEL:seconds[,LEVEL:seconds...], 0 to 86400",
        default="60", readers=_CLUSTERD, bad="the pair is ignored"),
    _enum("huawei.com/schedule_enable_dequeue", ANNOTATION, "B", "on", default="off", readers=_SCHEDULER, bad="off"),
    Key("volcano.sh/schedule.plugin", ANNOTATION, "B", "resource name without prefix, such as Ascend910",
        readers=_SCHEDULER, about="for jobs without NPUs that must pass the plugin"),
    Key("ProcessRecoverStrategy", ANNOTATION, "B", "state of an external platform", readers=_SCHEDULER),
    _enum("huawei.com/skip-ascend-plugin", ANNOTATION, "E", "enabled", default="off", readers=_SCHEDULER,
          products="A3, A3 super-pod, multilevel", bad="off", about="exempts a pod without NPUs"),
    Key("hccl/rankIndex", ANNOTATION, "P", "whole number from 0, each once", readers=f"{_SCHEDULER}, {_OPERATOR}",
        bad="broken rank table"),
    Key("scheduling.k8s.io/group-name", ANNOTATION, "P", "name of a PodGroup", readers=_VOLCANO,
        bad="the pod waits for the PodGroup"),
    Key("scheduling.volcano.sh/queue-name", ANNOTATION, "P", "name of a Queue", default="default", readers=_VOLCANO,
        bad="the pod stays pending"),
    Key("scheduling.volcano.sh/group-min-member", ANNOTATION, "W", "whole number from 1", default="1",
        readers=_VOLCANO, bad="1", about="metadata of a Deployment, StatefulSet or Job"),
    Key("volcano.sh/task-spec", ANNOTATION, "P", "name of the task", default="set by the controllers",
        readers=_SCHEDULER, about="scheduler exempts a pod without NPUs"),
    _enum("volcano.sh/preemptable", ANNOTATION, "P", "true false", readers=_VOLCANO),
    _enum("volcano.sh/network-topology-mode", ANNOTATION, "P", "hard soft", readers=_VOLCANO, bad="default"),
    Key("volcano.sh/network-topology-highest-tier", ANNOTATION, "P", "whole number", readers=_VOLCANO, bad="default"),
    Key("volcano.sh/jdb-min-available", ANNOTATION, "P", "whole number from 1, or 1% to 99%", readers=_VOLCANO,
        bad="ADM"),
    Key("volcano.sh/jdb-max-unavailable", ANNOTATION, "P", "whole number from 1, or 1% to 99%", readers=_VOLCANO,
        bad="ADM"),
    *(Key(name, ANNOTATION, "", "written by the system", readers="the system itself", user=False,
          bad="a stale device list mounts the wrong NPUs")
      for name in ("super-pod-rank", "huawei.com/AscendReal", "huawei.com/kltDev", "huawei.com/Ascend910",
                   "huawei.com/npu", "huawei.com/Ascend310", "huawei.com/Ascend310P", "huawei.com/npu-core",
                   "huawei.com/pod-status", "host_snapshot_finish_flag", "snapshot_mode",
                   "huawei.com/scheduler.softShareDev.vnpuId")),
)  # fmt: skip

SELECTORS = (
    _enum("accelerator-type", SELECTOR, "E",
          "card half module module-910b-8 module-910b-16 card-910b-2 card-910b-infer module-a3-16 "
          "module-a3-16-super-pod module-a3-8-super-pod 350-Atlas-8 350-Atlas-16 350-Atlas-4p-8 350-Atlas-4p-16 "
          "850-Atlas-8p-8 850-SuperPod-Atlas-8 950-SuperPod-Atlas-8",
          readers=f"{_SCHEDULER}, {_KUBERNETES}", bad="no policy, or no node",
          about="selects the policy where no schedule_policy does; those of 350, 850 SuperPoD and 950 only filter"),
    _enum("host-arch", SELECTOR, "E", "huawei-arm huawei-x86", readers=_KUBERNETES, bad="no node"),
    _enum("server-usage", SELECTOR, "E", "infer", readers=_KUBERNETES, products="800I A3"),
    Key("servertype", SELECTOR, "E", "soc; npu-{n}, Ascend910-{n}, Ascend310P-{n}", readers=f"{_KUBERNETES}, vNPU",
        products="200I SoC A1, vNPU"),
    _enum("accelerator", SELECTOR, "E", "huawei-Ascend910 huawei-Ascend310 huawei-Ascend310P huawei-npu",
          readers=_KUBERNETES, bad="no node"),
    _enum("huawei.com/scheduler.chip1softsharedev.enable", NODE_LABEL, "", "true", readers=_SCHEDULER, products=_SHARE),
    _enum("infer-card-type", NODE_LABEL, "", "card-300i-duo", readers=_SCHEDULER, products="Atlas 300I Duo"),
    Key("huawei.com/topotree", NODE_LABEL, "", "name of a topology tree", default="default", readers=_SCHEDULER,
        products="multilevel"),
    *(Key(f"huawei.com/topotree.{level}", NODE_LABEL, "", "group name", readers=_SCHEDULER, products="multilevel")
      for level in ("superpodid", "groupid", "rackid", "serverid")),
)  # fmt: skip

RESOURCES = (
    Key("huawei.com/Ascend910", RESOURCE, "E", "chips", readers=_SCHEDULER, products="Atlas 800 training, A2, A3"),
    Key("huawei.com/npu", RESOURCE, "E", "chips", readers=_SCHEDULER, products="350, 850, 950",
        about="needs huawei.com/schedule_policy"),
    Key("huawei.com/Ascend310", RESOURCE, "E", "chips, 1 to 64", readers=_SCHEDULER, products="300I"),
    Key("huawei.com/Ascend310P", RESOURCE, "E", "chips, 1 to 64; 300I Duo up to 16, with card strategy up to 2",
        readers=_SCHEDULER, products="310P family"),
    Key("huawei.com/npu-core", RESOURCE, "E", "AI cores", readers=_SCHEDULER, products="dynamic vNPU"),
    *(Key(f"huawei.com/Ascend910-{name}", RESOURCE, "E", "1", readers=_DEVICE_PLUGIN, products="static vNPU")
      for name in ("2c", "4c", "8c", "16c", "5c.1cpu.8g", "5c.1cpu.16g", "6c.1cpu.16g", "10c.3cpu.16g",
                   "10c.3cpu.16g.ndvpp", "10c.4cpu.16g.dvpp", "10c.3cpu.32g", "12c.3cpu.32g")),
    *(Key(f"huawei.com/Ascend310P-{name}", RESOURCE, "E", "1", readers=_DEVICE_PLUGIN, products="static vNPU")
      for name in ("1c", "2c", "4c", "2c.1cpu", "4c.3cpu", "4c.3cpu.ndvpp", "4c.4cpu.dvpp")),
)  # fmt: skip

ENVIRONMENT = (
    Key("ASCEND_VISIBLE_DEVICES", ENV, "E", "fieldRef metadata.annotations['<the requested resource>']",
        readers="ascend-docker-runtime", about="whole-card pods under Volcano; absent for vNPU and soft sharing"),
    Key("HCCL_IF_IP", ENV, "E", "fieldRef status.hostIP", readers="HCCL", about="with hostNetwork"),
    Key("POD_IP", ENV, "E", "fieldRef status.podIP", readers="process-level recovery"),
    Key("XDL_IP", ENV, "E", "fieldRef status.hostIP", readers="rank table samples"),
)  # fmt: skip

ALL_KEYS = (*LABELS, *ANNOTATIONS, *SELECTORS, *RESOURCES, *ENVIRONMENT)

PLACES = {
    "A": (("AscendJob, vcjob", "$.metadata.annotations"),
          ("Deployment, StatefulSet, Job", "$.spec.template.metadata.annotations"), ("Pod", "$.metadata.annotations"),
          ("PodGroup", "$.metadata.annotations (wins)"),
          ("InferServiceSet, InferService, InstanceSet", "role metadata.annotations (with gang), or the pod template")),
    "B": (("AscendJob, vcjob, PodGroup", "$.metadata.annotations"),
          ("Deployment, StatefulSet, Job, Pod", "only through a PodGroup of their own"),
          ("InferServiceSet, InferService, InstanceSet", "role metadata.annotations")),
    "C": (("AscendJob, vcjob, PodGroup", "$.metadata.labels, or the pod templates"),
          ("Deployment, StatefulSet, Job", "$.spec.template.metadata.labels"), ("Pod", "$.metadata.labels"),
          ("InferServiceSet, InferService, InstanceSet", "role metadata.labels, or the pod template")),
    "D": (("AscendJob", "$.metadata.labels"),),
    "E": (("all kinds", "pod template"),),
    "F": (("Deployment, StatefulSet", "$.spec.template.metadata.labels"),),
    "I": (("InferServiceSet, InferService, InstanceSet", "role metadata.labels"),),
    "P": (("all kinds", "pod template metadata.annotations"),),
    "R": (("all kinds", "where clusterd reports the job: $.metadata.labels, or the pod template"),),
    "W": (("Deployment, StatefulSet, Job", "$.metadata.annotations"),),
}  # fmt: skip
"""Group -> (kinds, where a key of the group goes) pairs."""

GROUP_A = tuple(key.name for key in ANNOTATIONS if key.group == "A")
GROUP_C = (*(key.name for key in LABELS if key.group == "C"), "vnpu-level", "vnpu-dvpp")
"""Labels that the plugin reads from a job (chapter 40 §1.8); the two of vNPUs count for each pod by itself."""
SYSTEM_WRITTEN = frozenset(key.name for key in ANNOTATIONS if not key.user)

_CONTROLLERS = frozenset(
    [
        "job-name",
        "group-name",
        "replica-type",
        "replica-index",
        "version",
        "training.kubeflow.org/job-name",
        "controller-uid",
        "training.kubeflow.org/operator-name",
        "training.kubeflow.org/job-role",
        "training.kubeflow.org/replica-type",
        "training.kubeflow.org/replica-index",
        "volcano.sh/job-name",
        "volcano.sh/job-namespace",
        "volcano.sh/queue-name",
        "volcano.sh/task-index",
        "volcano.sh/job-version",
        "volcano.sh/template-uid",
        "volcano.sh/job-retry-count",
        "batch.kubernetes.io/job-name",
        "batch.kubernetes.io/controller-uid",
        "pod-template-hash",
    ]
)
"""Keys that controllers write on exported objects; they are never near misses (chapter 40, DOC-16)."""
_PREFIXES = ("huawei.com", "volcano.sh")


@cache
def by_name() -> dict[str, tuple[Key, ...]]:
    """Key name -> its rows (a name may stand in two maps)."""
    rows: dict[str, tuple[Key, ...]] = {}
    for key in ALL_KEYS:
        rows[key.name] = (*rows.get(key.name, ()), key)
    return rows


def is_known_key(name: str) -> bool:
    """True for a label, annotation or node selector key of the catalogue."""
    return any(key.place != ENV for key in by_name().get(name, ()))


@cache
def nearest_key(name: str) -> str:
    """The key that a near miss was meant to be (chapter 40, DOC-16); "" if the name is known, or near to nothing."""
    if name in by_name() or name in _CONTROLLERS or not _may_be_ours(name):
        return ""
    plain = bare(name)
    exact = [key.name for key in _spellable() if bare(key.name) == plain]
    if exact:
        return exact[0]
    near = [key.name for key in _spellable() if is_near(plain, bare(key.name))]
    return near[0] if near else ""


def _spellable() -> tuple[Key, ...]:
    return tuple(key for key in (*LABELS, *ANNOTATIONS, *SELECTORS) if key.user)


def _may_be_ours(name: str) -> bool:
    prefix = name.rpartition("/")[0]
    return not prefix or prefix in ("mind-cluster", "ome.io") or any(
        prefix == ours or prefix.endswith("." + ours) for ours in _PREFIXES
    )  # fmt: skip
