"""Behaviour of the scheduler plugin by version (chapter 30 §7), and the options of a load."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Source = Literal["auto", "device", "clusterd"]
CheckCodes = Literal["warn", "strict", "off"]
StableRule = Literal["bounded", "below", "equal", "equal-unless-over"]
"""When a node's numbers agree, with L names in its free list: "bounded" L <= idle <= capacity; "below" L <= idle;
"equal" L = idle; "equal-unless-over" the same, but not asked of nodes whose pods request more than there is."""


@dataclass(frozen=True)
class Profile:
    """What one version of the plugin does. Data formats of all versions are read whatever the profile.

    `check_codes`: rows with a wrong CheckCode are refused. `stable`: which nodes are stable. `self_maintain`: the free
    list is computed from the node's chips and pods; `maintain_exceptions`: not for soft sharing and vNPU nodes.
    `base_info_needed`: without a readable baseDeviceInfos there are no lists at all ("always"), none with self-maintain
    ("maintain"), or it does not matter ("never"). `node_map_prefix`: any cluster-info-node-* counts, not just
    cluster-info-node-cm. `node_annotation`: the Node annotation NodeHealthyStatus counts. `pre_separate_all`: a host
    that NodeD reports PreSeparate takes no pods at all, else none with NPUs. `rack`: RackID and huawei.com/npu are
    known. `force_enqueue`, `resource_levels`, `previous_node`: the scheduler parameters exist.
    """

    name: str
    check_codes: bool = False
    stable: StableRule = "bounded"
    self_maintain: bool = True
    maintain_exceptions: bool = True
    base_info_needed: Literal["always", "maintain", "never"] = "always"
    node_map_prefix: bool = False
    node_annotation: bool = True
    pre_separate_all: bool = True
    rack: bool = True
    force_enqueue: bool = True
    resource_levels: bool = True
    previous_node: bool = True


def _before_7_1(name: str, stable: StableRule) -> Profile:
    return Profile(
        name,
        check_codes=stable != "below",
        stable=stable,
        self_maintain=False,
        maintain_exceptions=False,
        base_info_needed="never",
        node_map_prefix=True,
        node_annotation=False,
        pre_separate_all=False,
        rack=False,
        force_enqueue=False,
        resource_levels=False,
        previous_node=False,
    )


def _seven(name: str, late: bool) -> Profile:
    return Profile(
        name,
        stable="below",
        maintain_exceptions=False,
        base_info_needed="maintain",
        node_annotation=late,
        pre_separate_all=late,
        rack=False,
        force_enqueue=late,
        resource_levels=False,
        previous_node=False,
    )


PROFILES: dict[str, Profile] = {
    profile.name: profile
    for profile in (
        _before_7_1("5.0", "equal-unless-over"),
        _before_7_1("6.0-RC3", "equal-unless-over"),
        _before_7_1("6.0", "equal"),
        _before_7_1("7.0", "below"),
        _seven("7.1", False),
        _seven("7.2", True),
        _seven("7.3", True),
        Profile("26.0", previous_node=False),
        Profile("26.1"),
    )
}
DEFAULT_PROFILE = "26.1"


def profile_of(version: str) -> Profile:
    """The profile of a version: "26.1", "v7.3.0", "6.0.0-RC3", "26.2" (= the newest). Raises ValueError for a version
    that is none."""
    text = version.strip().removeprefix("v").removeprefix("V")
    upper = text.upper().replace(".RC", "-RC").replace("_RC", "-RC")
    head, _, candidate = upper.partition("-")
    numbers = head.split(".")
    if not all(part.isdecimal() and len(part) < 6 for part in numbers):
        known = ", ".join(PROFILES)
        raise ValueError(f"'{version}' is no version of MindCluster; known profiles: {known}")
    major, minor = int(numbers[0]), int(numbers[1]) if len(numbers) > 1 else 0
    if (major, minor) == (6, 0) and candidate.startswith("RC"):
        return PROFILES["6.0-RC3"]
    best = PROFILES["5.0"]
    for name, profile in PROFILES.items():
        if "-" not in name and tuple(map(int, name.split("."))) <= (major, minor):
            best = profile
    return best


@dataclass(frozen=True)
class LoadOptions:
    """How to read a dump. The defaults show what the scheduler of the newest profile would see, forgiving in what a
    dump loses on its way (labels, namespaces, blanks).

    `strict`: forgive nothing, as the scheduler. `cm_source`: which ConfigMaps count; "auto" = the configured ones, the
    other ones if those are absent altogether. `check_codes`: "strict" refuses rows with a wrong CheckCode, "off" does
    not look. `link_down`: apply the live rule for link-down chips. `translate_device_ids`: read DeviceIDs in Ascend950
    pod annotations as the chips they mean, where the scheduler does not. `params`: arguments of init-params that stand
    in for those of the dump.
    """

    strict: bool = False
    cm_source: Source = "auto"
    check_codes: CheckCodes = "warn"
    profile: str = DEFAULT_PROFILE
    link_down: bool = False
    translate_device_ids: bool = False
    params: Mapping[str, str] = field(default_factory=dict)
