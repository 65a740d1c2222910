"""Rows of device, node and switch data from the ConfigMaps of the active mode (chapter 30 §6.1)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from operator import itemgetter
from typing import Any, NamedTuple, TypeVar

from ascendctl.snapshot.collect import (
    CLUSTER_DEVICE_PREFIX,
    CLUSTER_NODE_PREFIX,
    CLUSTER_SWITCH_PREFIX,
    DEVICE_PREFIX,
    NODE_PREFIX,
    Collected,
    RawMap,
)
from ascendctl.snapshot.gojson import INT32, INT64, integer, loads, loads_merged, members, text, text_map
from ascendctl.snapshot.profiles import LoadOptions, Profile
from ascendctl.snapshot.text_log import TextLog
from ascendctl.snapshot.verify import check_device_code, check_node_code

SWITCH_KEY_PREFIX = "mindx-dl-switchinfo-"
DEVICE_NAMESPACE = "kube-system"
CLUSTERD_NAMESPACE = NODE_NAMESPACE = "mindx-dl"
DEVICE_LABEL = "mx-consumer-cim"
CLUSTERD_LABEL = "mx-consumer-volcano"

_ROW = frozenset(("DeviceList", "UpdateTime", "SuperPodID", "RackID", "ServerIndex", "CmName"))
_ROW_FIELDS = ("DeviceList", "UpdateTime", "SuperPodID", "RackID", "ServerIndex")
_CONFIG = frozenset(("DeviceInfo", "SuperPodID", "ServerIndex", "CheckCode", "RackID"))
_INFO = frozenset(("DeviceList", "UpdateTime"))
_STATUS = frozenset(("FaultDevList", "NodeStatus", "CmName", "UpdateTime"))
_SWITCH = frozenset(("FaultCode", "FaultLevel", "UpdateTime", "NodeStatus", "FaultTimeAndLevelMap", "CmName"))
_NODE = frozenset(("NodeInfo", "CheckCode"))
_NODE_INNER = frozenset(("FaultDevList", "NodeStatus", "HeartbeatTime", "HeartbeatInterval"))


T = TypeVar("T")


class DeviceRow(NamedTuple):
    """The device facts of one node. `has_super_pod` tells an absent SuperPodID from 0."""

    lists: Mapping[str, str]
    update_time: int
    super_pod: int
    rack: int
    server_index: int
    has_super_pod: bool
    place: int


@dataclass
class Rows:
    """Rows by node name; `host` and `switch` are NodeStatus texts. `texts` are the data values that gave rows;
    `device_texts` has their numbers by place of the object, `switch_texts` and `host_texts` by node name."""

    device: dict[str, DeviceRow] = field(default_factory=dict)
    host: dict[str, str] = field(default_factory=dict)
    switch: dict[str, str] = field(default_factory=dict)
    clusterd: bool = True
    texts: TextLog = field(default_factory=TextLog)
    device_texts: dict[int, int] = field(default_factory=dict)
    switch_texts: dict[str, int] = field(default_factory=dict)
    host_texts: dict[str, int] = field(default_factory=dict)


def is_present(collected: Collected, clusterd: bool) -> bool:
    """True if the dump has device data of a mode."""
    prefix = CLUSTER_DEVICE_PREFIX if clusterd else DEVICE_PREFIX
    return any(name.startswith(prefix) for _, name in collected.maps)


def read_rows(collected: Collected, clusterd: bool, profile: Profile, options: LoadOptions) -> Rows:
    """All rows of one mode. Text that cannot be decoded leaves its nodes without row and gives a diagnostic."""
    rows = Rows(clusterd=clusterd)
    if clusterd:
        _clusterd_rows(collected, rows, profile, options)
    else:
        _device_rows(collected, rows, profile, options)
    return rows


def _visible(collected: Collected, prefix: str, namespace: str, label: str, options: LoadOptions) -> Iterator[RawMap]:
    """ConfigMaps of a name prefix that the scheduler sees; with lenient options also those that lost label or
    namespace. Ordered by name, so that the result does not depend on the order of the dump."""
    found = [m for m in collected.maps.values() if m.name.startswith(prefix)]
    if len(found) > 1:
        from ascendctl.names import natural_order

        found = [found[i] for i in natural_order([m.name for m in found])]
    for one in found:
        if one.namespace != namespace and (one.namespace or options.strict):
            continue
        if one.labels.get(label) != "true":
            collected.findings.add(
                "S303",
                f"label {label}=true is missing",
                one.title,
                one.name.removeprefix(prefix) if prefix in (DEVICE_PREFIX, NODE_PREFIX) else "",
                collected.where(one.place),
            )
            if options.strict:
                continue
        yield one


def _decode(collected: Collected, one: RawMap, key: str, raw: str, lenient: bool, node: str = "") -> Any:
    """A decoded data value; None and a diagnostic if it is no JSON."""
    try:
        return loads(raw.strip().lstrip("\ufeff") if lenient else raw)
    except ValueError as error:
        collected.findings.add("S315", f"{key} is no JSON: {error}", one.title, node, collected.where(one.place))
        return None


def _without_blanks(collected: Collected, one: RawMap, node: str, lists: Mapping[str, str]) -> Mapping[str, str]:
    """The device list without blanks around keys and chip names."""
    if not any(" " in key or (" " in value and "-Fault" not in key) for key, value in lists.items()):
        return lists
    where = collected.where(one.place)
    collected.findings.add("S330", "blanks in DeviceList are removed", one.title, node, where)
    return {
        key.strip(): value if "-Fault" in key else ",".join(part.strip() for part in value.split(","))
        for key, value in lists.items()
    }


# ------------------------------------------------------------------------------------------------ device mode
def _device_rows(collected: Collected, rows: Rows, profile: Profile, options: LoadOptions) -> None:
    lenient, findings = not options.strict, collected.findings
    refuse = options.check_codes == "strict" or (profile.check_codes and options.check_codes != "off")
    for one in _visible(collected, DEVICE_PREFIX, DEVICE_NAMESPACE, DEVICE_LABEL, options):
        node, where = one.name.removeprefix(DEVICE_PREFIX), collected.where(one.place)
        raw = one.data.get("DeviceInfoCfg")
        if raw is None or raw.strip() in ("", "null"):
            findings.add("S314", "DeviceInfoCfg is " + ("missing" if raw is None else "empty"), one.title, node, where)
        elif (value := _decode(collected, one, "DeviceInfoCfg", raw, lenient, node)) is not None:
            try:
                row = _device_row(value, raw, one, node, None if options.strict else collected)
                problem = None if options.check_codes == "off" else check_device_code(raw, value)
                if problem is not None:
                    findings.add(problem[0], problem[1], one.title, node, where)
                if problem is None or not refuse:
                    rows.device[node] = row
                    rows.device_texts[one.place] = rows.texts.add(one, raw)
            except ValueError as error:
                findings.add("S315", f"DeviceInfoCfg: {error}", one.title, node, where)
        if (switch := one.data.get("SwitchInfoCfg")) is not None:
            status = _status(collected, one, "SwitchInfoCfg", switch, _SWITCH, node, lenient)
            if status is not None:
                rows.switch[node], rows.switch_texts[node] = status, rows.texts.add(one, switch)
    for one in _visible(collected, NODE_PREFIX, NODE_NAMESPACE, DEVICE_LABEL, options):
        _node_row(collected, one, rows, refuse, options)


def _device_row(value: Any, raw: str, one: RawMap, node: str, lenient: Collected | None) -> DeviceRow:
    config = members(value, _CONFIG)
    if raw.count('"DeviceList"') > 1:
        config = members(loads_merged(raw), _CONFIG)
    info = members(config.get("DeviceInfo"), _INFO)
    text(config.get("CheckCode"), "CheckCode")
    lists: Mapping[str, str] = text_map(info.get("DeviceList"), "DeviceList")
    if lenient is not None and " " in raw:
        lists = _without_blanks(lenient, one, node, lists)
    return DeviceRow(
        lists,
        integer(info.get("UpdateTime"), "UpdateTime", INT64),
        integer(config.get("SuperPodID"), "SuperPodID"),
        integer(config.get("RackID"), "RackID"),
        integer(config.get("ServerIndex"), "ServerIndex"),
        config.get("SuperPodID") is not None,
        one.place,
    )


def _status(
    collected: Collected, one: RawMap, key: str, raw: str, fields: frozenset[str], node: str, lenient: bool
) -> str | None:
    """NodeStatus of a structure of which nothing else counts; None if there is none or it cannot be decoded."""
    value = _decode(collected, one, key, raw, lenient, node) if raw.strip() else None
    if value is None:
        return None
    try:
        return text(members(value, fields).get("NodeStatus"), "NodeStatus")
    except ValueError as error:
        collected.findings.add("S315", f"{key}: {error}", one.title, node, collected.where(one.place))
        return None


def _node_row(collected: Collected, one: RawMap, rows: Rows, refuse: bool, options: LoadOptions) -> None:
    node, where, findings = one.name.removeprefix(NODE_PREFIX), collected.where(one.place), collected.findings
    raw = one.data.get("NodeInfo")
    if raw is None:
        findings.add("S315", "NodeInfo is missing", one.title, node, where)
        return
    if not raw.strip():
        rows.host[node], rows.host_texts[node] = "", rows.texts.add(one, raw)
        return
    value = _decode(collected, one, "NodeInfo", raw, not options.strict, node)
    if value is None:
        return
    try:
        inner = members(members(value, _NODE).get("NodeInfo"), _NODE_INNER)
        status = text(inner.get("NodeStatus"), "NodeStatus")
        if "HeartbeatTime" in inner or "HeartbeatInterval" in inner:
            findings.add("S313", "NodeInfo has a heartbeat", one.title, node, where)
        problem = None if options.check_codes == "off" else check_node_code(raw, value)
    except ValueError as error:
        findings.add("S315", f"NodeInfo: {error}", one.title, node, where)
        return
    if problem is not None:
        findings.add(problem[0], problem[1], one.title, node, where)
        if refuse:
            return
    rows.host[node], rows.host_texts[node] = status, rows.texts.add(one, raw)


# ------------------------------------------------------------------------------------------------ ClusterD mode
def _clusterd_rows(collected: Collected, rows: Rows, profile: Profile, options: LoadOptions) -> None:
    for one in _visible(collected, CLUSTER_DEVICE_PREFIX, CLUSTERD_NAMESPACE, CLUSTERD_LABEL, options):
        rows.device_texts[one.place] = rows.texts.add(one, one.data.get(one.name, ""))
        for node, row in _clusterd_devices(collected, one, options):
            _keep_newer(collected, one, rows, node, row)
    for one in _visible(collected, CLUSTER_NODE_PREFIX, CLUSTERD_NAMESPACE, CLUSTERD_LABEL, options):
        if profile.node_map_prefix or one.name == "cluster-info-node-cm":
            _take_statuses(collected, one, options, NODE_PREFIX, _STATUS, rows.host, rows.host_texts, rows.texts)
    for one in _visible(collected, CLUSTER_SWITCH_PREFIX, CLUSTERD_NAMESPACE, CLUSTERD_LABEL, options):
        _take_statuses(collected, one, options, SWITCH_KEY_PREFIX, _SWITCH, rows.switch, rows.switch_texts, rows.texts)


def _shard(collected: Collected, one: RawMap, options: LoadOptions) -> dict[str, Any]:
    """The entries of one aggregated object; an empty text, as surplus shards have, holds none."""
    findings, where = collected.findings, collected.where(one.place)
    raw = one.data.get(one.name)
    if raw is None:
        findings.add("S315", f"data key {one.name} is missing", one.title, source=where)
        return {}
    value = _decode(collected, one, one.name, raw, not options.strict) if raw.strip() else None
    if value is None:
        return {}
    if type(value) is not dict:
        findings.add("S315", f"{one.name} holds no map of nodes", one.title, source=where)
        return {}
    return loads_merged(raw) if raw.count('"DeviceList"') > len(value) else value


def _entries(
    collected: Collected,
    one: RawMap,
    shard: dict[str, Any],
    options: LoadOptions,
    prefix: str,
    read: Callable[[str, Any], T],
) -> list[tuple[str, T]]:
    """Nodes and entries of one aggregated object, `read` turning one JSON entry into what is kept. A type error loses
    the whole text in the scheduler; with lenient options only its entry."""
    result = []
    for key, entry in shard.items():
        node = key.removeprefix(prefix)
        try:
            result.append((node, read(node, entry)))
        except ValueError as error:
            message = f"entry {key}: {error}"
            collected.findings.add("S315", message, one.title, node, collected.where(one.place))
            if options.strict:
                return []
    return result


def _quick_rows(shard: dict[str, Any], place: int) -> list[DeviceRow] | None:
    """All rows of a shard at once if every entry has exactly the members that ClusterD writes, each of its type."""
    try:
        entries = list(shard.values())
        if not all(map(_ROW.issuperset, entries)):
            return None
        columns = list(zip(*map(itemgetter(*_ROW_FIELDS), entries), strict=True))
    except (KeyError, TypeError):
        return None
    lists, *numbers = columns or [()] * len(_ROW_FIELDS)
    if not (set(map(type, lists)) <= {dict} and set(map(type, chain.from_iterable(numbers))) <= {int}):
        return None
    if not set(map(type, chain.from_iterable(map(dict.values, lists)))) <= {str}:
        return None
    limits = (INT64, INT32, INT32, INT32)
    if any(min(c, default=0) < low or max(c, default=0) > high for c, (low, high) in zip(numbers, limits, strict=True)):
        return None
    return [DeviceRow._make((*fields, True, place)) for fields in zip(lists, *numbers, strict=True)]


def _take_statuses(
    collected: Collected,
    one: RawMap,
    options: LoadOptions,
    prefix: str,
    fields: frozenset[str],
    statuses: dict[str, str],
    numbers: dict[str, int],
    texts: TextLog,
) -> None:
    """NodeStatus of the nodes of one aggregated object."""

    def read(node: str, entry: Any) -> str:
        return text(members(entry, fields).get("NodeStatus"), "NodeStatus")

    found = dict(_entries(collected, one, _shard(collected, one, options), options, prefix, read))
    statuses |= found
    numbers |= dict.fromkeys(found, texts.add(one, one.data.get(one.name, "")))


def _clusterd_devices(collected: Collected, one: RawMap, options: LoadOptions) -> Iterable[tuple[str, DeviceRow]]:
    look_for_blanks = not options.strict and " " in one.data.get(one.name, "").strip()
    shard = _shard(collected, one, options)
    quick = None if look_for_blanks else _quick_rows(shard, one.place)
    if quick is not None:
        return zip((key.removeprefix(DEVICE_PREFIX) for key in shard), quick, strict=True)

    def read(node: str, entry: Any) -> DeviceRow:
        known = members(entry, _ROW)
        lists: Mapping[str, str] = text_map(known.get("DeviceList"), "DeviceList")
        if look_for_blanks:
            lists = _without_blanks(collected, one, node, lists)
        return DeviceRow(
            lists,
            integer(known.get("UpdateTime"), "UpdateTime", INT64),
            integer(known.get("SuperPodID"), "SuperPodID"),
            integer(known.get("RackID"), "RackID"),
            integer(known.get("ServerIndex"), "ServerIndex"),
            known.get("SuperPodID") is not None,
            one.place,
        )

    return _entries(collected, one, shard, options, DEVICE_PREFIX, read)


def _keep_newer(collected: Collected, one: RawMap, rows: Rows, node: str, row: DeviceRow) -> None:
    """Shards come in ascending order, so at equal times the higher one stays."""
    earlier = rows.device.get(node)
    if earlier is not None:
        times = f"UpdateTime {earlier.update_time} and {row.update_time}"
        message = f"node {node} is in two shards, {times}"
        collected.findings.add("S316", message, one.title, node, collected.where(one.place))
    if earlier is None or row.update_time >= earlier.update_time:
        rows.device[node] = row
