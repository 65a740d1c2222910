"""Which policy a job gets: by resource, schedule_policy, sp-block, accelerator-type (chapter 10 §4, chapter 11.5)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ascendctl.engine.wirings import WIRINGS
from ascendctl.manifest.job import Job
from ascendctl.wellknown import A310, A310P, A910, ACCELERATOR_TYPE, NPU, NPU_CORE, RING, SP_BLOCK

if TYPE_CHECKING:
    from ascendctl.snapshot.cluster import Cluster


STATIC_VNPU: Final = re.compile(r"Ascend910-(?:[2-6]|8|10|12|16)c|Ascend310P-[124]c")
"""Names of static vNPU resources (chapter 11.14.2), searched anywhere in the resource name."""

BY_ANNOTATION: Final[Mapping[str, str]] = {
    "chip4-node8": "chip4-node8",
    "chip1-node2": "chip1-node2",
    "chip4-node4": "chip4-node4",
    "chip8-node8": "chip8-node8",
    "chip8-node16": "chip8-node16",
    "chip2-node16": "chip2-node16",
    "chip2-node8": "chip2-node16",
    "module-a3-16": "chip2-node16",
    "chip2-node16-sp": "chip2-node16-sp",
    "chip2-node8-sp": "chip2-node8-sp",
    "chip4-node16": "chip4-node16",
    "chip1-node8": "chip1-node8",
    "chip1-node16": "chip1-node16",
    "chip8-node8-sp": "chip8-node8-sp",
    "chip8-node8-ra64-sp": "chip8-node8-ra64-sp",
    "chip1-softShareDev": "chip1-softShareDev",
    "multilevel": "multilevel",
}
"""Value of huawei.com/schedule_policy -> policy (TABLE_P of chapter 10 §4.2)."""

BY_ACCELERATOR: Final[Mapping[str, str]] = {
    "module": "module",
    "half": "chip4-node4",
    "card": "chip1-node2",
    "module-910b-8": "chip8-node8",
    "850-Atlas-8p-8": "850-Atlas-8p-8",
    "module-910b-16": "chip8-node16",
    "module-a3-16": "chip2-node16",
    "module-a3-16-super-pod": "chip2-node16-sp",
    "module-a3-8-super-pod": "chip2-node8-sp",
}
"""Node selector accelerator-type -> policy (TABLE_A of chapter 10 §4.2)."""

DYNAMIC_VNPU: Final[Mapping[str, str]] = {
    "ascend-910": "vnpu-910",
    "ascend-910b": "vnpu-910",
    "huawei.com.npu": "vnpu-910",
    "ascend-310P": "vnpu-310P",
}
"""Label ring-controller.atlas -> policy of a huawei.com/npu-core job; any other value drops the job."""

MODULES: Final[Mapping[str, str]] = {
    "chip2-node16-sp": "superpod",
    "chip2-node8-sp": "superpod",
    "chip8-node8-sp": "superpod",
    "chip8-node8-ra64-sp": "rack",
    "multilevel": "multilevel",
    "chip1-softShareDev": "soft_share",
    "vnpu-910": "vnpu",
    "vnpu-310P": "vnpu",
}
"""Policy -> module under `engine/policies`; the policies that are not listed work inside one node: `intra`."""


@dataclass(frozen=True)
class Selection:
    """What handles a job. `policy` "" = nothing does. `module` is the one under `engine/policies` that checks and
    places (static vNPUs, jobs without NPUs and jobs without policy: `intra`). `switch`: the switch policy comes second.
    `registered` False: the plugin drops the job and then refuses every node for its pods. `notes` say where the
    reference falls through without a word."""

    policy: str
    module: str = "intra"
    switch: bool = False
    registered: bool = True
    static_vnpu: bool = False
    notes: tuple[str, ...] = ()

    @property
    def superpod_job(self) -> bool:
        """True for the policies that never prefer a previous node (chapter 10 §2.7), next to switch affinity."""
        return self.module in ("superpod", "rack", "multilevel")

    @property
    def whole_job(self) -> bool:
        """True if the nodes of all pods are planned together. Switch affinity does so where the pods take whole NPUs;
        it leaves the others to the policy of their chips."""
        return self.superpod_job or (self.switch and self.whole_chips)

    @property
    def whole_chips(self) -> bool:
        """False for jobs whose chips switch affinity is not made for (chapter 23 §2): virtual or shared ones, Atlas
        300I Duo, none."""
        return self.policy in WIRINGS and self.module != "soft_share" and self.policy != "duo-chip"


def select_policy(job: Job, cluster: Cluster | None = None) -> Selection:
    """The policy of a job. Only the job decides; the cluster is not looked at (chapter 10 §4.1)."""
    notes: list[str] = []
    policy, registered, static = "", True, bool(STATIC_VNPU.search(job.resource))
    if static:
        policy = "vnpu-static"
    elif job.resource == NPU_CORE:
        policy = DYNAMIC_VNPU.get(job.labels.get(RING, ""), "")
        registered = bool(policy)
    elif job.resource in (A910, NPU):
        policy = _of_910(job, notes)
    elif job.resource == A310:
        policy = {"chip": "310-chip", "card": "310-card"}.get(job.labels.get("npu-310-strategy", "chip"), "")
    elif job.resource == A310P:
        policy = _of_310p(job, notes)
    switch = job.tor_affinity not in (None, "null")
    return Selection(policy, MODULES.get(policy, "intra"), switch, registered, static, tuple(notes))


def _of_910(job: Job, notes: list[str]) -> str:
    given, accelerator = job.policy_name, job.selector.get(ACCELERATOR_TYPE)
    if given is None and job.resource == NPU:
        return ""
    if given is not None and given in BY_ANNOTATION:
        if given == "chip2-node8":
            notes.append("chip2-node8 uses the handler of 16-NPU nodes: 10 to 16 NPUs pass but fit no 8-NPU node")
        if given == "chip4-node8" and job.resource == A910:
            notes.append("chip4-node8 selects the mesh policy, not the HCCS ring policy of the Atlas 800 server")
        return BY_ANNOTATION[given]
    if SP_BLOCK in job.annotations:
        policy = "chip2-node8-sp" if accelerator == "module-a3-8-super-pod" else "chip2-node16-sp"
    elif accelerator is None:
        policy = "module"
    else:
        policy = BY_ACCELERATOR["card"] if "card" in accelerator else BY_ACCELERATOR.get(accelerator, "")
    if given is not None:
        fallback = f"policy {policy}" if policy else "no policy"
        notes.append(f"schedule_policy {given!r} is unknown: the scheduler silently falls through to {fallback}")
    elif policy == "module" and accelerator is None:
        notes.append(
            "no policy is named: the job is handled as one for the Atlas 800 training server (1, 2, 4, 8 NPUs)"
        )
    return policy


def _of_310p(job: Job, notes: list[str]) -> str:
    duo, strategy = job.labels.get("duo", ""), job.labels.get("npu-310-strategy", "chip")
    handler = ("duo" if duo == "true" else duo) + strategy
    if handler in ("duocard", "duochip"):
        return "duo-" + handler.removeprefix("duo")
    if duo == "true":
        notes.append(f"npu-310-strategy {strategy!r} is unknown: the scheduler silently uses the plain 310P policy")
    elif duo:
        notes.append(f"label duo is {duo!r}, not 'true': the scheduler uses the plain 310P policy")
    return "310P"
