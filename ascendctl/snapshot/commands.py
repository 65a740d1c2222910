"""The kubectl lines that export what a snapshot needs (chapter 30 §8.1)."""

from __future__ import annotations

from dataclasses import dataclass

SCOPES = ("wide", "narrow")


@dataclass(frozen=True)
class ExportCommand:
    """One line for a shell. `file` is what it writes, `why` what the file is good for, `needed` False: the snapshot
    can do without it, and the cluster may not have such objects."""

    line: str
    file: str
    why: str
    needed: bool = True


def export_commands(folder: str = "dump", scope: str = "wide") -> list[ExportCommand]:
    """Lines in the order in which they should run, within a few seconds: pods last, so that no pod is in the dump whose
    node or device data are older.

    Scope "wide" takes all ConfigMaps in one go; "narrow" takes only those that are read, by name and label, where
    rights or size forbid more.
    """
    if scope not in SCOPES:
        raise ValueError(f"scope must be one of {', '.join(SCOPES)}")
    maps = _wide() if scope == "wide" else _narrow()
    rest = [
        ("get nodes -o json", "nodes.json", "labels, capacity, chips and health of the nodes", True),
        (
            "get podgroups.scheduling.volcano.sh -A -o json",
            "podgroups.json",
            "phase, gang size and annotations of running jobs",
            False,
        ),
        (
            "get hypernodes.topology.volcano.sh -o json",
            "hypernodes.json",
            "Volcano's own topology, for jobs with a networkTopology",
            False,
        ),
        ("get pods -A -o json", "pods.json", "which chips are in use, and by which job", True),
    ]
    return [
        ExportCommand(f"kubectl {arguments} > {_quoted(f'{folder}/{file}')}", f"{folder}/{file}", why, needed)
        for arguments, file, why, needed in maps + rest
    ]


def _wide() -> list[tuple[str, str, str, bool]]:
    why = "device and health data, scheduler parameters, leaf switches"
    return [("get configmaps -A -o json", "configmaps.json", why, True)]


def _narrow() -> list[tuple[str, str, str, bool]]:
    return [
        (
            "get configmaps -n mindx-dl -l mx-consumer-volcano=true -o json",
            "clusterd.json",
            "device and health data as ClusterD gathers them (useClusterInfoManager true, the default)",
            True,
        ),
        (
            "get configmaps -A -l mx-consumer-cim=true -o json",
            "devices.json",
            "device and health data of each node (useClusterInfoManager false)",
            False,
        ),
        (
            "get configmap volcano-scheduler-configmap -n volcano-system -o json",
            "scheduler.json",
            "parameters of the scheduler",
            True,
        ),
        (
            "get configmap basic-tor-node-cm -n kube-system --ignore-not-found -o json",
            "leaves.json",
            "leaf switches, for jobs with tor-affinity",
            False,
        ),
        (
            "get configmaps -n cluster-system -l app=pingmesh -o json",
            "superpods.json",
            "SuperPods, to check the ids in the device data",
            False,
        ),
    ]


def _quoted(path: str) -> str:
    import shlex

    return shlex.quote(path)
