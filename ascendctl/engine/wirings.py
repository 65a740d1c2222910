"""How the chips of a node are wired, as the scheduler's handlers see it (chapter 10 §5.4, chapter 11.4.1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Wiring:
    """One row a policy. `rule` names the module under `engine/wired` that accepts, scores and picks; `max_node` is
    the largest request and the longest free list; `group` the chips of a ring, die pair, card or mesh (0 = none);
    `network_aware`: distributed jobs avoid network-unhealthy chips; `illegal`: counts refused in between;
    `npu_key`: the rank table annotation is ascend-npu-configuration. `blind`: the score sees no unhealthy chips, for it
    looks them up under a key that nodes of the product do not have (chapter 11.4.2)."""

    policy: str
    rule: str
    max_node: int
    group: int
    network_aware: bool
    illegal: frozenset[int] = frozenset()
    npu_key: bool = False
    blind: bool = False


@dataclass(frozen=True)
class Ask:
    """What one pod asks of a node: `n` chips, for a job with several NPU pods (`distributed`) or one."""

    wiring: Wiring
    n: int
    distributed: bool


_ROWS = (
    Wiring("module", "rings", 8, 4, True, frozenset({3, 5, 6, 7})),
    Wiring("chip4-node4", "base", 4, 0, True, frozenset({3})),
    Wiring("chip1-node2", "base", 8, 0, False),
    Wiring("chip8-node8", "base", 8, 8, True),
    Wiring("850-Atlas-8p-8", "base", 8, 0, True),
    Wiring("chip8-node16", "box16", 16, 8, True, frozenset({9, 11, 13, 15})),
    Wiring("chip2-node16", "dies", 16, 2, True),
    Wiring("chip1-node8", "base", 8, 8, False, npu_key=True),
    Wiring("chip1-node16", "base", 16, 16, False, npu_key=True),
    Wiring("chip4-node8", "mesh", 8, 4, True, npu_key=True),
    Wiring("chip4-node16", "mesh", 16, 4, True, npu_key=True),
    Wiring("chip2-node16-sp", "dies", 16, 2, True),
    Wiring("chip2-node8-sp", "dies", 8, 2, True),
    Wiring("chip8-node8-sp", "base", 8, 8, True, npu_key=True),
    Wiring("chip8-node8-ra64-sp", "base", 8, 8, True, npu_key=True),
    Wiring("multilevel", "base", 16, 0, True),
    Wiring("310-card", "cards", 64, 4, False, blind=True),
    Wiring("310-chip", "fragments", 64, 4, False, blind=True),
    Wiring("310P", "base", 64, 0, False, blind=True),
    Wiring("duo-card", "cards", 32, 2, False),
    Wiring("duo-chip", "duo", 16, 2, False),
    Wiring("duo-chip-distributed", "duo_distributed", 16, 2, False),
    Wiring("chip1-softShareDev", "base", 16, 0, False),
)

WIRINGS: Final[Mapping[str, Wiring]] = {row.policy: row for row in _ROWS}
"""Policy name of `engine.select` -> wiring. Virtual instances have none."""
