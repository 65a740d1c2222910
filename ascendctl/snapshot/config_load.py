"""ConfigMap `volcano-scheduler-configmap` -> SchedulerConfig (chapter 30 §4)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ascendctl.manifest.job import parse_go_int
from ascendctl.snapshot.config import SchedulerConfig
from ascendctl.snapshot.diagnostics import CODES
from ascendctl.topology.levels import parse_resource_levels

if TYPE_CHECKING:
    from yaml.nodes import Node

CONFIG_NAME = "volcano-scheduler-configmap"
CONFIG_NAMESPACE = "volcano-system"
CONFIG_KEY = "volcano-scheduler.conf"
INIT_PARAMS = "init-params"
ATTRIBUTES: dict[str, tuple[str, ...]] = {
    "super-pod-size": ("super_pod_size", "configured_super_pod_size"),
    "reserve-nodes": ("reserve_nodes",),
    "resource-level-config": ("resource_levels",),
    "nslb-version": ("nslb_version",),
    "shared-tor-num": ("shared_tor_num",),
    "self-maintain-available-card": ("self_maintain_available_card",),
    "useClusterInfoManager": ("use_cluster_info_manager",),
    "presetVirtualDevice": ("preset_virtual_device",),
    "prefer-previous-node": ("prefer_previous_node",),
    "forceEnqueue": ("force_enqueue",),
    "grace-over-time": ("grace_over_time",),
}
"""Arguments of init-params that matter here, and the attributes of SchedulerConfig that they set."""
PARAMETERS = tuple(ATTRIBUTES)

DEFAULT_SUPER_POD_SIZE = 48
DEFAULT_RESERVE_NODES = 2
GRACE_LIMITS = (2, 3600)
DEFAULT_GRACE = 900

_BOOLEANS = {
    word: result
    for words, result in (("y yes on true", "true"), ("n no off false", "false"))
    for lower in words.split()
    for word in (lower, lower.capitalize(), lower.upper())
}
_NULLS = ("", "~", "null", "Null", "NULL")
_INTEGER = re.compile(r"([-+]?)(0b[01_]+|0x[0-9a-fA-F_]+|0o[0-7_]+|[0-9][0-9_]*)")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")


class ConfigError(ValueError):
    """The scheduler cannot use the text, so that every parameter has its default."""


def plain_scalar_text(written: str) -> str:
    """A plain (unquoted) YAML scalar as the text that the plugin sees after decoding and encoding it again."""
    if written in _NULLS:
        return ""
    if written in _BOOLEANS:
        return _BOOLEANS[written]
    if match := _INTEGER.fullmatch(written):
        sign, digits = match[1], match[2].replace("_", "")
        try:
            if digits[:2] in ("0b", "0x", "0o"):
                value = int(digits, 0)
            elif digits[0] == "0" and digits.strip("01234567") == "":
                value = int(digits, 8)
            else:
                value = int(digits)
        except ValueError:
            return written
        return str(-value if sign == "-" else value)
    if _FLOAT.fullmatch(written):
        number = float(written)
        return str(int(number)) if number.is_integer() and abs(number) < 1e21 else repr(number)
    return written


def init_params(text: str) -> dict[str, str]:
    """The arguments of the first `init-params` element of `configurations`; empty if there is none.

    Raises ConfigError if the text is no YAML, or an argument is a map or a list, which loses them all.
    """
    root = _compose(text)
    for element in _items(_member(root, "configurations")):
        name = _member(element, "name")
        if name is not None and name.value == INIT_PARAMS:
            break
    else:
        return {}
    arguments = _member(element, "arguments")
    if arguments is None or arguments.id == "scalar":
        return {}
    if arguments.id != "mapping":
        raise ConfigError("arguments of init-params is no map")
    result = {}
    for key, value in arguments.value:
        if key.id != "scalar" or value.id != "scalar":
            line = value.start_mark.line + 1
            name = key.value if key.id == "scalar" else "?"
            raise ConfigError(
                f"argument {name} (line {line} of {CONFIG_KEY}) is a map or a list, so the scheduler loses all "
                "arguments; write it as quoted JSON text"
            )
        result[str(key.value)] = str(value.value) if value.style else plain_scalar_text(value.value)
    return result


def _compose(text: str) -> Node | None:
    import yaml

    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        node: Node | None = yaml.compose(text, Loader=loader)
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f" (line {mark.line + 1} of {CONFIG_KEY})" if mark else ""
        raise ConfigError(f"not readable as YAML{where}: {getattr(error, 'problem', None) or error}") from None
    return node


def _member(node: Any, name: str) -> Any:
    if node is None or node.id != "mapping":
        return None
    return next((value for key, value in node.value if key.id == "scalar" and key.value == name), None)


def _items(node: Any) -> list[Any]:
    return node.value if node is not None and node.id == "sequence" else []


def _number(params: Mapping[str, str], key: str) -> int:
    """The value of an integer key; 0 if absent, no integer or negative."""
    return max(0, parse_go_int(params[key]) or 0) if key in params else 0


def config_from_params(
    params: Mapping[str, str], note: Callable[[str, str], None] = lambda code, text: None
) -> SchedulerConfig:
    """The effective configuration; illegal values are replaced as the scheduler does and told to `note`, with the code
    of `snapshot.diagnostics`."""
    size = _number(params, "super-pod-size")
    effective_size = size or DEFAULT_SUPER_POD_SIZE
    reserve = _number(params, "reserve-nodes") or DEFAULT_RESERVE_NODES
    if reserve >= effective_size:
        reserve = DEFAULT_RESERVE_NODES if effective_size > DEFAULT_RESERVE_NODES else 0
    grace = parse_go_int(params.get("grace-over-time", str(DEFAULT_GRACE)))
    nslb, shared = params.get("nslb-version", "1.0"), params.get("shared-tor-num", "2")
    config = SchedulerConfig(
        self_maintain_available_card=params.get("self-maintain-available-card", "true") == "true",
        use_cluster_info_manager=params.get("useClusterInfoManager", "true") == "true",
        force_enqueue=params.get("forceEnqueue", "true") == "true",
        preset_virtual_device=params.get("presetVirtualDevice") == "true",
        prefer_previous_node=params.get("prefer-previous-node") == "true",
        super_pod_size=effective_size,
        configured_super_pod_size=size,
        reserve_nodes=reserve,
        grace_over_time=grace if grace is not None and GRACE_LIMITS[0] <= grace <= GRACE_LIMITS[1] else DEFAULT_GRACE,
        nslb_version=nslb if nslb in ("1.0", "2.0") else "1.0",
        shared_tor_num=parse_go_int(shared) if parse_go_int(shared) in (1, 2) else 2,  # type: ignore[arg-type]
        resource_levels=parse_resource_levels(params.get("resource-level-config")).trees,
        given=frozenset(params),
    )
    _tell_replaced(params, config, note)
    return config


def _tell_replaced(params: Mapping[str, str], config: SchedulerConfig, note: Callable[[str, str], None]) -> None:
    effective = {
        "super-pod-size": config.super_pod_size,
        "reserve-nodes": config.reserve_nodes,
        "grace-over-time": config.grace_over_time,
        "nslb-version": config.nslb_version,
        "shared-tor-num": config.shared_tor_num,
    }
    for key, value in effective.items():
        if key in params and params[key] != str(value):
            note("S339", f"{key}: '{params[key]}' is not usable, the scheduler takes {value}")
    if "resource-level-config" in params:
        for problem in parse_resource_levels(params["resource-level-config"]).problems:
            # a field that nobody reads is no reason to call the whole text unreadable
            code = problem.code if problem.severity == CODES[problem.code].severity else "S339"
            note(code, f"resource-level-config: {problem.message}")
