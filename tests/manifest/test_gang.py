"""Bare Pods of one PodGroup (chapter 50 §6.6 f)."""

from __future__ import annotations

from ascendctl import load_jobs

GROUP = """\
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: pair, annotations: {huawei.com/schedule_policy: chip8-node8}, labels: {fault-scheduling: grace}}
spec: {minMember: 2, queue: night, minResources: {huawei.com/Ascend910: 16}}
---
"""


def pod(name: str, annotations: str, npus: int = 8) -> str:
    return f"""\
apiVersion: v1
kind: Pod
metadata: {{name: {name}, annotations: {{scheduling.k8s.io/group-name: pair{annotations}}}}}
spec:
  schedulerName: volcano
  containers: [{{name: ascend, image: t, resources: {{requests: {{huawei.com/Ascend910: {npus}}}}}}}]
---
"""


def test_two_pods_are_one_job_in_rank_order() -> None:
    text = GROUP + pod("b", ', hccl/rankIndex: "0", volcano.sh/task-spec: r0') + pod("a", ', hccl/rankIndex: "1"')
    (job,) = load_jobs(text)
    assert (job.key, job.kind, job.queue, job.min_available, job.npus) == ("default/pair", "Pod", "night", 2, 16)
    assert [(p.name, p.rank) for p in job.pods] == [("b", 0), ("a", 1)]
    assert [r.task_spec for r in job.roles] == ["r0", ""]
    assert job.annotations["huawei.com/schedule_policy"] == "chip8-node8"
    assert job.labels["fault-scheduling"] == "grace"
    assert [d.value["metadata"]["name"] for d in job.source.parts] == ["b", "a"]
    assert job.distributed
    assert job.scheduler_name == "volcano"


def test_pods_without_rank_take_the_unused_numbers_by_name() -> None:
    (job,) = load_jobs(GROUP + pod("w10", "") + pod("w2", "") + pod("w1", ', hccl/rankIndex: "1"'))
    assert [(p.name, p.rank) for p in job.pods] == [("w2", 0), ("w1", 1), ("w10", 2)]


def test_a_lone_pod_and_pods_of_an_absent_group_stay_jobs_of_their_own() -> None:
    assert [job.name for job in load_jobs(GROUP + pod("a", ""))] == ["a"]
    assert [job.name for job in load_jobs(pod("a", "") + pod("b", ""))] == ["a", "b"]


def test_the_job_stands_where_its_first_pod_stands() -> None:
    single = "apiVersion: v1\nkind: Pod\nmetadata: {name: x}\nspec: {containers: []}\n---\n"
    assert [job.name for job in load_jobs(pod("b", "") + single + GROUP + pod("a", ""))] == ["pair", "x"]
