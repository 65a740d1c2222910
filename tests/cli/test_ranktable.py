"""`ascendctl ranktable` and `verify`, and what `place` says of ranks and networks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from ascendctl.report.schemas import bundle
from ascendctl.yamlio.read import read_documents
from tests.cli.world import run, write
from tests.ranks.test_table_examples import levels_950
from tests.ranks.world import NPU, acjob, objects, two_leaves, vcjob, with_levels

A2 = {name: {"labels": {"accelerator-type": "module-910b-8"}} for name in ("n1", "n2", "n3")}
A3 = {
    f"s{s}-{i}": {"superpod": s, "labels": {"accelerator-type": "module-a3-16-super-pod"}}
    for s in range(2)
    for i in range(4)
}
TWO = acjob({"Master": (1, 8), "Worker": (1, 8)})
SUPERPOD = acjob(
    {"Master": (1, 16), "Worker": (3, 16)}, selector="module-a3-16-super-pod", policy="chip2-node16-sp",
    annotations='sp-block: "32"',
)  # fmt: skip


def saved(folder: Path, text: str, name: str = "job.yaml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def a2(tmp_path: Path) -> Path:
    return write(tmp_path / "dump", objects(A2))


@pytest.fixture
def a3(tmp_path: Path) -> Path:
    return write(tmp_path / "dump3", objects(A3, chips=16))


def check(name: str, document: Any) -> None:
    errors = [
        f"{e.json_path}: {e.message}" for e in Draft202012Validator(bundle(f"output/{name}")).iter_errors(document)
    ]
    assert not errors


# ------------------------------------------------------------------------------------------------------- rank tables
def test_version_1_0(tmp_path: Path, a2: Path) -> None:
    result = run("ranktable", saved(tmp_path, TWO), "-s", a2)
    assert result.exit_code == 0
    assert "info: version 1.0: huawei.com/schedule_policy is chip8-node8, no SuperPoD policy" in result.stderr
    assert result.stdout.count("\n") == 1 and " " not in result.stdout
    check("rank-table", json.loads(result.stdout))


def test_version_1_2(tmp_path: Path, a3: Path) -> None:
    result = run("ranktable", saved(tmp_path, SUPERPOD), "-s", a3, "--pretty", "-q")
    assert result.stderr == ""
    table = json.loads(result.stdout)
    check("rank-table", table)
    assert (table["version"], len(table["super_pod_list"])) == ("1.2", 2)


def test_version_2_0(tmp_path: Path) -> None:
    nodes = {name: {"labels": {"accelerator-type": "x"}} for name in ("n1", "n2")}
    folder = write(
        tmp_path / "dump", with_levels(objects(nodes, resource=NPU), lambda n, c: json.loads(levels_950(0, c)))
    )
    text = acjob({"Master": (1, 8), "Worker": (1, 8)}, policy="chip8-node8", selector="x", resource=NPU)
    table = json.loads(run("ranktable", saved(tmp_path, text), "-s", folder, "-q").stdout)
    check("rank-table", table)
    assert (table["version"], table["rank_count"]) == ("2.0", 16)


def test_configmap_and_summary(tmp_path: Path, a2: Path) -> None:
    job = saved(tmp_path, TWO)
    (configmap,) = read_documents(run("ranktable", job, "-s", a2, "-q", "-o", "configmap").stdout)
    assert configmap.value["metadata"]["name"] == "rings-config-demo"
    assert configmap.value["data"]["hccl.json"] + "\n" == run("ranktable", job, "-s", a2, "-q").stdout
    (summary,) = read_documents(run("ranktable", job, "-s", a2, "-q", "-o", "summary").stdout)
    assert summary.value["metadata"]["name"] == "job-summary-demo"


def test_several_jobs_need_a_choice(tmp_path: Path, a2: Path) -> None:
    text = acjob({"Master": (1, 8)}, name="one") + "---\n" + acjob({"Master": (1, 8)}, name="two")
    job = saved(tmp_path, text)
    result = run("ranktable", job, "-s", a2)
    assert result.exit_code == 2 and "default/one, default/two; pick one with --job" in result.stderr
    first = json.loads(run("ranktable", job, "-s", a2, "-q", "--job", "one").stdout)
    second = json.loads(run("ranktable", job, "-s", a2, "-q", "--job", "default/two").stdout)
    assert first["server_list"][0]["host_ip"] != second["server_list"][0]["host_ip"]  # the first took its node
    assert run("ranktable", job, "-s", a2, "--job", "three").exit_code == 2


def test_a_given_placement(tmp_path: Path, a2: Path) -> None:
    job, file = saved(tmp_path, TWO), tmp_path / "p.json"
    run("place", job, "-s", a2, "-o", f"json={file}")
    same = run("ranktable", job, "-s", a2, "-q", "--placement", file).stdout
    assert same == run("ranktable", job, "-s", a2, "-q").stdout
    document = json.loads(file.read_text(encoding="utf-8"))
    document["pods"][0]["node"] = "gone"
    file.write_text(json.dumps(document), encoding="utf-8")
    assert run("ranktable", job, "-s", a2, "--placement", file).exit_code == 2


def test_refusals(tmp_path: Path, a2: Path) -> None:
    shared = saved(tmp_path, vcjob({"w": (2, 4)}, plugins="env: []"))
    result = run("ranktable", shared, "-s", a2)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith(
        "error: vcjob default/demo-vc: RT-05: pods demo-vc-w-0 and demo-vc-w-1 share node n1"
    )
    assert "RT-06" in run("ranktable", shared, "-s", a2, "--server-id", "host-ip").stderr
    big = saved(tmp_path, acjob({"Master": (1, 8), "Worker": (9, 8)}), "big.yaml")
    result = run("ranktable", big, "-s", a2)
    assert (result.exit_code, result.stdout) == (1, "") and "unschedulable" in result.stderr


# ------------------------------------------------------------------------------------------------------------- verify
def later(folder: Path, **pods: tuple[str, str]) -> Path:
    """A dump in which the job runs: pod name (dashes as _) -> node, chips."""
    running = [
        {"job": "demo", "name": name.replace("_", "-"), "node": node, "chips": chips, "rank": i}
        for i, (name, (node, chips)) in enumerate(pods.items())
    ]
    nodes = {name: dict(node) for name, node in A2.items()}
    for one in running:
        nodes[one["node"]]["used"] = one["chips"]
    return write(folder, objects(nodes, running=running))


@pytest.fixture
def pinned(tmp_path: Path, a2: Path) -> Path:
    return saved(tmp_path, run("patch", saved(tmp_path, TWO), "-s", a2, "-q").stdout, "pinned.yaml")


def test_as_planned(tmp_path: Path, pinned: Path) -> None:
    dump = later(tmp_path / "later", demo_master_0=("n1", "0xff"), demo_worker_0=("n2", "0xff"))
    result = run("verify", pinned, "-s", dump)
    assert result.exit_code == 0
    assert result.stdout.startswith("AscendJob default/demo: as planned\n")
    assert run("verify", pinned, "-s", dump, "-q").stdout == ""
    check("verify-report", json.loads(run("verify", pinned, "-s", dump, "-o", "json").stdout))


def test_another_node_is_an_error(tmp_path: Path, pinned: Path) -> None:
    dump = later(tmp_path / "later", demo_master_0=("n1", "0xff"), demo_worker_0=("n3", "0xff"))
    result = run("verify", pinned, "-s", dump, "-o", "json")
    report = json.loads(result.stdout)
    check("verify-report", report)
    assert result.exit_code == 1
    assert report["summary"] == {"ranks": 2, "same": 1, "otherNode": 1, "otherNpus": 0, "missing": 0}
    assert report["ranks"][1]["found"]["node"] == "n3"


def test_other_npus_are_a_warning(tmp_path: Path, pinned: Path) -> None:
    dump = later(tmp_path / "later", demo_master_0=("n1", "0x7f"), demo_worker_0=("n2", "0xff"))
    result = run("verify", pinned, "-s", dump)
    assert result.exit_code == 0
    assert "other-npus" in result.stdout


def test_a_missing_pod_is_an_error(tmp_path: Path, pinned: Path) -> None:
    result = run("verify", pinned, "-s", later(tmp_path / "later", demo_master_0=("n1", "0xff")))
    assert result.exit_code == 1 and "missing" in result.stdout


def test_a_manifest_without_record(tmp_path: Path, a2: Path) -> None:
    result = run("verify", saved(tmp_path, TWO), "-s", a2)
    assert result.exit_code == 2
    assert "has no annotation ascendctl.io/plan" in result.stderr
    for record in ("{", "[]", '{"v":2,"ranks":[]}', '{"v":1,"ranks":[{"node":"a"}]}'):
        text = TWO.replace("annotations: {", f"annotations: {{ascendctl.io/plan: '{record}', ", 1)
        result = run("verify", saved(tmp_path, text), "-s", a2)
        assert result.exit_code == 2 and "ascendctl.io/plan of default/demo" in result.stderr


def test_rank_table_of_the_job(tmp_path: Path, pinned: Path, a2: Path) -> None:
    dump = later(tmp_path / "later", demo_master_0=("n1", "0xff"), demo_worker_0=("n2", "0xff"))
    table = saved(tmp_path, run("ranktable", pinned, "-s", a2, "-q").stdout, "hccl.json")
    assert run("verify", pinned, "-s", dump, "--ranktable", table).exit_code == 0
    configmap = saved(tmp_path, run("ranktable", pinned, "-s", a2, "-q", "-o", "configmap").stdout, "cm.yaml")
    assert run("verify", pinned, "-s", dump, "--ranktable", configmap).exit_code == 0
    broken = saved(tmp_path, table.read_text(encoding="utf-8").replace('"completed"', '"initializing"'), "b.json")
    result = run("verify", pinned, "-s", dump, "--ranktable", broken)
    assert result.exit_code == 1 and "error RT-01" in result.stdout
    report = json.loads(run("verify", pinned, "-s", dump, "--ranktable", broken, "-o", "json").stdout)
    check("verify-report", report)
    assert report["rankTable"][0]["code"] == "RT-01"
    result = run("verify", pinned, "-s", dump, "--ranktable", saved(tmp_path, "a: 1\n", "x.yaml"))
    assert result.exit_code == 2 and "neither a rank table nor a ConfigMap" in result.stderr


def test_pods_of_a_split_volcano_job_are_found(tmp_path: Path, a2: Path) -> None:
    new = run("patch", saved(tmp_path, vcjob({"w": (2, 8)})), "-s", a2, "-q").stdout
    dump = later(tmp_path / "later", demo_vc_w_r0_0=("n1", "0xff"), demo_vc_w_r1_0=("n2", "0xff"))
    assert run("verify", saved(tmp_path, new, "new.yaml"), "-s", dump).exit_code == 0


# -------------------------------------------------------------------------------------------------------------- place
def test_metrics_and_parallel(tmp_path: Path, a3: Path) -> None:
    job = saved(tmp_path, SUPERPOD)
    document = json.loads(run("place", job, "-s", a3, "-o", "json", "--parallel", "tp=16,ep=2").stdout)
    check("placement-result", document)
    network = document["metrics"]["network"]
    assert network["parallel"]["sizes"] == {"tp": 16, "ep": 2, "dp": 2}
    assert network["parallel"]["verdict"] == "OK"
    assert "fragment" in document["metrics"]
    assert "network" not in json.loads(run("place", job, "-s", a3, "-o", "json").stdout)["metrics"]
    text = run("place", job, "-s", a3, "--metrics").stdout
    assert "greatest common divisor" in text and "Article fragment score" in text
    result = run("place", job, "-s", a3, "--parallel", "tp=3")
    assert result.exit_code == 2 and "NQ-01" in result.stderr


def test_environment(tmp_path: Path, a2: Path) -> None:
    text = run("place", saved(tmp_path, TWO), "-s", a2, "-o", "env").stdout
    assert "# demo-worker-0: rank 1, node n2, NPUs 0-7\n" in text
    assert "RANK=1\n" in text


def test_infos_on_ranks_only_where_asked(tmp_path: Path, a2: Path) -> None:
    job = saved(tmp_path, vcjob({"w": (2, 8)}, plugins="svc: []"))
    assert "RK-06" not in run("place", job, "-s", a2).stdout
    assert "info RK-06" in run("place", job, "-s", a2, "--explain").stdout
    assert "Network" not in run("place", job, "-s", a2, "--explain").stdout


def test_leaf_states_as_configmap(tmp_path: Path) -> None:
    nodes, leaves = two_leaves(2)
    dump = write(
        tmp_path / "dump",
        objects(nodes, params={"nslb-version": "2.0"}, leaves=leaves),
    )  # fmt: skip
    job = saved(tmp_path, acjob({"Master": (1, 8), "Worker": (3, 8)}, labels="tor-affinity: large-model-schema"))
    file = tmp_path / "tor.yaml"
    assert run("place", job, "-s", dump, "-o", "json", "--emit", f"tor-share-cm={file}").exit_code == 0
    (made,) = read_documents(file.read_text(encoding="utf-8"))
    states = json.loads(made.value["data"]["global-tor-info"])
    assert [states[ip]["IsSharedTor"] for ip in ("10.9.0.0", "10.9.0.1")] == [2, 2]
    assert states["10.9.0.0"]["nodes"][0]["JobName"] == []  # names are those that the session found (chapter 23 §1.3)
    small = tmp_path / "small.yaml"
    small.write_text(
        acjob({"Master": (1, 8)}, labels="tor-affinity: normal-schema").replace("name: demo", "name: small"), "utf-8"
    )
    assert run("place", small, job, "-s", dump, "-q", "--emit", f"tor-share-cm={file}").exit_code == 1
    (made,) = read_documents(file.read_text(encoding="utf-8"))
    states = json.loads(made.value["data"]["global-tor-info"])
    assert [states[ip]["IsSharedTor"] for ip in ("10.9.0.0", "10.9.0.1")] == [0, 0]  # the second job was refused
    assert states["10.9.0.0"]["nodes"][0]["JobName"] == ["small"]
    assert "kind: ConfigMap" in run("place", job, "-s", dump, "--emit", "tor-share-cm").stdout
    result = run("place", job, "-s", dump, "-o", "json", "--emit", "tor-share-cm")
    assert result.exit_code == 2 and "tor-share-cm=FILE" in result.stderr


def test_no_leaf_states_without_topology(tmp_path: Path, a2: Path) -> None:
    result = run("place", saved(tmp_path, TWO), "-s", a2, "--emit", "tor-share-cm")
    assert result.exit_code == 2 and "nslb-version 2.0" in result.stderr


@pytest.mark.parametrize("command", ["ranktable", "verify", "place"])
def test_help(command: str) -> None:
    result = run(command, "--help")
    assert result.exit_code == 0
    assert "Example" in result.stdout and "xit code 1" in result.stdout
