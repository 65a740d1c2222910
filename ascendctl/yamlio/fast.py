"""Reading large dumps: the values of `yamlio.read` without positions, item by item where the text allows it.

A dump may be less tidy than a manifest (chapter 30 §8.1): UTF-16 files, lines of warnings in front, a JSON array,
`%YAML` lines are read here, too. Duplicate keys and ignored text are no error: the values are what kubectl keeps.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NoReturn

from ascendctl.yamlio.chunks import Chunk, content_lines, decode, find_control, split_chunks
from ascendctl.yamlio.document import Problem
from ascendctl.yamlio.errors import ReadError
from ascendctl.yamlio.problems import control_problem, position, template_problem
from ascendctl.yamlio.scalars import field_value, json_number, shown

_PRINTABLE = bytes(c for c in range(256) if c in (9, 10, 13) or 32 <= c < 127)
_NOISE = re.compile(rb"(?:(?:Warning:|Error)[^\n]*\n)+")
_BLANKS = re.compile(r"[ \t\r\n]*")
_NOT_A_DUMP = re.compile(r"\s*(?:(NAME(?:SPACE)? {2,}[A-Z])|(Name: {2,}\S)|([a-z][a-z0-9.]*/[^\s:]+\r?\n))")
_JSON_ITEMS = re.compile(rb'"items"\s*:\s*\[\s*(\{\s*"[^"\\]*"\s*:)')
_JSON_KIND = re.compile(rb'"kind"\s*:\s*"([A-Za-z0-9]*)"')
_LONE_SURROGATE = re.compile(
    r"(\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\[^u]|\\u(?![dD][89a-fA-F]))|\\u[0-9a-fA-F]{4}"
)
_YAML_ITEMS = re.compile(r"^items:\n( *)- ", re.MULTILINE)
_YAML_TOP = re.compile(r"^[^ \n]", re.MULTILINE)
_DIRECTIVES = re.compile(r"(?:[ ]*(?:[%#][^\n]*)?(?:\n|\Z))*")
_EXPORT = "export with kubectl get -o json or -o yaml"
_HEAD = 64 << 10  # where the head of a list is looked for
_STREAM_FROM = 1 << 20  # smaller texts are read in one go
_BLOCK = 1 << 20  # characters that are looked at together
_PIECE = 1 << 18  # bytes of JSON items that are decoded together
_MAX_FALLBACK = 8 << 20  # a larger text that begins like JSON is never read as YAML


def load_objects(data: bytes, name: str) -> Iterator[Any]:
    """The objects of a dump in order: `List` kinds and JSON arrays are unpacked, also inside each other, one item at a
    time; items of a raw list (`NodeList`) get its kind and apiVersion. null documents and null items are left out.

    Raises ReadError with file, line and column for text that cannot be read, also after the first objects.
    """
    for value in _documents(data, name, stream=True):
        yield from _unpack(value)


def load_documents(data: bytes, name: str) -> Iterator[Any]:
    """The documents of a dump as they stand, lists packed. null documents are left out. Raises ReadError."""
    return (value for value in _documents(data, name, stream=False) if value is not None)


def _unpack(value: Any) -> Iterator[Any]:
    pending = [value]
    while pending:
        value = pending.pop()
        if isinstance(value, list):
            pending.extend(reversed(value))
        elif not isinstance(value, dict):
            if value is not None:
                yield value
        elif str(value.get("kind", "")).endswith("List") and isinstance(value.get("items"), list | None):
            kind, api_version = value["kind"], value.get("apiVersion")
            pending.extend(_with_kind(item, kind, api_version) for item in reversed(value.get("items") or []))
        else:
            yield value


def _with_kind(item: Any, list_kind: str, api_version: Any) -> Any:
    """An item of a raw list says neither kind nor apiVersion: it has those of the list."""
    if list_kind == "List" or not isinstance(item, dict) or "kind" in item:
        return item
    return {"apiVersion": api_version, "kind": list_kind.removesuffix("List"), **item}


def _documents(data: bytes, name: str, stream: bool) -> Iterator[Any]:
    data = _tidy(data, name)
    blanks = re.compile(rb"[ \t\r\n]*").match(data)
    start = blanks.end() if blanks else 0
    if data[start : start + 1] in (b"{", b"["):
        yield from _json_documents(data, name, stream)
    else:
        yield from _yaml_documents(_text(data, name), name, 0, stream)


def _tidy(data: bytes, name: str) -> bytes:
    """UTF-8 without BOM; warnings of kubectl in front become blank lines, so that line numbers stay."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        try:
            data = data.decode("utf-16").encode()
        except UnicodeError:
            raise ReadError(name, "not readable as UTF-16", "save the file as UTF-8") from None
    data = data.removeprefix(b"\xef\xbb\xbf")
    noise = _NOISE.match(data)
    if noise:
        if not data[noise.end() :].strip():
            said = shown(noise.group().decode("utf-8", "replace").strip(), 200)
            raise ReadError(name, f"there is nothing but a message in it: {said}", _EXPORT, 1, 1)
        data = b"\n" * noise.group().count(b"\n") + data[noise.end() :]
    foreign = _NOT_A_DUMP.match(data[:1000].decode("utf-8", "replace"))
    if foreign:
        what = ("a table", "the output of kubectl describe", "a list of names")[(foreign.lastindex or 1) - 1]
        raise ReadError(name, f"this is {what}, not a dump", _EXPORT)
    return data


