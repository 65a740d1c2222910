"""Jobs with another number of pods."""

from __future__ import annotations

import pytest

from ascendctl import load_jobs
from ascendctl.manifest.scale import with_replicas

ASCEND_JOB = """
apiVersion: mindxdl.gitee.com/v1
kind: AscendJob
metadata: {name: train, annotations: {sp-block: "32"}}
spec:
  runPolicy: {schedulingPolicy: {minAvailable: 4}}
  replicaSpecs:
    Master: &master
      replicas: 1
      template: {spec: {containers: [{name: ascend, resources: {requests: {huawei.com/Ascend910: 16}}}]}}
    Worker:
      replicas: 3
      template: {spec: {containers: [{name: ascend, resources: {requests: {huawei.com/Ascend910: 16}}}]}}
"""
DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: serve}
spec:
  replicas: 4
  template:
    metadata: {annotations: {huawei.com/schedule_minAvailable: "3"}}
    spec: {schedulerName: volcano, containers: [{name: c, resources: {requests: {huawei.com/Ascend910: 2}}}]}
"""


def test_gang_shrinks_with_the_pods():
    job = load_jobs(ASCEND_JOB)[0]
    smaller = with_replicas(job, 1, 1)
    assert smaller is not None
    assert [pod.name for pod in smaller.pods] == ["train-master-0", "train-worker-0"]
    assert (smaller.min_available, smaller.npus, smaller.sp_block) == (2, 32, 32)
    assert job.min_available == 4 and len(job.pods) == 4


@pytest.mark.parametrize(("replicas", "gang"), [(2, 2), (3, 3), (6, 3)])
def test_gang_as_annotation(replicas, gang):
    changed = with_replicas(load_jobs(DEPLOYMENT)[0], 0, replicas)
    assert changed is not None
    assert (len(changed.pods), changed.min_available, changed.npus) == (replicas, gang, 2 * gang)


def test_nothing_to_change():
    pod = load_jobs("apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: c}]}\n")[0]
    assert with_replicas(pod, 0, 2) is None
    absent = load_jobs(DEPLOYMENT.replace("  replicas: 4\n", ""))[0]
    assert with_replicas(absent, 0, 2) is None
