"""Exported Kubernetes objects -> Cluster (chapter 30)."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ascendctl.snapshot.build import build, finish
from ascendctl.snapshot.cluster import Cluster
from ascendctl.snapshot.collect import LEAF_NAME, Collected, RawMap, collect
from ascendctl.snapshot.config import SchedulerConfig
from ascendctl.snapshot.config_load import (
    CONFIG_KEY,
    CONFIG_NAME,
    CONFIG_NAMESPACE,
    ConfigError,
    config_from_params,
    init_params,
)
from ascendctl.snapshot.consistency import check_nodes
from ascendctl.snapshot.consistency_pods import check_pods
from ascendctl.snapshot.profiles import LoadOptions, profile_of
from ascendctl.snapshot.rows import is_present, read_rows
from ascendctl.topology.leaf import LeafError, LeafTopology, from_configmap
from ascendctl.yamlio.errors import ReadError

LEAF_NAMESPACE = "kube-system"
DEFAULT_OPTIONS = LoadOptions()

Source = str | os.PathLike[str] | Sequence[str | Path] | Sequence[Mapping[str, Any]]


def load_snapshot(
    source: Source, config: SchedulerConfig | None = None, *, options: LoadOptions = DEFAULT_OPTIONS
) -> Cluster:
    """Read a snapshot: a path (file, folder, glob, "-" for stdin), several paths, or a list of object dicts.

    `config` replaces what volcano-scheduler-configmap says. What is odd but readable is in `Cluster.diagnostics`.
    Raises `yamlio.errors.ReadError` if a path is not there or not readable, or if nothing in it is part of a snapshot;
    ValueError for a profile that does not exist.
    """
    profile_of(options.profile)
    was_enabled = gc.isenabled()
    gc.disable()  # millions of small objects live for the whole load; looking for cycles among them only costs time
    try:
        collected = Collected()
        for name, objects in _sources(source):
            collect(objects, name, collected)
        return cluster_of(collected, config, options)
    finally:
        if was_enabled:
            gc.enable()


def _sources(source: Source) -> Iterator[tuple[str, Iterable[Any]]]:
    """Names and objects of each input."""
    if isinstance(source, str | os.PathLike):
        source = [str(source)]
    entries = list(source)
    if entries and not isinstance(entries[0], str | os.PathLike):
        yield "", entries
        return
    from ascendctl.snapshot.read import read_objects
    from ascendctl.yamlio.inputs import expand_paths, read_bytes

    for path in expand_paths([str(entry) for entry in entries]):
        yield path, read_objects(read_bytes(path), path)


def cluster_of(collected: Collected, config: SchedulerConfig | None, options: LoadOptions) -> Cluster:
    """The Cluster of what was collected."""
    profile = profile_of(options.profile)
    if not collected.nodes.row_of and not collected.maps:
        name = collected.sources[0] if collected.sources else "snapshot"
        raise ReadError(
            name or "snapshot",
            "holds neither nodes nor device ConfigMaps",
            "export them: kubectl get cm -A -o json > configmaps.json; kubectl get nodes -o json > nodes.json; "
            "kubectl get pods -A -o json > pods.json",
        )
    config = config or _read_config(collected, options.params)
    if options.link_down:
        config = replace(config, link_down_as_network_fault=True)
    clusterd = _mode(collected, config, options)
    rows = read_rows(collected, clusterd, profile, options)
    frame = build(collected, rows, config, profile, options)
    cluster = finish(frame, rows, config, profile)
    check_nodes(frame, rows, cluster)
    check_pods(frame, rows, cluster)
    leaves = _leaves(collected, cluster)
    hypernodes = tuple(collected.hypernodes[name] for name in sorted(collected.hypernodes))
    diagnostics = collected.findings.sorted()
    return replace(cluster, leaves=leaves, hypernodes=hypernodes, diagnostics=diagnostics, read=collected.read)


def _find(collected: Collected, name: str, namespace: str) -> RawMap | None:
    return collected.maps.get((namespace, name)) or collected.maps.get(("", name))


def _read_config(collected: Collected, given: Mapping[str, str]) -> SchedulerConfig:
    """The scheduler parameters of the dump, those of `given` in their place."""
    found = _find(collected, CONFIG_NAME, CONFIG_NAMESPACE)
    text = found.data.get(CONFIG_KEY) if found is not None else None
    params: dict[str, str] = {}
    if found is not None and text is not None:
        try:
            params = init_params(text)
        except ConfigError as error:
            collected.findings.add("S315", str(error), found.title, source=collected.where(found.place))
    params.update(given)

    def note(text: str) -> None:
        title, place = (found.title, collected.where(found.place)) if found else (f"ConfigMap {CONFIG_NAME}", "")
        collected.findings.add("S339", text, title, source=place)

    return config_from_params(params, note)


def _mode(collected: Collected, config: SchedulerConfig, options: LoadOptions) -> bool:
    """True for ClusterD mode."""
    if options.cm_source != "auto":
        return options.cm_source == "clusterd"
    wanted = config.use_cluster_info_manager
    if options.strict or is_present(collected, wanted) or not is_present(collected, not wanted):
        return wanted
    names = "cluster-info-device-*", "mindx-dl-deviceinfo-*"
    missing, there = names if wanted else names[::-1]
    collected.findings.add("S302", f"the dump has no {missing}, {there} are used", f"ConfigMap {CONFIG_NAME}")
    return not wanted


def _leaves(collected: Collected, cluster: Cluster) -> LeafTopology | None:
    found = _find(collected, LEAF_NAME, LEAF_NAMESPACE)
    if found is None:
        return None
    pairs = zip(cluster.addresses, cluster.visible.tolist(), strict=True)
    try:
        return from_configmap(found.data, [address if visible else "" for address, visible in pairs])
    except LeafError as error:
        collected.findings.add("S315", str(error), found.title, source=collected.where(found.place))
        return None
