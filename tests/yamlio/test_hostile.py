"""Input made to hurt: bounded time and memory, a clear problem, never an exception (chapter 40 §8.1, §8.4)."""

from __future__ import annotations

import gzip
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from ascendctl.yamlio import compose, read
from ascendctl.yamlio.errors import ReadError
from ascendctl.yamlio.fast import load_documents, load_objects
from ascendctl.yamlio.inputs import read_bytes
from ascendctl.yamlio.read import read_documents


@pytest.fixture(autouse=True)
def bounded() -> Iterator[None]:
    start = time.perf_counter()
    yield
    assert time.perf_counter() - start < 20


def refusal(text: str | bytes) -> str:
    """The message of the one fatal problem; the dump reader must refuse the text, too."""
    (document,) = read_documents(text)
    (problem,) = document.problems
    assert document.value is None and problem.fatal and problem.line >= 1 and problem.column >= 1
    assert problem.message.isprintable()
    with pytest.raises(ReadError) as error:
        list(load_documents(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"), "x"))
    assert str(error.value).isprintable()
    return problem.message


def bomb(levels: int, width: int) -> str:
    lines = ["a0: &a0 [lol, lol, lol]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * width)}]" for i in range(1, levels)]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(("levels", "width"), [(9, 9), (30, 9), (12, 5), (40, 2), (5, 90)])
def test_alias_bombs(levels: int, width: int) -> None:
    tracemalloc.start()
    message = refusal(bomb(levels, width))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert "excessive aliasing" in message
    assert peak < 100 << 20


@pytest.mark.parametrize(("levels", "width"), [(3, 5), (4, 4), (2, 40)])
def test_modest_use_of_aliases_is_read(levels: int, width: int) -> None:
    (document,) = read_documents(bomb(levels, width))
    assert not document.problems


def test_a_thousand_uses_of_one_anchor_are_read() -> None:
    text = "base: &b {x: 1, z: [1, 2]}\nuses:\n" + "- *b\n" * 1000
    (document,) = read_documents(text)
    assert not document.problems and document.value["uses"][999] == {"x": 1, "z": [1, 2]}


def test_a_million_aliases_of_a_large_block_are_refused() -> None:
    assert "excessive aliasing" in refusal(
        "base: &b [" + "1, " * 1000 + "]\nuses:\n" + "".join(f"- &u{i} [*b, *b]\n" for i in range(5000))
    )


@pytest.mark.parametrize("text", ["[" * 100_000, "{a: " * 5000, "- " * 5000 + "x", "a: " + "[" * 1001 + "]" * 1001])
def test_deep_nesting_of_yaml(text: str) -> None:
    assert "nesting" in (message := refusal(text)) or "levels" in message


def test_deep_block_nesting() -> None:
    text = "".join(" " * i + "a:\n" for i in range(1100))
    assert "levels" in (message := refusal(text)) or "nesting" in message
    text = "".join(" " * i + "a:\n" for i in range(500)) + " " * 500 + "b: 1\n"
    assert not read_documents(text)[0].problems


@pytest.mark.parametrize("text", ['{"a":' * 100_000, '{"a":' + "[" * 100_000, '{"a":' + "[" * 2000 + "]" * 2000 + "}"])
def test_deep_nesting_of_json(text: str) -> None:
    assert "nesting" in (message := refusal(text)) or "levels" in message


def test_deep_aliases() -> None:
    lines = ["a0: &a0 [x]"] + [f"a{i}: &a{i} [*a{i - 1}]" for i in range(1, 1100)]
    (document,) = read_documents("\n".join(lines))
    assert document.value is None and document.problems[0].rule == "DOC-01"


def test_huge_scalars() -> None:
    assert "characters" in read_documents("a: " + "x" * (5 << 20))[0].problems[0].message
    assert "characters" in read_documents("a: |\n  " + "x" * (5 << 20))[0].problems[0].message
    assert not read_documents("a: '" + "x" * (1 << 20) + "'")[0].problems
    assert read_documents('{"a": "' + "x" * (5 << 20) + '"}')[0].problems


def test_huge_files_and_field_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read, "MAX_TEXT", 1000)
    (document,) = read_documents("a: 1\n" * 1000)
    assert "larger than" in document.problems[0].message
    monkeypatch.setattr(read, "MAX_TEXT", 1 << 20)
    monkeypatch.setattr(compose, "MAX_FIELDS", 100)
    assert "fields" in read_documents("a: [" + "1, " * 200 + "]")[0].problems[0].message


def test_many_duplicates_do_not_take_quadratic_time() -> None:
    (document,) = read_documents("a: {x: {z: 1}}\n" * 10_000)
    assert len(document.problems) <= 50 and set(document.marks) == {(), ("a",), ("a", "x"), ("a", "x", "z")}


def test_many_anchors_and_merges() -> None:
    text = "b: &b {x: 1}\nm:\n" + "".join(f"- {{<<: *b, k: {i}}}\n" for i in range(5_000))
    (document,) = read_documents(text)
    assert document.value["m"][4_999] == {"x": 1, "k": 4_999}


@pytest.mark.parametrize(
    "text",
    [
        "a: 'x",
        'a: "x\\',
        "a: [1, 2",
        "a: {b: ",
        "a: &",
        "a: *",
        "a: !<",
        "a: |9x\n",
        "a: >+-\n",
        "? ",
        "a: b: c",
        "]",
    ],
)
def test_truncated_and_broken_text(text: str) -> None:
    if text == "? ":
        assert read_documents(text)[0].problems
    else:
        refusal(text)


@pytest.mark.parametrize(
    "data",
    [
        b"\xff",
        b"a: \xc3",
        b"a: \xc4\xe3\xba\xc3\n",
        b"a: \xed\xa0\x80\n",
        b"a: \xf4\x90\x80\x80\n",
        b"\x00",
        b"a: \x1b[31m\n",
    ],
)
def test_bytes_that_are_no_text(data: bytes) -> None:
    refusal(data)


def test_gzip_bytes_are_not_taken_for_text() -> None:
    import gzip

    (document,) = read_documents(gzip.compress(b"a: 1\n"))
    assert document.problems[0].rule == "DOC-01"


def test_many_documents() -> None:
    documents = read_documents("a: 1\n---\n" * 5_000)
    assert len(documents) == 5_000
    assert sum(1 for _ in load_objects(b"a: 1\n---\n" * 5_000, "x")) == 5_000


@pytest.mark.parametrize(
    "unit", ["- ", "? ", "a: ", "[", "{", "&a ", "!", "'", '"', "|", "#", "---\n", "\t", "*a ", "<<: "]
)
def test_repeated_indicators(unit: str) -> None:
    read_documents(unit * 20_000)


def test_messages_show_no_control_characters() -> None:
    for text in ['a: {"\\e[31mx": 1, "\\e[31mx": 2}\n', "a: !!int '\\x1b'\n", 'a: !!int "\\e"\n']:
        for document in read_documents(text):
            for problem in document.problems:
                assert problem.message.isprintable()


def test_gzip_bombs(tmp_path: Path) -> None:
    """100 MB of nothing in 100 KB: reading stops at the limit, and so does the memory."""
    path = tmp_path / "bomb.json.gz"
    path.write_bytes(gzip.compress(bytes(100 << 20)))
    tracemalloc.start()
    try:
        with pytest.raises(ReadError, match="unpacks to more than 4 MiB"):
            read_bytes(path, limit=4 << 20)
        assert tracemalloc.get_traced_memory()[1] < 16 << 20
    finally:
        tracemalloc.stop()
    path.write_bytes(gzip.compress(b"kind: List")[:-9])
    with pytest.raises(ReadError, match="cut off"):
        read_bytes(path)
    path.write_bytes(b"\x1f\x8b" + b"x" * 50)
    with pytest.raises(ReadError, match="not readable as gzip"):
        read_bytes(path)
    with pytest.raises(ReadError, match="larger than 0 MiB"):
        read_bytes(__file__, limit=100)
