"""The kind-free Job: what the scheduler plugin knows of a workload, whatever its Kubernetes kind (chapter 40 §1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ascendctl.wellknown import POLICY, SP_BLOCK, SUB_HEALTHY, SUPER_POD_AFFINITY
from ascendctl.yamlio.document import Document, FieldPath

SUB_HEALTHY_STRATEGIES = ("ignore", "graceExit", "forceExit", "hotSwitch")


@dataclass(frozen=True)
class Source:
    """Where a job was read from. `document` is None for a job built in memory.

    `origins` maps an attribute of the job to the field that it came from: ("label", key), ("annotation", key),
    ("selector", key), ("min_available",); of role i ("role", i), ("role", i, "replicas" | "npus"),
    ("role", i, "label" | "annotation" | "selector", key). `parts`: the documents of the roles where each role has one
    of its own (bare Pods of one PodGroup); the paths of roles then lead into these.
    """

    file: str = ""
    document: Document | None = None
    origins: Mapping[tuple[str | int, ...], FieldPath] = field(default_factory=dict)
    parts: tuple[Document, ...] = ()

    def path(self, *attribute: str | int) -> FieldPath:
        """The field that an attribute came from; of an absent one, the nearest parent that is known, else the root."""
        while attribute:
            if attribute in self.origins:
                return self.origins[attribute]
            attribute = attribute[:-1]
        return ()


@dataclass(frozen=True)
class Role:
    """One replica type, task or pod template. Roles stand in rank order in `Job.roles`.

    `npus` counts what ONE pod asks of `resource` (the first huawei.com/ resource, summed over its normal containers);
    0 and "" if it asks none. Labels, annotations and selector are those of the pod template. `task_spec` is the
    annotation volcano.sh/task-spec that the pods will carry ("" = none). The constraint fields are Kubernetes' own
    structures from the pod spec, read by `engine.kube`.
    """

    name: str
    replicas: int
    npus: int
    resource: str
    requests: Mapping[str, int] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    selector: Mapping[str, str] = field(default_factory=dict)
    task_spec: str = ""
    node_name: str = ""
    node_affinity: Mapping[str, Any] = field(default_factory=dict)
    pod_affinity: Mapping[str, Any] = field(default_factory=dict)
    pod_anti_affinity: Mapping[str, Any] = field(default_factory=dict)
    tolerations: tuple[Mapping[str, Any], ...] = ()

    @property
    def is_npu(self) -> bool:
        """True if the plugin treats its pods as NPU tasks: they name a huawei.com/ resource, even with quantity 0."""
        return bool(self.resource)


@dataclass(frozen=True, slots=True)
class PodSpec:
    """One pod that the workload will have. `role` indexes `Job.roles`; `number` counts inside the role from 0.

    `rank` is the hccl/rankIndex it will carry (chapter 50 §3); ranks may repeat where the leader has no chips.
    """

    name: str
    role: int
    number: int
    rank: int
    npus: int


@dataclass(frozen=True)
class Job:
    """A workload as the scheduler plugin sees it: merged attributes (chapter 40 §1.9, §1.10), roles in rank order.

    `labels`, `annotations`, `selector` are merged over PodGroup and pods as the reference does ('|' joins differing
    values). `resource` is the job's NPU resource ("huawei.com/Ascend910"; "" = none), `npus` the total J of it that
    minAvailable pods ask for, `min_available` the plugin's value. `owner_kind` is the kind that owns the pods
    ("ReplicaSet" for a Deployment). `pods` are all pods in rank order. `plugin_minavailable` problems are left to the
    rules.
    """

    name: str
    namespace: str
    kind: str
    roles: tuple[Role, ...]
    pods: tuple[PodSpec, ...]
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    selector: Mapping[str, str] = field(default_factory=dict)
    resource: str = ""
    npus: int = 0
    min_available: int = 0
    owner_kind: str = ""
    scheduler_name: str = "volcano"
    queue: str = "default"
    product: str = ""
    source: Source = field(default_factory=Source)

    @cached_property
    def npu_pod_count(self) -> int:
        """T of the chapters (NPUTaskNum): pods that name a huawei.com/ resource."""
        return sum(r.replicas for r in self.roles if r.is_npu)

    @cached_property
    def npu_positions(self) -> tuple[int, ...]:
        """Indices in `pods` of the pods that name a huawei.com/ resource, in rank order."""
        return tuple(i for i, pod in enumerate(self.pods) if self.roles[pod.role].is_npu)

    @property
    def distributed(self) -> bool:
        """True if more than one pod asks for NPUs; nothing else makes a job distributed (chapter 10 §1)."""
        return self.npu_pod_count > 1

    @property
    def policy_name(self) -> str | None:
        """The annotation huawei.com/schedule_policy; None if absent."""
        return self.annotations.get(POLICY)

    @property
    def sub_healthy_strategy(self) -> str:
        """Label subHealthyStrategy; anything that is not a known strategy counts as "ignore"."""
        value = self.labels.get(SUB_HEALTHY, "ignore")
        return value if value in SUB_HEALTHY_STRATEGIES else "ignore"

    @cached_property
    def sp_block(self) -> int:
        """Annotation sp-block in NPUs; absent = J, not an integer = 0 (chapter 10 §3)."""
        return _block(self.annotations.get(SP_BLOCK), self.npus)

    @property
    def is_soft(self) -> bool:
        """True if label super-pod-affinity lets the pods of a logical SuperPoD stand in several SuperPoDs."""
        return self.labels.get(SUPER_POD_AFFINITY) == "soft"

    @cached_property
    def ra_block(self) -> int:
        """Annotation ra-block in NPUs; absent = 8, not an integer = 0 (chapter 10 §3)."""
        return _block(self.annotations.get("ra-block"), 8)

    @property
    def tor_affinity(self) -> str | None:
        """Label tor-affinity; None if absent."""
        return self.labels.get("tor-affinity")

    @property
    def key(self) -> str:
        """namespace/name."""
        return f"{self.namespace}/{self.name}"


def parse_go_int(text: str) -> int | None:
    """An integer as Go's strconv.Atoi takes it: optional sign, ASCII digits, 64 bits; None for anything else."""
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not (digits.isascii() and digits.isdigit()):
        return None
    value = int(text) if len(digits) <= 19 else 1 << 63
    return value if -(1 << 63) <= value < 1 << 63 else None


def _block(text: str | None, absent: int) -> int:
    return absent if text is None else parse_go_int(text) or 0
