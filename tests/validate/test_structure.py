"""Schemas: they are sound, the compiled check agrees with jsonschema, failures become rules."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from ascendctl.validate import schemas
from ascendctl.validate.catalogue import find_rule
from ascendctl.validate.failures import _best_branch, _validator, failures
from ascendctl.validate.fastcheck import compile_schema, matcher
from ascendctl.validate.schemas import KIND_SCHEMAS, VOLCANO_RELEASES, at_pointer, follow, for_release, load, names
from ascendctl.validate.structure import structure
from ascendctl.yamlio.read import read_documents
from tests.validate.manifests import ascend_job, batch_job, deployment, infer_service, pod, text_of, volcano_job

DATA = Path(__file__).parents[1] / "data"
KINDS = names("kinds")
BASES = {
    "ascendjob": ascend_job(),
    "vcjob": volcano_job(),
    "deployment": deployment(),
    "statefulset": deployment(kind="StatefulSet"),
    "batchjob": batch_job(),
    "pod": pod(),
    "inferservice": infer_service(),
}


def walk(node: Any, path: tuple[Any, ...] = ()) -> Any:
    yield path, node
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in items:
        yield from walk(value, (*path, key))


# ------------------------------------------------------------------------------------------------- the files
def test_every_kind_has_its_schema() -> None:
    assert set(KIND_SCHEMAS.values()) | {"podtemplate"} == set(KINDS)


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("release", VOLCANO_RELEASES)
def test_schemas_are_sound(name: str, release: str) -> None:
    schema = for_release(f"kinds/{name}", release)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["$id"].endswith(f"/kinds/{name}.json")
    assert schema["title"] and schema["description"] and schema["examples"]
    check = compile_schema(f"kinds/{name}", release)
    for example in schema["examples"]:
        assert check(example)
        assert list(_validator(f"kinds/{name}", release, "").iter_errors(example)) == []


@pytest.mark.parametrize("name", KINDS)
def test_references_and_rules_exist(name: str) -> None:
    for path, node in walk(load(f"kinds/{name}")):
        if path[-1:] == ("$ref",):
            assert at_pointer(load(follow(f"kinds/{name}", node)[0]), follow(f"kinds/{name}", node)[1])
        if path[-1:] == ("x-rule",):
            listed = [r for value in node.values() for r in (value.values() if isinstance(value, dict) else [value])]
            assert all(find_rule(rule) is not None for rule in listed), path


def test_the_folder_is_found_in_a_wheel_and_in_a_checkout(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert (schemas.schema_folder() / "kinds" / "pod.json").is_file()
    (tmp_path / "ascendctl" / "schemas").mkdir(parents=True)
    monkeypatch.setattr(schemas, "__file__", str(tmp_path / "ascendctl" / "validate" / "schemas.py"))
    schemas.schema_folder.cache_clear()
    assert schemas.schema_folder() == tmp_path / "ascendctl" / "schemas"
    schemas.schema_folder.cache_clear()


def test_unknown_schemas() -> None:
    with pytest.raises(KeyError):
        load("kinds/nothing")


# ------------------------------------------------------------------------------------------------- compiled = jsonschema
ODD = [None, True, 0, -1, 2.5, 8.0, 70000, 2**40, "", "x", "Never", "8", "500m", "a b", [], ["x"], [{}], {}, {"x": 1}]


def agree(name: str, value: Any, release: str = "1.15") -> None:
    fits = compile_schema(f"kinds/{name}", release)(value)
    assert fits is (next(failures(f"kinds/{name}", release, "", value), None) is None)


@pytest.mark.parametrize("name", sorted(BASES))
def test_the_compiled_check_agrees_with_jsonschema(name: str) -> None:
    """Fields of a manifest replaced by values of other types, or left out."""
    base = BASES[name]
    agree(name, base)
    spots = [path for path, _ in walk(base) if path]
    spots = spots[:: 1 + len(spots) // 40]
    for number, path in enumerate(spots):
        value = copy.deepcopy(base)
        holder = value
        for part in path[:-1]:
            holder = holder[part]
        for odd in (ODD[number % len(ODD)], ODD[(number * 7 + 3) % len(ODD)]):
            holder[path[-1]] = odd
            agree(name, value)
        del holder[path[-1]]
        agree(name, value)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_the_compiled_check_agrees_on_random_values(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(KINDS))
    keys = st.sampled_from(
        ["apiVersion", "kind", "metadata", "spec", "tasks", "template", "replicas", "name", "queue", "x"]
    )
    leaves = st.sampled_from([o for o in ODD if not isinstance(o, list | dict)])
    value = data.draw(
        st.recursive(
            leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=4), max_leaves=12
        )
    )
    agree(name, value)


def test_the_end_of_a_pattern_is_the_end_of_the_text() -> None:
    assert matcher("^[a-z]+$")("abc")
    assert not matcher("^[a-z]+$")("abc\n")
    text = (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n  - image: b\n    name: |\n      main\n"
    )
    document = read_documents(text)[0]
    assert [v.rule for v in structure(document, "kinds/pod", "1.15").violations] == ["K8S-05"]


def test_a_keyword_without_compiled_form_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ascendctl.validate.fastcheck.for_release", lambda name, volcano: {"multipleOf": 3})
    with pytest.raises(ValueError, match="multipleOf"):
        compile_schema("kinds/pod", "1.15")


# ------------------------------------------------------------------------------------------------- what it gives
def of(value: Any, name: str) -> Any:
    return structure(read_documents(text_of(value))[0], f"kinds/{name}", "1.15")


def test_later_rules_see_values_of_the_right_type() -> None:
    text = """apiVersion: v1
