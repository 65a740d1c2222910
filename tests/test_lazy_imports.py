"""What a small placement must not import, for it would make a cold start slower."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.test_vectors import FAMILIES

SLOW = ("numpy.ma", "numba", "jsonschema")
PROGRAM = """
import sys
import ascendctl
from tests import cases
from tests.test_vectors import FOLDER
for case in cases.load(FOLDER / f"{sys.argv[1]}.jsonl.gz")[:10]:
    cluster = ascendctl.load_snapshot(cases.objects(case))
    job = ascendctl.load_jobs(cases.manifest(case))[0]
    if case["job"].get("fault"):
        ascendctl.reschedule(job, cluster, cases.previous(case), cases.faulty(case))
    else:
        ascendctl.place(job, cluster)
print(*(name for name in sys.argv[2:] if name in sys.modules))
"""


@pytest.mark.parametrize(
    "family", [name for name in FAMILIES if not name.startswith("intra-")] + ["intra-vnpu-dynamic"]
)
def test_placements(family: str) -> None:
    run = subprocess.run([sys.executable, "-c", PROGRAM, family, *SLOW], capture_output=True, text=True, check=True)
    assert run.stdout.split() == []
