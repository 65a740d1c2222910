"""The dump reader: the same values as the reader with positions, whatever the container (chapter 30 §8.1)."""

from __future__ import annotations

import json
import random
import tracemalloc
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ascendctl.yamlio import fast
from ascendctl.yamlio.blockscan import Scanner, Unsure, is_scannable
from ascendctl.yamlio.edit import same_value
from ascendctl.yamlio.errors import ReadError
from ascendctl.yamlio.fast import load_documents, load_objects
from ascendctl.yamlio.read import read_documents
from ascendctl.yamlio.write import to_yaml
from tests import cases
from tests.yamlio.texts import DOCUMENTS, block_texts

VECTORS = Path(__file__).parents[1] / "vectors"
NODES = [
    {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": f"node-{i}",
            "labels": {"on": "true", "n": str(i), "huawei.com/x.y": "010"},
            "annotations": {"baseDeviceInfos": json.dumps({f"Ascend910-{c}": {"IP": "10.0.0.1"} for c in range(4)})},
        },
        "spec": {"taints": None, "podCIDRs": [], "unschedulable": i % 2 == 0},
        "status": {
            "capacity": {"cpu": 192, "memory": "1Ki"},
            "conditions": [{"type": "Ready", "status": "True", "message": "a\nb: c\n"}],
            "nested": [[1, 2], [{"a": "x: y"}]],
        },
    }
    for i in range(40)
]


def read(text: str) -> list[Any] | None:
    documents = read_documents(text)
    if any(p.fatal and "not a mapping" not in p.message for d in documents for p in d.problems):
        return None
    return [d.value for d in documents]


def check_equal(text: str) -> None:
    """Both readers agree, item by item or not."""
    expected = read(text)
    for loader in (load_documents, load_objects):
        try:
            found = list(loader(text.encode(), "x"))
        except ReadError:
            assert expected is None or None in expected
            continue
        if loader is load_documents and expected is not None and None not in expected:
            assert same_value(found, expected)


@settings(max_examples=300, deadline=None)
@given(block_texts())
def test_scanner_finds_what_the_composer_finds(text: str) -> None:
    try:
        found = Scanner().scan(text) if is_scannable(text) else None
    except Unsure:
        found = None
    if found is not None and "\n---" not in text:
        (expected,) = read(text) or [None]
        assert isinstance(found, list) or same_value(found, expected)


@settings(max_examples=200, deadline=None)
@given(block_texts(hard=False))
def test_plain_block_style_is_within_the_subset(text: str) -> None:
    expected = read(text)
    if expected is not None:
        assert same_value([Scanner().scan(text)], expected)


@settings(max_examples=150, deadline=None)
@given(st.lists(block_texts(), min_size=1, max_size=3).map("---\n".join))
def test_documents_equal_those_with_positions(text: str) -> None:
    check_equal(text)


@settings(max_examples=100, deadline=None)
@given(st.lists(DOCUMENTS, max_size=4), st.sampled_from([None, 1, 2]), st.booleans())
def test_json_equals(values: list[Any], indent: int | None, compact: bool) -> None:
    separators = (",", ":") if compact and indent is None else None
    text = "\n".join(json.dumps(v, indent=indent, separators=separators, ensure_ascii=compact) for v in values)
    expected = [d.value for d in read_documents(text)]
    assert same_value(list(load_documents(text.encode("utf-8", "surrogatepass"), "x")), expected)


def forms(items: list[Any]) -> list[bytes]:
    """One list in the shapes that people have."""
    head = {"apiVersion": "v1", "items": items, "kind": "List", "metadata": {"resourceVersion": ""}}
    tail = {"kind": "List", "apiVersion": "v1", "metadata": {}, "items": items}
    texts = [to_yaml(head), to_yaml(tail), to_yaml(head).replace("\n", "\r\n"), "# exported\n" + to_yaml(head)]
    for indent in (None, 1, 4):
        texts += [json.dumps(head, indent=indent), json.dumps(tail, indent=indent)]
    lines = ",\n".join(json.dumps(item) for item in items)
    texts.append('{"apiVersion":"v1","items":[\n' + lines + '\n],"kind":"List"}\n')
    texts.append(to_yaml(head).replace("\n- ", "\n-   ", 1))
    return [text.encode() for text in texts[:-1]]