def _text(data: bytes, name: str) -> str:
    text = decode(data)
    if isinstance(text, Problem):
        _raise(name, text)
    return text


def _raise(name: str, problem: Problem) -> NoReturn:
    raise ReadError(name, problem.message, problem.hint, problem.line, problem.column)


class _GiveUp(Exception):
    """The text cannot be read item by item; what has been given out is right, the rest comes from a full parse."""


def _continued(items: Iterator[Any], documents: Iterator[Any]) -> Iterator[Any]:
    """The items one by one; after _GiveUp the documents, without what has been given out of the first."""
    done = 0
    try:
        for item in items:
            done += 1
            yield item
        return
    except _GiveUp:
        pass
    if done:
        first = next(documents)
        kind, api_version = first.get("kind", "List"), first.get("apiVersion")
        yield from (_with_kind(item, kind, api_version) for item in first["items"][done:])
    yield from documents


# ---------------------------------------------------------------------------------------------------------------- JSON
def _json_documents(data: bytes, name: str, stream: bool) -> Iterator[Any]:
    if stream and len(data) >= _STREAM_FROM:
        yield from _continued(_json_items(data), _json_values(data, name))
    else:
        yield from _json_values(data, name)


def _json_items(data: bytes) -> Iterator[Any]:
    """Items of one large list, some at a time, cut at what follows the first item.

    A cut is right if every piece is a value by itself and the text without the items is one, too: then the grammar
    leaves no other reading.
    """
    import orjson

    head = _JSON_ITEMS.search(data, 0, _HEAD)
    if not head:
        raise _GiveUp
    prefix, first_key = data[: head.start()], head[1]
    try:
        top = orjson.loads(prefix.rstrip().removesuffix(b",") + b"}")
    except orjson.JSONDecodeError:
        raise _GiveUp from None
    kind = str(top.get("kind") or "") or (_JSON_KIND.findall(data, max(len(data) - _HEAD, 0)) or [b""])[-1].decode()
    if not kind.endswith("List"):
        raise _GiveUp
    start = head.start(1)
    first_cut = re.compile(rb"\}\s*,\s*" + re.escape(first_key)).search(data, start)
    cut = first_cut[0] if first_cut else b""
    while cut and (end := data.find(cut, start + _PIECE) + 1):
        try:
            items = orjson.loads(b"[" + data[start:end] + b"]")
        except orjson.JSONDecodeError:
            raise _GiveUp from None
        for item in _normalised(items):
            yield _with_kind(item, kind, top.get("apiVersion"))
        start = end - 1 + len(cut) - len(first_key)
    for item in _last_json_items(data[start:], prefix):
        yield _with_kind(item, kind, top.get("apiVersion"))


def _last_json_items(data: bytes, prefix: bytes) -> Iterator[Any]:
    """What follows the last cut: items, the end of the list, and the end of the text."""
    import orjson

    try:
        text = data.decode()
        position = 0
        while True:
            item, position = _decoder().raw_decode(text, position)
            yield item
            position = _after_blanks(text, position)
            if text[position : position + 1] != ",":
                break
            position = _after_blanks(text, position + 1)
        orjson.loads(prefix + b'"items":[' + text[position:].encode())
    except (ValueError, RecursionError):
        raise _GiveUp from None


def _json_values(data: bytes, name: str) -> Iterator[Any]:
    import orjson

    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError:
        yield from _json_sequence(_text(data, name), name)
        return
    yield _normalised(value)


def _json_sequence(text: str, name: str) -> Iterator[Any]:
    """JSON values one after the other; what is no JSON from the first or second on is YAML (chapter 40 §8.1)."""
    if "\\u" in text:
        text = _LONE_SURROGATE.sub(lambda m: m[1] or "\\ufffd", text)
    decoder, count, end = _decoder(), 0, 0
    while True:
        start = _after_blanks(text, end)
        if start == len(text):
            return
        try:
            value, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError) as error:
            if count >= 2 or len(text) > _MAX_FALLBACK:
                _refuse_json(text, name, error)
            break
        count += 1
        yield value
    yield from _yaml_documents(text, name, end, stream=False)


def _refuse_json(text: str, name: str, error: Exception) -> NoReturn:
    if isinstance(error, json.JSONDecodeError):
        raise ReadError(name, f"not readable as JSON: {error.msg}", "", error.lineno, error.colno) from None
    raise ReadError(name, f"not readable as JSON: {error}") from None


