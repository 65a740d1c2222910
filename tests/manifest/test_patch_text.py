"""What a patch leaves alone: everything but the changed lines (chapter 40 §7 no. 30)."""

from __future__ import annotations

import difflib
from typing import Any

import pytest

from ascendctl import load_jobs, place
from ascendctl.manifest.patch import patch_texts
from ascendctl.manifest.patch_pins import PatchError
from ascendctl.yamlio.errors import ReadError
from ascendctl.yamlio.read import read_documents
from tests.ranks.world import a2, acjob, vcjob

HOST = "kubernetes.io/hostname"

MANIFEST = """\
# a job with its companions
apiVersion: v1
kind: ConfigMap
metadata:
    name:   rings-config-demo     # odd spacing stays
    labels: {ring-controller.atlas: ascend-910b}
data:
    hccl.json: |
        {
            "status":"initializing"
        }
--- # the job
apiVersion: mindxdl.gitee.com/v1
kind: AscendJob
metadata:
  name: demo
  labels:
      framework: 'pytorch'      # quoted for no reason

      ring-controller.atlas: "ascend-910b"
  annotations: {huawei.com/schedule_policy: chip8-node8}
spec:
  schedulerName: volcano
  runPolicy: {schedulingPolicy: {minAvailable: 2, queue: default}}
  replicaSpecs:
    Worker:      # workers first
      replicas: 1
      template:
        spec: &pod
          nodeSelector:
            accelerator-type: module-910b-8
          containers:
            - name: ascend
              image: registry.local/train:1
              command:
                - bash
                - -c
                - |
                  export X=1   # in a script
                  python train.py --ranks {{ranks}}
              resources:
                limits:   {huawei.com/Ascend910: 8}
                requests: {huawei.com/Ascend910: 8}
    Master:
      replicas: 1
      template:
        spec:
          nodeSelector:
            accelerator-type: module-910b-8
            # host-arch: huawei-arm
          containers:
            - name: ascend
              image: registry.local/train:1
              resources: {requests: {huawei.com/Ascend910: 8}, limits: {huawei.com/Ascend910: 8}}
...
---
apiVersion: v1
kind: Service
metadata: {name: other}
spec:
  ports: [{port: 80}]
"""


def once(text: str, **more: Any) -> str:
    return patch_texts([("job.yaml", text)], a2("n1", "n2", "n3"), **more).files[0][2]


def changes(old: str, new: str) -> tuple[list[str], list[str]]:
    lines = list(difflib.ndiff(old.splitlines(keepends=True), new.splitlines(keepends=True)))
    return [one[2:] for one in lines if one.startswith("- ")], [one[2:] for one in lines if one.startswith("+ ")]


def test_only_lines_of_the_job_are_added() -> None:
    removed, added = changes(MANIFEST, once(MANIFEST))
    assert len(removed) == 1 and removed[0].startswith("  annotations: {huawei.com/schedule_policy")
    assert all(any(key in line for key in ("ascendctl.io", HOST, "metadata:", "annotations:")) for line in added)
    assert once(once(MANIFEST)) == once(MANIFEST)


def test_line_ends_bom_and_missing_last_newline_stay() -> None:
    windows = "\ufeff" + MANIFEST.replace("\n", "\r\n").removesuffix("\r\n")
    new = once(windows)
    assert new.startswith("\ufeff#")
    assert not new.endswith("\n")
    assert new.count("\n") == new.count("\r\n")
    assert new.replace("\r\n", "\n").removeprefix("\ufeff") + "\n" == once(MANIFEST)


def test_comments_in_other_scripts() -> None:
    text = MANIFEST.replace("# workers first", "# 先工作节点").replace("# odd spacing stays", "# é ü ✓")
    assert "# 先工作节点" in once(text) and "# é ü ✓" in once(text)


SHARED = """\
apiVersion: mindxdl.gitee.com/v1
kind: AscendJob
metadata: {name: demo, labels: {framework: pytorch}, annotations: {huawei.com/schedule_policy: %s}}
spec:
  runPolicy: {schedulingPolicy: {minAvailable: 2, queue: default}}
  replicaSpecs:
    Master: %s
      replicas: 1
      template: &template
        spec:
          nodeSelector: {accelerator-type: module-910b-8}
          containers:
          - {name: ascend, image: i, resources: {requests: {huawei.com/Ascend910: 8}, limits: {huawei.com/Ascend910: 8}}}
    Worker:
      replicas: 1
      template: *template
"""


