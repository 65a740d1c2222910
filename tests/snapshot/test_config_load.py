"""volcano-scheduler-configmap (chapter 30 §4)."""

from __future__ import annotations

import pytest

from ascendctl.snapshot.config import SchedulerConfig, TreeLevel
from ascendctl.snapshot.config_load import ConfigError, config_from_params, init_params, plain_scalar_text
from ascendctl.snapshot.load import load_snapshot
from tests.snapshot import objects as o


@pytest.mark.parametrize(
    ("written", "seen"),
    [
        *(("true", "true"), ("yes", "true"), ("True", "true"), ("on", "true"), ("y", "true"), ("ON", "true")),
        *(("off", "false"), ("no", "false"), ("false", "false"), ("N", "false")),
        *(("900", "900"), ("1.0", "1"), ("2.0", "2"), ("2.5", "2.5"), ("0x10", "16"), ("012", "10"), ("1e3", "1000")),
        *(("08", "8"), ("0o17", "15"), ("1.0e0", "1"), ("0b11", "3"), ("1_000", "1000"), ("-5", "-5"), ("+7", "7")),
        *(("", ""), ("null", ""), ("~", ""), ("abc", "abc"), ("1.2.3", "1.2.3"), ("0x", "0x"), ("tRUE", "tRUE")),
    ],
)
def test_unquoted_scalars(written: str, seen: str) -> None:
    assert plain_scalar_text(written) == seen


def text(arguments: str) -> str:
    return f"configurations:\n- name: other\n- name: init-params\n  arguments: {arguments}\n- name: init-params\n"


def test_quoted_scalars_stay_as_they_are() -> None:
    params = init_params(text("""{a: "yes", b: 'on', c: "TRUE", d: yes, e: "1.0", f: 1.0, g: }"""))
    assert params == {"a": "yes", "b": "on", "c": "TRUE", "d": "true", "e": "1.0", "f": "1", "g": ""}


def test_flow_maps_with_less_indented_lines() -> None:
    shipped = (
        'configurations:\n  - name: init-params\n    arguments: {"grace-over-time":"900",\n  "super-pod-size":"16"}\n'
    )
    assert init_params(shipped) == {"grace-over-time": "900", "super-pod-size": "16"}


@pytest.mark.parametrize(
    "written", ["", "a: 1", "configurations: 5", "configurations: [{name: x}]", text(""), text("5")]
)
def test_no_parameters(written: str) -> None:
    assert init_params(written) == {}


