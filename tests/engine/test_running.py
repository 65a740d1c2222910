"""The job's own pods in a snapshot."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ascendctl.engine.api import place
from ascendctl.engine.running import own_rows, running_note
from tests.engine.build import Node, Pod, cluster, job

UID = "6f2a90b1-7a55-4c37-9d2f-0a6c2f4f1b11"


def world(*pods):
    return cluster([Node("a", range(4, 8)), Node("b")], pods)


def own(found, made):
    rows = own_rows(found, made)
    names = [name for name, mine in zip(found.jobs.names, rows.jobs.tolist(), strict=True) if mine]
    return names, [name for name, mine in zip(found.pods.names, rows.pods.tolist(), strict=True) if mine]


def test_by_name_with_uid_and_by_pods():
    pods = [
        Pod("x-0", "a", "job"),
        Pod("x-1", "a", f"job-{UID}"),
        Pod("job-worker-0", "b", "podgroup-7"),
        Pod("x-2", "b", "podgroup-7"),
        Pod("y-0", "b", f"other-{UID}"),
        Pod("y-1", "b", "job-other"),
        Pod("y-2", "b"),
        Pod("job-worker-1", "b"),
        Pod("job-worker-1", "b", namespace="elsewhere"),
    ]
    found = world(*pods)
    jobs, names = own(found, job(1, 2))
    assert jobs == ["job", f"job-{UID}", "podgroup-7"]
    assert names == ["job-worker-0", "job-worker-1", "x-0", "x-1", "x-2"]
    assert own(found, job(1, name="z")) == ([], [])
    assert own(found, replace(job(1, 2), namespace="elsewhere")) == ([], ["job-worker-1"])


def test_by_owner():
    found = world(Pod("x-0", "a", "podgroup-1"), Pod("y-0", "a"))
    found = replace(found, jobs=replace(found.jobs, owners=("job",)))
    assert own(found, job(1, name="job")) == (["podgroup-1"], ["x-0"])


def test_place_tells_of_running_pods():
    found = world(Pod("job-worker-0", "a", "job", chips=[0, 1]), Pod("job-worker-1", "a", "job", chips=[2, 3]))
    note = (
        "2 pods of the job run in the snapshot already, such as job-worker-0 on a: what they hold stays taken, and all "
        "pods of the job are placed once more; reschedule replaces lost pods only"
    )
    assert note in place(job(2, 2), found).trace.notes
    assert note in place(job(4, 2), found).trace.notes  # there is no room for the second time
    assert running_note(found, job(2, 1, name="other")) == ()
    one = replace(found, pods=replace(found.pods, active=np.array([True, False])))
    assert running_note(one, job(2, 2))[0].startswith("1 pod of the job runs in the snapshot already, such as job-w")
    assert running_note(replace(one, pods=replace(one.pods, active=np.zeros(2, np.bool_))), job(2, 2)) == ()