def pinned_or_refused(text: str) -> Any:
    """Different pins must not meet in shared text: either both roles get their own, or nothing is written."""
    try:
        new = once(text)
    except PatchError as error:
        assert any(note.level == "error" for note in error.notes)
        return None
    (value,) = [d.value for d in read_documents(new)]
    specs = value["spec"]["replicaSpecs"]
    return [specs[role]["template"]["spec"]["nodeSelector"].get(HOST) for role in ("Master", "Worker")]


def test_an_alias_is_not_changed_behind_the_back_of_its_users() -> None:
    assert pinned_or_refused(SHARED % ("chip8-node8", "")) in (None, ["h-n1", "h-n2"])


def test_a_merge_key_is_written_beside() -> None:
    text = """\
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: demo, annotations: {huawei.com/schedule_policy: chip8-node8}}
spec:
  minAvailable: 2
  schedulerName: volcano
  queue: default
  tasks:
  - name: a
    replicas: 1
    template:
      spec:
        <<: &base
          restartPolicy: Never
          containers:
          - {name: ascend, image: i, resources: {requests: {huawei.com/Ascend910: 8}, limits: {huawei.com/Ascend910: 8}}}
        nodeSelector: {accelerator-type: module-910b-8}
  - name: b
    replicas: 1
    template:
      spec:
        <<: *base
        nodeSelector: {accelerator-type: module-910b-8}
"""
    (value,) = [d.value for d in read_documents(once(text))]
    found = [task["template"]["spec"]["nodeSelector"][HOST] for task in value["spec"]["tasks"]]
    assert found == ["h-n1", "h-n2"]


def test_jobs_of_one_run_see_each_other() -> None:
    where = a2("n1", "n2", "n3", "n4")
    two = (
        acjob({"Master": (1, 8), "Worker": (1, 8)}, name="one"),
        acjob({"Master": (1, 8), "Worker": (1, 8)}, name="two"),
    )
    result = patch_texts([("a.yaml", two[0]), ("b.yaml", two[1])], where)
    nodes = [pod.node for found in result.results for pod in found.pods]
    assert sorted(nodes) == ["n1", "n2", "n3", "n4"]
    assert [name for name, _, _ in result.files] == ["a.yaml", "b.yaml"]
    joined = patch_texts([("c.yaml", "---\n".join(two))], where).files[0][2]
    assert joined == "---\n".join(new for _, _, new in result.files)
    assert patch_texts([("c.yaml", joined)], where).files[0][2] == joined


def test_one_job_without_place_stops_all() -> None:
    two = [acjob({"Master": (1, 8), "Worker": (1, 8)}, name=name) for name in ("one", "two")]
    result = patch_texts([("a.yaml", two[0]), ("b.yaml", two[1])], a2("n1", "n2", "n3"))
    assert not result.placed
    assert all(old == new for _, old, new in result.files)


def test_text_that_cannot_be_read() -> None:
    with pytest.raises(ReadError, match="unrendered template"):
        once(MANIFEST + "---\n{{ template }}: [\n")


def test_a_job_without_npus_is_left_alone() -> None:
    text = vcjob({"w": (2, 0)})
    result = patch_texts([("job.yaml", text)], a2("n1"))
    assert result.files[0][2] == text
    assert [note.level for note in result.notes] == ["warning"]


def test_no_job_at_all() -> None:
    result = patch_texts([("x.yaml", "kind: Service\napiVersion: v1\n")], a2("n1"))
    assert not result.found and result.placed


def test_patched_manifest_is_placed_where_it_was() -> None:
    where = a2("n1", "n2", "n3")
    (before,), (after,) = load_jobs(MANIFEST), load_jobs(once(MANIFEST))
    first, second = place(before, where), place(after, where)
    assert [(p.node, p.npus, p.rank) for p in first.pods] == [(p.node, p.npus, p.rank) for p in second.pods]
