"""CheckCode verification of device and node rows (chapter 30 §2)."""

from __future__ import annotations

import json
from typing import Any

from ascendctl.snapshot.gojson import check_code, device_check_code, members, sha256

_DEVICE_HEAD, _DEVICE_TAILS = '{"DeviceInfo":', ('},"SuperPodID":', '},"CheckCode":')
_NODE_HEAD, _NODE_TAILS = '{"NodeInfo":', ('},"CheckCode":',)
_CHECKED = frozenset(("DeviceInfo", "NodeInfo", "CheckCode"))
_INFO = frozenset(("DeviceList", "UpdateTime"))

Problem = tuple[str, str]
"""Diagnostic code and message."""


def check_device_code(raw: str, value: Any) -> Problem | None:
    """Compare the CheckCode of a `DeviceInfoCfg` text (`value` = decoded) with its content; None if it is right."""

    def canonical() -> str:
        info = members(members(value, _CHECKED).get("DeviceInfo"), _INFO)
        return device_check_code(info.get("DeviceList"), info.get("UpdateTime", 0))

    return _check(raw, value, "DeviceInfo", _DEVICE_HEAD, _DEVICE_TAILS, canonical)


def check_node_code(raw: str, value: Any) -> Problem | None:
    """The same for a `NodeInfo` text."""

    def canonical() -> str:
        return check_code(_node_payload(members(value, _CHECKED).get("NodeInfo") or {}))

    return _check(raw, value, "NodeInfo", _NODE_HEAD, _NODE_TAILS, canonical)


def _node_payload(inner: dict[str, Any]) -> dict[str, Any]:
    """The inner NodeInfo in declaration order; the heartbeat members are those of old writers."""
    faults = inner.get("FaultDevList")
    order = ("DeviceType", "DeviceId", "FaultCode", "FaultLevel")
    payload: dict[str, Any] = {
        "FaultDevList": faults
        if not isinstance(faults, list)
        else [{key: fault.get(key) for key in order} if isinstance(fault, dict) else fault for fault in faults]
    }
    if "HeartbeatTime" in inner:
        payload |= {"HeartbeatTime": inner["HeartbeatTime"], "HeartbeatInterval": inner.get("HeartbeatInterval", 0)}
    return payload | {"NodeStatus": inner.get("NodeStatus", "")}


def _check(raw: str, value: Any, member: str, head: str, tails: tuple[str, ...], canonical: Any) -> Problem | None:
    stored = members(value, _CHECKED).get("CheckCode")
    if not stored:
        return "S311", "CheckCode is missing"
    if raw.startswith(head):  # as every writer writes it: the payload ends where the next member begins
        for tail in tails:
            end = raw.rfind(tail)
            if end > 0 and sha256(raw[len(head) : end + 1]) == stored:
                return None
    payload = _raw_member(raw, member)
    if payload is not None and sha256(payload) == stored:
        return None
    try:
        if canonical() == stored:
            return None
    except (ValueError, AttributeError, TypeError):
        pass  # a payload with foreign types has no canonical form, so its code cannot match
    hint = "; the text is folded or indented, which breaks the code" if _looks_edited(raw) else ""
    return "S310", f"CheckCode {str(stored)[:12]}... does not match the content{hint}"


def _looks_edited(raw: str) -> bool:
    return "\n" in raw or '": ' in raw or '", "' in raw


def _raw_member(raw: str, member: str) -> str | None:
    """The text of a member's value exactly as it stands in the document; None if it cannot be found."""
    start = raw.find(f'"{member}"')
    if start < 0:
        return None
    position = start + len(member) + 2
    while position < len(raw) and raw[position] in " \t\r\n:":
        position += 1
    try:
        _, end = json.JSONDecoder().raw_decode(raw, position)
    except (ValueError, RecursionError):
        return None
    return raw[position:end]
