"""DOC-*: documents, fields and their types (chapter 40 §3.2, §8)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.validate.manifests import (
    DROP,
    ascend_job,
    change,
    deployment,
    findings,
    infer_service,
    pod,
    rules,
    said,
    volcano_job,
)

POD = """apiVersion: v1
kind: Pod
metadata:
  name: try
  namespace: a
  labels:
    app: x
spec:
  containers:
  - name: a
    image: b
"""
BOX = "/spec/containers/0"
BOX_PATH = "$.spec.containers[0]"


def service(kind: str = "Service", api: str = "v1", **more: Any) -> dict[str, Any]:
    return {"apiVersion": api, "kind": kind, "metadata": {"name": "x", "namespace": "a"}, **more}


# ------------------------------------------------------------------------------------------------- reading
@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ("DOC-01", "kind: Pod\n  name: x\n"),
        ("DOC-01", "kind: Pod\n\tname: x\n"),
        ("DOC-01", "- a\n- b\n"),
        ("DOC-01", "just text\n"),
        ("DOC-01", POD + "kind: Pod\n"),
        ("DOC-01", POD.replace("app: x", "app: *nobody")),
        ("DOC-01", "%YAML 1.2\n---\n" + POD),
        ("DOC-01", POD.replace("app: x", "~: x")),
        ("DOC-01", POD.replace("app: x", "app: .inf")),
        ("DOC-02", POD.replace("kind: Pod\n", "")),
        ("DOC-02", POD.replace("v1\n", "1\n", 1)),
        ("DOC-12", POD.replace("app: x", "app: {{ .Values.app }}")),
        ("DOC-17", POD + "...\nspec: {}\n"),
    ],
)
def test_text_that_cannot_stand(rule: str, text: str) -> None:
    assert rule in rules(text)


def test_reading_errors_end_the_document_and_only_it() -> None:
    found = findings(POD + "    image: c\n---\n" + POD.replace("image: b", "image: b\n    imge: c"))
    assert [f.rule for f in found if f.document == 0] == ["DOC-01"]
    assert [f.rule for f in found if f.document == 1] == ["DOC-06"]


@pytest.mark.parametrize(
    "encode", [lambda t: t.replace("\n", "\r\n"), lambda t: "\ufeff" + t, lambda t: t + "---\n# end\n"]
)
def test_line_ends_marks_and_empty_documents_are_fine(encode: Any) -> None:
    assert rules(encode(POD)) == []


def test_gbk_comments_are_named() -> None:
    from ascendctl.validate.options import Options
    from ascendctl.validate.run import evaluate, load

    loaded = load("a.yaml", "# 昇腾\n".encode("gbk") + POD.encode(), Options())
    found, _ = evaluate(loaded, Options(), {})
    assert [(f.rule, f.line) for f in found] == [("DOC-01", 1)]


# ------------------------------------------------------------------------------------------------- kinds
@pytest.mark.parametrize(
    ("document", "severity"),
    [
        (change(ascend_job(), {"/apiVersion": "batch.volcano.sh/v1alpha1"}), "error"),
        (change(volcano_job(), {"/apiVersion": "batch.volcano.sh/v1beta1"}), "error"),
        (change(deployment(), {"/apiVersion": "extensions/v1beta1"}), "error"),
        (change(infer_service(), {"/apiVersion": "v1"}), "error"),
        (change(ascend_job(), {"/kind": "Ascendjob"}), "error"),
        (service("ModelServing", "x.io/v1", spec={"template": pod()}), "warning"),
        (service("Mystery", "x.io/v1"), "info"),
    ],
)
def test_kinds_that_are_not_known(document: dict[str, Any], severity: str) -> None:
    found = [f for f in findings(document) if f.rule == "DOC-03"]
    assert [f.severity for f in found] == [severity]


@pytest.mark.parametrize(
    "document",
    [
        service(),
        service("Secret", data={"a": 1}),
        service("DaemonSet", "apps/v1", spec={"template": pod()}),
        service("CustomResourceDefinition", "apiextensions.k8s.io/v1"),
        service("CronJob", "batch/v1"),
        service("ConfigMap", data={"settings": "a: b"}),
    ],
)
def test_companions_are_silent(document: dict[str, Any]) -> None:
    assert rules(document) == []


def test_kserve_shares_a_name_with_ome() -> None:
    assert [f.severity for f in findings(service("InferenceService", "serving.kserve.io/v1beta1"))] == ["info"]


def test_a_cron_job_with_npus_is_half_checked() -> None:
    job = service("CronJob", "batch/v1", spec={"jobTemplate": {"spec": {"template": {"spec": pod()["spec"]}}}})
    assert [(f.rule, f.severity) for f in findings(job)] == [("DOC-03", "warning")]


def test_templates_of_unknown_kinds_get_pod_rules_up_to_warning() -> None:
    changes = {"/containers/0/image": DROP, "/containers/0/env/0/value": "x", "/restartPolicy": "x", "/nonsense": 1}
    inner = change(pod()["spec"], changes)
    found = findings(service("RayCluster", "ray.io/v1", spec={"groups": [{"template": {"spec": inner}}]}))
    assert {f.rule: f.severity for f in found} == {"DOC-03": "warning", "K8S-06": "warning", "K8S-14": "warning"}


def test_template_path_judges_in_full() -> None:
    template = {"metadata": {"annotations": {"huawei.com/schedule_policy": "chip8-node-8"}}, "spec": pod()["spec"]}
    serving = service("MyServing", "x.io/v1", spec={"roles": [{"template": template}]})
    assert rules(serving) == ["DOC-03"]
    assert rules(serving, template_paths=(("MyServing", "spec.roles[*].template"),)) == ["SEL-01"]


def test_unknown_kinds_can_be_errors() -> None:
    for document in (service("Mystery", "x.io/v1"), service("ModelServing", "x.io/v1", spec={"template": pod()})):
        assert [(f.rule, f.severity) for f in findings(document, fail_on_unknown=True)] == [("DOC-03", "error")]


def test_lists_are_unpacked() -> None:
    listing = {"apiVersion": "v1", "kind": "List", "items": [service(), change(pod(), {f"{BOX}/image": DROP})]}
    assert said(listing) == {("K8S-06", "$.items[1].spec.containers[0].image"): "error"}
    bare = change(pod(), {"/kind": DROP, "/apiVersion": DROP})
    assert rules({"apiVersion": "v1", "kind": "PodList", "items": [bare]}) == []


def test_duplicates_within_a_file() -> None:
    assert said(pod(), pod())["DOC-04", "doc[1]:$.metadata.name"] == "error"
    assert rules(pod(), change(pod(), {"/metadata/namespace": "b"})) == []
    two = service("ConfigMap", data={})
    assert "DOC-04" in rules(two, change(two, {"/data/a": "b"}))


# ------------------------------------------------------------------------------------------------- fields
@pytest.mark.parametrize(
    ("base", "changes", "path", "hint"),
    [
        (ascend_job(), {"/spec/queue": "default"}, "$.spec.queue", "$.spec.runPolicy.schedulingPolicy.queue"),
        (ascend_job(), {"/spec/replicaSpecs/Master/template/spec/resourceClaims": [{"name": "a"}]},
         "$.spec.replicaSpecs.Master.template.spec.resourceClaims", ""),
        (volcano_job(), {"/spec/task": []}, "$.spec.task", "did you mean tasks?"),
        (pod(), {"/spec/HostNetwork": True}, "$.spec.HostNetwork", "did you mean hostNetwork?"),
        (pod(), {"/spec/image": "x"}, "$.spec.image", "$.spec.containers[*].image"),
        (pod(), {f"{BOX}/hostNetwork": True}, f"{BOX_PATH}.hostNetwork", "$.spec.hostNetwork"),
        (deployment(), {"/spec/template/replicas": 2}, "$.spec.template.replicas", "$.spec.replicas"),
        (infer_service(), {"/spec/roles/0/template": {}}, "$.spec.roles[0].template", "$.spec.roles[0].spec.template"),
    ],
)  # fmt: skip
def test_unknown_fields(base: dict[str, Any], changes: dict[str, Any], path: str, hint: str) -> None:
    found = [f for f in findings(change(base, changes)) if f.rule == "DOC-06"]
    assert [(f.path, f.severity) for f in found] == [(path, "warning")]
    assert hint in found[0].hint
    assert [f.severity for f in findings(change(base, changes), strict=True) if f.rule == "DOC-06"] == ["error"]


def test_fields_of_later_releases_are_unknown_to_earlier_ones() -> None:
    job = change(volcano_job(), {"/spec/networkTopology": {"mode": "hard"}})
    assert rules(job) == []
    assert "DOC-06" in rules(job, volcano="1.9")
    topology = change(volcano_job(), {"/spec/tasks/0/topologyPolicy": "best"})
    assert "DOC-10" in rules(topology)
    assert "DOC-10" not in rules(topology, volcano="1.9")


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("16", "DOC-07"), ("010", "DOC-07"), ("1.10", "DOC-07"), ("7e6", "DOC-07"), ("[a]", "DOC-07"), ("{a: b}", "DOC-07"),
        ("on", "DOC-08"), ("Yes", "DOC-08"), ("n", "DOC-08"), ("true", "DOC-08"),
        ('"16"', ""), ("1:30", ""), ("2025-01-02", ""), ("v1", ""), ("10.0.0.1", ""), ("yEs", ""),
    ],
)  # fmt: skip
def test_label_values(text: str, rule: str) -> None:
    found = [r for r in rules(POD.replace("app: x", f"app: {text}")) if r.startswith("DOC")]
    assert found == ([rule] if rule else [])


@pytest.mark.parametrize(
    ("line", "severity"),
    [("tor-affinity: null", "error"), ("tor-affinity:", "error"), ("mine: ~", "info"), ("mine:", "info")],
)
def test_null_labels(line: str, severity: str) -> None:
    found = [f for f in findings(POD.replace("app: x", line)) if f.rule == "DOC-08"]
    assert [f.severity for f in found] == [severity]


@pytest.mark.parametrize(("key", "rule"), [("on", "DOC-08"), ("010", "DOC-07"), ('"on"', "")])
def test_label_keys_that_change(key: str, rule: str) -> None:
    found = [r for r in rules(POD.replace("app: x", f"{key}: x")) if r.startswith("DOC")]
    assert found == ([rule] if rule else [])


def test_an_unquoted_value_counts_as_quoted_later_on() -> None:
    job = ascend_job()
    text = "/metadata/labels/pod-rescheduling"
    assert rules(change(job, {text: True})) == ["DOC-08"]
    assert "RSC-02" in rules(change(job, {text: "on"}))


@pytest.mark.parametrize(
    ("value", "wrong"), [(2, False), (2.0, False), ("2", True), (True, True), (2.5, True), ([2], True), (2**31, True)]
)
def test_integers(value: Any, wrong: bool) -> None:
    found = said(change(deployment(2), {"/spec/replicas": value}))
    assert (("DOC-09", "$.spec.replicas") in found) is wrong


@pytest.mark.parametrize(
    ("text", "wrong"), [("0o600", False), ("0600", False), ("0x180", False), ("1_0", False), ("640", True)]
)
def test_modes(text: str, wrong: bool) -> None:
    volume = f"  volumes:\n  - name: s\n    secret:\n      secretName: s\n      defaultMode: {text}\n"
    assert (("K8S-13", "$.spec.volumes[0].secret.defaultMode") in said(POD + volume)) is wrong


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({f"{BOX}/env/1": {"name": "A", "value": 1}}, f"{BOX_PATH}.env[1].value"),
        ({f"{BOX}/env/1": {"name": "A", "value": True}}, f"{BOX_PATH}.env[1].value"),
        ({f"{BOX}/args": [1]}, f"{BOX_PATH}.args[0]"),
        ({f"{BOX}/command/0": False}, f"{BOX_PATH}.command[0]"),
        ({f"{BOX}/image": 1.1}, f"{BOX_PATH}.image"),
        ({"/metadata/name": 12}, "$.metadata.name"),
        ({"/spec/schedulerName": True}, "$.spec.schedulerName"),
        ({"/spec/hostNetwork": "yes"}, "$.spec.hostNetwork"),
        ({f"{BOX}/volumeMounts/0/name": 5}, f"{BOX_PATH}.volumeMounts[0].name"),
    ],
)
def test_strings(changes: dict[str, Any], path: str) -> None:
    assert said(change(pod(), changes)).get(("DOC-11", path)) == "error"


def test_config_map_values_are_strings() -> None:
    assert said(service("ConfigMap", data={"a": 1}))["DOC-11", "$.data.a"] == "error"
    assert rules(service("ConfigMap", data={"a": None, "b": "1"})) == []


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({f"{BOX}/resources/limits": "huawei.com/npu:4"}, f"{BOX_PATH}.resources.limits"),
        ({f"{BOX}/resources/limits/huawei.com~1npu:4": None}, f"{BOX_PATH}.resources.limits['huawei.com/npu:4']"),
        ({"/spec/containers": {"name": "a"}}, "$.spec.containers"),
        ({f"{BOX}/command": "bash run.sh"}, f"{BOX_PATH}.command"),
        ({"/metadata/labels": "app:x"}, "$.metadata.labels"),
    ],
)
def test_mappings_and_lists(changes: dict[str, Any], path: str) -> None:
    assert said(change(pod(), changes)).get(("DOC-14", path)) == "error"


def test_null_counts_as_absent() -> None:
    changes = {
        "/spec/hostNetwork": None,
        f"{BOX}/args": None,
        "/metadata/creationTimestamp": None,
        f"{BOX}/env/1": {"name": "A", "value": None},
    }
    assert rules(change(pod(), changes)) == []


# ------------------------------------------------------------------------------------------------- content
def test_carriage_returns_in_scripts() -> None:
    script = "set -e\r\npython train.py\r\n"
    assert said(change(pod(), {f"{BOX}/command/2": script}))["DOC-05", f"{BOX_PATH}.command[2]"] == "warning"
    assert rules(change(pod(), {f"{BOX}/command": ["python", script]})) == []
    assert said(service("ConfigMap", data={"run.sh": script}))["DOC-05", "$.data['run.sh']"] == "warning"
    assert rules(service("ConfigMap", data={"notes.txt": script})) == []
    folded = POD.replace("\n", "\r\n") + "    command: [bash, -c]\r\n    args:\r\n    - |\r\n      set -e\r\n"
    assert rules(folded) == []


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({f"{BOX}/image": "<your-image>"}, f"{BOX_PATH}.image"),
        ({f"{BOX}/image": "registry.local/<team>/train:1"}, f"{BOX_PATH}.image"),
        (
            {"/spec/volumes/0": {"name": "dshm", "hostPath": {"path": "${preload_path}"}}},
            "$.spec.volumes[0].hostPath.path",
        ),
        ({"/metadata/annotations/note": "{{ note }}"}, "$.metadata.annotations.note"),
        ({"/metadata/labels/team": "xxx"}, "$.metadata.labels.team"),
        ({"/metadata/labels/team": "TODO"}, "$.metadata.labels.team"),
    ],
)
def test_placeholders(changes: dict[str, Any], path: str) -> None:
    assert said(change(pod(), changes)) == {("DOC-13", path): "warning"}


@pytest.mark.parametrize(
    "changes",
    [
        {f"{BOX}/command/2": "cd ${WORK} && echo {{x}} <a>"},
        {f"{BOX}/env/1": {"name": "A", "value": "${HOME}"}},
        {f"{BOX}/args": ["$(NAME)"], "/metadata/annotations/note": "$(NAME)"},
        {f"{BOX}/image": "registry.local/axx/xbox:1"},
    ],
)
def test_no_placeholders(changes: dict[str, Any]) -> None:
    assert rules(change(pod(), changes)) == []


def test_a_refused_placeholder_is_a_hint() -> None:
    found = findings(change(pod(), {"/metadata/name": "<name>"}))
    assert [(f.rule, f.hint) for f in found] == [("K8S-01", "looks like a placeholder that was never filled in")]


def test_merge_keys_behind_what_they_override() -> None:
    text = POD.replace("    app: x\n", "    app: x\n    <<: {app: z}\n")
    assert "DOC-15" in rules(text)
    assert "DOC-15" not in rules(POD.replace("    app: x\n", "    <<: {app: z}\n    app: x\n"))


@pytest.mark.parametrize(
    ("key", "nearest"),
    [
        ("huawei.com/schedulepolicy", "huawei.com/schedule_policy"),
        ("volcano.sh/sp-block", "sp-block"),
        ("subHeathyStrategy", "subHealthyStrategy"),
        ("fault_scheduling", "fault-scheduling"),
        ("tor-afinity", "tor-affinity"),
        ("huawei.com/skip-ascend-plugins", "huawei.com/skip-ascend-plugin"),
    ],
)
def test_near_misses(key: str, nearest: str) -> None:
    found = [
        f
        for f in findings(change(pod(), {f"/metadata/annotations/{key.replace('/', '~1')}": "a"}))
        if f.rule == "DOC-16"
    ]
    assert [f.severity for f in found] == ["warning"]
    assert nearest in found[0].hint


@pytest.mark.parametrize(
    "key",
    [
        "sp",
        "duos-and-more",
        "example.com/sp-block2",
        "team",
        "job-name",
        "group-name",
        "app.kubernetes.io/name",
        "date",
    ],
)
def test_keys_of_others(key: str) -> None:
    pointer = f"/metadata/labels/{key.replace('/', '~1')}"
    assert rules(change(pod(), {pointer: "a"})) == []


@pytest.mark.parametrize(
    ("base", "changes", "path", "target"),
    [
        (pod(), {"/metadata/labels/sp-block": "8"}, "$.metadata.labels['sp-block']", "$.metadata.annotations['sp-block']"),
        (ascend_job(), {"/metadata/annotations/framework": "pytorch"}, "$.metadata.annotations.framework",
         "$.metadata.labels.framework"),
        (pod(), {"/metadata/labels/accelerator-type": "module"}, "$.metadata.labels['accelerator-type']",
         "$.spec.nodeSelector['accelerator-type']"),
        (deployment(), {"/spec/template/metadata/annotations/fault-scheduling": "grace"},
         "$.spec.template.metadata.annotations['fault-scheduling']",
         "$.spec.template.metadata.labels['fault-scheduling']"),
    ],
)  # fmt: skip
def test_keys_in_the_wrong_map(base: dict[str, Any], changes: dict[str, Any], path: str, target: str) -> None:
    found = [f for f in findings(change(base, changes)) if f.rule == "DOC-16"]
    assert [f.path for f in found] == [path]
    assert target in found[0].hint


def test_an_alias_is_reported_once_where_it_is_written() -> None:
    text = """apiVersion: mindxdl.gitee.com/v1
