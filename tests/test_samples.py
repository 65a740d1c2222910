"""The samples are what their headers say: exact findings, exact placements, dumps without a flaw.

The expected values stand in the header of each manifest (`samples/README.md` explains the keys). They were worked out
by hand from chapters 10, 11, 20 to 23 and 40. `python -m tests.test_samples` copies them into the tables of
samples/README.md.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from ascendctl import load_jobs, load_snapshot, place, reschedule, validate
from ascendctl.engine.sequence import place_in_order
from ascendctl.products import CATALOGUE
from ascendctl.topology.csv_labels import overlay, read_labels
from ascendctl.validate.options import Options

SAMPLES = Path(__file__).parent.parent / "samples"
MANIFESTS = sorted(path for folder in SAMPLES.iterdir() if folder.is_dir() for path in folder.glob("*.yaml"))
DUMPS = sorted(path for path in SAMPLES.glob("*/*/") if path.name in ("dump", "before", "after"))
MAX_BYTES = 1_500_000

_KEY = re.compile(r"# (\w+)(?: ([^:]+))?: ?(.*)")


class Entry(NamedTuple):
    """One line of a header: `# pod train-0: node-1 0-7` is key pod, name train-0, text `node-1 0-7`."""

    key: str
    name: str
    text: str


def header(path: Path) -> list[Entry]:
    """The comment lines at the top of a manifest."""
    entries = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            break
        match = _KEY.fullmatch(line)
        assert match, f"{path}: no header line: {line}"
        entries.append(Entry(match[1], match[2] or "", match[3]))
    return entries


def texts(path: Path, key: str) -> list[str]:
    return [entry.text for entry in header(path) if entry.key == key]


def shown(path: Path) -> str:
    return path.relative_to(SAMPLES).as_posix()


def chips(text: str) -> list[int]:
    """ "0-3,6" as ids, in the order written; "-" is none."""
    ids: list[int] = []
    for part in text.split(",") if text != "-" else ():
        first, _, last = part.partition("-")
        ids += range(int(first), int(last or first) + 1)
    return ids


def dump_of(manifest: Path) -> Path:
    return next(d for d in (manifest.parent / "dump", manifest.parent / "before") if d.is_dir())


@lru_cache
def snapshot(folder: Path) -> Any:
    return load_snapshot(str(folder))


def placed(manifest: Path) -> list[dict[str, Any]]:
    """What becomes of the jobs of a file, each seeing what those before it took."""
    results, _ = place_in_order(load_jobs(str(manifest)), snapshot(dump_of(manifest)))
    return [result.to_dict() for result in results]


def verdict(result: dict[str, Any]) -> str:
    """`placed [policy]` or `unschedulable [policy] CODE`, as headers write it."""
    policy = result["job"]["policy"]
    return " ".join(filter(None, (result["outcome"], policy and f"[{policy}]", result["code"])))


WITH_PLACE = [path for path in MANIFESTS if texts(path, "place")]
names = [shown(path) for path in MANIFESTS]


@pytest.mark.parametrize("path", MANIFESTS, ids=names)
def test_findings(path: Path) -> None:
    found = validate(str(path))
    announced = sorted(f"{entry.key}: {entry.text}" for entry in header(path) if entry.key in ("error", "warning"))
    assert sorted(f"{f.severity}: {f.rule} {f.path}" for f in found) == announced
    expect = "invalid" if any(line.startswith("error") for line in announced) else "valid"
    assert texts(path, "expect") == [expect]
    with_infos = [
        f"{f.rule} {f.path}" for f in validate(str(path), options=Options(verbose=True)) if f.severity == "info"
    ]
    assert set(texts(path, "info")) <= set(with_infos)


@pytest.mark.parametrize("path", WITH_PLACE, ids=map(shown, WITH_PLACE))
def test_placement(path: Path) -> None:
    results = placed(path)
    assert [verdict(result) for result in results] == texts(path, "place")
    pods = {pod["name"]: pod for result in results for pod in result["pods"]}
    wanted = {entry.name: entry.text.split() for entry in header(path) if entry.key == "pod"}
    assert {name: [pod["node"], pod["npus"]] for name, pod in pods.items()} == {
        name: [node, chips(ids)] for name, (node, ids, *_) in wanted.items()
    }
    for name, (_, ids, *template) in wanted.items():
        if "vnpu" in results[0]["job"]["policy"] and ids != "-":
            assert pods[name]["annotations"]["huawei.com/npu-core"] == "-".join((ids, *template))
    for entry in header(path):
        if entry.key == "refused":
            groups = {group["code"]: group["nodes"] for result in results for group in result["nodes"]["rejected"]}
            assert groups[entry.name] == entry.text.split(", ")


def test_recovery() -> None:
    folder = SAMPLES / "reschedule-superpod"
    job = folder / "job.yaml"
    before = json.loads((folder / "placement.json").read_text(encoding="utf-8"))
    assert before == placed(job)[0]
    fault = before | {"fault": {"kind": "auto"}}
    result = reschedule(load_jobs(str(job))[0], snapshot(folder / "after"), fault, ["sp1-n0"]).to_dict()
    assert [verdict(result)] == texts(job, "reschedule")
    old = {pod["name"]: (pod["node"], pod["npus"]) for pod in before["pods"]}
    new = {pod["name"]: (pod["node"], pod["npus"]) for pod in result["pods"]}
    moved = {e.name: (e.text.split()[0], chips(e.text.split()[1])) for e in header(job) if e.key == "moved"}
    assert {name: where for name, where in new.items() if old[name] != where} == moved


def test_hypernodes() -> None:
    path = SAMPLES / "hypernode" / "one-hall.yaml"
    results, _ = place_in_order(load_jobs(str(path)), snapshot(dump_of(path)), hypernodes=0)
    assert_lands(path, results[0].to_dict(), "hypernodes", "under")


def test_label_table() -> None:
    path = SAMPLES / "multilevel" / "four-pods.yaml"
    table = read_labels((path.parent / "halls.csv").read_text(encoding="utf-8"), "halls.csv")
    cluster, unknown = overlay(snapshot(dump_of(path)), table)
    assert not unknown
    assert_lands(path, place(load_jobs(str(path))[0], cluster).to_dict(), "overlay", "over")


def assert_lands(path: Path, result: dict[str, Any], key: str, pod_key: str) -> None:
    """The result is what these keys of the header say."""
    assert [verdict(result)] == texts(path, key)
    wanted = {entry.name: entry.text.split() for entry in header(path) if entry.key == pod_key}
    assert {pod["name"]: [pod["node"], pod["npus"]] for pod in result["pods"]} == {
        name: [node, chips(ids)] for name, (node, ids) in wanted.items()
    }


def test_every_product_has_samples() -> None:
    products = {product.name for product in CATALOGUE}
    for expect in ("valid", "invalid"):
        shown_products = {
            name for path in MANIFESTS if texts(path, "expect") == [expect] for name in texts(path, "product")
        }
        assert shown_products <= products
        if expect == "valid":
            assert shown_products == products


@pytest.mark.parametrize("folder", DUMPS, ids=map(shown, DUMPS))
def test_dump_is_clean(folder: Path) -> None:
    cluster = snapshot(folder)
    assert 3 <= cluster.size <= 13
    assert not validate(str(folder))
    # the device plugin writes the faults of 310 chips under a key of the 310P (chapter 30 §3.1)
    assert {d.code for d in cluster.diagnostics} == ({"S318"} if folder.parent.name == "300i" else set())


LINE = re.compile(r"^\| \[([^]]+)\]\(\1\) \| (.*?) \| (.*?) \|$", re.MULTILINE)


def test_listed() -> None:
    """samples/README.md has a line for every manifest, with the outcome of its header."""
    page = (SAMPLES / "README.md").read_text(encoding="utf-8")
    assert {name: (finds, place) for name, finds, place in LINE.findall(page)} == {
        shown(path): summary(path) for path in MANIFESTS
    }


def summary(path: Path) -> tuple[str, str]:
    """The cells of a manifest in samples/README.md: the rules it breaks, and what becomes of it."""
    rules = [e.text.split()[0] for e in header(path) if e.key in ("error", "warning")]
    places = ["`" + text + "`" for text in texts(path, "place")]
    return ", ".join(dict.fromkeys(rules)) or "-", ", ".join(dict.fromkeys(places)) or "-"


def test_size() -> None:
    assert sum(path.stat().st_size for path in SAMPLES.rglob("*") if path.is_file()) < MAX_BYTES


def rewrite() -> None:
    """Bring the lines of samples/README.md up to date with the headers."""
    page = SAMPLES / "README.md"
    text = LINE.sub(
        lambda m: "| [{0}]({0}) | {1} | {2} |".format(m[1], *summary(SAMPLES / m[1])), page.read_text(encoding="utf-8")
    )
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    rewrite()
