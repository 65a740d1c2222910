"""What a validation depends on beside the documents: the profile switches of chapter 40 and the reporting options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ascendctl.snapshot.config import SchedulerConfig, TreeLevel

if TYPE_CHECKING:
    from ascendctl.snapshot.cluster import Cluster


@dataclass(frozen=True)
class Options:
    """Profile of one run (chapter 40, "Profile switches"); None and "" mean: the tool was not told.

    `super_pod_size` counts nodes; `grace_over_time` seconds. `resource_levels` maps a tree name to its levels, None =
    not given. `dumped` holds objects of the snapshot by (kind, namespace, name): Queues, PriorityClasses, ConfigMaps...
    `product` is an alias of the catalogue. `dialect` "any": pods of foreign device plugins are left alone
    under Volcano too. `template_paths` holds (kind, path) pairs such as ("MyServing", "spec.roles[*].template").
    `severities` maps a rule id to "error", "warning", "info" or "off"; `disabled` holds rule ids. `strict`: DOC-06 is
    an error, and warnings fail the run. `verbose`: infos are reported. `skip_kinds` are passed over and counted.
    """

    volcano: str = "1.15"
    admission: bool = False
    gang: bool = True
    super_pod_size: int | None = None
    preset_vdev: bool | None = None
    grace_over_time: int = 900
    resource_levels: Mapping[str, tuple[TreeLevel, ...]] | None = None
    snapshot: Cluster | None = None
    dumped: Mapping[tuple[str, str, str], Any] = field(default_factory=dict)
    product: str = ""
    strict: bool = False
    verbose: bool = False
    dialect: str = "mindcluster"
    template_paths: tuple[tuple[str, str], ...] = ()
    fail_on_unknown: bool = False
    skip_kinds: frozenset[str] = frozenset()
    severities: Mapping[str, str] = field(default_factory=dict)
    disabled: frozenset[str] = frozenset()

    def severity(self, rule: str, own: str) -> str:
        """The severity of a rule after the overrides; "off" if it is switched off."""
        if rule in self.disabled:
            return "off"
        return self.severities.get(rule, own)

    @cached_property
    def scheduler(self) -> SchedulerConfig:
        """The scheduler's configuration: the snapshot's, with what the options say laid over it."""
        config = self.snapshot.config if self.snapshot is not None else SchedulerConfig()
        given = set(config.given)
        if self.super_pod_size is not None:
            size = self.super_pod_size
            config = replace(config, super_pod_size=size if size > 0 else 48, configured_super_pod_size=max(size, 0))
            given.add("super-pod-size")
        if self.preset_vdev is not None:
            config = replace(config, preset_virtual_device=self.preset_vdev)
            given.add("presetVirtualDevice")
        if self.resource_levels is not None:
            config = replace(config, resource_levels=self.resource_levels)
        if self.grace_over_time != 900:
            config = replace(config, grace_over_time=self.grace_over_time)
        return replace(config, given=frozenset(given))


class OptionError(ValueError):
    """An option that makes no sense; str() says which, and what is allowed."""
