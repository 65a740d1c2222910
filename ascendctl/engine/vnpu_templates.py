"""vNPU templates and chip sizes as data (chapter 11.14.1), and the look-ups in them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

CHIP_310P: Final = "Ascend310P"
A3_SERVER: Final = "Ascend910A3-"
DVPP: Final = ("yes", "null", "no")
"""Words of the label vnpu-dvpp."""
LEVELS: Final = ("low", "high")
"""Words of the label vnpu-level."""


class Template(NamedTuple):
    """AI cores, AI CPUs, and the video units: "null" = does not matter, "yes" = has them, "no" = has none."""

    cores: int
    cpus: int
    dvpp: str = "null"


_B1_B2: Final = {"vir03_1c_8g": Template(3, 1), "vir06_1c_16g": Template(6, 1), "vir12_3c_32g": Template(12, 3)}
_B3: Final = {"vir05_1c_16g": Template(5, 1), "vir10_3c_32g": Template(10, 3)}

TEMPLATES: Final[Mapping[str, Mapping[str, Template]]] = {
    CHIP_310P: {
        "vir01": Template(1, 1),
        "vir02": Template(2, 2),
        "vir02_1c": Template(2, 1),
        "vir04": Template(4, 4),
        "vir04_3c": Template(4, 3),
        "vir04_3c_ndvpp": Template(4, 3, "no"),
        "vir04_4c_dvpp": Template(4, 4, "yes"),
    },
    "910B1": _B1_B2,
    "910B2C": _B1_B2,
    "910B2": _B1_B2,
    "910B3": _B3,
    "910B4-1": _B3,
    "910B4": {
        "vir05_1c_8g": Template(5, 1),
        "vir10_3c_16g": Template(10, 3),
        "vir10_3c_16g_nm": Template(10, 3, "no"),
        "vir10_4c_16g_m": Template(10, 4, "yes"),
    },
    "Ascend910A3-20": _B3,
    "Ascend910A3-24": {"vir06_1c_16g": Template(6, 1), "vir12_3c_32g": Template(12, 3)},
}
"""Template key of a node (chip type, chip name or server type) -> templates by name."""

CHIP_SIZES: Final[Mapping[tuple[str, int], int]] = {
    (CHIP_310P, 8): 7,
    (CHIP_310P, 10): 7,
    ("910B1", 25): 6,
    ("910B2C", 24): 6,
    ("910B2", 24): 6,
    ("910B3", 20): 6,
    ("910B4", 20): 6,
    ("910B4-1", 20): 6,
    ("Ascend910A3-20", 20): 6,
    ("Ascend910A3-24", 24): 6,
}
"""(chip type, chip name or server type; AI cores of a chip) -> AI CPUs of a chip."""

LEGAL_CORES: Final[Mapping[str, tuple[tuple[int, ...], tuple[int, ...]]]] = {
    CHIP_310P: ((1, 2, 4), (8, 10)),
    "910B1": ((6, 12), (25,)),
    "910B2": ((6, 12), (24,)),
    "910B2C": ((6, 12), (24,)),
    "910B3": ((5, 10), (20,)),
    "910B4": ((5, 10), (20,)),
    "910B4-1": ((5, 10), (20,)),
    "Ascend910A3-20": ((5, 10), (20,)),
    "Ascend910A3-24": ((6, 12), (24,)),
}
"""Template key -> what the scheduler's job check accepts: these counts, and multiples of these."""

STATIC_TYPES: Final = (
    "Ascend910-2c",
    "Ascend910-4c",
    "Ascend910-8c",
    "Ascend910-16c",
    "Ascend310P-1c",
    "Ascend310P-2c",
    "Ascend310P-2c.1cpu",
    "Ascend310P-4c",
    "Ascend310P-4c.3cpu",
    "Ascend310P-4c.3cpu.ndvpp",
    "Ascend310P-4c.4cpu.dvpp",
    "Ascend910-6c.1cpu.16g",
    "Ascend910-12c.3cpu.32g",
    "Ascend910-5c.1cpu.8g",
    "Ascend910-5c.1cpu.16g",
    "Ascend910-10c.3cpu.16g",
    "Ascend910-10c.3cpu.16g.ndvpp",
    "Ascend910-10c.4cpu.16g.dvpp",
    "Ascend910-10c.3cpu.32g",
    "Ascend910-3c.1cpu.8g",
)
"""Types of static vNPUs; the resource is huawei.com/ before the type."""


def template_key(chip_type: str, chip_name: str, server_type: str) -> str:
    """The key of a node in TEMPLATES; may be unknown there."""
    if chip_type == CHIP_310P:
        return CHIP_310P
    return server_type if server_type.startswith(A3_SERVER) else chip_name


def cores_are_legal(key: str, cores: int) -> bool:
    """True if the job check accepts a pod of this many AI cores for a template key."""
    counts, units = LEGAL_CORES.get(key, ((), ()))
    return cores in counts or (cores > 0 and any(cores % unit == 0 for unit in units))


def possible_keys(chip_name: str | None, server_type: str | None, accelerator: str) -> tuple[str, ...]:
    """Template keys of A2 and A3 nodes that carry these labels; None and "" = not known. `accelerator` is the
    accelerator-type."""
    a3 = tuple(key for key in LEGAL_CORES if key.startswith(A3_SERVER))
    a2 = tuple(key for key in LEGAL_CORES if key != CHIP_310P and key not in a3)
    if server_type is not None and server_type.startswith(A3_SERVER):
        return tuple(key for key in a3 if key == server_type)
    if chip_name is not None:
        return tuple(key for key in a2 if key == chip_name)
    if server_type is not None:
        cores = server_type.split("-")[1:2]
        sized = bool(cores) and cores[0].isascii() and cores[0].isdigit()
        return tuple(key for key in a2 if not sized or (key, int(cores[0])) in CHIP_SIZES)
    if "910b" in accelerator:
        return a2
    return a3 if "-a3-" in accelerator else a2 + a3


def template_for(key: str, cores: int, level: str, dvpp: str) -> str | None:
    """Name of the template that a request turns into on a node; None if there is none. Where templates of a size differ
    in video units, `dvpp` picks; where two are left (310P), `level` high picks the one with more CPUs."""
    table = TEMPLATES.get(key, {})
    fitting = [name for name, template in table.items() if template.cores == cores]
    if len({table[name].dvpp for name in fitting}) > 1:
        fitting = [name for name in fitting if table[name].dvpp == dvpp]
    fitting.sort(key=lambda name: table[name].cpus, reverse=level == "high")
    return fitting[0] if fitting else None


def name_of(key: str, template: Template) -> str | None:
    """Template name of cores, CPUs and video units; unique within a key."""
    return next((name for name, known in TEMPLATES.get(key, {}).items() if known == template), None)


def downgraded(key: str, template: Template) -> Template | None:
    """The smaller sibling that a 310P node offers where CPUs are short; None if there is none."""
    if key != CHIP_310P or template.dvpp == "yes" or template.cores not in (2, 4) or template.cpus != template.cores:
        return None
    return template._replace(cpus={2: 1, 4: 3}[template.cores])
