"""The product catalogue: one row a product (chapters 10 §10, 11.2, 20 §1, 21 §1, 22 §1 and 40 §4).

Counts are NPUs that ONE pod may ask for: `single` for a job with one NPU pod, `distributed` for a job with several, as
the scheduler's code accepts them; `advised_*` is what the vendor's tables list where that is narrower (None = same).
"""

from __future__ import annotations

from dataclasses import dataclass

from ascendctl.wellknown import A310, A310P, A910, NPU, NPU_CORE, POLICY


@dataclass(frozen=True)
class Product:
    """One product as schedulers and manifests see it.

    `chips` is the number of NPUs of a node (the largest, where nodes differ), `groups` the wiring inside it: bit masks
    of chips that talk fast (HCCS rings, die pairs, cards, meshes); empty = no wiring that the scheduler respects.
    `group_name` says what a group is. `policies` are the documented values of huawei.com/schedule_policy, the advised
    one first; `accelerator_types` values of the node selector accelerator-type; `selector_only_filters` tells that the
    selector never selects the policy, it only filters nodes. `sp_block_unit` and `ra_block` describe which block
    annotations apply (0 / False = none), `tor_affinity` which switch affinity versions. `labels` are further pod labels
    that select the policy. `resource` is what pods ask for, `other_resources` the same product's other names.
    """

    name: str
    title: str
    models: tuple[str, ...]
    resource: str
    chips: int
    groups: tuple[int, ...]
    group_name: str
    policies: tuple[str, ...]
    accelerator_types: tuple[str, ...]
    ring_controller: str
    single: frozenset[int]
    distributed: frozenset[int]
    kinds: tuple[str, ...]
    frameworks: tuple[str, ...]
    chapter: str
    other_resources: tuple[str, ...] = ()
    advised_single: frozenset[int] | None = None
    advised_distributed: frozenset[int] | None = None
    sp_block_unit: int = 0
    ra_block: bool = False
    multilevel: bool = False
    tor_affinity: tuple[str, ...] = ()
    labels: tuple[tuple[str, str], ...] = ()
    selector_only_filters: bool = False
    superpod: bool = False
    note: str = ""

    @property
    def annotations(self) -> tuple[str, ...]:
        """Job annotations that this product's policy reads."""
        keys = [POLICY] if self.policies else []
        keys += ["sp-block"] if self.sp_block_unit else []
        keys += ["ra-block"] if self.ra_block else []
        keys += ["huawei.com/affinity-config"] if self.multilevel else []
        return tuple(keys)


def _groups(size: int, chips: int) -> tuple[int, ...]:
    return tuple(((1 << size) - 1) << start for start in range(0, chips, size))


def _upto(last: int) -> frozenset[int]:
    return frozenset(range(1, last + 1))


def _even(last: int) -> frozenset[int]:
    return frozenset(range(2, last + 1, 2))


_TRAINING = ("AscendJob", "vcjob", "Deployment")
_WITH_INFER = (*_TRAINING, "InferServiceSet")
_WORKLOADS = ("vcjob", "Deployment")
_BOTH = ("PyTorch", "MindSpore")
_INFER = ("inference",)
_ONE = frozenset({1})
_RINGS = frozenset({1, 2, 4, 8})
_BOX16 = _upto(8) | {10, 12, 14, 16}
_MESH8, _MESH16 = frozenset({1, 2, 3, 4, 8}), frozenset({1, 2, 3, 4, 8, 12, 16})

