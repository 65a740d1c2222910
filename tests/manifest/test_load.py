"""Manifests -> Jobs: chapter 40 §1.1, §1.5, §1.9, §1.10, chapter 50 §3.3."""

from __future__ import annotations

from pathlib import Path

import pytest

from ascendctl.manifest.load import load_jobs
from ascendctl.yamlio.errors import ReadError

ASCEND_JOB = """\
apiVersion: mindxdl.gitee.com/v1
kind: AscendJob
metadata:
  name: train
  labels: {framework: pytorch, tor-affinity: null}
  annotations: {sp-block: 32}
spec:
  runPolicy: {schedulingPolicy: {minAvailable: 2, queue: gold}}
  replicaSpecs:
    Worker:
      replicas: 3
      template:
        metadata: {annotations: {huawei.com/schedule_policy: chip2-node16-sp, custom: "1"}}
        spec:
          nodeSelector: {accelerator-type: module-a3-16}
          containers:
          - name: ascend
            resources: {requests: {huawei.com/Ascend910: 16}, limits: {huawei.com/Ascend910: 16}}
          - name: sidecar
    Master:
      replicas: 1
      template:
        spec:
          nodeSelector: {accelerator-type: MODULE-A3-16}
          containers:
          - {name: ascend, resources: {requests: {huawei.com/Ascend910: %s}}}
"""


def workload(kind: str, api: str, spec: str, meta: str = "{name: w}", template: str = "{}") -> str:
    return (
        f"apiVersion: {api}\nkind: {kind}\nmetadata: {meta}\nspec:\n  {spec}\n  template:\n    metadata: {template}\n"
        "    spec:\n      containers:\n      - {name: ascend, resources: {requests: {huawei.com/npu: 2}}}\n"
    )


def test_ascend_job() -> None:
    (job,) = load_jobs(ASCEND_JOB % 16)
    assert (job.name, job.namespace, job.kind, job.owner_kind) == ("train", "default", "AscendJob", "AscendJob")
    assert [role.name for role in job.roles] == ["Master", "Worker"]  # the leader comes first
    assert [(pod.name, pod.rank) for pod in job.pods] == [
        ("train-master-0", 0),
        ("train-worker-0", 1),
        ("train-worker-1", 2),
        ("train-worker-2", 3),
    ]
    assert job.min_available == 2
    assert (job.resource, job.npus) == ("huawei.com/Ascend910", 32)  # of the first two pods
    assert job.npu_pod_count == 4 and job.distributed
    assert job.queue == "gold"
    assert job.sp_block == 32  # an unquoted number counts with its text
    assert job.tor_affinity == "null"
    assert job.selector == {"accelerator-type": "MODULE-A3-16"}  # equal but for case: not joined


def test_leader_without_npus_shares_rank_zero() -> None:
    (job,) = load_jobs(ASCEND_JOB % 0)
    assert [(pod.name, pod.rank) for pod in job.pods][:2] == [("train-master-0", 0), ("train-worker-0", 0)]
    assert [pod.rank for pod in job.pods] == [0, 0, 1, 2]


def test_the_operator_does_not_see_limits_of_a_leader() -> None:
    limits = (ASCEND_JOB % 16).replace("{name: ascend, resources: {requests:", "{name: ascend, resources: {limits:")
    (job,) = load_jobs(limits)
    assert [role.npus for role in job.roles] == [16, 16]  # the pods get requests from their limits
    assert [pod.rank for pod in job.pods] == [0, 0, 1, 2]


def test_copied_annotation_comes_from_the_first_pod_and_only_known_keys_do() -> None:
    (job,) = load_jobs(ASCEND_JOB % 16)
    assert job.policy_name is None  # the Master has none; the reference would ask any one pod
    swapped = (ASCEND_JOB % 16).replace("Worker:", "Later:").replace("Master:", "Worker:").replace("Later:", "Master:")
    (job,) = load_jobs(swapped)
    assert job.policy_name == "chip2-node16-sp"
    assert "custom" not in job.annotations