@pytest.mark.parametrize(
    ("written", "message"),
    [
        (
            text("{a: {b: 1}, super-pod-size: '2'}"),
            r"argument a \(line 4 of volcano-scheduler.conf\) is a map or a list",
        ),
        (text("{a: [1]}"), "is a map or a list"),
        (text("[1]"), "no map"),
        ("configurations: [", "not readable as YAML"),
        ("a: &x [*x]\nconfigurations: *y", "not readable as YAML"),
    ],
)
def test_parameters_that_the_scheduler_loses(written: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        init_params(written)


@pytest.mark.parametrize(
    ("size", "reserve", "effective"),
    [
        ("2", "2", (2, 0)),
        ("3", "3", (3, 2)),
        ("3", "9", (3, 2)),
        ("1", None, (1, 0)),
        ("48", "47", (48, 47)),
        ("-5", "x", (48, 2)),
        ("10", "0", (10, 2)),
        (None, None, (48, 2)),
        (" 8", "1_0", (48, 2)),
    ],
)
def test_super_pod_size_and_reserve_nodes(size: str | None, reserve: str | None, effective: tuple[int, int]) -> None:
    given = {"super-pod-size": size, "reserve-nodes": reserve}
    config = config_from_params({key: value for key, value in given.items() if value is not None})
    assert (config.super_pod_size, config.reserve_nodes) == effective


def test_absent_keys_are_the_defaults() -> None:
    assert config_from_params({}) == SchedulerConfig()


@pytest.mark.parametrize("value", ["", "TRUE", "1", "yes", "false"])
def test_switches_that_are_present_must_be_exactly_true(value: str) -> None:
    names = ("useClusterInfoManager", "self-maintain-available-card", "forceEnqueue", "presetVirtualDevice")
    config = config_from_params(dict.fromkeys((*names, "prefer-previous-node"), value))
    assert not config.use_cluster_info_manager and not config.self_maintain_available_card and not config.force_enqueue
    assert not config.preset_virtual_device and not config.prefer_previous_node
    on = config_from_params(dict.fromkeys((*names, "prefer-previous-node"), "true"))
    assert on.use_cluster_info_manager and on.preset_virtual_device and on.prefer_previous_node


@pytest.mark.parametrize(
    ("given", "grace"), [("2", 2), ("3600", 3600), ("1", 900), ("3601", 900), ("x", 900), ("60", 60)]
)
def test_grace_over_time(given: str, grace: int) -> None:
    assert config_from_params({"grace-over-time": given}).grace_over_time == grace


def test_replaced_values_are_told() -> None:
    told: list[tuple[str, str]] = []
    given = {"nslb-version": "2", "shared-tor-num": "3", "grace-over-time": "900"}
    config_from_params(given, lambda code, text: told.append((code, text)))
    assert told == [
        ("S339", "nslb-version: '2' is not usable, the scheduler takes 1.0"),
        ("S339", "shared-tor-num: '3' is not usable, the scheduler takes 2"),
    ]


@pytest.mark.parametrize(
    ("levels", "codes"),
    [
        ("[", ["ML-C02"]),
        ('{"a":{"level2":{"label":"x"}},"b":{"level1":{"label":"x"}}}', ["ML-C03"]),
        ('{"a":{"level2":{"label":"x"}}}', ["ML-C03", "ML-C04"]),
        ('{"a":{"level1":{}}}', ["ML-C05"]),
        ('{"a":{"level1":{"label":"x","reservedNode":-1}}}', ["ML-C06"]),
        ('{"a":{"level1":{"label":"x"},"level2":{"label":"y","reservedNode":1}}}', ["ML-C07"]),
        ('{"a":{"level1":{"label":"x"},"level2":{"label":"x"}}}', ["ML-C08"]),
        ('{"a":{}}', ["ML-C10"]),
        ('{"a":{"level1":{"label":"x","color":"red"}}}', ["S339"]),
        ('{"a":{"level1":{"label":"x"}}}', []),
    ],
)
def test_problems_of_resource_levels_have_their_own_codes(levels: str, codes: list[str]) -> None:
    """Chapter 22 §1.3, as diagnostics of the dump."""
    cluster = load_snapshot([o.node(), o.scheduler_config(**{"resource-level-config": levels})])
    assert [d.code for d in cluster.diagnostics if d.node == "" and d.code != "S302"] == codes


def test_resource_levels() -> None:
    levels = '{"default":{"level1":{"label":"rack","reservedNode":1},"level2":{"label":"pod"}},"gap":{"level2":{}}}'
    config = config_from_params({"resource-level-config": levels})
    assert config.resource_levels == {"default": (TreeLevel("level1", "rack", 1), TreeLevel("level2", "pod", 0))}


def test_a_config_map_of_another_name_does_not_count() -> None:
    wrong = o.scheduler_config(**{"super-pod-size": "8"})
    wrong["metadata"]["name"] = "volcano-scheduler"
    assert load_snapshot([o.node(), wrong]).config == SchedulerConfig()


def test_a_lost_init_params_is_told_and_a_given_configuration_wins() -> None:
    broken = o.config_map("volcano-scheduler-configmap", "volcano-system", {"volcano-scheduler.conf": text("{a: []}")})
    cluster = load_snapshot([o.node(), broken])
    assert cluster.config == SchedulerConfig()
    assert [d.code for d in cluster.diagnostics if d.node == ""] == ["S315"]
    own = SchedulerConfig(super_pod_size=7)
    assert load_snapshot([o.node(), broken], own).config == own
