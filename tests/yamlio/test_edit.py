"""Edits keep every byte that they need not change (chapter 50 §6.5, §6.6; chapter 40 §7 no. 30)."""

from __future__ import annotations

import difflib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ascendctl.yamlio.document import FieldPath
from ascendctl.yamlio.edit import EditError, copy_item, same_value, set_fields
from ascendctl.yamlio.read import read_documents
from tests.yamlio.texts import VALUES, block_texts

HOST = "kubernetes.io/hostname"
TERM = {"key": HOST, "operator": "In", "values": ["node-a", "node-b"]}
VCJOB = """\
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: demo-vc, labels: {ring-controller.atlas: ascend-910b}}
spec:
  minAvailable: 2   # the gang
  schedulerName: volcano
  plugins: {env: [], svc: []}
  tasks:
  - name: trainer
    replicas: 2
    template:
      spec:
        nodeSelector: {accelerator-type: module-910b-8}
        containers:
        - name: ascend
          image: registry.local/train:1

  # end
"""


def edited(text: str, *changes: tuple[FieldPath, Any], document: int = 0) -> str:
    """The edited text; a second time nothing changes."""
    result = set_fields(text, document, changes)
    assert set_fields(result, document, changes) == result
    return result


def changed_lines(before: str, after: str) -> list[str]:
    """Removed and added lines, with their sign."""
    lines = difflib.ndiff(before.split("\n"), after.split("\n"))
    return [line for line in lines if line[0] in "+-"]


def test_volcano_job_split_into_pinned_tasks() -> None:
    task = ("spec", "tasks")
    text = copy_item(VCJOB, 0, (*task, 0), 1)
    plan = '{"v":1,"ranks":[{"r":0,"node":"node-a"},{"r":1,"node":"node-b"}]}'
    changes: list[tuple[FieldPath, Any]] = [(("metadata", "annotations", "ascendctl.io/plan"), plan)]
    for rank, node in enumerate(("node-a", "node-b")):
        template = (*task, rank, "template")
        changes += [
            ((*task, rank, "name"), f"trainer-r{rank}"),
            ((*task, rank, "replicas"), 1),
            ((*template, "metadata", "annotations", "hccl/rankIndex"), str(rank)),
            ((*template, "spec", "nodeSelector", HOST), node),
        ]
    result = edited(text, *changes)

    def pinned(rank: int, node: str) -> str:
        return f"""\
  - name: trainer-r{rank}
    replicas: 1
    template:
      spec:
        nodeSelector: {{accelerator-type: module-910b-8, kubernetes.io/hostname: {node}}}
        containers:
        - name: ascend
          image: registry.local/train:1
      metadata:
        annotations:
          hccl/rankIndex: "{rank}"
"""

    head = VCJOB[: VCJOB.index("  - name")].replace("910b}}", f"910b}}, annotations: {{ascendctl.io/plan: '{plan}'}}}}")
    assert result == head + pinned(0, "node-a") + pinned(1, "node-b") + "\n  # end\n"


def test_expression_appended_to_every_term() -> None:
    text = """\
nodeSelectorTerms:
- matchExpressions: [{key: host-arch, operator: In, values: [huawei-arm]}]
- matchExpressions:
  - key: zone   # which
    operator: In
    values: [z1]
"""
    terms = "nodeSelectorTerms"
    result = edited(text, *(((terms, i, "matchExpressions", 1), TERM) for i in range(2)))
    assert (
        result
        == """\
nodeSelectorTerms:
- matchExpressions: [{key: host-arch, operator: In, values: [huawei-arm]}, {key: kubernetes.io/hostname, operator: In, values: [node-a, node-b]}]
- matchExpressions:
  - key: zone   # which
    operator: In
    values: [z1]
  - key: kubernetes.io/hostname
    operator: In
    values:
    - node-a
    - node-b
"""
    )


def test_missing_parents_take_the_neighbours_indentation() -> None:
    text = "spec:\n    template:\n        spec:\n            tolerations:\n                - key: a\n"
    result = edited(text, (("spec", "template", "spec", "affinity", "list"), [{"a": {"b": 1}}]))
    assert result == text + (
        "            affinity:\n                list:\n                    - a:\n                          b: 1\n"
    )


