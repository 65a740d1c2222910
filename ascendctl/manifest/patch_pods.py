"""A workload as bare Pods and a PodGroup: every pod with its own node and rank (chapter 50 §6.4, §6.6 f)."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from ascendctl.engine.kube import pod_labels
from ascendctl.engine.result import JobHead, PlacedPod, Placement
from ascendctl.manifest.attributes import COPIED_ANNOTATIONS, text_map
from ascendctl.manifest.job import Job, PodSpec
from ascendctl.manifest.kinds import ASCEND_JOB, POD, STATEFUL_SET, VC_JOB, dig
from ascendctl.manifest.patch_edits import PLAN_KEY, bound_changes, plan_record
from ascendctl.manifest.patch_fields import HostNames, single_changes
from ascendctl.manifest.patch_pins import Note, PatchError, Seat, Target
from ascendctl.snapshot.cluster import Cluster
from ascendctl.wellknown import GROUP_NAME, MIN_AVAILABLE, OPERATOR, RANK, TASK_SPEC
from ascendctl.yamlio.document import FieldPath
from ascendctl.yamlio.plan import EditError, apply_change

PRIORITY_PATHS: tuple[FieldPath, ...] = (
    ("spec", "runPolicy", "schedulingPolicy", "priorityClass"),
    ("spec", "priorityClassName"),
)
Objects = list[dict[str, Any]]


def pod_objects(target: Target, cluster: Cluster, names: HostNames, by_name: bool, notes: list[Note]) -> Objects:
    """PodGroup and Pods of every job of a document. `by_name`: the Pods get spec.nodeName and their NPUs.

    Raises PatchError for a workload whose pods cannot stand alone, and with P-04, P-05.
    """
    value = target.document.value
    if target.kind is POD:
        raise PatchError([Note("error", "", "these are bare Pods already: leave --pods out", target.title)])
    if target.kind is STATEFUL_SET and dig(value, ("spec", "volumeClaimTemplates")):
        text = "volumeClaimTemplates give every pod a volume of its own, which bare Pods cannot have"
        raise PatchError([Note("error", "", text, target.title)])
    objects: Objects = []
    order: dict[str, int] = {}
    for job in target.jobs:
        seats = {seat.name: seat for part in target.seats for seat in part if seat.job == job.name}
        objects.append(_group(target, job, list(seats.values()), notes))
        objects += [
            _pod(target, job, spec, seats.get(spec.name), cluster, names, by_name, order, notes) for spec in job.pods
        ]
    notes.append(
        Note(
            "warning", "",
            "bare Pods: nobody restarts them, and no controller makes services or sets variables that hold addresses "
            "(MASTER_ADDR, MS_SCHED_HOST, VC_<TASK>_HOSTS...)",
            target.title,
        )
    )  # fmt: skip
    return objects


def _meta(job: Job, name: str, value: Any, **more: Any) -> dict[str, Any]:
    """Metadata; the namespace only where the manifest has one."""
    namespace = dig(value, ("metadata", "namespace"))
    return {"name": name} | ({"namespace": namespace} if namespace else {}) | {k: v for k, v in more.items() if v}


def _group(target: Target, job: Job, seats: Sequence[Seat], notes: list[Note]) -> dict[str, Any]:
    document, value = target.document, target.document.value
    if target.kind in (ASCEND_JOB, VC_JOB):
        labels, annotations = (text_map(document, ("metadata", what)) for what in ("labels", "annotations"))
    else:
        labels = {}
        annotations = {key: job.annotations[key] for key in COPIED_ANNOTATIONS if key in job.annotations}
    annotations = {k: v for k, v in annotations.items() if k != MIN_AVAILABLE and not k.startswith("kubectl.")}
    record = plan_record(seats, False, target.title, notes)
    annotations |= {PLAN_KEY: record} if record else {}
    priority = next((found for path in PRIORITY_PATHS if (found := dig(value, path))), None)
    spec: dict[str, Any] = {"minMember": max(1, job.min_available)}
    spec |= {"minResources": {job.resource: job.npus}} if job.resource else {}
    spec |= {"queue": job.queue} if job.queue != "default" else {}
    spec |= {"priorityClassName": priority} if priority else {}
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": _meta(job, job.name, value, labels=labels, annotations=annotations),
        "spec": spec,
    }


def _pod(
    target: Target,
    job: Job,
    spec: PodSpec,
    seat: Seat | None,
    cluster: Cluster,
    names: HostNames,
    by_name: bool,
    order: dict[str, int],
    notes: list[Note],
) -> dict[str, Any]:
    value, role = target.document.value, job.roles[spec.role]
    at = job.source.path("role", spec.role)
    own = dig(value, (*at, "spec"))
    labels = pod_labels(job, role)
    labels.pop(OPERATOR, None)
    left_out = (MIN_AVAILABLE, RANK)
    annotations = {key: text for key, text in role.annotations.items() if key not in left_out}
    ranked = seat is not None or job.kind == "AscendJob"
    own_role = f"r{spec.rank}" if seat is not None else role.task_spec or "helper"
    annotations |= {GROUP_NAME: job.name, TASK_SPEC: own_role} | ({RANK: str(spec.rank)} if ranked else {})
    body = {"schedulerName": job.scheduler_name or "volcano"} | copy.deepcopy(
        dict(own) if isinstance(own, Mapping) else {}
    )
    if target.kind is ASCEND_JOB:
        body |= _restart_policy(dig(value, (*at[:-1], "restartPolicy")))
    _add_environment(target, job, spec, body)
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": _meta(job, spec.name, value, labels=labels, annotations=annotations),
        "spec": body,
    }
    if seat is not None:
        order[seat.node] = order.get(seat.node, 0) + 1
        changes = (
            bound_changes(pod, (), seat, target, cluster, order[seat.node])
            if by_name
            else single_changes(pod, ("spec",), seat.node, names, target.title, notes)
        )
        try:
            for path, new in changes:
                apply_change(pod, path, new)
        except EditError as error:
            raise PatchError([Note("error", "", f"pod {spec.name}: {error}", target.title)]) from None
    return pod


def _restart_policy(given: Any) -> dict[str, str]:
    """The operator overwrites the template's policy; ExitCode becomes Never."""
    return {"restartPolicy": given if given in ("Always", "OnFailure") else "Never"}