def test_positions_of_attributes() -> None:
    (job,) = load_jobs(ASCEND_JOB % 16)
    assert job.source.path("annotation", "sp-block") == ("metadata", "annotations", "sp-block")
    assert job.source.path("role", 1, "annotation", "huawei.com/schedule_policy") == (
        "spec", "replicaSpecs", "Worker", "template", "metadata", "annotations", "huawei.com/schedule_policy",
    )  # fmt: skip
    assert job.source.path("role", 0, "npus") == (
        "spec", "replicaSpecs", "Master", "template", "spec", "containers", 0, "resources", "requests",
        "huawei.com/Ascend910",
    )  # fmt: skip
    assert job.source.path("label", "absent") == ()


@pytest.mark.parametrize(
    ("kind", "api", "spec", "meta", "template", "npus", "minimum", "pods"),
    [
        # chapter 40 §1.5, first table; n = 2
        ("Deployment", "apps/v1", "replicas: 3", "{name: w}", "{}", 6, 3, 3),
        ("Deployment", "apps/v1", "replicas: 3", "{name: w}", '{annotations: {huawei.com/schedule_minAvailable: "2"}}', 4, 2, 3),
        ("StatefulSet", "apps/v1", "replicas: 3", "{name: w}", "{}", 2, 1, 3),
        ("StatefulSet", "apps/v1", "replicas: 3", "{name: w}", '{annotations: {huawei.com/schedule_minAvailable: "3"}}', 6, 3, 3),
        ("Job", "batch/v1", "parallelism: 4", "{name: w}", "{}", 2, 1, 4),
        ("Job", "batch/v1", "{parallelism: 4, completions: 2,", "{name: w}", "{}", 2, 1, 2),
        # group-min-member m = 2
        ("StatefulSet", "apps/v1", "replicas: 3", '{name: w, annotations: {scheduling.volcano.sh/group-min-member: "2"}}', "{}", 4, 2, 3),
        ("Deployment", "apps/v1", "replicas: 3", '{name: w, annotations: {scheduling.volcano.sh/group-min-member: "2"}}', "{}", 12, 3, 3),
        # an unreadable gang size counts as 1
        ("StatefulSet", "apps/v1", "replicas: 3", "{name: w}", '{annotations: {huawei.com/schedule_minAvailable: "x"}}', 2, 1, 3),
    ],
)  # fmt: skip
def test_size_by_owner(
    kind: str, api: str, spec: str, meta: str, template: str, npus: int, minimum: int, pods: int
) -> None:
    spec = spec.strip("{").rstrip(",").replace(", ", "\n  ")
    (job,) = load_jobs(workload(kind, api, spec, meta, template))
    assert (job.npus, job.min_available, len(job.pods)) == (npus, minimum, pods)


def test_keys_on_the_workload_are_dead_but_volcanos_are_inherited() -> None:
    meta = "{name: w, labels: {duo: 'true'}, annotations: {sp-block: '16', volcano.sh/schedule.plugin: npu}}"
    (job,) = load_jobs(workload("Deployment", "apps/v1", "replicas: 1", meta))
    assert job.labels == {}
    assert job.annotations == {"volcano.sh/schedule.plugin": "npu"}


def test_labels_that_differ_are_joined() -> None:
    task = "  - {name: %s, replicas: 1, template: {metadata: {labels: {duo: '%s'}}, spec: {containers: [{name: a}]}}}\n"
    text = "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: v}\nspec:\n  tasks:\n"
    (job,) = load_jobs(text + task % ("a", "true") + task % ("b", "false"))
    assert job.labels == {"duo": "true|false"}
    assert job.kind == "vcjob"
    assert [pod.name for pod in job.pods] == ["v-a-0", "v-b-0"]


def test_explicit_pod_group_wins() -> None:
    text = """\
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: pair, annotations: {huawei.com/schedule_policy: chip8-node8}}
spec: {minMember: 2, minResources: {huawei.com/Ascend910: 16}}
---
apiVersion: v1
kind: Pod
metadata: {name: p0, annotations: {scheduling.k8s.io/group-name: pair, huawei.com/schedule_policy: other}}
spec: {containers: [{name: a, resources: {requests: {huawei.com/Ascend910: 8}}}]}
"""
    (job,) = load_jobs(text)
    assert job.policy_name == "chip8-node8"
    assert (job.npus, job.min_available) == (16, 2)