@pytest.mark.parametrize(
    ("text", "path", "value", "result"),
    [
        ("a: 1 # c\nb: x\n", ("a",), 2, "a: 2 # c\nb: x\n"),
        ("a: 'x'\n", ("a",), "y", "a: 'y'\n"),
        ('a: "x"\n', ("a",), "y", 'a: "y"\n'),
        ("a: x\n", ("a",), "8", 'a: "8"\n'),
        ("a:\n", ("a",), "x", "a: x\n"),
        ("a:  # c\n", ("a",), 1, "a: 1  # c\n"),
        ("a:  # c\nb: 1\n", ("a", "k"), 1, "a:  # c\n  k: 1\nb: 1\n"),
        ("a: {}\n", ("a", "k"), "v", "a: {k: v}\n"),
        ("a: {  } # c\n", ("a", "k"), "v", "a: {k: v} # c\n"),
        ("a: []\n", ("a", 0), "v", "a: [v]\n"),
        ("a: null\n", ("a", "k"), "v", "a: {k: v}\n"),
        ("a: {b: 1,}\n", ("a", "c"), 2, "a: {b: 1, c: 2}\n"),
        ("a: {b: , c}\n", ("a", "b"), 2, "a: {b: 2, c}\n"),
        ("a: {b, c: 1}\n", ("a", "b"), 2, "a: {b: 2, c: 1}\n"),
        ("a: {\n  b: 1, # x\n  c: 2 # y\n}\n", ("a", "d"), "v", "a: {\n  b: 1, # x\n  c: 2, # y\n  d: v\n}\n"),
        ("a: [\n  1,\n]\n", ("a", 1), 2, "a: [\n  1,\n  2,\n]\n"),
        ("a:\n- 1\n- x: 1\n  # in\n# out\nb: 1\n", ("a", 2), "v", "a:\n- 1\n- x: 1\n- v\n  # in\n# out\nb: 1\n"),
        ("a:\n  -   x: 1\n", ("a", 0, "z"), 2, "a:\n  -   x: 1\n      z: 2\n"),
        ("a:\n-\n- 1\n", ("a", 0), {"k": [1]}, "a:\n- k:\n  - 1\n- 1\n"),
        ("a:\n- - 1\n  - 2\n", ("a", 0, 2), 3, "a:\n- - 1\n  - 2\n  - 3\n"),
        ("a: |\n  x\n\n\nb: 1\n", ("a",), "p\nq\n", "a: |\n  p\n  q\n\n\nb: 1\n"),
        ("a: x # c\nb: 1\n", ("a",), "p\nq", "a: |- # c\n  p\n  q\nb: 1\n"),
        ("a: |\n  x\nb: 1\n", ("a",), 5, "a: 5\nb: 1\n"),
        ("a:\n  b: 1\n  c: 2\nd: 1\n", ("a",), 5, "a: 5\nd: 1\n"),
        ("a: # c\n  b: 1\nd: 1\n", ("a",), [1], "a: # c\n- 1\nd: 1\n"),
        ("a: 1", ("b",), 2, "a: 1\nb: 2"),
        ("a: 1", ("b",), "x\ny\n", "a: 1\nb: |\n  x\n  y\n"),
        ("a: |+\n  x\n\n", ("b",), 2, "a: |+\n  x\n\nb: 2\n"),
        ("a: 1\r\nb:\r\n  c: 1 # x\r\n", ("b", "d"), {"e": [1]}, "a: 1\r\nb:\r\n  c: 1 # x\r\n  d:\r\n    e:\r\n    - 1\r\n"),
        ("\ufeffa: 1\n", ("b",), 2, "\ufeffa: 1\nb: 2\n"),
        ("{a: 1}\n", ("b",), "x y", "{a: 1, b: x y}\n"),
        ("on: 1\n", ("true",), 2, "on: 2\n"),
        ("a: *x\n".join(["b: &x 1\n", ""]), ("a",), 2, "b: &x 1\na: 2\n"),
        ("a: multi\n  line # c\nb: 1\n", ("a",), "x", "a: x # c\nb: 1\n"),
        ("a: !!str 16\n", ("a",), "17", 'a: "17"\n'),
        ("a: &unused {b: 1}\n", ("a", "c"), 2, "a: &unused {b: 1, c: 2}\n"),
    ],
)  # fmt: skip
def test_single_edits(text: str, path: FieldPath, value: Any, result: str) -> None:
    assert edited(text, (path, value)) == result


