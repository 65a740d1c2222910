"""Environment of the pods (chapter 50 §5.2 to §5.4, vectors V1 to V3)."""

from __future__ import annotations

from ascendctl import load_jobs
from ascendctl.manifest.job import Job
from ascendctl.ranks.environment import as_text, pod_environment, world
from tests.ranks.world import A910, NPU, a2, a3, acjob, placed, vcjob


def variables(text: str, pod: int, policy: str = "") -> dict[str, str]:
    from ascendctl.engine.result import JobHead, Placement

    (job,) = load_jobs(text)
    head = JobHead(job.name, job.namespace, job.kind, policy)
    return {v.name: v.value or v.field or v.origin for v in pod_environment(job, job.pods[pod], Placement(head, ()))}


def job_of(text: str) -> Job:
    (job,) = load_jobs(text)
    return job


def test_pytorch() -> None:
    assert variables(acjob({"Master": (1, 8), "Worker": (3, 8)}), 2) == {
        "ASCEND_VISIBLE_DEVICES": f"metadata.annotations['{A910}']",
        "HCCL_LOGIC_SUPERPOD_ID": "0",
        "MINDX_TASK_ID": "UID of the AscendJob",
        "REPLICA_TYPE": "Worker",
        "HostNetwork": "false",
        "WORLD_SIZE": "32",
        "LOCAL_WORLD_SIZE": "8",
        "LOCAL_RANK": "0,1,2,3,4,5,6,7",
        "RANK": "2",
        "MASTER_ADDR": "cluster IP of service demo-master-0",
        "MASTER_PORT": "2222",
    }


def test_v2_a_master_without_npus() -> None:
    text = acjob({"Master": (1, 0), "Worker": (3, 8)})
    assert world(job_of(text)) == (8, 3)
    master, worker = variables(text, 0), variables(text, 1)
    assert (master["RANK"], worker["RANK"]) == ("0", "0")
    assert master["WORLD_SIZE"] == worker["WORLD_SIZE"] == "24"
    assert "HCCL_LOGIC_SUPERPOD_ID" not in master and "ASCEND_VISIBLE_DEVICES" not in master


def test_v3_mindspore_with_workers_only_sets_nothing_of_the_framework() -> None:
    found = variables(acjob({"Worker": (1, 1)}, "mindspore"), 0)
    assert set(found) == {
        "ASCEND_VISIBLE_DEVICES", "HCCL_LOGIC_SUPERPOD_ID", "MINDX_TASK_ID", "REPLICA_TYPE", "HostNetwork",
    }  # fmt: skip


def test_mindspore() -> None:
    text = acjob({"Scheduler": (1, 0), "Worker": (2, 8)}, "mindspore")
    scheduler, worker = variables(text, 0), variables(text, 2)
    assert (scheduler["MS_ROLE"], worker["MS_ROLE"]) == ("MS_SCHED", "MS_WORKER")
    assert (scheduler["NPU_POD"], worker["NPU_POD"]) == ("false", "true")
    assert (worker["MS_WORKER_NUM"], worker["MS_LOCAL_WORKER"], worker["MS_NODE_RANK"]) == ("16", "8", "1")
    assert worker["MS_SERVER_NUM"] == "0"
    assert scheduler["MS_SCHED_HOST"] == "address of this pod"
    assert worker["MS_SCHED_HOST"] == "cluster IP of service demo-scheduler-0"


def test_tensorflow() -> None:
    found = variables(acjob({"Chief": (1, 8), "Worker": (1, 8)}, "tensorflow"), 1)
    assert (found["CM_WORKER_SIZE"], found["CM_LOCAL_WORKER"], found["CM_RANK"]) == ("16", "8", "1")
    assert (found["CM_CHIEF_DEVICE"], found["CM_CHIEF_PORT"]) == ("0", "2222")


def test_a_cpu_request_hides_the_devices() -> None:
    text = acjob({"Master": (1, 8)}).replace(f"requests: {{{A910}: 8}}", f"requests: {{{A910}: 8, cpu: 8}}")
    assert "ASCEND_VISIBLE_DEVICES" not in variables(text, 0)


def test_a_port_of_its_own() -> None:
    text = acjob({"Master": (1, 8), "Worker": (1, 8)}).replace(
        "            image:", "            ports: [{name: ascendjob-port, containerPort: 2345}]\n            image:", 1
    )
    assert variables(text, 1)["MASTER_PORT"] == "2345"


def blocks(text: str) -> list[str]:
    return [variables(text, i)["HCCL_LOGIC_SUPERPOD_ID"] for i in range(6)]


