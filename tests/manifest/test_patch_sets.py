"""One StatefulSet a rank (chapter 50 §6.4, §6.6 g)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ascendctl import load_jobs, load_snapshot, place, validate
from ascendctl.engine.result import Placement
from ascendctl.manifest.patch import patch_texts
from ascendctl.manifest.patch_pins import PatchError
from ascendctl.yamlio.read import read_documents
from tests.ranks.world import a2, a3

SET = """\
# the service's own set
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: srv}
spec:
  serviceName: srv
  replicas: 2
  ordinals: {start: 3}
  podManagementPolicy: Parallel
  selector: {matchLabels: {app: srv}}
  template:
    metadata:
      labels: {app: srv}
      annotations: {huawei.com/schedule_policy: POLICY, huawei.com/schedule_minAvailable: "2"}
    spec:
      schedulerName: volcano
      nodeSelector: {accelerator-type: SELECTOR}
      containers:
      - name: ascend
        image: registry.local/s:1
        resources: {requests: {huawei.com/Ascend910: NPUS}, limits: {huawei.com/Ascend910: NPUS}}
"""


def manifest(policy: str = "chip8-node8", selector: str = "module-910b-8", npus: int = 8) -> str:
    return SET.replace("POLICY", policy).replace("SELECTOR", selector).replace("NPUS", str(npus))


def sets(text: str, nodes: Any = None) -> list[dict[str, Any]]:
    patched = patch_texts([("a.yaml", text)], nodes or a2("a", "b"), mode="hostname").files[0][2]
    return [document.value for document in read_documents(patched)]


def test_each_pod_gets_a_set_of_its_own() -> None:
    first, second = sets(manifest())
    for value, rank, node in ((first, 3, "a"), (second, 4, "b")):
        spec, template = value["spec"], value["spec"]["template"]
        assert value["metadata"]["name"] == f"srv-r{rank}"
        assert (spec["replicas"], spec["ordinals"], spec["serviceName"]) == (1, {"start": rank}, "srv")
        labels = {"app": "srv", "ascendctl.io/rank": str(rank)}
        assert spec["selector"] == {"matchLabels": labels}
        assert template["metadata"]["labels"] == labels
        assert template["metadata"]["annotations"]["huawei.com/schedule_minAvailable"] == "1"
        assert template["spec"]["nodeSelector"]["kubernetes.io/hostname"] == f"h-{node}"


def test_the_sets_land_where_the_pods_did_and_are_patched_once() -> None:
    cluster = a2("a", "b", "c")
    patch = patch_texts([("a.yaml", manifest())], cluster, mode="hostname")
    text = patch.files[0][2]
    jobs = load_jobs(text)
    found = [(job.pods[0].name, job.pods[0].rank, place(job, cluster)) for job in jobs]
    assert all(isinstance(result, Placement) for _, _, result in found)
    assert [(name, rank, result.pods[0].node) for name, rank, result in found] == [
        ("srv-r3-3", 3, "a"), ("srv-r4-4", 4, "b"),
    ]  # fmt: skip
    assert [f.rule for f in validate(text) if f.severity == "error"] == []
    assert patch_texts([("a.yaml", text)], cluster, mode="hostname").files[0][2] == text
    assert any("no gang" in note.message for note in patch.notes)


def test_other_documents_of_the_file_stay() -> None:
    text = "# one\nkind: Service\napiVersion: v1\nmetadata: {name: srv}   # kept\n---\n" + manifest()
    patched = patch_texts([("a.yaml", text)], a2("a", "b"), mode="hostname").files[0][2]
    assert patched.startswith("# one\nkind: Service\napiVersion: v1\nmetadata: {name: srv}   # kept\n---\n")
    assert patched.count("kind: StatefulSet") == 2


@pytest.mark.parametrize(
    ("text", "cluster", "message"),
    [
        (
            manifest("chip2-node16-sp", "module-a3-16-super-pod", 16).replace(
                "huawei.com/schedule_minAvailable", "sp-block: '32', huawei.com/schedule_minAvailable"
            ),
            a3(a=1, b=1),
            "plans all pods together",
        ),
        (manifest() + "  volumeClaimTemplates: [{metadata: {name: data}}]\n", a2("a", "b"), "volumeClaimTemplates"),
        (
            manifest().replace("{name: srv}", "{name: srv, labels: {ring-controller.atlas: ascend-910b}}"),
            a2("a", "b"),
            "rank table",
        ),
    ],
)
def test_sets_that_cannot_be_split(text: str, cluster: Any, message: str) -> None:
    with pytest.raises(PatchError, match=message):
        patch_texts([("a.yaml", text)], cluster, mode="hostname")


def test_the_default_stays_a_set_of_nodes() -> None:
    (value,) = [d.value for d in read_documents(patch_texts([("a.yaml", manifest())], a2("a", "b")).files[0][2])]
    terms = value["spec"]["template"]["spec"]["affinity"]["nodeAffinity"]
    assert value["metadata"]["name"] == "srv" and terms and value["spec"]["replicas"] == 2


def test_ordinals_enforce_the_ranks() -> None:
    """§6.7: the rank numbers of a StatefulSet hold, which pod takes which node of the set is open."""
    notes = patch_texts([("a.yaml", manifest())], a2("a", "b")).notes
    (text,) = [note.message for note in notes if note.message.startswith("enforced")]
    assert text == "enforced: a set of 2 nodes, rank numbers, NPU ids; advisory: which rank takes which node of a set"


def test_a_sample() -> None:
    folder = Path(__file__).parents[2] / "samples" / "a2"
    text = (folder / "statefulset-2x4.yaml").read_text(encoding="utf-8")
    cluster = load_snapshot(str(folder / "dump"))
    found = sets(text, cluster)
    assert [value["spec"]["template"]["spec"]["nodeSelector"]["kubernetes.io/hostname"] for value in found] == [
        "a2-03", "a2-02",
    ]  # fmt: skip


def test_line_ends_of_the_file_stay() -> None:
    service = "apiVersion: v1\nkind: Service\nmetadata: {name: srv}\n---\n"
    text = (service + manifest()).replace("\n", "\r\n").removesuffix("\r\n")
    windows, unix = (
        patch_texts([("a.yaml", each)], a2("a", "b"), mode="hostname").files[0][2]
        for each in (text, service + manifest())
    )
    assert windows.replace("\r\n", "\n") == unix and windows.count("\n") == windows.count("\r\n")


def test_the_ranks_of_one_set_are_not_said_to_be_wrong() -> None:
    """Each set is one rank of a larger whole, so ranks other than 0 are right; without the label they are not."""
    where = a2("a", "b")
    patched = patch_texts([("a.yaml", manifest())], where, mode="hostname").files[0][2]
    for text, wrong in ((patched, False), (patched.replace("ascendctl.io/rank", "team/rank"), True)):
        results = [place(job, where) for job in load_jobs(text)]
        assert [result.outcome for result in results] == ["placed", "placed"]
        assert any("RK-01" in note for result in results for note in result.trace.notes) == wrong
