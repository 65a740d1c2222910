"""Dynamic vNPUs once more, in plain Python on dicts, written from chapter 11.14.3. Slow and simple; the engine's arrays
are held against it."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field

TABLES = {
    "310P": {"vir01": (1, 1, "null"), "vir02": (2, 2, "null"), "vir02_1c": (2, 1, "null"), "vir04": (4, 4, "null"),
             "vir04_3c": (4, 3, "null"), "vir04_3c_ndvpp": (4, 3, "no"), "vir04_4c_dvpp": (4, 4, "yes")},
    "910B1": {"vir03_1c_8g": (3, 1, "null"), "vir06_1c_16g": (6, 1, "null"), "vir12_3c_32g": (12, 3, "null")},
    "910B3": {"vir05_1c_16g": (5, 1, "null"), "vir10_3c_32g": (10, 3, "null")},
    "910B4": {"vir05_1c_8g": (5, 1, "null"), "vir10_3c_16g": (10, 3, "null"), "vir10_3c_16g_nm": (10, 3, "no"),
              "vir10_4c_16g_m": (10, 4, "yes")},
    "A3-24": {"vir06_1c_16g": (6, 1, "null"), "vir12_3c_32g": (12, 3, "null")},
}  # fmt: skip
CPUS = {"310P": 7, "910B1": 6, "910B3": 6, "910B4": 6, "A3-24": 6}


@dataclass
class Chip:
    """Free cores and CPUs; dvpp of the vNPUs on it; are there vNPUs, is one of them unconfirmed; vGroups in use."""

    cores: int
    cpus: int
    used: list[str] = field(default_factory=list)
    segmented: bool = False
    unstable: bool = False
    groups: set[int] = field(default_factory=set)

    @property
    def dvpp_free(self) -> str:
        return "no" if "yes" in self.used else "null" if "null" in self.used else "yes"


@dataclass
class Server:
    """A node: cores of a chip, capacity and idle of npu-core, chips by id, templates whose cut is not confirmed."""

    name: str
    key: str
    each: int
    total: int
    idle: int
    chips: dict[int, Chip]
    pending: set[str]
    valid: bool = True
    sub_healthy: bool = False


@dataclass
class Held:
    """A pod on a node: chip ids and template, None = whole chips; vGroup, None = the cut is not confirmed."""

    chips: list[int]
    template: str | None
    group: int | None

    @property
    def text(self) -> str:
        ids = ",".join(map(str, self.chips))
        return ids if self.template is None else f"{ids}-{self.template}"


def build(name: str, key: str, each: int, chips: int, free: list[int], sick: list[int], held: list[Held]) -> Server:
    """Step B. `free`: the free list; `sick`: unhealthy chips."""
    server = Server(name, key, each, each * chips, 0, {}, set())
    for chip in free:
        server.chips[chip] = Chip(each, CPUS[key])
    for pod in held:
        for number in pod.chips:
            if number in sick:
                continue
            chip = server.chips.setdefault(number, Chip(each, CPUS[key]))
            if pod.template is None:
                chip.cores, chip.cpus = chip.cores - each, chip.cpus - CPUS[key]
            else:
                cores, cpus, dvpp = TABLES[key][pod.template]
                chip.cores, chip.cpus, chip.segmented = chip.cores - cores, chip.cpus - cpus, True
                chip.used.append(dvpp)
                if pod.group is not None:
                    chip.groups.add(pod.group)
            chip.unstable |= pod.group is None
        if pod.template is not None and pod.group is None:
            server.pending.add(pod.template)
    return server


@dataclass
class Demand:
    cores: int
    cpus: int
    dvpp: str
    whole: bool
    template: str = ""


def demand_on(server: Server, cores: int, level: str, dvpp: str) -> Demand | None:
    """Step C; None = no template."""
    if cores % server.each == 0:
        total = CPUS[server.key] * (server.total // server.each)
        return Demand(cores, cores * total // server.total, "null", True)
    if dvpp not in ("yes", "no", "null"):
        return None
    name = {
        ("310P", 1): "vir01",
        ("310P", 2): "vir02" if level == "high" else "vir02_1c",
        ("310P", 4): {"yes": "vir04_4c_dvpp", "no": "vir04_3c_ndvpp"}.get(
            dvpp, "vir04" if level == "high" else "vir04_3c"
        ),
        ("910B1", 3): "vir03_1c_8g",
        ("910B1", 6): "vir06_1c_16g",
        ("910B1", 12): "vir12_3c_32g",
        ("910B3", 5): "vir05_1c_16g",
        ("910B3", 10): "vir10_3c_32g",
        ("910B4", 5): "vir05_1c_8g",
        ("910B4", 10): {"yes": "vir10_4c_16g_m", "no": "vir10_3c_16g_nm"}.get(dvpp, "vir10_3c_16g"),
        ("A3-24", 6): "vir06_1c_16g",
        ("A3-24", 12): "vir12_3c_32g",
    }.get((server.key, cores))
    if name is None:
        return None
    need = TABLES[server.key][name]
    return Demand(need[0], need[1], need[2], False, name)


def fits(server: Server, chip: Chip, cores: int, cpus: int, dvpp: str) -> bool:
    if chip.cores < cores or chip.cpus < cpus:
        return False
    crowded = (len(chip.groups) == 3 and cores >= 4) or (len(chip.groups) == 4 and cores >= 2)
    if server.key == "310P" and chip.segmented and crowded:
        return False
    if dvpp == "yes" and chip.dvpp_free != "yes":
        return False
    return not (dvpp == "null" and chip.dvpp_free == "no")


def enough(server: Server, d: Demand) -> bool:
    chips = server.chips.values()
    if sum(chip.cores for chip in chips) < d.cores or sum(chip.cpus for chip in chips) < d.cpus:
        return False
    if d.whole:
        return d.cores // server.each <= sum(not chip.segmented and chip.cores != 0 for chip in chips)
    return any(not chip.unstable and fits(server, chip, d.cores, d.cpus, d.dvpp) for chip in chips)


def template_of(server: Server, d: Demand) -> str:
    wanted = (d.cores, d.cpus, d.dvpp)
    return next((name for name, need in TABLES[server.key].items() if need == wanted), "")


def judge(server: Server, cores: int, level: str, dvpp: str) -> tuple[str, Demand | None, bool]:
    """(code, demand, downgraded); code "" = accepted. Steps C and D after the idle test."""
    if server.idle < cores:
        return "NPU_SHORTAGE", None, False
    d = demand_on(server, cores, level, dvpp)
    if d is None:
        return "E_VNPU_TEMPLATE", None, False
    if not server.valid:
        return "E_VNODE_INVALID", None, False
    small = False
    if not enough(server, d):
        shrinks = (d.cores, d.cpus) == (2, 2) or ((d.cores, d.cpus) == (4, 4) and d.dvpp != "yes")
        if server.key != "310P" or d.whole or not shrinks:
            return "E_VNPU_SHORT", None, False
        small, d.cpus = True, 1 if d.cores == 2 else 3
        if not enough(server, d):
            return "E_VNPU_SHORT", None, True
    if server.pending and (d.whole or server.pending != {template_of(server, d)}):
        return "E_VNPU_PENDING", None, small
    return "", d, small


def scores(servers: list[Server], verdicts: dict[str, tuple[str, Demand | None, bool]]) -> dict[str, int]:
    """Step E for the nodes that accept; `servers` in natural name order."""
    open_ones = sorted((s for s in servers if not verdicts[s.name][0]), key=lambda s: s.idle)
    raw = {server.name: 0 for server in open_ones}
    if not any(small for _, _, small in verdicts.values()):
        raw.update({server.name: 8 for server in open_ones[:1]})
        return raw
    for server in open_ones:
        if not verdicts[server.name][2]:
            raw[server.name] = 16
            break
        raw[server.name] = 8
    return raw


def take(server: Server, d: Demand) -> str:
    """Steps F and G: the annotation of the pod; the node is changed."""
    order = sorted(server.chips, key=lambda i: (server.chips[i].cores, server.chips[i].cpus, i))
    if d.whole:
        count = d.cores // server.each
        able = [i for i in order if not server.chips[i].segmented]
        able = [i for i in able if fits(server, server.chips[i], server.each, d.cpus // count, "null")][:count]
        for i in able:
            chip = server.chips[i]
            chip.cores, chip.cpus = chip.cores - server.each, chip.cpus - CPUS[server.key]
            chip.used.append("null")
        return ",".join(map(str, able))
    able = [i for i in order if not server.chips[i].unstable]
    number = next(i for i in able if fits(server, server.chips[i], d.cores, d.cpus, d.dvpp))
    chip, name = server.chips[number], template_of(server, d)
    chip.cores, chip.cpus, chip.segmented = chip.cores - d.cores, chip.cpus - d.cpus, True
    chip.used.append(d.dvpp)
    server.pending.add(name)
    return f"{number}-{name}"


def place(
    servers: list[Server], pods: list[tuple[int, str, str]]
) -> tuple[list[tuple[str, str]], dict[str, str], dict[str, int]]:
    """(node, annotation) of pods of (cores, level, dvpp), one after the other; the refusals that a pod without node met;
    the raw scores that the first pod saw."""
    servers = copy.deepcopy(servers)
    seats: list[tuple[str, str]] = []
    first: dict[str, int] = {}
    for cores, level, dvpp in pods:
        verdicts = {server.name: judge(server, cores, level, dvpp) for server in servers}
        raw = scores(servers, verdicts)
        if not seats:
            first = dict(raw)
        if not raw:
            return seats, {name: code for name, (code, _, _) in verdicts.items()}, first
        final = {s.name: max(0, raw[s.name] - s.sub_healthy) for s in servers if s.name in raw}
        best = max(final, key=lambda name: (final[name], -int(name[1:])))
        server = next(server for server in servers if server.name == best)
        demand = verdicts[best][1]
        assert demand is not None
        seats.append((best, take(server, demand)))
        server.idle -= cores
    return seats, {}, first