def _decoder() -> json.JSONDecoder:
    return json.JSONDecoder(parse_float=json_number, parse_int=json_number, parse_constant=_no_constant)


def _no_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is no JSON")


def _after_blanks(text: str, offset: int) -> int:
    match = _BLANKS.match(text, offset)
    return match.end() if match else offset


def _normalised(root: Any) -> Any:
    """Integral floats as integers, in place: what the API server makes of 2.0 and 1e3."""
    if isinstance(root, float):
        return field_value(root)
    pending = [root] if isinstance(root, dict | list) else []
    while pending:
        box = pending.pop()
        for key, value in box.items() if type(box) is dict else enumerate(box):
            kind = type(value)
            if kind is dict or kind is list:
                pending.append(value)
            elif kind is float:
                box[key] = field_value(value)
    return root


# ---------------------------------------------------------------------------------------------------------------- YAML
def _yaml_documents(text: str, name: str, start: int, stream: bool) -> Iterator[Any]:
    from ascendctl.yamlio.blockscan import Scanner

    scanner = Scanner()
    for chunk in split_chunks(text, start):
        if chunk.problem:
            _raise(name, chunk.problem)
        if "%" in chunk.text[:_HEAD] and _DIRECTIVES.fullmatch(chunk.text):
            continue
        _check_characters(chunk, name)
        whole = (_yaml_value(chunk, name, scanner) for _ in range(1))
        if stream and len(chunk.text) >= _STREAM_FROM:
            yield from _continued(_yaml_items(chunk, scanner), whole)
        else:
            yield from whole


def _check_characters(chunk: Chunk, name: str) -> None:
    text = chunk.text
    if text.isascii():
        blocks = (text[i : i + _BLOCK].encode() for i in range(0, len(text), _BLOCK))
        if not any(block.translate(None, _PRINTABLE) for block in blocks):
            return
    control = find_control(text)
    if control:
        line, column = position(text, control.start(), chunk.line)
        _raise(name, control_problem(control.group(), line, column))


def _yaml_value(chunk: Chunk, name: str, scanner: Any) -> Any:
    from ascendctl.yamlio.blockscan import Unsure, is_scannable
    from ascendctl.yamlio.compose import Refused, compose

    try:
        if is_scannable(chunk.text):
            return scanner.scan(chunk.text)
    except Unsure:
        pass
    try:
        value = compose(chunk.text, chunk.line, chunk.column, with_marks=False).value
    except Refused as refused:
        _raise(name, template_problem(chunk.text, chunk.line) or refused.problem)
    if value is not None and not isinstance(value, dict | list):
        raise ReadError(name, "this is text, not YAML objects", _EXPORT, chunk.line, 1)
    return value


def _yaml_items(chunk: Chunk, scanner: Any) -> Iterator[Any]:
    """Items of one large list in block style. An item that can be read by itself has the same value in its place,
    since nothing but an anchor reaches from one item into another."""
    from ascendctl.yamlio.blockscan import is_scannable

    text = chunk.text
    head = _YAML_ITEMS.search(text, 0, _HEAD)
    kind = _top_level(text, "kind")
    once = text.count("\nitems:") + text.startswith("items:") == 1
    if not (head and once and kind.endswith("List") and is_scannable(text)):
        raise _GiveUp
    api_version = _top_level(text, "apiVersion")
    cut = "\n" + head[1] + "- "
    start = head.end() - len(cut) + 1
    while True:
        end = text.find(cut, start) + 1
        if not end:
            break
        for item in _fragment(text[start:end], list, scanner):
            yield _with_kind(item, kind, api_version)
        start = end
    foot = _YAML_TOP.search(text, start + 1)
    end = foot.start() if foot else len(text)
    for item in _fragment(text[start:end], list, scanner):
        yield _with_kind(item, kind, api_version)
    _fragment(text[: head.start()] + "items: []\n" + text[end:], dict, scanner)


def _top_level(text: str, key: str) -> str:
    """A plain value of the outermost mapping, "" if there is none."""
    start = 0 if text.startswith(key + ": ") else text.rfind(f"\n{key}: ") + 1
    if not start and not text.startswith(key + ": "):
        return ""
    end = text.find("\n", start)
    return text[start + len(key) + 2 : end if end >= 0 else len(text)].strip(" ")


def _fragment(text: str, kind: type, scanner: Any) -> Any:
    from ascendctl.yamlio.blockscan import Unsure
    from ascendctl.yamlio.compose import Refused, compose

    try:
        value = scanner.scan(text)
    except Unsure:
        try:
            composed = compose(text, with_marks=False)
        except Refused:
            raise _GiveUp from None
        if composed.explicit_end or content_lines(text[composed.end :]):
            raise _GiveUp from None
        value = composed.value
    if type(value) is not kind:
        raise _GiveUp
    return value
