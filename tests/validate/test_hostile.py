"""Nothing that a file may hold gives a traceback, and every finding has a position and a whole sentence."""

from __future__ import annotations

import copy
import json
import random
import re
from pathlib import Path
from typing import Any

import pytest

from ascendctl.validate.api import inspect
from ascendctl.validate.options import Options
from ascendctl.validate.reporters import FORMATS, render
from ascendctl.validate.run import evaluate, load
from tests.validate.manifests import ascend_job, batch_job, deployment, infer_service, pod, volcano_job

DATA = Path(__file__).parents[1] / "data"
ODD: list[Any] = [
    None, True, 0, -1, 2.5, 1e300, 70000, 2**70, "", "x", "Never", "8", "500m", "a b", "\x00é\u202e", [], ["x"], [None],
    [{}], [[]], {}, {"x": 1}, {"": None}, {"a": {"b": {"c": [1]}}},
]  # fmt: skip
SERVING = {"apiVersion": "x/v1", "kind": "Serving", "spec": {"t": {"spec": pod()["spec"]}}}
STORM = {
    "apiVersion": "orchestration.aibrix.ai/v1alpha1", "kind": "StormService", "metadata": {"name": "s"},
    "spec": {"template": {"spec": {"roles": [{"name": "a", "podGroupSize": 1, "template": {"spec": pod()["spec"]}}]}}},
}  # fmt: skip
GROUP = {
    "apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet", "metadata": {"name": "l"},
    "spec": {"leaderWorkerTemplate": {"size": 2, "workerTemplate": {"spec": pod()["spec"]}}},
}  # fmt: skip
OME = {
    "apiVersion": "ome.io/v1beta1", "kind": "InferenceService", "metadata": {"name": "o"},
    "spec": {"runtime": {"name": "r"}, "engine": {"minReplicas": 1, "runner": pod()["spec"]["containers"][0]}},
}  # fmt: skip
LISTED = {"apiVersion": "v1", "kind": "List", "items": [pod()]}
BASES = [
    ascend_job(), volcano_job(), deployment(), deployment(kind="StatefulSet"), batch_job(), pod(), infer_service(),
    SERVING, STORM, GROUP, OME, LISTED,
]  # fmt: skip
PROFILES = [
    Options(verbose=True),
    Options(verbose=True, volcano="1.9", admission=True),
    Options(strict=True, product="a3-pod", super_pod_size=0),
    Options(gang=False, dialect="any", template_paths=(("Serving", "spec.t"),)),
]
BITS = [
    b"\x00", b"\xff", b"\t", b"\r", b"\n", b"---\n", b"...\n", b"&a ", b"*a", b"<<: ", b"{", b"}", b"[", b"]", b'"', b"'",
    b"|", b">", b"- ", b": ", b"#", b"{{", b"\xef\xbb\xbf", b"!!binary ", b"null", b"# ascendctl: disable=SPB-13 x", b"on",
    b"1e400", b"? ", b"%", b"@", b"  ",
]  # fmt: skip


def spots(node: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    return ([path] if path else []) + [spot for key, value in items for spot in spots(value, (*path, key))]


def spoil(value: Any, chance: random.Random) -> None:
    for _ in range(chance.choice([1, 1, 2, 5])):
        places = spots(value)
        if not places:
            return
        path = chance.choice(places)
        holder = value
        for part in path[:-1]:
            holder = holder[part]
        kind = chance.random()
        if kind < 0.15:
            del holder[path[-1]]
        elif kind < 0.3 and isinstance(holder, dict):
            holder[chance.choice(["x", "name", "spec", "metadata", "huawei.com/npu", "labels"])] = holder.pop(path[-1])
        else:
            holder[path[-1]] = copy.deepcopy(chance.choice(ODD))


@pytest.mark.parametrize("seed", range(6))
def test_fields_with_odd_values(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(60):
        documents = [copy.deepcopy(chance.choice(BASES)) for _ in range(chance.choice([1, 1, 2, 3]))]
        for document in documents:
            spoil(document, chance)
        report = inspect("# text\n" + "\n---\n".join(map(json.dumps, documents)), chance.choice(PROFILES))
        for finding in report.findings:
            assert finding.line >= 1 and finding.column >= 1
            assert not re.search(r"(?<!\$)\{[a-z_]+\}", finding.message + finding.hint), finding
    for name in FORMATS:
        assert render(report, name) is not None


@pytest.mark.parametrize("seed", range(4))
def test_text_with_odd_bytes(seed: int) -> None:
    chance = random.Random(seed)
    texts = [path.read_bytes() for path in sorted(DATA.glob("*/*.yaml"))]
    for _ in range(60):
        data = bytearray(chance.choice(texts))
        for _ in range(chance.choice([1, 2, 3, 8])):
            at, kind = chance.randrange(len(data)), chance.random()
            if kind < 0.5:
                data[at:at] = chance.choice(BITS)
            elif kind < 0.7:
                del data[at : at + chance.choice([1, 2, 10, 100])]
            elif kind < 0.85:
                start = chance.randrange(len(data))
                data[at:at] = data[start : start + chance.choice([5, 50, 300])]
            else:
                data[at] = chance.randrange(256)
        loaded = load("a.yaml", bytes(data), PROFILES[0])
        found, _ = evaluate(loaded, PROFILES[0], loaded.index)
        assert all(finding.line >= 1 and finding.column >= 1 for finding in found)


@pytest.mark.parametrize(
    "text",
    [
        "a: " + "[" * 5000 + "]" * 5000,
        "{" + '"a":{' * 5000 + "}" * 5001,
        "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(f"b{i}: &b{i} [*a,*a,*a,*a,*a,*a,*a,*a]\n" for i in range(3)),
        "kind: Pod\napiVersion: v1\nspec: &s\n  a: *s\n",
        json.dumps({**pod(), "metadata": {"name": "x" * 100_000, "labels": {"y" * 100_000: "z" * 100_000}}}),
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: a, image: b, env: ["
        + ",".join(f"{{name: V{i}, value: x}}" for i in range(3000))
        + "]}]}\n",
    ],
)
def test_bombs_are_refused_or_fine(text: str) -> None:
    inspect("# text\n" + text, Options(verbose=True))


def test_lone_surrogates_reach_no_output() -> None:
    text = '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"\\ud800","labels":{"\\udfff":"\\ud800"}},"spec":{}}'
    report = inspect(text, Options(verbose=True))
    for name in FORMATS:
        render(report, name).encode()
