"""The objects of a document: itself, or the items of a List, as `kubectl get -o yaml` prints several objects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ascendctl.yamlio.document import Document, FieldPath, Mark


def objects(document: Document) -> list[tuple[Document, FieldPath]]:
    """Each object with the path that leads to it; (document, ()) for a document that is one object.

    Items of a typed list (JobList) without a kind of their own get that of the list. Items that are no mappings are
    left out.
    """
    value = document.value
    kind = value.get("kind") if isinstance(value, Mapping) else None
    items = value.get("items") if isinstance(value, Mapping) else None
    if kind == "List" and items is None:
        return []
    if not (isinstance(kind, str) and kind.endswith("List") and isinstance(items, list)):
        return [(document, ())]
    marks = _marks(document.marks, len(items))
    inner, found = kind.removesuffix("List"), list[tuple[Document, FieldPath]]()
    for i, item in enumerate(items):
        if isinstance(item, Mapping):
            whole = {"apiVersion": value.get("apiVersion"), "kind": inner, **item} if _lacks(item, inner) else item
            found.append((Document(document.file, document.index, document.line, whole, marks[i]), ("items", i)))
    return found


def flat(documents: Iterable[Document]) -> list[Document]:
    """All objects of some documents."""
    return [part for document in documents for part, _ in objects(document)]


def _lacks(item: Mapping[object, object], kind: str) -> bool:
    return bool(kind) and "kind" not in item


def _marks(marks: Mapping[FieldPath, Mark], count: int) -> list[dict[FieldPath, Mark]]:
    """The positions of every item, by paths that start at the item."""
    found: list[dict[FieldPath, Mark]] = [{} for _ in range(count)]
    for path, mark in marks.items():
        if len(path) > 1 and path[0] == "items" and isinstance(path[1], int):
            found[path[1]][path[2:]] = mark
    return found
