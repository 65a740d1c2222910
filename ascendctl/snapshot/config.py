"""The parameters of `volcano-scheduler-configmap` that matter here, with the reference's defaults (chapter 30 §4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class TreeLevel:
    """One level of a `resource-level-config` tree: the node label that names the group, and its reserved nodes."""

    name: str
    label: str
    reserved_nodes: int = 0


@dataclass(frozen=True)
class SchedulerConfig:
    """Scheduler parameters. Defaults are the values of an absent key (chapter 10 §2.2), not the shipped YAML's.

    `super_pod_size` and `reserve_nodes` count nodes; `configured_super_pod_size` is what the key says before the
    default steps in: 0 if absent, no integer, negative or 0 (chapter 21 §1). `given` holds the keys that init-params
    really had. `resource_levels` maps a tree name to its levels, level1 first.

    The last fields are offline options, no keys of the ConfigMap: `link_down_as_network_fault`; `restart_fewest_slice`:
    switch affinity 1.0 restarts pods in the slice with the fewest pods instead of the largest in use (chapter 23 §9.1);
    `restart_any_leaf`: a single-layer network restarts pods below any leaf switch, as the scheduler does (§9.3);
    `a3_early_stop` False: A3 nodes behind the first exact fit keep their true score (chapter 10 §11);
    `whole_npus_on_shared_nodes`: whole NPUs may go to nodes with soft sharing, as the scheduler lets them (11.18).
    """

    self_maintain_available_card: bool = True
    use_cluster_info_manager: bool = True
    force_enqueue: bool = True
    preset_virtual_device: bool = False
    prefer_previous_node: bool = False
    super_pod_size: int = 48
    configured_super_pod_size: int = 0
    reserve_nodes: int = 2
    grace_over_time: int = 900
    nslb_version: str = "1.0"
    shared_tor_num: int = 2
    resource_levels: Mapping[str, tuple[TreeLevel, ...]] = field(default_factory=dict)
    link_down_as_network_fault: bool = False
    restart_fewest_slice: bool = False
    restart_any_leaf: bool = False
    a3_early_stop: bool = True
    whole_npus_on_shared_nodes: bool = False
    given: frozenset[str] = frozenset()
