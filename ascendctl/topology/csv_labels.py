"""Node labels in a CSV file, laid over a snapshot or written from one (chapter 22 §1.4).

The header is `nodeName` followed by label keys, each row a node name and its values. An empty cell leaves the label of
the node as it is.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ascendctl.snapshot.cluster import Cluster
from ascendctl.snapshot.columns import StringColumn, StringTable
from ascendctl.topology.levels import TREE_LABEL
from ascendctl.yamlio.errors import ReadError

NODE_COLUMN = "nodeName"
HINT = "the first line is nodeName,<label key>,<label key>..., every other line a node name and its values"

_KEY = re.compile(r"(?:[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9](?:[-\w.]{0,61}[A-Za-z0-9])?", re.ASCII)
_VALUE = re.compile(r"(?:[A-Za-z0-9](?:[-\w.]{0,61}[A-Za-z0-9])?)?", re.ASCII)


@dataclass(frozen=True)
class LabelTable:
    """`rows` maps a node name to one value per key, "" = not set."""

    keys: tuple[str, ...]
    rows: Mapping[str, tuple[str, ...]]


def read_labels(text: str, name: str) -> LabelTable:
    """Parse the text of a file `name`. Blank lines and blanks around cells do not count.

    Raises ReadError, with the line, for a wrong header, a row of another length, a node that is there twice, and for
    what is no label key or value.
    """
    rows: dict[str, tuple[str, ...]] = {}
    keys: tuple[str, ...] = ()
    reader = csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""), strict=True)
    try:
        for raw in reader:
            cells = [cell.strip() for cell in raw]
            if not any(cells):
                continue
            if not keys:
                keys = _header(cells)
                continue
            if len(cells) != len(keys) + 1:
                raise ValueError(f"the row has {len(cells)} cells, the header has {len(keys) + 1}")
            if not cells[0] or cells[0] in rows:
                raise ValueError(f"node {cells[0]!r} is there twice" if cells[0] else "the row names no node")
            wrong = next((cell for cell in cells[1:] if not _VALUE.fullmatch(cell)), None)
            if wrong is not None:
                raise ValueError(f"{wrong!r} cannot be the value of a label")
            rows[cells[0]] = tuple(cells[1:])
    except csv.Error as error:
        raise ReadError(name, f"this is no CSV: {error}", HINT, reader.line_num, 1) from None
    except ValueError as error:
        raise ReadError(name, str(error), HINT, reader.line_num, 1) from None
    if not keys:
        raise ReadError(name, "is empty", HINT)
    return LabelTable(keys, rows)


def _header(cells: Sequence[str]) -> tuple[str, ...]:
    if cells[0] != NODE_COLUMN or len(cells) < 2:
        raise ValueError(f"the header does not start with {NODE_COLUMN} and a label key")
    wrong = next((key for key in cells[1:] if not _KEY.fullmatch(key)), None)
    if wrong is not None:
        raise ValueError(f"{wrong!r} cannot be the key of a label")
    if len(set(cells)) != len(cells):
        raise ValueError("a label key is there twice")
    return tuple(cells[1:])


def overlay(cluster: Cluster, table: LabelTable) -> tuple[Cluster, tuple[str, ...]]:
    """The snapshot with the labels of the table, and the nodes of the table that are not in the snapshot."""
    known = [(cluster.index[name], values) for name, values in table.rows.items() if name in cluster.index]
    columns = dict(cluster.labels.columns)
    for i, key in enumerate(table.keys):
        old = cluster.labels.column(key)
        pool, codes = {value: code for code, value in enumerate(old.values)}, old.codes.copy()
        for node, values in known:
            if values[i]:
                codes[node] = pool.setdefault(values[i], len(pool))
        columns[key] = StringColumn(codes.astype(np.int32), tuple(pool))
    unknown = tuple(name for name in table.rows if name not in cluster.index)
    return replace(cluster, labels=StringTable(cluster.size, columns)), unknown


def write_labels(cluster: Cluster, keys: Sequence[str] = ()) -> str:
    """The text of such a file for the nodes of a snapshot; without `keys`, the tree label and those of all configured
    levels."""
    if not keys:
        levels = (level.label for tree in cluster.config.resource_levels.values() for level in tree)
        keys = tuple(dict.fromkeys(label for label in (TREE_LABEL, *levels) if label))
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([NODE_COLUMN, *keys])
    columns = [cluster.labels.column(key).to_list() for key in keys]
    writer.writerows(
        [name, *(value or "" for value in row)] for name, *row in zip(cluster.names, *columns, strict=True)
    )
    return out.getvalue()