def test_only_the_asked_document_changes() -> None:
    text = '# one\na: 1\n---   # two\r\n\r\nb: {x: 1}\n...\n---\n{"c": 1}\n---\n'
    assert edited(text, (("b", "z"), 2), document=1) == text.replace("{x: 1}", "{x: 1, z: 2}")
    assert edited(text, (("c",), 2), document=2) == text.replace('"c": 1', '"c": 2')


def test_a_new_collection_that_contains_the_old_one_keeps_its_text() -> None:
    text = "a:\n  # why\n  b: 'x'   # c\n  l:\n  - {p: 1}  # one\n"
    result = edited(text, (("a",), {"b": "x", "l": [{"p": 1, "q": 2}, 3], "n": None}))
    assert result == "a:\n  # why\n  b: 'x'   # c\n  l:\n  - {p: 1, q: 2}  # one\n  - 3\n  n: null\n".replace(
        "  n:", '  "n":'
    )


def test_later_changes_win_and_build_on_each_other() -> None:
    changes: list[tuple[FieldPath, Any]] = [
        (("m",), {"a": 1}), (("m", "b", "c"), 2), (("l",), None), (("l", 0), "x"), (("k",), 1), (("k",), 3),
    ]  # fmt: skip
    assert set_fields("z: 0\n", 0, changes) == "z: 0\nm:\n  a: 1\n  b:\n    c: 2\nl:\n- x\nk: 3\n"


# ---------------------------------------------------------------------------------------------------------- anchors
SHARED = """\
Master: &t
  metadata: {labels: {x: "1"}}
  spec:
    nodeSelector: &ns {arch: arm}
Worker: *t
Other:
  nodeSelector: *ns   # same
"""


def test_a_change_inside_a_shared_block_is_refused_with_both_lines() -> None:
    with pytest.raises(EditError, match=r"line 1: .*&t .*line 5"):
        set_fields(SHARED, 0, [(("Master", "spec", "nodeSelector", "h"), "a")])
    with pytest.raises(EditError, match=r"line 4: .*&ns .*line 7"):
        set_fields(
            SHARED.replace("Worker: *t\n", "Worker: 1\n"),
            0,
            [(("Master", "spec", "nodeSelector"), {"b": "c"})],
        )


def test_the_key_is_written_beside_the_alias() -> None:
    result = edited(
        SHARED, (("Worker", "spec", "nodeSelector", HOST), "node-b"), (("Other", "nodeSelector", HOST), "node-c")
    )
    assert result == SHARED.replace(
        "Worker: *t\n",
        "Worker:\n  <<: *t\n  spec:\n    nodeSelector:\n      arch: arm\n      kubernetes.io/hostname: node-b\n",
    ).replace(
        "nodeSelector: *ns   # same\n",
        "nodeSelector:   # same\n    <<: *ns\n    kubernetes.io/hostname: node-c\n",
    )


def test_the_same_change_for_all_users_is_made_once() -> None:
    changes = [((role, "spec", "schedulerName"), "volcano") for role in ("Master", "Worker")]
    result = edited(SHARED, *changes)
    assert changed_lines(SHARED, result) == ["+     schedulerName: volcano"]


def test_different_changes_for_all_users() -> None:
    changes = [((role, "spec", "nodeName"), role.lower()) for role in ("Master", "Worker")]
    result = edited(SHARED, *changes)
    (document,) = read_documents(result)
    assert [document.value[role]["spec"]["nodeName"] for role in ("Master", "Worker")] == ["master", "worker"]
    assert "  <<: *t\n" in result


