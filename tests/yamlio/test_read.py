"""Chapter 40 §8.1 and §8.4: from bytes to documents, positions, duplicates, anchors, merge keys."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import pytest

from ascendctl.yamlio.document import Document, Problem
from ascendctl.yamlio.errors import ReadError
from ascendctl.yamlio.read import read_documents, read_file


def values(source: str | bytes) -> list[object]:
    documents = read_documents(source, "f.yaml")
    assert not [p for d in documents for p in d.problems]
    return [d.value for d in documents]


def problem(source: str | bytes) -> Problem:
    problems = [p for d in read_documents(source, "f.yaml") for p in d.problems]
    assert len(problems) == 1, problems
    return problems[0]


def single(text: str) -> Document:
    (document,) = read_documents(text)
    return document


# ------------------------------------------------------------------------------------------------- documents, §8.1
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []), ("# only a comment\n", []), ("---\n---\n", []), ("null\n---\n~\n", []),
        ("---\na: 1\n---\n\n# c\n---\nb: 2\n---\n", [{"a": 1}, {"b": 2}]),
        ("a: 1\n---   # comment\nb: 2", [{"a": 1}, {"b": 2}]),
        ("a: |\n  ---\n  x\n", [{"a": "---\nx\n"}]),
        ("{}\n", [{}]),
        ("a: 1\n...\n", [{"a": 1}]),
    ],
)  # fmt: skip
def test_streams(text: str, expected: list[object]) -> None:
    assert values(text) == expected
    assert values(text.replace("\n", "\r\n")) == expected
    assert values(text.encode()) == expected


def test_index_counts_documents_that_are_not_empty() -> None:
    documents = read_documents("---\n# c\n---\na: 1\n---\nb: [\n---\nc: 1\n")
    assert [(d.index, d.line, d.value) for d in documents] == [(0, 4, {"a": 1}), (1, 6, None), (2, 8, {"c": 1})]


def test_a_separator_ends_the_document_inside_a_quoted_text_too() -> None:
    first, second = read_documents('a: "x\n---\nb: 1\n')
    assert first.problems[0].rule == "DOC-01" and "---" in first.problems[0].hint
    assert second.value == {"b": 1}


@pytest.mark.parametrize("line", ["--- {a: 1}", "--- !tag", "--- |", "----", "---b: 2"])
def test_text_on_the_separator_line(line: str) -> None:
    found = problem(f"a: 1\n{line}\nb: 1\n")
    assert (found.rule, found.line, found.fatal) == ("DOC-01", 2, True)


def test_carriage_returns_never_reach_a_value() -> None:
    assert values('a: |\r\n  x\r\n  y\r\nb: "p\r\n  q"\r\n') == [{"a": "x\ny\n", "b": "p q"}]


@pytest.mark.parametrize("text", ["\ufeffa: 1\n", "\ufeff---\na: 1\n", "---\n\ufeffa: 1\n", "\ufeff\ufeffa: 1\n"])
def test_byte_order_marks_at_the_start(text: str) -> None:
    assert values(text) == [{"a": 1}]
    assert values(text.encode()) == [{"a": 1}]


def test_byte_order_mark_elsewhere_is_a_character() -> None:
    assert values("a: x\n\ufeffb: \ufeffy\n") == [{"a": "x", "\ufeffb": "\ufeffy"}]


def test_unicode_line_breaks_end_lines_but_lines_are_counted_as_editors_do() -> None:
    document = single("a: 1\x85b: 2\u2028c: 3\nd: 4\n")
    assert document.value == {"a": 1, "b": 2, "c": 3, "d": 4}
    mark = document.marks["c",]
    assert (mark.line, mark.column) == (1, 14)
    assert document.marks["d",].line == 2


def test_blank_lookalikes_are_characters() -> None:
    assert values("a：b: x\u00a0y\n") == [{"a：b": "x\u00a0y"}]
    found = problem("a: 1\nb\u00a0: x: y\n")
    assert "non-breaking space at column 2" in found.hint
    assert "full-width colon at column 2 of the line above" in problem("a：1\nb: 2\n").hint
    assert "full-width" not in problem("a: b: c # 说明，\n").hint


@pytest.mark.parametrize("text", ["a:\n\t- b\n", "a:\n \tb: 1\n", "a: 1\n\t\nb: 2\n", "\t# c\na: 1\n", "a:\n-\tb: 1\n"])
def test_tabs_in_indentation(text: str) -> None:
    found = problem(text)
    assert found.rule == "DOC-01" and "tab" in found.message


@pytest.mark.parametrize(
    ("text", "value"), [("a:\tb\n", "b"), ("a: b\t\n", "b"), ("a: |\n  x\ty\n", "x\ty\n"), ("a: [1,\t2]\n", [1, 2])]
)
def test_tabs_elsewhere(text: str, value: object) -> None:
    assert values(text) == [{"a": value}]


@pytest.mark.parametrize("first", ["@", "`", "%"])
def test_characters_that_start_nothing(first: str) -> None:
    found = problem(f"a: {first}x\n")
    assert (found.rule, found.line, found.column) == ("DOC-01", 1, 4)


@pytest.mark.parametrize("text", ["%YAML 1.1\n---\na: 1\n", "%TAG ! x\n---\na: 1\n", "%YAML 1.2\n---\na: 1\n"])
def test_directives(text: str) -> None:
    assert "directive" in problem(text).message


@pytest.mark.parametrize("text", ["- a\n", "x\n", "16\n", "'a: 1'\n", '["a"]\n'])
def test_a_document_is_a_mapping(text: str) -> None:
    found = problem(text)
    assert found.rule == "DOC-01" and "not a mapping" in found.message


def test_ignored_text_after_the_end_marker() -> None:
    document = single("a: 1\n...\nb: 2\n# c\nc: [\n")
    (found,) = document.problems
    assert document.value == {"a": 1} and not found.fatal
    assert (found.rule, found.line) == ("DOC-17", 2) and found.message.startswith("2 lines after line 2")


def test_bare_carriage_returns_hide_documents() -> None:
    document = single("a: 1\r---\rb: 2\r")
    assert document.value == {"a": 1}
    assert document.problems[0].rule == "DOC-17" and "bare CR" in document.problems[0].hint


def test_ignored_text_behind_a_flow_document() -> None:
    document = single("{a: 1} b\n")
    assert document.value == {"a": 1} and document.problems[0].rule == "DOC-17"


# ------------------------------------------------------------------------------------------------------- encodings
def test_gbk() -> None:
    found = problem("a: 1\nb: 2 # 中文\n".encode("gbk"))
    assert (found.rule, found.line, found.column) == ("DOC-01", 2, 8) and "GBK" in found.message


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf16(encoding: str) -> None:
    data = "a: 1\n".encode(encoding)
    found = problem(data)
    assert found.rule == "DOC-01" and "UTF-8" in found.hint


@pytest.mark.parametrize("code", [0x00, 0x07, 0x08, 0x0B, 0x1B, 0x7F, 0x9F, 0xFFFE, 0xFFFF, 0xD800])
@pytest.mark.parametrize("form", ["a: 1\nb: x{}\n", "a: 1\n# {}\n"])
def test_control_characters_are_refused_and_never_shown(code: int, form: str) -> None:
    found = problem(form.format(chr(code)))
    assert found.rule == "DOC-01" and found.line == 2 and chr(code) not in found.message


# ---------------------------------------------------------------------------------------------------- templates
def test_templates_are_one_finding_a_file() -> None:
    documents = read_documents("a: {{ .Values.x }}\n---\nb: 1\n---\n{% if x %}\nc: 1\n---\nd: [\n")
    assert [(d.index, [p.rule for p in d.problems]) for d in documents] == [(0, ["DOC-12"]), (1, []), (3, ["DOC-01"])]
    found = documents[0].problems[0]
    assert (found.line, found.column) == (1, 4) and "`{{` at 1:4" in found.message


@pytest.mark.parametrize("text", ["{{- if x }}\na: 1\n", "{% for a in b %}\n", "a:\n  {#- c #}\n  b: [\n"])
def test_template_markers(text: str) -> None:
    assert problem(text).rule == "DOC-12"


def test_a_marker_in_a_document_that_parses_is_left_to_later_rules() -> None:
    assert values('a: "{{ x }}"\n') == [{"a": "{{ x }}"}]


# ------------------------------------------------------------------------------------------------ duplicates, §8.4
def test_duplicate_key_names_both_lines_and_keeps_the_last() -> None:
    document = single("a: 1\nb: {x: {deep: 1}}\na: 2\nc: 3\n")
    (found,) = document.problems
    assert document.value == {"a": 2, "b": {"x": {"deep": 1}}, "c": 3}
    assert (found.rule, found.line, found.column, found.fatal, found.path) == ("DOC-01", 3, 1, False, ("a",))
    assert "line 1" in found.message and "line 3" in found.message
    assert document.marks["a",].line == 3


def test_marks_of_an_overridden_value_are_gone() -> None:
    document = single("a: {x: {y: 1}}\na: {z: 2}\n")
    assert set(document.marks) == {(), ("a",), ("a", "z")}


# --------------------------------------------------------------------------------------------------------- anchors
def test_aliases_expand_and_point_at_the_anchor() -> None:
    document = single("a: &x\n  k: on\nb: *x\nl: [*x]\n")
    assert document.value == {"a": {"k": True}, "b": {"k": True}, "l": [{"k": True}]}
    mark = document.marks["b", "k"]
    assert (mark.line, mark.text, mark.plain, mark.alias_line) == (2, "on", True, 3)
    assert (document.marks["b",].key_line, document.marks["b",].line) == (3, 1)
    assert document.marks["l", 0, "k"].alias_line == 4
    assert document.marks["a", "k"].alias_line == 0


def test_the_latest_definition_counts() -> None:
    assert values("a: &x 1\nb: &x 2\nc: *x\n") == [{"a": 1, "b": 2, "c": 2}]
    assert values("a: &x [&x 1]\nb: *x\n") == [{"a": [1], "b": 1}]


@pytest.mark.parametrize("text", ["a: *x\n", "a: &x [*x]\n", "a: &x 1\n---\nb: *x\n", "a: &x {b: 1}\n*x : 1\n"])
def test_impossible_aliases(text: str) -> None:
    assert problem(text).rule == "DOC-01"


def test_alias_as_key() -> None:
    assert values("a: &x on\n*x : 1\n") == [{"a": True, "true": 1}]


# ------------------------------------------------------------------------------------------------------ merge keys
BASE = "base: &b {p: 1, q: 2}\nother: &o {q: 9, r: 3}\n"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("  <<: *b\n  p: 5\n", {"p": 5, "q": 2}),
        ("  <<: [*b, *o]\n", {"p": 1, "q": 2, "r": 3}),
        ("  <<: [*o, *b]\n", {"p": 1, "q": 9, "r": 3}),
        ("  <<: {x: 1}\n", {"x": 1}),
        ("  <<: [*b, {p: 7, z: 8}]\n", {"p": 1, "q": 2, "z": 8}),
        ('  "<<": 1\n', {"<<": 1}),
        ("  !!merge <<: *b\n", {"p": 1, "q": 2}),
    ],
)
def test_merge(body: str, expected: dict[str, object]) -> None:
    document = single(BASE + "m:\n" + body)
    assert document.value["m"] == expected and not document.problems


def test_a_late_merge_wins_for_kubectl() -> None:
    document = single(BASE + "m:\n  p: 5\n  <<: *b\n")
    (found,) = document.problems
    assert document.value["m"] == {"p": 1, "q": 2}
    assert (found.rule, found.line, found.fatal, found.path) == ("DOC-15", 5, False, ("m", "p"))
    assert "line 4" in found.message and "line 5" in found.message
    assert document.marks["m", "p"].line == 1


def test_two_merges_that_share_a_key() -> None:
    document = single(BASE + "m:\n  <<: *b\n  <<: *o\n")
    assert document.value["m"] == {"p": 1, "q": 9, "r": 3}
    assert [(p.rule, p.path) for p in document.problems] == [("DOC-15", ("m", "q"))]


@pytest.mark.parametrize("source", ["5", "x", "[1]", "[[*b]]", "null"])
def test_impossible_merges(source: str) -> None:
    assert problem(BASE + f"m:\n  <<: {source}\n").rule == "DOC-01"


def test_marks_of_merged_keys() -> None:
    document = single(BASE + "m:\n  <<: [*b, {z: {w: 8}}]\n")
    assert {path for path in document.marks if path[:1] == ("m",)} == {
        ("m",), ("m", "p"), ("m", "q"), ("m", "z"), ("m", "z", "w"),
    }  # fmt: skip
    assert document.marks["m", "p"].alias_line == 4 and document.marks["m", "z", "w"].alias_line == 0
    assert (document.marks["m", "p"].key_line, document.marks["m", "p"].key_column) == (1, 11)


# ------------------------------------------------------------------------------------------------------- positions
def test_positions() -> None:
    document = single("# head\na:\n  - name: x\n    m: 'q'\n  - 0640\nb: {c: |\n")
    assert document.problems
    document = single("# head\na:\n  - name: x\n    m: 'q'\n  - 0640\nb: {c: ~}\n")
    marks = document.marks
    assert document.line == 1
    assert (marks["a",].key_line, marks["a",].key_column, marks["a",].line, marks["a",].text) == (2, 1, 3, None)
    name = marks["a", 0, "name"]
    assert (name.key_line, name.key_column, name.line, name.column, name.text, name.plain) == (3, 5, 3, 11, "x", True)
    assert (marks["a", 0].line, marks["a", 0].column) == (3, 5)
    assert marks["a", 0, "m"].text == "q" and not marks["a", 0, "m"].plain
    item = marks["a", 1]
    assert (item.line, item.column, item.key_line, item.key_column, item.text) == (5, 5, 5, 5, "0640")
    assert marks["b", "c"].text == "~"


def test_columns_count_characters() -> None:
    document = single("a: {键: 值, b: x}\n")
    assert document.marks["a", "b"].key_column == 11


def test_every_field_has_a_mark() -> None:
    text = "a: &x {b: [1, {c: 2}]}\nd: *x\ne:\n  <<: *x\n  f: null\n"
    document = single(text)

    def paths(value: object, path: tuple[str | int, ...] = ()) -> set[tuple[str | int, ...]]:
        found = {path}
        children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for key, item in children:
            found |= paths(item, (*path, key))
        return found

    assert set(document.marks) == paths(document.value)


# ------------------------------------------------------------------------------------------------------------ JSON
def test_json_objects() -> None:
    documents = read_documents('{"a": 2.0, "b": "\\ud83d\\ude00\\/"}\n{"c": [true, null, 1e3]}')
    assert [d.value for d in documents] == [{"a": 2, "b": "😀/"}, {"c": [True, None, 1000]}]
    assert [(d.index, d.line) for d in documents] == [(0, 1), (1, 2)]
    mark = documents[1].marks["c", 2]
    assert (mark.line, mark.column, mark.text, mark.plain) == (2, 20, "1e3", True)


def test_json_duplicate_keys() -> None:
    document = single('{"a": {"x": 1},\n "a": 2}')
    assert document.value == {"a": 2} and set(document.marks) == {(), ("a",)}
    assert (document.problems[0].rule, document.problems[0].line, document.problems[0].fatal) == ("DOC-01", 2, False)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a": 010}', [{"a": 8}]),
        ('{"a": [1,],}', [{"a": [1]}]),
        ('{"a": 1}\n{"b": 010}\n', [{"a": 1}, {"b": 8}]),
        ('{"a": 1}\n---\n{"b": 2}\n---\nc: 3\n', [{"a": 1}, {"b": 2}, {"c": 3}]),
        ('# c\n{"a": 010}', [{"a": 8}]),
        ("{a: 1}\n", [{"a": 1}]),
        (' \n{"a":1}{"b":2}{"c":3}', [{"a": 1}, {"b": 2}, {"c": 3}]),
    ],
)
def test_json_falls_back_to_yaml(text: str, expected: list[object]) -> None:
    assert values(text) == expected


def test_json_does_not_fall_back_after_two_objects() -> None:
    documents = read_documents('{"a":1}{"b":2}{"c":010}')
    assert [d.value for d in documents] == [{"a": 1}, {"b": 2}, None]
    assert documents[2].problems[0].rule == "DOC-01" and documents[2].problems[0].column == 21


def test_half_a_surrogate_pair_becomes_a_replacement_character() -> None:
    assert values('{"a": "x\\ud800y"}') == [{"a": "x\ufffdy"}]


@pytest.mark.parametrize("text", ['{"a": NaN}', '{"a": Infinity}'])
def test_json_constants_are_yaml_texts(text: str) -> None:
    assert values(text) == [{"a": text[6:-1]}]


# ----------------------------------------------------------------------------------------------------------- files
def test_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes(b"\xef\xbb\xbfa: 1\r\n")
    assert [(d.file, d.value) for d in read_file(path)] == [(str(path), {"a": 1})]
    packed = tmp_path / "a.yaml.gz"
    packed.write_bytes(gzip.compress(b"a: 1\n") + gzip.compress(b"b: 2\n"))
    assert read_file(packed)[0].value == {"a": 1, "b": 2}
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"c: 3\n")))
    assert read_file("-")[0].value == {"c": 3}


def test_files_without_bytes(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match=r"none\.yaml"):
        read_file(tmp_path / "none.yaml")
    with pytest.raises(ReadError):
        read_file(tmp_path)
    cut = tmp_path / "cut.gz"
    cut.write_bytes(gzip.compress(b"a: 1\n" * 1000)[:-10])
    with pytest.raises(ReadError):
        read_file(cut)
    bomb = tmp_path / "bomb.gz"
    bomb.write_bytes(gzip.compress(b" " * (65 << 20)))
    with pytest.raises(ReadError, match="64 MiB"):
        read_file(bomb)


def test_manifests_read_without_a_word() -> None:
    folder = Path(__file__).parents[1] / "data" / "manifests"
    files = sorted(folder.glob("*.yaml"))
    assert len(files) == 12
    for file in files:
        for document in read_file(file):
            assert document.value["kind"] and not document.problems
