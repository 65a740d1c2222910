"""Names of other NPU device plugins that share the huawei.com/ prefix (chapter 40 §2.6)."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ascendctl.validate.entry import Entry, PodView

_HAMI_CHIPS = re.compile(r"huawei\.com/Ascend(910A|910B2|910B3|910B4|910B4-1|910C)")
_HAMI_PARTS = re.compile(r"huawei\.com/(Ascend[0-9A-Za-z-]+)-(memory|core)")
_HAMI_UUID = re.compile(r"huawei\.com/.+-use-uuid")
_CLOUD = re.compile(r"huawei\.com/ascend-[a-z0-9].*")
_KOORDINATOR = frozenset(("huawei.com/npu-cpu", "huawei.com/npu-dvpp"))
_OTHERS = {"npu.huawei.com/NPU": "another"}

_OWN_FAMILIES = frozenset(("SCH", "WLD", "EXT", "RES", "SEL", "SPB", "RAB", "MLV", "TOR", "D31", "VNP", "SFT", "RSC"))
_OWN_RULES = frozenset(
    ("VCJ-08", "VCJ-17", "VCJ-19", "VCJ-27", "VCJ-29", "PGR-04", "PGR-05", "PGR-06", "INF-14", "INF-17", "ENV-01",
     "ENV-03", "ENV-04", "ENV-06", "ENV-07")
)  # fmt: skip
_NOT_OWN = frozenset(("RES-02", "RES-13", "SCH-03"))

HAMI, CLOUD, KOORDINATOR = "HAMi", "managed cloud (CCE)", "Koordinator"


def dialect_of(entry: Entry, pod: PodView) -> tuple[str, str]:
    """(dialect, resource that shows it) of a pod; ("", "") for MindCluster's own names."""
    names = list(pod.resources)
    scheduler = scheduler_of(entry, pod)
    for name in names:
        if _HAMI_CHIPS.fullmatch(name) or _HAMI_PARTS.fullmatch(name):
            return HAMI, name
        if _CLOUD.fullmatch(name):
            return CLOUD, name
        if name in _KOORDINATOR or (name == "huawei.com/npu-core" and scheduler not in ("", "volcano")):
            return KOORDINATOR, name
        if name in _OTHERS:
            return _OTHERS[name], name
    if names and any(key == "huawei.com/vnpu-mode" or _HAMI_UUID.fullmatch(key) for key in pod.annotations):
        return HAMI, names[0]
    return "", ""


def dropped_companions(names: Iterable[str]) -> str:
    """HAMi: a -memory or -core resource of another chip than the counted one, "" if there is none."""
    known = list(names)
    counted = {name for name in known if not _HAMI_PARTS.fullmatch(name)}
    for name in known:
        part = _HAMI_PARTS.fullmatch(name)
        if part and counted and f"huawei.com/{part[1]}" not in counted:
            return name
    return ""


def scheduler_of(entry: Entry, pod: PodView) -> str:
    """The scheduler that will take the pod: the template's, else the job's, else what the kind's controller sets."""
    if pod.scheduler:
        return pod.scheduler
    if entry.title in ("AscendJob", "vcjob"):
        value = entry.get("spec", "schedulerName")
        if isinstance(value, str) and value:
            return value
        return "volcano" if entry.title == "AscendJob" else ""
    return ""


def speaks_of_npus(rule: str) -> bool:
    """True for a rule that presumes MindCluster's own NPUs: it says nothing of pods of another dialect."""
    return rule not in _NOT_OWN and (rule in _OWN_RULES or rule.partition("-")[0] in _OWN_FAMILIES)


def is_foreign(entry: Entry, pod: PodView) -> bool:
    """True if a pod of a foreign dialect is one that no NPU rule applies to (RES-13 instead)."""
    return bool(dialect_of(entry, pod)[0])