def test_a_merged_mapping_gets_a_key_of_its_own() -> None:
    text = "base: &b\n  sel: {a: x}\n  keep: 1\nrole:\n  <<: *b\n  other: 2\n"
    result = edited(text, (("role", "sel", "h"), "v"))
    assert result == text + "  sel:\n    a: x\n    h: v\n"


def test_aliases_in_flow_style_and_in_lists() -> None:
    text = "a: &x {p: 1}\nb: {c: *x}\nd:\n- *x\ne: &l [1]\nf: *l\n"
    result = edited(text, (("b", "c", "q"), 2), (("d", 0, "q"), 3), (("f", 1), 2))
    assert result == "a: &x {p: 1}\nb: {c: {<<: *x, q: 2}}\nd:\n- <<: *x\n  q: 3\ne: &l [1]\nf:\n- 1\n- 2\n"


def test_a_block_with_an_anchor_that_others_use_is_not_replaced() -> None:
    with pytest.raises(EditError, match=r"line 2.*line 3"):
        set_fields("a:\n  b: &x 1\nc: *x\n", 0, [(("a",), 5)])


# ------------------------------------------------------------------------------------------------------------- JSON
def test_json_keeps_its_layout() -> None:
    text = json.dumps({"kind": "Job", "metadata": {"name": "x", "labels": {}}, "l": [1, 2]}, indent=4) + "\n"
    result = edited(
        text, (("metadata", "annotations", "a/b"), 'q"'), (("l", 2), {"a": [1]}), (("metadata", "name"), "é")
    )
    expected = {
        "kind": "Job",
        "metadata": {"name": "é", "labels": {}, "annotations": {"a/b": 'q"'}},
        "l": [1, 2, {"a": [1]}],
    }
    assert result == json.dumps(expected, indent=4, ensure_ascii=False) + "\n"


def test_compact_json() -> None:
    text = '{"a":{"b":1},"c":[]}\n{"d": 1}'
    assert edited(text, (("a", "x"), {"y": [1]}), (("c", 0), "s")) == '{"a":{"b":1,"x":{"y":[1]}},"c":["s"]}\n{"d": 1}'
    assert edited(text, (("e",), None), document=1) == '{"a":{"b":1},"c":[]}\n{"d": 1, "e": null}'


# ----------------------------------------------------------------------------------------------------------- errors
@pytest.mark.parametrize(
    ("text", "path", "value"),
    [
        ("a: 1\n", ("a", "b"), 1), ("a: 1\n", ("a", 0), 1), ("a: [1]\n", ("a", 2), 1), ("a: [1]\n", ("a", "b"), 1),
        ("a: 1\n", (), {}), ("a: [\n", ("a",), 1), ("a: 1\n", ("b",), float("nan")), ("a: 1\n", ("b",), 2**70),
        ("a: 1\n", ("b",), {1: 2}), ("a: 1\n", ("b",), "\ud800"), ('{"a": 1}', ("b",), float("inf")), ("- 1\n", ("a",), 1),
    ],
)  # fmt: skip
def test_impossible_edits(text: str, path: FieldPath, value: Any) -> None:
    with pytest.raises(EditError) as error:
        set_fields(text, 0, [(path, value)])
    assert str(error.value).isprintable()


def test_unknown_document() -> None:
    with pytest.raises(EditError, match="no document 3"):
        set_fields("a: 1\n", 3, [(("a",), 2)])


def test_an_explicit_key_that_a_later_merge_overrides_is_refused() -> None:
    with pytest.raises(EditError, match="cannot be expressed"):
        set_fields("b: &b {p: 1}\nm:\n  p: 5\n  <<: *b\n", 0, [(("m", "p"), 7)])


