"""Behaviour by version of the scheduler plugin (chapter 30 §7)."""

from __future__ import annotations

from typing import Any

import pytest

from ascendctl.snapshot.load import load_snapshot
from ascendctl.snapshot.profiles import PROFILES, LoadOptions, profile_of
from tests.snapshot import objects as o

ALL = ["5.0", "6.0-RC3", "6.0", "7.0", "7.1", "7.2", "7.3", "26.0", "26.1"]
LISTS = o.device_list(o.names(range(1, 8)), recovering="Ascend910-2")


@pytest.mark.parametrize(
    ("version", "name"),
    [
        ("v26.1.0", "26.1"),
        ("26.9", "26.1"),
        ("26.0.1", "26.0"),
        ("v7.3.0", "7.3"),
        ("7.2.RC1", "7.2"),
        ("v7.1.RC1", "7.1"),
        ("v7.0.RC1", "7.0"),
        ("6.0.0", "6.0"),
        ("v6.0.0-RC3", "6.0-RC3"),
        ("6.0.RC2", "6.0-RC3"),
        ("5.0.1", "5.0"),
        ("5", "5.0"),
        ("3.0", "5.0"),
    ],
)
def test_versions(version: str, name: str) -> None:
    assert profile_of(version).name == name


@pytest.mark.parametrize("version", ["", "latest", "7.x", "1" * 4000, "-RC1"])
def test_versions_that_are_none(version: str) -> None:
    with pytest.raises(ValueError, match=r"known profiles: 5\.0, 6\.0-RC3"):
        profile_of(version)


def rows(attribute: str) -> list[Any]:
    return [getattr(PROFILES[name], attribute) for name in ALL]


def test_the_table_of_the_chapter() -> None:
    assert list(PROFILES) == ALL
    assert rows("check_codes") == [True] * 3 + [False] * 6
    assert rows("stable") == ["equal-unless-over"] * 2 + ["equal"] + ["below"] * 4 + ["bounded"] * 2
    assert rows("self_maintain") == [False] * 4 + [True] * 5
    assert rows("maintain_exceptions") == [False] * 7 + [True] * 2
    assert rows("base_info_needed") == ["never"] * 4 + ["maintain"] * 3 + ["always"] * 2
    assert rows("node_map_prefix") == [True] * 4 + [False] * 5
    assert rows("pre_separate_all") == [False] * 5 + [True] * 4
    assert rows("node_annotation") == [False] * 5 + [True] * 4
    assert rows("rack") == [False] * 7 + [True] * 2
    assert rows("force_enqueue") == [False] * 5 + [True] * 4
    assert rows("resource_levels") == [False] * 7 + [True] * 2
    assert rows("previous_node") == [False] * 8 + [True]


def loaded(profile: str, *objects: dict[str, Any]) -> Any:
    return load_snapshot([*objects, o.DEVICE_MODE], options=LoadOptions(profile=profile))


@pytest.mark.parametrize("name", ALL)
def test_where_the_free_list_comes_from(name: str) -> None:
    held = o.pod("p", annotations={"huawei.com/AscendReal": "Ascend910-7"})
    columns = loaded(name, o.node(), held, o.device_map(LISTS)).resources["huawei.com/Ascend910"]
    assert columns.free.tolist() == [0b01111011 if PROFILES[name].self_maintain else 0b11111110]


@pytest.mark.parametrize("name", ALL)
def test_whether_base_infos_are_needed(name: str) -> None:
    bare = o.node(annotations={"baseDeviceInfos": None})
    columns = loaded(name, bare, o.device_map(LISTS)).resources["huawei.com/Ascend910"]
    assert (columns.list_length[0] == 7) == (PROFILES[name].base_info_needed == "never")


@pytest.mark.parametrize("name", ALL)
def test_soft_sharing_and_virtual_names(name: str) -> None:
    label = {"huawei.com/scheduler.chip1softsharedev.enable": "true"}
    soft = o.node(labels=label, capacity={"huawei.com/Ascend910": "800"})
    computed = loaded(name, soft, o.device_map(LISTS)).resources["huawei.com/Ascend910"].free.tolist() == [0b11111011]
    assert computed == (PROFILES[name].self_maintain and not PROFILES[name].maintain_exceptions)


@pytest.mark.parametrize("name", ALL)
def test_racks_annotations_and_node_maps(name: str) -> None:
    cluster = loaded(name, o.node(annotations={"NodeHealthyStatus": "UnHealthy"}), o.device_map(LISTS, rack=3))
    assert cluster.rack.tolist() == [3 if PROFILES[name].rack else 0]
    assert bool(cluster.health[0] & 1) == PROFILES[name].node_annotation
    assert cluster.profile == name
    status = {"mindx-dl-nodeinfo-n1": {"NodeStatus": "UnHealthy"}}
    clusterd = [o.node(), o.shard(0, o.entry(LISTS)), o.aggregate("cluster-info-node-0", status)]
    found = load_snapshot(clusterd, options=LoadOptions(profile=name))
    assert bool(found.health[0] & 1) == PROFILES[name].node_map_prefix


@pytest.mark.parametrize("name", ALL)
def test_parameters_that_a_version_does_not_know(name: str) -> None:
    levels = '{"default":{"level1":{"label":"rack"}}}'
    given = o.scheduler_config(**{"prefer-previous-node": "true", "resource-level-config": levels})
    config = load_snapshot([o.node(), given], options=LoadOptions(profile=name)).config
    profile = PROFILES[name]
    assert config.force_enqueue == profile.force_enqueue
    assert config.prefer_previous_node == profile.previous_node
    assert bool(config.resource_levels) == profile.resource_levels
    assert config.self_maintain_available_card == profile.self_maintain
