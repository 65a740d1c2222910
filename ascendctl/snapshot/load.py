"""Exported Kubernetes objects -> Cluster (chapter 30)."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from ascendctl.snapshot.build import build, finish
from ascendctl.snapshot.cluster import Cluster
from ascendctl.snapshot.collect import LEAF_NAME, Collected, RawMap, collect
from ascendctl.snapshot.config import SchedulerConfig
from ascendctl.snapshot.config_load import (
    ATTRIBUTES,
    CONFIG_KEY,
    CONFIG_NAME,
    CONFIG_NAMESPACE,
    ConfigError,
    config_from_params,
    init_params,
)
from ascendctl.snapshot.consistency import check_nodes
from ascendctl.snapshot.consistency_pods import check_pods
from ascendctl.snapshot.profiles import LoadOptions, Profile, profile_of
from ascendctl.snapshot.rows import is_present, read_rows
from ascendctl.topology.leaf import LeafError, LeafTopology, from_configmap
from ascendctl.yamlio.errors import ReadError

LEAF_NAMESPACE = "kube-system"
MAGIC = b"ASCSNAP\n"
"""First bytes of a packed snapshot."""
TAR_MARK, TAR_MARK_AT = b"ustar", slice(257, 262)
"""What a tar archive says of itself, and where."""
DEFAULT_OPTIONS = LoadOptions()

Source = str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | Sequence[Mapping[str, Any]]


def load_snapshot(
    source: Source,
    config: SchedulerConfig | None = None,
    *,
    options: LoadOptions = DEFAULT_OPTIONS,
    progress: Callable[[int], None] | None = None,
) -> Cluster:
    """Read a snapshot: a path (file, folder, tar archive, glob, "-" for stdin), several paths, or a list of objects.

    A packed snapshot (`snapshot.pack`) may stand in place of a dump, alone. `config` replaces what
    volcano-scheduler-configmap says. What is odd but readable is in `Cluster.diagnostics`. `progress` is called with
    the number of objects that were read since the last call.
    Raises `yamlio.errors.ReadError` if a path is not there or not readable, or if nothing in it is part of a snapshot;
    ValueError for a profile that does not exist.
    """
    profile_of(options.profile)
    was_enabled = gc.isenabled()
    gc.disable()  # millions of small objects live for the whole load; looking for cycles among them only costs time
    try:
        collected = Collected()
        for name, objects in _sources(source):
            if isinstance(objects, Cluster):
                return repacked(objects, name, config, options)
            collect(objects if progress is None else _told(objects, progress), name, collected)
        return cluster_of(collected, config, options)
    finally:
        if was_enabled:
            gc.enable()


def _told(objects: Iterable[Any], progress: Callable[[int], None]) -> Iterator[Any]:
    """The same objects; each is told when the next is asked for, lists with the number of their items."""
    for value in objects:
        yield value
        items = value.get("items") if isinstance(value, dict) else value
        progress(len(items) if isinstance(items, list) else 1)


def _sources(source: Source) -> Iterator[tuple[str, Iterable[Any] | Cluster]]:
    """Names and objects of each input, or the Cluster of a packed snapshot."""
    if isinstance(source, str | os.PathLike):
        source = [os.fspath(source)]
    entries = list(source)
    if entries and not isinstance(entries[0], str | os.PathLike):
        yield "", entries
        return
    from ascendctl.snapshot.read import read_objects
    from ascendctl.yamlio.inputs import expand_paths, read_bytes

    paths = expand_paths([os.fspath(e) if isinstance(e, os.PathLike) else str(e) for e in entries])
    for path in paths:
        data = read_bytes(path)
        if data.startswith(MAGIC):
            from ascendctl.snapshot.pack import unpack

            if len(paths) > 1:
                message = f"a packed snapshot stands alone, but {len(paths)} files are given"
                raise ReadError(path, message, "name just this file")
            yield path, unpack(data, path)
        elif data[TAR_MARK_AT] == TAR_MARK:
            from ascendctl.snapshot.archive import archived_files

            for name, part in archived_files(data, path):
                yield name, read_objects(part, name)
        else:
            yield path, read_objects(data, path)


def repacked(cluster: Cluster, name: str, config: SchedulerConfig | None, options: LoadOptions) -> Cluster:
    """A packed snapshot with other scheduler parameters. Parameters and options that decide how a dump is read came too
    late: raises ReadError."""
    late = {"self-maintain-available-card", "useClusterInfoManager"} & options.params.keys()
    late |= {
        one.name for one in fields(options) if one.name not in ("params",) and getattr(options, one.name) != one.default
    }
    if late:
        message = f"{', '.join(sorted(late))} cannot be applied to a packed snapshot"
        raise ReadError(name, message, "use the dump that it was packed from")
    if config is not None:
        return replace(cluster, config=config)
    if not options.params:
        return cluster
    old = cluster.config
    sizes = {"super-pod-size": str(old.super_pod_size), "reserve-nodes": str(old.reserve_nodes)}
    new = config_from_params(sizes | dict(options.params))  # the two limit each other
    names = {name for key in options.params for name in ATTRIBUTES.get(key, ())} | {"reserve_nodes"}
    changed = {name: getattr(new, name) for name in names}
    return replace(cluster, config=replace(old, given=old.given | options.params.keys(), **changed))


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
    config = _of_version(config, profile)
    clusterd = _mode(collected, config, options)
    rows = read_rows(collected, clusterd, profile, options)
    frame = build(collected, rows, config, profile, options)
    cluster = finish(frame, rows, config, profile)
    check_nodes(frame, rows, cluster)
    check_pods(frame, rows, cluster)
    leaves, error, source = _leaves(collected, cluster)
    hypernodes = tuple(collected.hypernodes[name] for name in sorted(collected.hypernodes))
    diagnostics = collected.findings.sorted()
    return replace(
        cluster,
        leaves=leaves,
        leaves_source=source,
        leaves_error=error,
        hypernodes=hypernodes,
        diagnostics=diagnostics,
        read=collected.read,
    )


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

    def note(code: str, text: str) -> None:
        title, place = (found.title, collected.where(found.place)) if found else (f"ConfigMap {CONFIG_NAME}", "")
        collected.findings.add(code, text, title, source=place)

    return config_from_params(params, note)


def _of_version(config: SchedulerConfig, profile: Profile) -> SchedulerConfig:
    """Without the parameters that a version of the plugin does not know."""
    return replace(
        config,
        self_maintain_available_card=config.self_maintain_available_card and profile.self_maintain,
        force_enqueue=config.force_enqueue and profile.force_enqueue,
        prefer_previous_node=config.prefer_previous_node and profile.previous_node,
        resource_levels=config.resource_levels if profile.resource_levels else {},
    )


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


def _leaves(collected: Collected, cluster: Cluster) -> tuple[LeafTopology | None, str, str]:
    """The leaf topology, why it cannot be read, and where its ConfigMap is in the dump."""
    found = _find(collected, LEAF_NAME, LEAF_NAMESPACE)
    if found is None:
        return None, "", ""
    source = collected.where(found.place)
    pairs = zip(cluster.addresses, cluster.visible.tolist(), strict=True)
    try:
        return from_configmap(found.data, [address if visible else "" for address, visible in pairs]), "", source
    except LeafError as error:
        return None, str(error), source