# ------------------------------------------------------------------------------------------------------------ copies
@pytest.mark.parametrize(
    ("text", "path", "copies", "result"),
    [
        (
            "l:\n- a: 1  # c\n\n  # in\n  b: 2\n- x\n",
            ("l", 0),
            2,
            "l:\n" + "- a: 1  # c\n\n  # in\n  b: 2\n" * 3 + "- x\n",
        ),
        ("l: [a, {b: 1}]\n", ("l", 1), 1, "l: [a, {b: 1}, {b: 1}]\n"),
        ("l:\r\n  - a\r\n", ("l", 0), 1, "l:\r\n  - a\r\n  - a\r\n"),
        ("l:\n- a", ("l", 0), 1, "l:\n- a\n- a"),
        ("l:\n-\n- 1\n", ("l", 0), 1, "l:\n-\n-\n- 1\n"),
        ('{"l": [1]}', ("l", 0), 2, '{"l": [1, 1, 1]}'),
        ("m:\n  l:\n  - |\n    x\n  - y\n", ("m", "l", 0), 1, "m:\n  l:\n  - |\n    x\n  - |\n    x\n  - y\n"),
    ],
)
def test_copies(text: str, path: FieldPath, copies: int, result: str) -> None:
    assert copy_item(text, 0, path, copies) == result


@pytest.mark.parametrize(
    ("text", "path"), [("a: 1\n", ("a",)), ("l: [1]\n", ("l", 1)), ("a: &x [1]\nb: *x\n", ("b", 0)), ("a: 1\n", ())]
)
def test_impossible_copies(text: str, path: FieldPath) -> None:
    with pytest.raises(EditError):
        copy_item(text, 0, path, 1)


# -------------------------------------------------------------------------------------------------------- properties
def all_paths(value: Any, path: FieldPath = ()) -> list[FieldPath]:
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(p for key, item in children for p in all_paths(item, (*path, key)))]


@settings(max_examples=250, deadline=None)
@given(st.data())
def test_edits_are_exact_idempotent_and_local(data: st.DataObject) -> None:
    """Whatever the style: the edited text holds the intended value and, if only fields were added to a block mapping,
    all lines of the original in their order."""
    text = data.draw(block_texts())
    if data.draw(st.booleans()):
        text = text.replace("\n", "\r\n")
    documents = [d for d in read_documents(text) if d.value is not None]
    if not documents:
        return
    document = documents[0]
    path = data.draw(st.sampled_from(all_paths(document.value)))
    target: Any = document.value
    for part in path:
        target = target[part]
    adds = isinstance(target, dict) and bool(target)
    if adds:
        path = (*path, data.draw(st.sampled_from(["new", "annotations", "x y"])))
    elif not path:
        return
    value = data.draw(VALUES)
    try:
        result = edited(text, (path, value), document=document.index)
    except EditError:
        return
    assert "\r\n" not in text or "\n" not in result.replace("\r\n", "")
    mark = document.marks[path[:-1]]
    if adds and mark.alias_line == 0 and "{" not in text.split("\n")[mark.line - 1] and path not in document.marks:
        remaining = iter(result.split("\n"))
        assert all(
            any(line.rstrip("\r") == other.rstrip("\r") for other in remaining)
            for line in text.rstrip("\r\n").split("\n")
        )


@pytest.mark.parametrize(
    "file", sorted((Path(__file__).parents[1] / "data" / "manifests").glob("*.yaml")), ids=lambda p: p.name[:2]
)
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_every_field_of_real_manifests_can_be_changed(file: Path, line_end: str) -> None:
    text = file.read_text().replace("\n", line_end)
    for document in read_documents(text):
        changes: list[tuple[FieldPath, Any]] = []
        for path in all_paths(document.value)[1:]:
            value: Any = document.value
            for part in path:
                value = value[part]
            if isinstance(value, dict):
                changes.append(((*path, "ascendctl.io/new"), {"a": ["b", {"c": "1"}]}))
            elif not isinstance(value, list):
                changes.append((path, "changed: 1"))
        result = edited(text, *changes, document=document.index)
        (found,) = [d for d in read_documents(result) if d.index == document.index]
        assert not same_value(found.value, document.value)
        comments = [line for line in text.split("\n") if line.strip().startswith("#")]
        assert [line for line in result.split("\n") if line in comments] == comments