def test_logical_superpod_ids() -> None:
    roles = {"Master": (1, 16), "Worker": (5, 16)}
    assert blocks(acjob(roles, annotations='sp-block: "32"')) == list("001122")
    assert blocks(acjob(roles, annotations='sp-block: "8"')) == list("012345")
    assert blocks(acjob(roles, annotations='sp-block: "40"')) == list("001122")
    assert blocks(acjob(roles)) == list("000000")
    levels = 'huawei.com/affinity-config: "level1=2"'
    assert blocks(acjob(roles, policy="multilevel", annotations=levels)) == list("001122")
    assert blocks(acjob(roles, policy="multilevel", annotations=levels, resource=NPU)) == list("000000")


def test_soft_ids_come_from_the_scheduler() -> None:
    roles, soft = {"Master": (1, 16), "Worker": (1, 16)}, "super-pod-affinity: soft"
    text = acjob(roles, annotations='sp-block: "16"', labels=soft)
    assert variables(text, 0)["HCCL_LOGIC_SUPERPOD_ID"] == "metadata.annotations['super-pod-rank']"
    text = acjob(roles, annotations='sp-block: "16"', labels=soft, resource=NPU)
    assert [variables(text, i)["HCCL_LOGIC_SUPERPOD_ID"] for i in range(2)] == ["0", "1"]


def test_mindie_gets_four_variables() -> None:
    found = variables(acjob({"Master": (1, 8)}, labels="jobID: svc, app: mindie-ms-server"), 0)
    assert list(found) == ["MINDX_TASK_ID", "APP_TYPE", "MINDX_SERVER_IP", "MINDX_SERVER_DOMAIN"]
    assert (found["MINDX_TASK_ID"], found["APP_TYPE"]) == ("svc", "mindie-ms-server")


def test_shared_chips_count_as_one() -> None:
    found = variables(acjob({"Master": (1, 50)}, policy="chip1-softShareDev"), 0)
    assert (found["WORLD_SIZE"], found["LOCAL_WORLD_SIZE"], found["LOCAL_RANK"]) == ("1", "1", "0")
    assert "ASCEND_VISIBLE_DEVICES" not in found


def test_volcano_job() -> None:
    found = variables(vcjob({"ps-a": (1, 8), "worker": (2, 8)}), 2)
    assert found == {
        "VC_TASK_INDEX": "1",
        "VK_TASK_INDEX": "1",
        "VC_PS_A_HOSTS": "demo-vc-ps-a-0.demo-vc",
        "VC_PS_A_NUM": "1",
        "VC_WORKER_HOSTS": "demo-vc-worker-0.demo-vc,demo-vc-worker-1.demo-vc",
        "VC_WORKER_NUM": "2",
    }


def test_topology_files() -> None:
    folder = "/usr/local/Ascend/driver/topo/950/"
    text = acjob({"Master": (1, 8)}, resource=NPU)
    assert variables(text, 0, "chip4-node8")["HCCL_TOPO_FILE_PATH"] == folder + "atlas_350_3.json"
    assert "or atlas_950_2.json" in variables(text, 0, "chip8-node8-ra64-sp")["HCCL_TOPO_FILE_PATH"]
    assert "HCCL_TOPO_FILE_PATH" not in variables(acjob({"Master": (1, 8)}), 0, "chip4-node8")


def test_text() -> None:
    job, found = placed(acjob({"Master": (1, 8), "Worker": (1, 8)}), a2("a", "b"))
    lines = as_text(job, found).splitlines()
    assert lines[0] == "# demo-master-0: rank 0, node a, NPUs 0-7"
    assert "ASCEND_VISIBLE_DEVICES=" + ",".join(f"Ascend910-{i}" for i in range(8)) in lines
    assert "# MASTER_ADDR: cluster IP of service demo-master-0" in lines
    assert "RANK=1" in lines


def test_text_of_a_soft_job_has_the_planned_id() -> None:
    where = a3(a0=1, b0=2)
    text = acjob(
        {"Master": (1, 16), "Worker": (1, 16)}, selector="module-a3-16-super-pod", policy="chip2-node16-sp",
        annotations='sp-block: "16"', labels="super-pod-affinity: soft",
    )  # fmt: skip
    job, found = placed(text, where)
    ids = [line for line in as_text(job, found).splitlines() if line.startswith("HCCL_LOGIC")]
    assert ids == ["HCCL_LOGIC_SUPERPOD_ID=0", "HCCL_LOGIC_SUPERPOD_ID=1"]
