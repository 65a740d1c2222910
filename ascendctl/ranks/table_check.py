"""Checks on an existing rank table (RT-01 to RT-09 and RT-I1 of chapter 50 §4.6)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ascendctl.ranks.order import Diagnostic
from ascendctl.ranks.table import NO_ADDRESS, is_address
from ascendctl.ranks.version import VERSIONS

SCALE_OUT_LAYERS = (2, 3)


def check_table(
    table: Any,
    expected: str = "",
    block_npus: int = 0,
    single_cards: bool = False,
    superpods: Mapping[str, int] | None = None,
) -> list[Diagnostic]:
    """What is wrong with a table. `expected` is the version that its job should get, "" = unknown; `block_npus` the
    NPUs of a logical SuperPoD (0 = one SuperPoD); `single_cards`: Atlas 350 cards, which have no layer 0; `superpods`:
    physical SuperPoD by address of the node."""
    if not isinstance(table, Mapping):
        return [Diagnostic("RT-01", "error", "the rank table is no JSON object")]
    if "server_group_list" in table:
        text = "this is the global rank table of MindIE, which merges the tables of its instances; none of a job"
        return [Diagnostic("RT-01", "error", text)]
    return [*_checks(table, expected, block_npus, single_cards), *_homes(table, superpods or {})]


def _error(code: str, message: str) -> Diagnostic:
    return Diagnostic(code, "error", message)


def _checks(table: Mapping[str, Any], expected: str, block_npus: int, single_cards: bool) -> Iterator[Diagnostic]:
    status, version = table.get("status"), table.get("version")
    if status != "completed":
        old = (
            " (the lists may be those of an earlier run)" if table.get("server_list") or table.get("rank_list") else ""
        )
        yield _error("RT-01", f"status is {status!r}, not completed{old}")
    if version not in VERSIONS:
        yield _error("RT-01", f"version {version!r} is none of {', '.join(VERSIONS)}")
        return
    if expected and version != expected:
        yield _error("RT-01", f"version is {version}, but the job gets {expected}")
    if version == "2.0":
        yield from _version_2(table, single_cards)
        return
    servers = _mappings(table.get("server_list"))
    yield from _counts(table, servers)
    chips = sum(len(_mappings(server.get("device"))) for server in servers)
    yield from _addresses(servers, strict=version == "1.0" or (block_npus > 0 and chips // block_npus > 1))
    yield from _server_ids(servers)
    if version == "1.2":
        yield from _super_pods(table, servers)
        yield from _plausible(servers)


def _mappings(value: Any) -> list[Mapping[str, Any]]:
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []


def _counts(table: Mapping[str, Any], servers: Sequence[Mapping[str, Any]]) -> Iterator[Diagnostic]:
    if table.get("server_count") != str(len(servers)):
        yield _error("RT-02", f"server_count is {table.get('server_count')!r}, server_list has {len(servers)} entries")
    ranks = [device.get("rank_id") for server in servers for device in _mappings(server.get("device"))]
    yield from _ranks(ranks, [str(i) for i in range(len(ranks))])


def _ranks(found: Sequence[Any], wanted: Sequence[Any]) -> Iterator[Diagnostic]:
    odd = next((i for i, rank in enumerate(found) if rank != wanted[i]), None)
    if odd is not None:
        yield _error(
            "RT-02", f"rank_id {found[odd]!r} where {wanted[odd]!r} is due: ranks must count from 0 without gaps"
        )


def _addresses(servers: Sequence[Mapping[str, Any]], strict: bool) -> Iterator[Diagnostic]:
    seen: dict[str, str] = {}
    for server in servers:
        for device in _mappings(server.get("device")):
            ip, where = str(device.get("device_ip") or ""), f"rank {device.get('rank_id')}"
            if ip in NO_ADDRESS:
                if strict:
                    yield _error("RT-03", f"{where} has no device_ip")
                continue
            if not is_address(ip):
                yield _error("RT-03", f"{where}: device_ip {ip!r} is no address")
            elif seen.setdefault(ip, where) != where and strict:
                yield _error("RT-03", f"{seen[ip]} and {where} have the same device_ip {ip}")


def _server_ids(servers: Sequence[Mapping[str, Any]]) -> Iterator[Diagnostic]:
    seen: set[str] = set()
    for i, server in enumerate(servers):
        name = server.get("server_id")
        if not isinstance(name, str) or not name:
            yield _error("RT-05", f"server {i} has no server_id")
        elif name in seen:
            yield _error("RT-06", f"server_id {name} occurs twice")
        else:
            seen.add(name)


def _super_pods(table: Mapping[str, Any], servers: Sequence[Mapping[str, Any]]) -> Iterator[Diagnostic]:
    listed = table.get("super_pod_list")
    entries = listed if isinstance(listed, list) else []
    if any(not isinstance(entry, Mapping) for entry in entries):
        yield _error("RT-07", "super_pod_list has an empty slot: super-pod-rank was missing or out of range")
    pods = _mappings(entries)
    names = [one.get("server_id") for entry in pods for one in _mappings(entry.get("server_list"))]
    order = [server.get("server_id") for server in servers]
    if sorted(map(str, names)) != sorted(map(str, order)):
        yield _error("RT-07", "super_pod_list does not hold every server of server_list exactly once")
        return
    ids = [entry.get("super_pod_id") for entry in pods]
    if ids != [str(i) for i in range(len(ids))]:
        yield Diagnostic(
            "RT-07", "warning", f"super_pod_id are {', '.join(map(str, ids[:6]))}, not 0 to {len(ids) - 1}"
        )
    position = {name: i for i, name in enumerate(order)}
    for entry in pods:
        found = sorted(position[one.get("server_id")] for one in _mappings(entry.get("server_list")))
        if found and found[-1] - found[0] != len(found) - 1:
            yield _error("RT-08", f"servers of super_pod_id {entry.get('super_pod_id')} do not follow each other")


def _homes(table: Mapping[str, Any], superpods: Mapping[str, int]) -> Iterator[Diagnostic]:
    """RT-09: HCCL uses UB inside an entry, which there is only inside a physical SuperPoD."""
    servers = _mappings(table.get("server_list"))
    host = {server.get("server_id"): str(server.get("host_ip")) for server in servers}
    for entry in _mappings(table.get("super_pod_list")):
        members = [host.get(one.get("server_id"), "") for one in _mappings(entry.get("server_list"))]
        homes = sorted({superpods[ip] for ip in members if ip in superpods})
        if len(homes) > 1:
            shown = " and ".join(map(str, homes[:3]))
            name = entry.get("super_pod_id")
            yield _error("RT-09", f"super_pod_id {name} lies in SuperPoDs {shown}: no UB between them")


def _plausible(servers: Sequence[Mapping[str, Any]]) -> Iterator[Diagnostic]:
    """RT-I1: server index * 2^22 + chip * 2^18 + die * 2^16 + id (§2.6)."""
    for server in servers:
        for device in _mappings(server.get("device")):
            number, chip = str(device.get("super_device_id")), str(device.get("device_id"))
            if not (number.isdigit() and chip.isdigit()):
                continue
            physical = int(chip)
            if int(number) % (1 << 22) != (physical // 2 << 18) + (physical % 2 << 16) + physical:
                yield Diagnostic(
                    "RT-I1", "info", f"super_device_id {number} of rank {device.get('rank_id')} is not made as usual"
                )
                return


def _version_2(table: Mapping[str, Any], single_cards: bool) -> Iterator[Diagnostic]:
    entries = _mappings(table.get("rank_list"))
    if table.get("rank_count") != len(entries):
        yield _error("RT-02", f"rank_count is {table.get('rank_count')!r}, rank_list has {len(entries)} entries")
    yield from _ranks([entry.get("rank_id") for entry in entries], list(range(len(entries))))
    levels = [{one.get("net_layer"): one for one in _mappings(entry.get("level_list"))} for entry in entries]
    scale_out = sorted({layer for found in levels for layer in found if layer in SCALE_OUT_LAYERS})
    for entry, found in zip(entries, levels, strict=True):
        needed = ([] if single_cards else [0]) + scale_out
        absent = [layer for layer in needed if not _mappings(found.get(layer, {}).get("rank_addr_list"))]
        if absent:
            text = f"rank {entry.get('rank_id')} has no addresses on layer {', '.join(map(str, absent))}"
            yield _error("RT-04", text)
            return