kind: Pod
metadata:
  name: a
  labels: {sp-block: 016, on: x, tor-affinity: null, empty: }
  annotations: wrong
spec:
  hostNetwork: null
  terminationGracePeriodSeconds: "60"
  containers:
  - {name: a, image: 1.10, args: [1, on], env: [{name: A, value: yes}], ports: 80}
"""
    value = structure(read_documents(text)[0], "kinds/pod", "1.15").value
    assert value["metadata"] == {
        "name": "a", "labels": {"sp-block": "016", "true": "x", "tor-affinity": "null"},
    }  # fmt: skip
    assert value["spec"] == {
        "containers": [{"name": "a", "image": "1.10", "args": ["1", "on"], "env": [{"name": "A", "value": "yes"}]}]
    }


def test_the_document_itself_is_left_alone() -> None:
    document = read_documents(text_of(pod()))[0]
    before = json.dumps(document.value)
    structure(document, "kinds/deployment", "1.15")
    assert json.dumps(document.value) == before


def test_the_branch_that_fits_best_speaks() -> None:
    schema = {
        "anyOf": [
            {"type": "object", "properties": {"a": {"type": "object", "required": ["b"]}}, "required": ["a"]},
            {"type": "string"},
            {"type": "object", "required": ["x", "y", "z"]},
        ]
    }
    error = next(jsonschema.Draft202012Validator(schema).iter_errors({"a": {}}))
    assert [e.validator for e in _best_branch(error.context)] == ["required"]
    assert list(_best_branch(error.context)[0].absolute_path) == ["a"]


@pytest.mark.parametrize("path", sorted(DATA.glob("*/*.yaml")), ids=lambda path: path.stem)
def test_good_manifests_fit(path: Path) -> None:
    for value in yaml.safe_load_all(path.read_text()):
        if "unquoted" not in path.stem:
            name = KIND_SCHEMAS[value["apiVersion"], value["kind"]]
            rules = {str(f.schema.get("x-rule")) for f in failures(f"kinds/{name}", "1.15", "", value)}
            assert rules <= {"{'enum': 'ACJ-02'}"}