CATALOGUE: tuple[Product, ...] = (
    Product(
        "a800", "Atlas 800 training server, full", ("Atlas 800 (9000, 9010)", "Atlas 900 PoD (9000)"),
        A910, 8, _groups(4, 8), "HCCS ring", ("chip4-node8",), ("module",), "ascend-910", _RINGS, _RINGS,
        _TRAINING, (*_BOTH, "TensorFlow"), "10 §6.1", tor_affinity=("1.0",),
        note="chip4-node8 selects the mesh policy of chapter 10 §6.7; leave the annotation out to get the ring policy.",
    ),
    Product(
        "a800-half", "Atlas 800 training server, half", ("Atlas 800 (9000, 9010), 4 NPUs",),
        A910, 4, _groups(4, 4), "HCCS ring", ("chip4-node4",), ("half",), "ascend-910",
        frozenset({1, 2, 4}), frozenset({1, 2, 4}), _TRAINING, (*_BOTH, "TensorFlow"), "10 §6.2",
        tor_affinity=("1.0",),
    ),
    Product(
        "a300t", "Server with Atlas 300T training cards", ("Atlas 300T", "Atlas 300T Pro"),
        A910, 2, (), "", ("chip1-node2",), ("card",), "ascend-910", _upto(8), _upto(8), _TRAINING,
        (*_BOTH, "TensorFlow"), "10 §6.3", advised_single=_upto(2), advised_distributed=frozenset({2}),
    ),
    Product(
        "a2", "Atlas A2 training server",
        ("Atlas 800T A2", "Atlas 900 A2 PoD", "Atlas 900 A2 PoDc"),
        A910, 8, _groups(8, 8), "full mesh", ("chip8-node8",), ("module-910b-8",), "ascend-910b", _upto(8), _upto(8),
        _TRAINING, _BOTH, "10 §6.4", tor_affinity=("1.0", "2.0"),
    ),
    Product(
        "a2-box16", "Atlas A2 Box16", ("Atlas 200T A2 Box16", "Atlas 200I A2 Box16"),
        A910, 16, _groups(8, 16), "HCCS ring", ("chip8-node16",), ("module-910b-16",), "ascend-910b", _BOX16, _BOX16,
        _TRAINING, _BOTH, "10 §6.5", tor_affinity=("1.0", "2.0"),
    ),
    Product(
        "a300t-a2", "Server with Atlas 300T A2 cards", ("Atlas 300T A2",),
        A910, 2, (), "", ("chip1-node2",), ("card-910b-2",), "ascend-910b", _upto(8), _upto(8), _TRAINING, _BOTH,
        "10 §6.3", advised_single=_upto(2), advised_distributed=frozenset({2}),
    ),
    Product(
        "800i-a2", "Atlas A2 inference server", ("Atlas 800I A2", "A200I A2 Box"),
        A910, 8, _groups(8, 8), "full mesh", ("chip8-node8",), ("module-910b-8",), "ascend-910b", _upto(8), _upto(8),
        _WITH_INFER, _INFER, "10 §6.4", tor_affinity=("single_layer",),
    ),
    Product(
        "a2-card-infer", "Server with Atlas A2 inference cards", ("Atlas 300I A2",),
        A910, 8, (), "", (), ("card-910b-infer",), "ascend-910b", _upto(8), _upto(8), _WORKLOADS, _INFER, "10 §6.3",
    ),
    Product(
        "a3-pod", "Atlas 900 A3 SuperPoD", ("Atlas 900 A3 SuperPoD",),
        A910, 16, _groups(2, 16), "die pair", ("chip2-node16-sp", "chip2-node16"), ("module-a3-16-super-pod",),
        "ascend-910b", _ONE | _even(16), frozenset({16}), _WITH_INFER, _BOTH, "20",
        sp_block_unit=16, multilevel=True, superpod=True,
        note="With chip2-node16 (no super-pod affinity) the pods of a distributed job may ask for any even count.",
    ),
    Product(
        "a3-9000", "Atlas 9000 A3 SuperPoD", ("Atlas 9000 A3 SuperPoD",),
        A910, 8, _groups(2, 8), "die pair", ("chip2-node8-sp", "chip2-node8"), ("module-a3-8-super-pod",),
        "ascend-910b", _ONE | _even(8), frozenset({8}), _WITH_INFER, _BOTH, "20",
        sp_block_unit=8, multilevel=True, superpod=True,
    ),
    Product(
        "800-a3-sp", "Atlas 800 A3 with super-pod affinity", ("Atlas 800T A3", "Atlas 800I A3"),
        A910, 16, _groups(2, 16), "die pair", ("chip2-node16-sp",), ("module-a3-16",), "ascend-910b",
        _ONE | _even(16), frozenset({16}), _WITH_INFER, (*_BOTH, *_INFER), "20", sp_block_unit=16, superpod=True,
    ),
    Product(
        "800-a3", "Atlas 800 A3, standard cluster", ("Atlas 800T A3", "Atlas 800I A3", "A200T A3 Box8"),
        A910, 16, _groups(2, 16), "die pair", ("chip2-node16",), ("module-a3-16",), "ascend-910b", _ONE | _even(16),
        _even(16), _TRAINING, (*_BOTH, *_INFER), "10 §6.6",
    ),
    Product(
        "a3-8", "A3 nodes of 8 NPUs, standard cluster", ("Atlas 9000 A3, without super-pod affinity",),
        A910, 8, _groups(2, 8), "die pair", ("chip2-node8",), (), "ascend-910b", _ONE | _even(16), _even(16),
        _TRAINING, _BOTH, "10 §6.6", advised_single=_ONE | _even(8), advised_distributed=_even(8),
    ),
    Product(
        "350-8", "Atlas 350, 8 cards", ("Atlas 350",),
        NPU, 8, (), "", ("chip1-node8",), ("350-Atlas-8",), "ascend-npu", _upto(8), _upto(8), _TRAINING, _INFER,
        "11.11", selector_only_filters=True,
    ),
    Product(
        "350-16", "Atlas 350, 16 cards", ("Atlas 350",),
        NPU, 16, (), "", ("chip1-node16",), ("350-Atlas-16",), "ascend-npu", _upto(16), _upto(16), _TRAINING, _INFER,
        "11.11", selector_only_filters=True,
    ),
    Product(
        "350-4p-8", "Atlas 350, 8 cards in meshes of 4", ("Atlas 350",),
        NPU, 8, _groups(4, 8), "mesh of 4", ("chip4-node8",), ("350-Atlas-4p-8",), "ascend-npu", _upto(8), _upto(8),
        _TRAINING, _INFER, "11.13", advised_single=_MESH8, advised_distributed=_MESH8, selector_only_filters=True,
        note="5, 6 and 7 NPUs are accepted without any affinity.",
    ),
    Product(
        "350-4p-16", "Atlas 350, 16 cards in meshes of 4", ("Atlas 350",),
        NPU, 16, _groups(4, 16), "mesh of 4", ("chip4-node16",), ("350-Atlas-4p-16",), "ascend-npu", _upto(16),
        _upto(16), _TRAINING, _INFER, "11.13", advised_single=_MESH16, advised_distributed=_MESH16,
        selector_only_filters=True, note="Counts above 4 that are no multiple of 4 are accepted without any affinity.",
    ),
    Product(
        "850", "Atlas 850, standard cluster", ("Atlas 850",),
        NPU, 8, _groups(8, 8), "full mesh", ("chip8-node8",), ("850-Atlas-8p-8",), "ascend-npu", _upto(8), _upto(8),
        _TRAINING, ("PyTorch",), "11.12", selector_only_filters=True,
    ),
    Product(
        "850-sp", "Atlas 850 SuperPoD", ("Atlas 850 SuperPoD",),
        NPU, 8, _groups(8, 8), "full mesh", ("chip8-node8-sp",), ("850-SuperPod-Atlas-8",), "ascend-npu", _upto(8),
        frozenset({8}), _WITH_INFER, ("PyTorch",), "20 §10", advised_single=_RINGS, sp_block_unit=8, superpod=True,
        selector_only_filters=True,
    ),
    Product(
        "950", "Atlas 950 SuperPoD", ("Atlas 950 SuperPoD",),
        NPU, 8, _groups(8, 8), "full mesh", ("chip8-node8-ra64-sp",), ("950-SuperPod-Atlas-8",), "ascend-npu",
        _upto(8), frozenset({8}), _WITH_INFER, ("PyTorch",), "21", sp_block_unit=8, ra_block=True, multilevel=True,
        superpod=True, selector_only_filters=True, note="A rack holds 64 NPUs: 8 nodes.",
    ),
    Product(
        "300i", "Inference server with Atlas 300I cards", ("Atlas 300I (3000, 3010)",),
        A310, 64, _groups(4, 64), "card", (), (), "ascend-310", _upto(64), _upto(64), _WORKLOADS, _INFER, "11.6",
        labels=(("npu-310-strategy", "card | chip"),),
        note="With npu-310-strategy: card a pod fits on one card: 1 to 4.",
    ),
    Product(
        "310p", "Atlas 300I Pro, 300V, 300V Pro", ("Atlas 300I Pro", "Atlas 300V", "Atlas 300V Pro"),
        A310P, 64, (), "", (), (), "ascend-310P", _upto(64), _upto(64), _WORKLOADS, _INFER, "11.8",
    ),
    Product(
        "300i-duo", "Atlas 300I Duo", ("Atlas 300I Duo",),
        A310P, 16, _groups(2, 16), "card", (), (), "ascend-310P", _upto(16), _upto(16), _WORKLOADS, _INFER,
        "11.9", labels=(("duo", "true"), ("npu-310-strategy", "card | chip"), ("distributed", "true | false")),
        note="With npu-310-strategy: card a pod fits on one card: 1 or 2. distributed: true allows one NPU pod only.",
    ),
    Product(
        "200i-soc", "Atlas 200I SoC A1", ("Atlas 200I SoC A1",),
        A310P, 1, (), "", (), (), "ascend-310P", _upto(64), _upto(64), _WORKLOADS, _INFER, "11.8",
        advised_single=_ONE, advised_distributed=_ONE, note="Needs node selector servertype: soc.",
    ),
    Product(
        "soft-share", "Soft sharing of one chip", ("Atlas 800I A2", "Atlas 800I A3", "Atlas 350"),
        A910, 16, (), "", ("chip1-softShareDev",), (), "", _upto(100), _upto(100), _WORKLOADS, _INFER, "11.15", (NPU,),
        labels=(
            ("huawei.com/scheduler.softShareDev.aicoreQuota", "1-100"),
            ("huawei.com/scheduler.softShareDev.hbmQuota", "MB"),
            ("huawei.com/scheduler.softShareDev.policy", "fixed-share | elastic | best-effort"),
        ),
        note="The count is the AI core percentage of one chip; huawei.com/npu on Atlas 350.",
    ),
    Product(
        "vnpu-dynamic", "Dynamic vNPU", ("Atlas inference series (310P)", "Atlas A2", "Atlas A3"),
        NPU_CORE, 16, (), "", (), (), "ascend-310P", _upto(64), frozenset(), _WORKLOADS, _INFER, "11.14.3",
        labels=(("ring-controller.atlas", "ascend-310P | ascend-910b"), ("vnpu-level", "low | high"),
                ("vnpu-dvpp", "yes | no | null")),
        note="The count is AI cores: 1, 2, 4 or whole chips on 310P.",
    ),
    Product(
        "vnpu-static", "Static vNPU", ("310P, 910, A2, A3 hosts",),
        "huawei.com/<chip>-<template>", 16, (), "", (), (), "", _ONE, frozenset(), _WORKLOADS, _INFER, "11.14.2",
        note="The scheduler chooses no chip; kubelet and device plugin do.",
    ),
)  # fmt: skip


def find_product(name: str) -> Product | None:
    """The product of an alias as in `--product`; None if there is none."""
    return next((product for product in CATALOGUE if product.name == name), None)


def candidates(resource: str, policy: str | None, accelerator_type: str | None, duo: bool) -> tuple[Product, ...]:
    """Products that a job may be meant for (chapter 40 §4): by policy, else by accelerator-type, else by resource and
    label duo. Several if they cannot be told apart, none if nothing fits."""
    offering = [p for p in CATALOGUE if resource in (p.resource, *p.other_resources)]
    if policy is not None:
        return tuple(p for p in offering if policy in p.policies)
    if accelerator_type is not None:
        return tuple(p for p in offering if accelerator_type in p.accelerator_types)
    if resource == A310P:
        return tuple(p for p in offering if (p.name == "300i-duo") == duo)
    return tuple(p for p in offering if not p.policies)
