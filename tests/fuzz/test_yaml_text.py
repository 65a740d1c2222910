"""Any text at all: the readers never raise anything but ReadError, agree with each other, and stay within bounds."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from ascendctl.yamlio.edit import EditError, same_value, set_fields
from ascendctl.yamlio.errors import ReadError
from ascendctl.yamlio.fast import load_documents, load_objects
from ascendctl.yamlio.read import read_documents

# fmt: off
TOKENS = st.sampled_from([
    "a", "b", "c: ", "d:", ": ", "- ", "\n", "\n  ", "\n    ", "  ", "{", "}", "[", "]", ",", ", ", '"', "'", "|", ">", "|-",
    ">+", "#", " #", "&x ", "*x", "*x ", "<<: ", "!!str ", "!!int ", "! ", "!foo ", "?", "? ", "1", "08", "1e3", "on",
    "null", "~", "-", "--", "...", "\n...\n", "\n---\n", "\n--- x\n", "\t", "%", "@", "`", "\\n", "\\", "=", "\ufeff", "é",
    "：", "\x85", "\u2028", "\r", "\r\n", ".inf", "{{ x }}", "{%", "\x00", "\x1b", "\ud800", "\uffff",
    "key: &k {p: 1}\n", "<<: *k\n", "<<: [*k, *k]\n", '{"a": 1}', '{"a":',
])
# fmt: on


@settings(max_examples=600, deadline=None)
@given(st.lists(TOKENS, max_size=20).map("".join))
def test_any_text(text: str) -> None:
    documents = read_documents(text, "f")
    for document in documents:
        assert document.value is None or isinstance(document.value, dict)
        for problem in document.problems:
            assert problem.line >= 1 and problem.column >= 1
            assert problem.message.isprintable() and problem.hint.isprintable()
        for path, mark in document.marks.items():
            assert mark.line >= 1 and mark.column >= 1
            value = document.value
            for part in path:
                value = value[part]
    fatal = any(p.fatal for d in documents for p in d.problems)
    try:
        found = list(load_documents(text.encode("utf-8", "surrogatepass"), "f"))
    except ReadError:
        assert fatal
    else:
        assert fatal or same_value(found, [d.value for d in documents])


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=60))
def test_any_bytes(data: bytes) -> None:
    read_documents(data, "f")
    try:
        list(load_objects(data, "f"))
    except ReadError as error:
        assert str(error).isprintable()


@settings(max_examples=300, deadline=None)
@given(
    st.lists(TOKENS, max_size=20).map("".join),
    st.sampled_from(["a", "new", "c", 0]),
    st.sampled_from([1, "x", {"y": [1]}, None]),
)
def test_edits_of_any_text(text: str, key: str | int, value: object) -> None:
    try:
        result = set_fields(text, 0, [((key,), value)])
    except EditError:
        return
    assert read_documents(result)[0].value[key] == value
