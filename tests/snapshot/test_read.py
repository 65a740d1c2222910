"""Files of a dump: containers, encodings, parts of long lists (chapter 30 §8.1)."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ascendctl.snapshot import read
from ascendctl.snapshot.load import load_snapshot
from ascendctl.yamlio.errors import ReadError
from tests.snapshot import objects as o

NODES = [o.node(f"n{i}") for i in range(1, 4)]
LIST = {"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": ""}, "items": NODES}
RAW = {
    "kind": "NodeList",
    "apiVersion": "v1",
    "items": [{key: value for key, value in node.items() if key not in ("kind", "apiVersion")} for node in NODES],
}


def names(path: Any) -> tuple[str, ...]:
    return load_snapshot(path).names


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(LIST),
        json.dumps(LIST, indent=4),
        json.dumps(RAW),
        json.dumps(NODES),
        json.dumps({"kind": "List", "items": [LIST, {"kind": "List", "items": None}]}),
        "\n".join(map(json.dumps, NODES)),
        "".join(json.dumps(node, indent=1) for node in NODES),
        "---\n".join(json.dumps(node) + "\n" for node in NODES),
        "\ufeff" + json.dumps(LIST),
        "Warning: v1 is old\nError from server: no\n" + json.dumps(LIST),
        json.dumps(LIST).replace("\n", "\r\n"),
    ],
)
def test_containers(text: str, tmp_path: Path) -> None:
    path = tmp_path / "nodes.json"
    path.write_text(text, encoding="utf-8")
    assert names(path) == ("n1", "n2", "n3")


def test_yaml_gzip_utf16_and_folders(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / ".hidden").mkdir()
    (tmp_path / ".hidden" / "x.json").write_text(json.dumps(o.node("hidden")))
    text = "apiVersion: v1\nkind: Node\nmetadata: {name: a1}\n---\n\n---\napiVersion: v1\nkind: Node\nmetadata: {name: a2}\n...\n"
    (tmp_path / "sub" / "a.yaml").write_text(text)
    (tmp_path / "b.json.gz").write_bytes(gzip.compress(json.dumps(o.node("b1")).encode()))
    (tmp_path / "c.yml").write_bytes(json.dumps(o.node("c1")).encode("utf-16"))
    (tmp_path / "notes.txt").write_text("not read")
    assert names(tmp_path) == ("a1", "a2", "b1", "c1")
    assert names(str(tmp_path / "**" / "*.yaml")) == ("a1", "a2")
    assert names([tmp_path / "c.yml", str(tmp_path / "b.json.gz")]) == ("b1", "c1")


def test_stdin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(json.dumps(LIST).encode())))
    assert names("-") == ("n1", "n2", "n3")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"kind": "Node",\n "metadata": {', r"nodes\.json:\d+:\d+:"),
        ("NAME   STATUS   AGE\nn1     Ready    5d\n", "kubectl get -o json"),
        ("Name:               n1\nRoles:              <none>\n", "kubectl get -o json"),
        ("kind: Node\n metadata: [", r"nodes\.json:\d+:"),
        ("", "holds neither nodes nor device ConfigMaps"),
        ('{"kind": "Secret"}', "kubectl get nodes -o json"),
    ],
)
def test_unreadable_files(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "nodes.json"
    path.write_text(text)
    with pytest.raises(ReadError, match=message):
        load_snapshot(path)


def test_paths_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match="no such file"):
        load_snapshot(tmp_path / "nothing.json")
    with pytest.raises(ReadError, match=r"no \.yaml, \.yml or \.json file"):
        load_snapshot(tmp_path)
    (tmp_path / "cut.json.gz").write_bytes(gzip.compress(json.dumps(LIST).encode())[:-20])
    with pytest.raises(ReadError, match="cut off"):
        load_snapshot(tmp_path / "cut.json.gz")


def parts(data: bytes, monkeypatch: pytest.MonkeyPatch, size: int) -> list[Any]:
    monkeypatch.setattr(read, "CHUNK", size)
    return list(read.read_objects(data, "x.json"))


def flat(values: list[Any]) -> list[Any]:
    """The items: of a part, or given one by one where the text has another layout than machines write."""
    return [
        item
        for value in values
        for item in (value["items"] if value.keys() == {"kind", "items"} and value["kind"] == "List" else [value])
    ]


@pytest.mark.parametrize("size", [1, 50, 700, 5000])
@pytest.mark.parametrize("indent", [None, 1, 4])
def test_long_lists_come_in_parts(size: int, indent: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    owner = {"apiVersion": "v1", "kind": "X", "name": "y"}
    items = [
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"p{i}", "owners": [owner] * 3}} for i in range(30)
    ]
    data = json.dumps(
        {"apiVersion": "v1", "items": items, "kind": "List", "metadata": {"x": {}}}, indent=indent
    ).encode()
    found = parts(data, monkeypatch, size)
    assert [item for part in found for item in part["items"]] == items
    assert {part["kind"] for part in found} == {"List"}
    assert len(found) > 3 or size == 5000


def test_items_whose_text_looks_like_the_border_between_items(monkeypatch: pytest.MonkeyPatch) -> None:
    items = [{"a": [{"a": 1}, {"a": [{"a": 2}, {"a": '},{"a'}]}]}, {"a": '},{"a":1}'}] * 20
    data = json.dumps({"items": items, "kind": "List"}, separators=(",", ":")).encode()
    for size in (1, 20, 60):
        assert flat(parts(data, monkeypatch, size)) == items


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text('{}[]",:\\ a', max_size=6),
    lambda child: (
        st.lists(child, max_size=3) | st.dictionaries(st.sampled_from(["a", "items", "b"]), child, max_size=3)
    ),
    max_leaves=12,
)


def test_an_empty_list_beside_items_further_inside(monkeypatch: pytest.MonkeyPatch) -> None:
    inside = {"a": None, "items": [{"a": None}]}
    for own in ([], [0], [None]):
        value = {"items": own, "kind": "List", "y": inside}
        assert parts(json.dumps(value).encode(), monkeypatch, 1) == [value]


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.fixed_dictionaries({"a": JSON}, optional={"b": JSON, "items": JSON}), max_size=12),
    st.dictionaries(st.sampled_from(["x", "y"]), JSON, max_size=2),
    st.sampled_from([None, 1, 2]),
    st.integers(1, 60),
)
def test_parts_are_what_the_whole_is(items: list[Any], rest: dict[str, Any], indent: int | None, size: int) -> None:
    value = {"x": rest.get("x"), "items": items, "kind": "List", "y": rest.get("y")}
    data = json.dumps(value, indent=indent).encode()
    with pytest.MonkeyPatch.context() as patch:
        found = parts(data, patch, size)
    assert flat(found) == items or found == [value]


def test_a_list_that_breaks_off_in_the_middle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read, "CHUNK", 100)
    lines = json.dumps(LIST, indent=1).splitlines()
    lines[-20] = "}}}"
    path = tmp_path / "nodes.json"
    path.write_text("\n".join(lines))
    with pytest.raises(ReadError, match=r"nodes\.json:\d+:\d+: "):
        load_snapshot(path)