def _add_environment(target: Target, job: Job, spec: PodSpec, body: dict[str, Any]) -> None:
    """The variables of the operator whose values are known, in its container, unless the manifest sets them."""
    if target.kind is not ASCEND_JOB:
        return
    from ascendctl.ranks.environment import pod_environment

    listed = body.get("containers")
    found = (c for c in listed if isinstance(c, dict) and c.get("name") == "ascend") if isinstance(listed, list) else ()
    container = next(iter(found), None)
    if container is None:
        return
    env = container.get("env")
    given: list[Any] = list(env) if isinstance(env, list) else []
    known = {entry.get("name") for entry in given if isinstance(entry, Mapping)}
    placement = Placement(JobHead(job.name, job.namespace, job.kind, target.selection.policy), ())
    for variable in pod_environment(job, spec, placement):
        if variable.name in known or variable.origin:
            continue
        entry: dict[str, Any] = {"name": variable.name, "value": variable.value}
        if variable.field:
            entry = {"name": variable.name, "valueFrom": {"fieldRef": {"fieldPath": variable.field}}}
        given.append(entry)
    if given:
        container["env"] = given


def rank_table_map(target: Target, cluster: Cluster, notes: list[Note]) -> Objects:
    """The finished ConfigMap rings-config-<job> of each job, for no operator writes one for bare Pods."""
    from ascendctl.ranks.configmap import rings_config
    from ascendctl.ranks.table import RankTableError, rank_table

    objects: Objects = []
    for job in target.jobs:
        seats = {seat.name: seat for part in target.seats for seat in part if seat.job == job.name}
        pods = tuple(
            PlacedPod(spec.name, job.roles[spec.role].name, spec.rank, seat.node, seat.npus)
            for spec in job.pods
            if (seat := seats.get(spec.name)) is not None
        )
        try:
            table = rank_table(job, pods, cluster)
        except RankTableError as error:
            notes.append(Note("warning", "", f"no rank table: {error}", target.title))
            continue
        objects.append(rings_config(job, table))
    return objects