INFER = """\
apiVersion: mindcluster.huawei.com/v1
kind: InferServiceSet
metadata: {name: llm}
spec:
  replicas: 2
  template:
    roles:
    - name: prefill
      replicas: 2
      metadata:
        labels: {infer.huawei.com/gang-schedule: "%s", keep: "yes"}
        annotations: {huawei.com/schedule_policy: chip2-node16-sp}
      workload: {apiVersion: apps/v1, kind: StatefulSet}
      spec:
        replicas: 3
        template: {spec: {containers: [{name: a, resources: {requests: {huawei.com/Ascend910: 16}}}]}}
"""


def test_infer_instances_are_jobs() -> None:
    jobs = load_jobs(INFER % "true")
    assert [job.name for job in jobs] == ["llm-0-prefill-0", "llm-0-prefill-1", "llm-1-prefill-0", "llm-1-prefill-1"]
    first = jobs[0]
    assert first.kind == "InferServiceSet"
    assert (first.npus, first.min_available, len(first.pods)) == (48, 3, 3)
    assert first.labels == {"infer.huawei.com/gang-schedule": "true", "keep": "yes", "inferserviceid": "llm-0"}
    assert first.policy_name == "chip2-node16-sp"


def test_without_gang_an_instance_is_a_plain_stateful_set() -> None:
    first = load_jobs(INFER % "false")[0]
    assert (first.npus, first.min_available) == (16, 1)
    assert first.policy_name is None
    assert first.labels == {"inferserviceid": "llm-0"}


def test_several_documents_and_companions() -> None:
    text = "---\n".join(["apiVersion: v1\nkind: Service\nmetadata: {name: s}\n", ASCEND_JOB % 1, ASCEND_JOB % 1])
    assert [job.source.document.index for job in load_jobs(text) if job.source.document] == [1, 2]


def test_a_folder(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(ASCEND_JOB % 16)
    (tmp_path / "b.txt").write_text("no: manifest")
    assert [job.source.file for job in load_jobs(tmp_path)] == [str(tmp_path / "a.yaml")]


@pytest.mark.parametrize("text", ["a: [1\nb: 2\n", "- 1\n", "3\n...\n"])
def test_unreadable_text_has_a_position(text: str) -> None:
    with pytest.raises(ReadError) as caught:
        load_jobs(text)
    assert caught.value.line > 0


@pytest.mark.parametrize(
    "text",
    [
        "kind: AscendJob\n",
        "apiVersion: mindxdl.gitee.com/v1\nkind: AscendJob\nspec: 3\n",
        "apiVersion: mindxdl.gitee.com/v1\nkind: AscendJob\nspec: {replicaSpecs: [1]}\n",
        "apiVersion: mindxdl.gitee.com/v1\nkind: AscendJob\nspec: {replicaSpecs: {Master: null}}\n",
        "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nspec: {tasks: [1, {template: 2}]}\n",
        "apiVersion: apps/v1\nkind: Deployment\nspec: {replicas: 100000000, template: {spec: {}}}\n",
    ],
)
def test_broken_workloads_give_no_job(text: str) -> None:
    assert load_jobs(text) == []


def test_broken_fields_do_not_stop_the_reader() -> None:
    text = workload("Deployment", "apps/v1", "replicas: -3").replace("huawei.com/npu: 2", "huawei.com/npu: two")
    (job,) = load_jobs(text)
    assert (job.resource, job.npus, len(job.pods)) == ("huawei.com/npu", 0, 1)


def test_ranks_of_a_stateful_set_are_its_ordinals() -> None:
    (job,) = load_jobs(workload("StatefulSet", "apps/v1", "replicas: 2\n  ordinals: {start: 4}"))
    assert [(pod.name, pod.rank, pod.number) for pod in job.pods] == [("w-4", 4, 0), ("w-5", 5, 1)]


@pytest.mark.parametrize(
    ("arguments", "ranks"),
    [("[]", ["m", "w", "w"]), ("['--master=worker', '--worker=master']", ["w", "w", "m"])],
)
def test_ranks_of_plugin_hcclrank(arguments: str, ranks: list[str]) -> None:
    task = "  - name: {}\n    replicas: {}\n    template: {{spec: {{containers: [{{name: c}}]}}}}\n"
    text = (
        "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: v}\nspec:\n  plugins: {hcclrank: "
        f"{arguments}}}\n  tasks:\n" + task.format("worker", 2) + task.format("master", 1)
    )
    (job,) = load_jobs(text)
    assert [(pod.rank, pod.name[2]) for pod in job.pods] == list(enumerate(ranks))
