"""The schemas of the normalised Job: current, sound, and in step with chapter 40 §4 and the recorded cases."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from ascendctl import load_jobs
from ascendctl.manifest.document import job_document
from ascendctl.products import CATALOGUE
from ascendctl.products.schema import as_text, job_schema, product_schema, schema_files
from ascendctl.validate.schemas import schema_folder
from tests import cases

VECTORS = Path(__file__).parents[1] / "vectors"
SCHEMAS = {product.name: product_schema(product) for product in CATALOGUE}
GENERAL = Draft202012Validator(job_schema())

# chapter 40 §4: (product, NPUs of the only pod: right, wrong; NPUs of each of two pods: right, wrong)
COUNTS = [
    ("a800", (1, 2, 4, 8), (3, 5, 6, 7, 16), (1, 2, 4, 8), (3, 5, 6, 7, 16)),
    ("a800-half", (1, 2, 4), (3, 8), (1, 2, 4), (3, 8)),
    ("a2", (1, 3, 8), (9, 16), (1, 7, 8), (9,)),
    ("a2-box16", (1, 8, 10, 12, 14, 16), (9, 11, 13, 15, 18), (1, 8, 16), (9, 15)),
    ("a3-pod", (1, 2, 14, 16), (3, 15, 18), (16,), (1, 2, 8)),
    ("a3-9000", (1, 2, 8), (3, 10, 16), (8,), (1, 2, 4)),
    ("800-a3", (1, 2, 16), (3, 15), (2, 14, 16), (1, 3)),
    ("350-8", (1, 8), (9,), (1, 8), (9,)),
    ("350-16", (1, 16), (17,), (1, 16), (17,)),
    ("850-sp", (1, 8), (9,), (8,), (4,)),
    ("950", (1, 8), (9,), (8,), (4,)),
    ("300i", (1, 64), (65,), (1, 64), (65,)),
    ("310p", (1, 64), (65,), (1, 64), (65,)),
    ("300i-duo", (1, 16), (17,), (1, 16), (17,)),
    ("soft-share", (1, 100), (101,), (1, 100), (101,)),
    ("vnpu-static", (1,), (2,), (1,), (2,)),
]


def errors(product: str, document: dict[str, Any]) -> list[str]:
    return [error.message for error in Draft202012Validator(SCHEMAS[product]).iter_errors(document)]


def example(product: str) -> dict[str, Any]:
    return copy.deepcopy(SCHEMAS[product]["examples"][0])


def with_counts(product: str, npus: int | str, pods: int) -> dict[str, Any]:
    document = example(product)
    document["npuPods"] = document["roles"][0]["replicas"] = pods
    document["roles"][0]["npus"] = npus
    return document


def test_files_are_current() -> None:
    stale = [
        name
        for name, schema in schema_files().items()
        if (schema_folder() / f"{name}.json").read_text(encoding="utf-8") != as_text(schema)
    ]
    assert not stale, "write them anew: python -m ascendctl.products.schema"


def test_no_file_of_a_product_that_is_gone() -> None:
    assert {path.stem for path in (schema_folder() / "products").glob("*.json")} == {p.name for p in CATALOGUE}


@pytest.mark.parametrize("name", schema_files())
def test_schema_is_sound_and_documented(name: str) -> None:
    schema = schema_files()[name]
    Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["$id"].endswith(f"/{name}.json")
    assert schema["title"] and schema["description"] and schema["examples"]
    validator = Draft202012Validator(schema)
    assert all(validator.is_valid(document) and GENERAL.is_valid(document) for document in schema["examples"])


@pytest.mark.parametrize(("product", "single", "not_single", "each", "not_each"), COUNTS)
def test_counts(
    product: str, single: tuple[int, ...], not_single: tuple[int, ...], each: tuple[int, ...], not_each: tuple[int, ...]
) -> None:
    for pods, right, wrong in ((1, single, not_single), (2, each, not_each)):
        for npus in right:
            assert not errors(product, with_counts(product, npus, pods)), (pods, npus)
            assert not errors(product, with_counts(product, str(npus), pods)), (pods, str(npus))
        for npus in (0, *wrong):
            assert errors(product, with_counts(product, npus, pods)), (pods, npus)
            assert errors(product, with_counts(product, str(npus), pods)), (pods, str(npus))


def test_role_without_npus() -> None:
    document = example("a3-pod")
    document["roles"].insert(0, {"name": "Master", "replicas": 1, "resource": "", "npus": 0})
    assert not errors("a3-pod", document)
    document["roles"][0]["npus"] = 16
    assert errors("a3-pod", document)


def test_counts_follow_the_policy() -> None:
    document = with_counts("a3-pod", 8, 2)
    assert errors("a3-pod", document)
    document["annotations"]["huawei.com/schedule_policy"] = "chip2-node16"
    assert not errors("a3-pod", document)
    document["annotations"]["huawei.com/schedule_policy"] = "multilevel"
    assert errors("a3-pod", document)
    document["roles"][0]["npus"] = 16
    assert not errors("a3-pod", document)


@pytest.mark.parametrize(
    ("product", "key", "right", "wrong"),
    [
        ("a3-pod", "sp-block", "32", "-16"),
        ("950", "ra-block", "64", "3"),
        ("a3-pod", "huawei.com/affinity-config", "level1=2,level2=4", "level1=2, level2=4"),
        ("a2", "huawei.com/schedule_policy", "chip8-node8", "chip2-node16-sp"),
    ],
)
def test_annotations(product: str, key: str, right: str, wrong: str) -> None:
    document = example(product)
    document["annotations"][key] = right
    assert not errors(product, document)
    document["annotations"][key] = wrong
    assert errors(product, document)


@pytest.mark.parametrize(("product", "key"), [("a2", "sp-block"), ("a3-pod", "ra-block"), ("350-8", "ra-block")])
def test_block_annotations_of_other_products(product: str, key: str) -> None:
    document = example(product)
    document["annotations"][key] = "16"
    assert errors(product, document)


def test_a_policy_must_be_selected() -> None:
    npu = example("850")
    del npu["annotations"]["huawei.com/schedule_policy"]
    assert errors("850", npu)  # huawei.com/npu without schedule_policy has no policy
    a2 = example("a2")
    del a2["annotations"]["huawei.com/schedule_policy"]
    assert not errors("a2", a2)  # the node selector selects it
    del a2["selector"]["accelerator-type"]
    assert errors("a2", a2)
    a800 = example("a800")
    a800["selector"] = {}
    assert not errors("a800", a800)  # what the scheduler takes a job for that names nothing


def test_labels() -> None:
    document = example("300i-duo")
    assert document["labels"]["duo"] == "true"
    document["labels"]["npu-310-strategy"] = "cards"
    assert errors("300i-duo", document)
    shared = example("soft-share")
    shared["labels"]["huawei.com/scheduler.softShareDev.aicoreQuota"] = "101"
    assert errors("soft-share", shared)
    del shared["labels"]["huawei.com/scheduler.softShareDev.aicoreQuota"]
    assert errors("soft-share", shared)


def test_job_of_a_manifest() -> None:
    text = (Path(__file__).parents[1] / "data" / "examples" / "a-superpod-acjob.yaml").read_text(encoding="utf-8")
    job = job_document(load_jobs(text)[0])
    assert (job["workload"], job["npuPods"], job["npus"], job["minAvailable"]) == ("AscendJob", 4, 64, 4)
    assert [(role["name"], role["replicas"], role["npus"]) for role in job["roles"]] == [
        ("Master", 1, 16),
        ("Worker", 3, 16),
    ]
    assert GENERAL.is_valid(job) and not errors("a3-pod", job)
    halved = job_document(load_jobs(text.replace("huawei.com/Ascend910: 16", "huawei.com/Ascend910: 8"))[0])
    assert GENERAL.is_valid(halved) and errors("a3-pod", halved)


@pytest.mark.parametrize(
    ("family", "product"),
    [
        ("intra-910b-x8", "a2"),
        ("intra-910b-box16", "a2-box16"),
        ("intra-910a-half", "a800-half"),
        ("intra-350-chip1-node16", "350-16"),
        ("intra-350-chip4-node8", "350-4p-8"),
        ("intra-850-chip8-node8", "850"),
        ("intra-310-card", "300i"),
        ("intra-duo-chip", "300i-duo"),
        ("intra-soft-share", "soft-share"),
        ("rack-infer", "950"),
        ("superpod-reschedule", "a3-pod"),
    ],
)
def test_jobs_that_the_scheduler_placed_pass(family: str, product: str) -> None:
    resource = SCHEMAS[product]["properties"]["resource"]["enum"]
    policies = SCHEMAS[product]["properties"]["annotations"]["properties"].get("huawei.com/schedule_policy")
    judged = 0
    for case in cases.load(VECTORS / f"{family}.jsonl.gz"):
        job = job_document(load_jobs(cases.manifest(case))[0])
        assert GENERAL.is_valid(job)
        policy = job["annotations"].get("huawei.com/schedule_policy")
        if case["expect"]["outcome"] != "placed" or job["resource"] not in resource:
            continue
        if policies and policy not in policies["enum"]:
            continue
        judged += 1
        assert not errors(product, job), case["id"]
    assert judged > 10
