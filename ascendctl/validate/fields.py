"""Fields and resources that people ask about and that are no keys of the catalogue, for `explain` (chapter 40 §1.1,
§2.4): gang size, queue, scheduler and pod count have another path in every kind."""

from __future__ import annotations

from typing import Any, TypeAlias

from ascendctl.validate.keys import RESOURCE, Key

Places: TypeAlias = tuple[tuple[str, str], ...]
_TEMPLATE = "the pod template"
_GANG: Places = (
    ("AscendJob", "$.spec.runPolicy.schedulingPolicy.minAvailable"),
    ("vcjob", "$.spec.minAvailable, for one task $.spec.tasks[i].minAvailable"),
    ("Deployment, StatefulSet, Job", "annotation huawei.com/schedule_minAvailable of the pod template"),
    ("PodGroup", "$.spec.minMember"),
    (
        "InferServiceSet, InferService, InstanceSet",
        "spec.replicas of the workload, with the role label infer.huawei.com/gang-schedule",
    ),
)


def _field(name: str, values: str, default: str, readers: str, **more: Any) -> Key:
    return Key(name, "field", values=values, default=default, readers=readers, **more)


def _resource(name: str, values: str, readers: str, products: str, about: str) -> tuple[Key, Places]:
    """A resource that no policy takes."""
    bad = "no policy takes it: under Volcano the job stays Pending"
    key = Key(name, RESOURCE, "E", values, readers=readers, products=products, bad=bad, about=about)
    return key, (("all kinds", _TEMPLATE),)


_GANG_SIZE = _field(
    "minAvailable",
    "whole number from 1 to all pods",
    "all pods of an AscendJob or Deployment, none of a vcjob without Volcano's webhook, else 1",
    "Volcano, Ascend scheduler plugin",
    bad="PEND-V",
    about="pods that must start together; checks of totals count the NPUs of so many pods",
)
_MIXED_310P = [
    _resource(
        f"huawei.com/Ascend310P-{card}", "chips", "device plugin", "mixed 310P servers", "for clusters without Volcano"
    )
    for card in ("V", "VPro", "IPro")
]

FIELDS: dict[str, tuple[Key, Places]] = {
    "minAvailable": (_GANG_SIZE, _GANG),
    "minMember": (_GANG_SIZE, _GANG),
    "queue": (
        _field(
            "queue",
            "name of an open leaf queue, not root",
            "default; none for an AscendJob with schedulingPolicy",
            "Volcano, ascend-operator",
            bad="the job stays Pending; an AscendJob fails with InvalidQueue",
            about="the Queue whose share the job uses",
        ),
        (
            ("AscendJob", "$.spec.runPolicy.schedulingPolicy.queue"),
            ("vcjob, PodGroup", "$.spec.queue"),
            ("Deployment, StatefulSet, Job", "annotation scheduling.volcano.sh/queue-name of the pod template"),
            ("Pod", "$.metadata.annotations['scheduling.volcano.sh/queue-name']"),
        ),
    ),
    "schedulerName": (
        _field(
            "schedulerName",
            "volcano",
            "volcano for an AscendJob, none for a vcjob without Volcano's webhook",
            "Kubernetes, ascend-operator",
            legal=("volcano",),
            bad="the default scheduler takes the pods and ignores all keys of MindCluster",
        ),
        (
            ("AscendJob, vcjob", "$.spec.schedulerName; a pod template's own wins"),
            ("Deployment, StatefulSet, Job", "$.spec.template.spec.schedulerName"),
            ("Pod", "$.spec.schedulerName"),
            ("InferServiceSet, InferService, InstanceSet", _TEMPLATE),
        ),
    ),
    "replicas": (
        _field(
            "replicas",
            "whole number; leader of an AscendJob exactly 1, others up to 20000",
            "1",
            "the controller of the kind",
            bad="refused; an AscendJob fails with InvalidReplicaSpec",
            about="how many pods",
        ),
        (
            ("AscendJob", "$.spec.replicaSpecs.<Type>.replicas"),
            ("vcjob", "$.spec.tasks[i].replicas"),
            ("Deployment, StatefulSet", "$.spec.replicas"),
            ("Job", "$.spec.parallelism"),
            ("InferServiceSet", "$.spec.replicas × roles[i].replicas × roles[i].spec.replicas"),
            ("InferService", "roles[i].replicas × roles[i].spec.replicas"),
            ("InstanceSet", "$.spec.replicas × $.spec.spec.replicas"),
        ),
    ),
    "minResources": (
        _field(
            "minResources",
            "quantities, the job's NPUs among them",
            "the requests of the first minAvailable pods",
            "Ascend scheduler plugin",
            bad="the job stays Pending, or is no NPU job at all",
            about="the only source of the job's NPU resource and total",
        ),
        (
            ("AscendJob", "$.spec.runPolicy.schedulingPolicy.minResources"),
            ("PodGroup", "$.spec.minResources"),
            ("all other kinds", "computed, it has no field"),
        ),
    ),
    "huawei.com/ub_rdma": _resource(
        "huawei.com/ub_rdma",
        "shares",
        "RDMA device plugin",
        "950",
        "needs hostNetwork: true; a job may ask for one huawei.com/ resource only",
    ),
    **{key.name: (key, places) for key, places in _MIXED_310P},
}
"""Name -> (what there is to say, (kinds, where it goes) pairs)."""