@pytest.mark.parametrize("threshold", [0, 1 << 20])
@pytest.mark.parametrize("form", range(11))
def test_lists_are_unpacked(form: int, threshold: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fast, "_STREAM_FROM", threshold)
    monkeypatch.setattr(fast, "_PIECE", 1)
    data = forms(NODES)[form]
    assert same_value(list(load_objects(data, "x")), NODES)
    (document,) = load_documents(data, "x")
    assert same_value(document["items"], NODES)


@pytest.mark.parametrize("seed", range(6))
def test_lists_with_awkward_items(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Items that cannot be cut out, anchors that reach from one into another, texts that look like a new item."""
    monkeypatch.setattr(fast, "_STREAM_FROM", 0)
    monkeypatch.setattr(fast, "_PIECE", 1)
    rng = random.Random(seed)
    pieces = [
        "- &a\n  p: 1\n", "- *a\n", "- q: *a\n", '- t: "x\n- y: z"\n', "- u: |\n    - v\n", "-\n  w: 1\n", "- [1]\n",
        "- kind: Pod\n  s: 'x'\n", "# comment\n", "- k:\n  - 1\n  - 2\n", "- {a: 1}\n", "- null\n",
    ]  # fmt: skip
    for _ in range(30):
        body = "".join(["- &a\n  p: 1\n", *rng.choices(pieces, k=6)])
        text = "apiVersion: v1\nitems:\n" + body + "kind: List\n"
        documents = read(text)
        assert documents is not None
        expected = [item for item in documents[0]["items"] if item is not None]
        flat = [x for item in expected for x in (item if isinstance(item, list) else [item])]
        assert same_value(list(load_objects(text.encode(), "x")), flat)


def test_an_error_after_good_items_comes_with_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fast, "_STREAM_FROM", 0)
    monkeypatch.setattr(fast, "_PIECE", 1)
    text = "apiVersion: v1\nitems:\n- a: 1\n- b: [\n- c: 1\nkind: List\n"
    objects = load_objects(text.encode(), "dump.yaml")
    assert next(objects) == {"a": 1}
    with pytest.raises(ReadError) as error:
        list(objects)
    assert (error.value.name, error.value.line) == ("dump.yaml", 5)


def test_raw_lists_lend_their_kind() -> None:
    raw = {"kind": "NodeList", "apiVersion": "v1", "metadata": {}, "items": [{"metadata": {"name": "a"}}]}
    expected = [{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}}]
    for threshold in (0, 1 << 20):
        fast_threshold, fast._STREAM_FROM = fast._STREAM_FROM, threshold
        try:
            assert list(load_objects(json.dumps(raw).encode(), "x")) == expected
            assert list(load_objects(to_yaml(raw).encode(), "x")) == expected
        finally:
            fast._STREAM_FROM = fast_threshold


@pytest.mark.parametrize("family", sorted(VECTORS.glob("*.jsonl.gz")), ids=lambda path: path.name.split(".")[0])
def test_dumps_of_recorded_cases(family: Path, tmp_path: Path) -> None:
    """YAML and JSON dumps of a cluster give the same objects, with and without positions, item by item or whole."""
    case = cases.load(family)[0]
    for mode in ("clusterd", "device"):
        names = {path.name for fmt in ("yaml", "json") for path in cases.dump(case, tmp_path, fmt, mode)}
        for name in ("nodes", "pods", "configmaps"):
            assert {f"{name}.yaml", f"{name}.json"} <= names
            data, as_json = (tmp_path / f"{name}.yaml").read_bytes(), (tmp_path / f"{name}.json").read_bytes()
            found = list(load_objects(data, name))
            assert same_value(found, list(load_objects(as_json, name)))
            (document,) = read_documents(data)
            assert same_value(found, document.value["items"]) and not document.problems
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(fast, "_STREAM_FROM", 0)
                patch.setattr(fast, "_PIECE", 1)
                assert same_value(found, list(load_objects(data, name)))
                assert same_value(found, list(load_objects(as_json, name)))


def test_nested_and_empty_lists() -> None:
    text = to_yaml({"kind": "List", "items": [{"kind": "List", "items": [{"kind": "A"}]}, {"kind": "B"}, None]})
    assert list(load_objects(text.encode(), "x")) == [{"kind": "A"}, {"kind": "B"}]
    assert list(load_objects(b"kind: List\nitems: null\n", "x")) == []
    assert list(load_objects(b"kind: List\nitems: []\n", "x")) == []
    assert list(load_objects(b"kind: PodList\n", "x")) == []
    assert list(load_objects(b'{"kind": "Foo", "items": [1]}', "x")) == [{"kind": "Foo", "items": [1]}]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", []), (b"---\n# c\n", []), (b"a: 1\n---\nnull\n---\nb: 2\n...\n", [{"a": 1}, {"b": 2}]),
        (b'[{"a": 1}, {"b": 2.0}]', [{"a": 1}, {"b": 2}]), (b"- a: 1\n- b: 2\n", [{"a": 1}, {"b": 2}]),
        (b'{"a": 1}\n{"b": 2}\n{"c": 3}\n', [{"a": 1}, {"b": 2}, {"c": 3}]),
        (b"%YAML 1.1\n---\na: 1\n", [{"a": 1}]),
        (b"\xef\xbb\xbfa: 1\r\n", [{"a": 1}]), (b'\xef\xbb\xbf{"a": 1}', [{"a": 1}]),
        ("a: é\n".encode("utf-16"), [{"a": "é"}]), ('{"a": 1}'.encode("utf-16-le").join([b"\xff\xfe", b""]), [{"a": 1}]),
        (b"Warning: old\nWarning: older\na: 1\n", [{"a": 1}]), (b'Error from server: x\n{"a": 1}\n', [{"a": 1}]),
        (b'{"a": {"b": 1}, "a": 2}', [{"a": 2}]), (b"a: 1\na: 2\n", [{"a": 2}]),
        (b'{"a": 010}', [{"a": 8}]), (b'{"a": "\\ud800x"}', [{"a": "\ufffdx"}]),
        (b'{"a": 18446744073709551616, "b": 1e3}', [{"a": 1.8446744073709552e19, "b": 1000}]),
        (b"creationTimestamp: 2026-08-29T10:40:00Z\n", [{"creationTimestamp": "2026-08-29T10:40:00Z"}]),
    ],
)  # fmt: skip
def test_shapes_of_dumps(data: bytes, expected: list[Any]) -> None:
    assert same_value(list(load_objects(data, "x")), expected)


@pytest.mark.parametrize(
    ("data", "part"),
    [
        (b"NAME     STATUS   AGE\nnode-1   Ready    1d\n", "a table"),
        (b"NAMESPACE   NAME   DATA\nkube   x   1\n", "a table"),
        (b"Name:               node-1\nRoles:              worker\n", "kubectl describe"),
        (b"node/node-1\nnode/node-2\n", "a list of names"),
        (b"just text\n", "text, not YAML"),
        (b"Error from server (Forbidden): nodes is forbidden\n\n", "nothing but a message in it: 'Error from server"),
        (b'{"a": 1}{"b": 2}{"c": ', "JSON"),
        (b"a: 1\nb: {{ x }}\n", "unrendered template"),
        (b"\xff\xfea", "UTF-16"), (b"a: \xc4\xe3\n", "UTF-8"), (b"a: 1\n--- x\n", "---"), (b"a: \x1b\n", "control character"),
    ],
)  # fmt: skip
def test_unreadable_dumps(data: bytes, part: str) -> None:
    with pytest.raises(ReadError, match=part):
        list(load_objects(data, "dump.yaml"))


def test_position_of_an_error() -> None:
    with pytest.raises(ReadError) as error:
        list(load_objects(b"Warning: x\na: 1\n---\nb: 2\nc: [\n", "d.yaml"))
    assert str(error.value).startswith("d.yaml:6:1: ")


def test_a_large_broken_json_dump_is_not_read_as_yaml() -> None:
    data = json.dumps({"items": ["x" * 100] * 100_000}).encode()[:-5]
    with pytest.raises(ReadError, match="JSON"):
        list(load_objects(data, "d.json"))


def test_the_reader_holds_one_item_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stream of items needs a few copies of the text; all items together would need more than ten times as much."""
    monkeypatch.setattr(fast, "_STREAM_FROM", 0)
    monkeypatch.setattr(fast, "_PIECE", 4096)

    def measure(count: int, dump: Callable[[Any], str]) -> tuple[int, int]:
        data = dump({"apiVersion": "v1", "items": NODES * count, "kind": "List"}).encode()
        tracemalloc.start()
        assert sum(1 for _ in load_objects(data, "x")) == 40 * count
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return len(data), peak

    for dump in (to_yaml, partial(json.dumps, indent=4)):
        measure(1, dump)
        (size, peak), (large_size, large_peak) = measure(2, dump), measure(8, dump)
        assert large_peak - peak < 3.5 * (large_size - size)