kind: AscendJob
metadata: {name: train, namespace: a, labels: {framework: pytorch}, annotations: {huawei.com/schedule_policy: chip8-node8}}
spec:
  replicaSpecs:
    Master: &replica
      template:
        metadata:
          labels: {rev: 7e6}
        spec:
          containers: [{name: ascend, image: a}]
    Worker: *replica
"""
    found = [f for f in findings(text) if f.rule == "DOC-07"]
    assert [f.line for f in found] == [9]
    assert "12" in found[0].message


def test_exported_objects_have_more_fields() -> None:
    meta = {
        "uid": "1", "resourceVersion": "2", "generation": 1, "creationTimestamp": "2025-01-01T00:00:00Z", "selfLink": "/a",
        "managedFields": [{"manager": "kubectl", "operation": "Update", "fieldsV1": {"f:metadata": {}}}],
        "ownerReferences": [{"apiVersion": "v1", "kind": "Job", "name": "a", "uid": "1"}],
    }  # fmt: skip
    changes: dict[str, Any] = {f"/metadata/{key}": value for key, value in meta.items()}
    changes["/status"] = {"phase": "Running", "anything": [1]}
    changes["/spec/nodeName"] = "node-1"
    changes["/spec/tolerations"] = [{"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}]
    assert rules(change(pod(), changes)) == []
    template = {"/spec/replicaSpecs/Master/template/metadata/creationTimestamp": None}
    assert rules(change(ascend_job(), template)) == []
