"""Changing the text of single fields: finds, for a plan of changes, the pieces of text to replace."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from ascendctl.yamlio.document import FieldPath
from ascendctl.yamlio.plan import EditError, Plan, Set, planned, same_value
from ascendctl.yamlio.spans import Entry, Span
from ascendctl.yamlio.write import block_lines, flow_text, is_literal, key_text, quoted


def line_end(text: str, offset: int) -> int:
    """The end of the line that holds `offset`, in front of the line break."""
    end = text.find("\n", offset)
    if end < 0:
        return len(text)
    return end - 1 if end > offset and text[end - 1] == "\r" else end


def newline(text: str, offset: int) -> str:
    """The line break that the text uses around `offset`."""
    end = text.find("\n", offset)
    if end < 0:
        end = text.rfind("\n", 0, offset)
    return "\r\n" if end > 0 and text[end - 1] == "\r" else "\n"


class Splicer:
    """The edits of one document: `root` are its nodes, `plan` all changes."""

    def __init__(self, text: str, root: Span, plan: Plan, is_json: bool) -> None:
        self.text = text
        self.root = root
        self.plan = plan
        self.is_json = is_json
        self.step, self.list_step = _indentation(root)
        self.json_indent, self.json_separators = _json_style(text, root)
        self.splices: list[tuple[int, int, str]] = []
        self.served: set[int] = set()  # start of aliases whose change is made at the anchor

    def result(self, value: Any) -> str:
        """The new text; `value` is what the document holds now."""
        self._edit(self.root, self.plan, value, self.plan)
        parts, position = [], 0
        for start, end, new in sorted(self.splices, key=lambda splice: splice[0]):
            parts += [self.text[position:start], new]
            position = end
        return "".join([*parts, self.text[position:]])

    def _splice(self, start: int, end: int, new: str) -> None:
        self.splices.append((start, end, new))

    # ------------------------------------------------------------------------------------------- walking the plan
    def _edit(self, node: Span, plan: Plan, value: Any, asked: Plan | Set) -> None:
        """Make the changes below a collection. `asked` is how the change was given, to compare it with others."""
        if node.kind == "alias":
            self._write_beside(node, plan, value)
            return
        self._guard_anchor(node, plan, asked)
        if node.kind == "map":
            written = {entry.key: entry for entry in node.entries}
            for key, entry in written.items():
                if key is not None and key in plan:
                    self._change(entry.node, plan[key], value.get(key), entry, node)
            missing = {str(k): planned(step, value.get(k)) for k, step in plan.items() if k not in written}
            if missing:
                self._add_entries(node, missing)
        else:
            for index, item in enumerate(node.items):
                if index in plan:
                    self._change(item, plan[index], value[index], None, node)
            added = [planned(plan[index], None) for index in sorted(int(i) for i in plan) if index >= len(node.items)]
            if added:
                self._add_items(node, added)

    def _change(self, node: Span, step: Plan | Set, old: Any, entry: Entry | None, parent: Span) -> None:
        if node.kind == "alias" and node.start in self.served:
            return
        new = planned(step, old)
        if same_value(old, new):
            return
        finer = step if isinstance(step, dict) and node.kind != "scalar" else _finer(node, old, new)
        if finer is not None:
            self._edit(node, finer, old, step)
            return
        self._guard_replaced(node)
        self._replace(node, new, entry, parent)

    def _guard_anchor(self, node: Span, plan: Plan, asked: Plan | Set) -> None:
        """A change inside an anchored node reaches all its aliases: they must get the same change, or one that makes
        them independent of this one."""
        for alias in node.aliases:
            other = None if alias.in_merge else self._planned_at(alias.path)
            if other is not None and other == asked:
                self.served.add(alias.start)
                continue
            independent = isinstance(other, Set) or (other is not None and plan.keys() <= other.keys())
            if not independent or node.kind != "map":
                raise _shared(node, alias)

    def _guard_replaced(self, node: Span) -> None:
        for inner in node.inside():
            for alias in inner.aliases:
                if not node.start <= alias.start < node.end:
                    raise _shared(inner, alias)

    def _planned_at(self, path: FieldPath) -> Plan | Set | None:
        step: Plan | Set | None = self.plan
        for part in path:
            if isinstance(step, Set):
                return step
            step = step.get(part) if step is not None else None
        return step

    # ------------------------------------------------------------------------------------------- replacing a value
    def _replace(self, node: Span, new: Any, entry: Entry | None, parent: Span) -> None:
        if parent.flow:
            text = self._flow(new, node)
            if node.start == node.end and entry is not None:
                before = self.text[entry.key_end : node.start]
                text = ("" if before.endswith(" ") else " " if ":" in before else ": ") + text
            self._splice(node.start, node.end, text)
        elif entry is None:
            self._replace_item(node, new, parent)
        elif isinstance(new, dict | list) and new and not (node.flow or _is_written_scalar(node)):
            self._replace_by_block(node, self._block(new, parent.column), entry)
        elif is_literal(new):
            self._replace_by_literal(node, new, entry, parent)
        else:
            self._replace_inline(node, self._flow(new, node), entry)

    def _replace_item(self, node: Span, new: Any, parent: Span) -> None:
        """An item of a block list; its further lines are aligned with the first."""
        end = node.end
        if node.flow or (_is_written_scalar(node) and not is_literal(new)):
            text = self._flow(new, node)
        else:
            column = node.start - self.text.rfind("\n", 0, node.start) - 1
            first, *rest = block_lines([new], self.step, self.list_step)
            rest = _padded(rest, column - 2 if node.start < node.end else parent.column)
            text = newline(self.text, node.start).join([first[2:], *rest])
            if not self.text[end : line_end(self.text, end)].strip():
                end = line_end(self.text, end)  # blanks here would join a block literal
        self._splice(node.start, end, text if node.start < node.end else " " + text)

    def _replace_by_block(self, node: Span, lines: list[str], entry: Entry) -> None:
        """Lines below the key; a comment behind the key stays."""
        colon = self._colon(entry)
        key_line_end = line_end(self.text, colon)
        block = newline(self.text, colon).join(["", *lines])
        if node.kind == "alias" or node.start == node.end:
            self._splice(colon, node.end, "")
            self._splice(key_line_end, key_line_end, block)
        elif node.start > key_line_end:
            self._splice(key_line_end, node.end, block)
        else:
            self._splice(colon, node.end, block)

    def _replace_by_literal(self, node: Span, new: str, entry: Entry, parent: Span) -> None:
        colon = self._colon(entry)
        head, *rest = block_lines(new)
        rest = _padded(rest, parent.column + self.step - 2)
        end = line_end(self.text, node.end)
        self._splice(colon, node.end, f" {head}")
        self._splice(end, end, newline(self.text, colon).join(["", *rest]))

    def _replace_inline(self, node: Span, text: str, entry: Entry) -> None:
        colon = self._colon(entry)
        if node.start == node.end:
            self._splice(node.start, node.end, " " + text)
        elif node.kind == "scalar" or node.kind == "alias" or node.flow:
            self._splice(node.start, node.end, text)
        else:
            key_line_end = line_end(self.text, colon)
            self._splice(colon, colon, " " + text)
            self._splice(min(key_line_end, node.start), node.end, "")

    def _write_beside(self, node: Span, plan: Plan, value: Any) -> None:
        """`key: *a` becomes a mapping that merges *a and overrides the changed keys; a list is written out."""
        holder = self.text[node.start : node.end]
        parent, entry = self._parent(node)
        if not isinstance(value, dict):
            self._replace(node, planned(plan, value), entry, parent)
            return
        changed = {str(key): planned(step, value.get(key)) for key, step in plan.items()}
        if parent.flow:
            entries = [f"<<: {holder}", *(f"{key_text(k, True)}: {self._flow(v)}" for k, v in changed.items())]
            self._splice(node.start, node.end, "{" + ", ".join(entries) + "}")
            return
        lines = [f"<<: {holder}", *block_lines(changed, self.step, self.list_step)]
        if entry is None:
            joined = newline(self.text, node.start).join([lines[0], *_padded(lines[1:], parent.column + 2)])
            self._splice(node.start, node.end, joined)
        else:
            self._replace_by_block(node, _padded(lines, parent.column + self.step), entry)

    def _parent(self, node: Span) -> tuple[Span, Entry | None]:
        for parent in self.root.inside():
            for entry in parent.entries:
                if entry.node is node:
                    return parent, entry
            if any(item is node for item in parent.items):
                return parent, None
        raise EditError("the document itself is an alias")

    # ------------------------------------------------------------------------------------------- adding fields
    def _add_entries(self, node: Span, entries: dict[str, Any]) -> None:
        if node.flow:
            self._add_to_flow(node, entries)
            return
        end = line_end(self.text, node.end)
        lines = _padded(block_lines(entries, self.step, self.list_step), node.column)
        self._splice(end, end, newline(self.text, node.end).join(["", *lines]))

    def _add_items(self, node: Span, items: list[Any]) -> None:
        if node.flow:
            self._add_to_flow(node, items)
            return
        end = line_end(self.text, node.end)
        lines = _padded(block_lines(items, self.step, self.list_step), node.column)
        self._splice(end, end, newline(self.text, node.end).join(["", *lines]))

    def _add_to_flow(self, node: Span, new: dict[str, Any] | list[Any]) -> None:
        opening = self.text.index("{" if node.kind == "map" else "[", node.start)
        starts = [entry.key_start for entry in node.entries] or [item.start for item in node.items]
        comma, _ = self.json_separators
        if not starts:
            closing = node.end - 1
            end = closing if not self.text[opening + 1 : closing].strip() else opening + 1
            self._splice(opening + 1, end, comma.join(self._flow_members(new)))
            return
        last = node.items[-1].end if node.items else max(node.entries[-1].key_end, node.entries[-1].node.end)
        rest = self.text[last : node.end - 1]
        has_comma = rest.lstrip().startswith(",")
        at = last + rest.index(",") + 1 if has_comma else last
        if "\n" not in self.text[opening : starts[0]]:
            members = self._flow_members(new)
            self._splice(at, at, (" " if has_comma else comma) + comma.join(members))
            return
        column = starts[0] - self.text.rfind("\n", 0, starts[0]) - 1
        before = newline(self.text, opening) + " " * column
        members = [before + member for member in self._flow_members(new, column)]
        end = line_end(self.text, at)
        if not has_comma:
            self._splice(at, at, ",")
        at = end if end < node.end else at
        self._splice(at, at, ",".join(members) + ("," if has_comma else ""))

    def _flow_members(self, new: dict[str, Any] | list[Any], column: int | None = None) -> list[str]:
        if isinstance(new, list):
            return [self._flow(item, column=column) for item in new]
        colon = self.json_separators[1]
        keys = {key: json.dumps(key, ensure_ascii=False) if self.is_json else key_text(key, True) for key in new}
        return [f"{keys[key]}{colon}{self._flow(value, column=column)}" for key, value in new.items()]

    # ------------------------------------------------------------------------------------------- texts of values
    def _flow(self, value: Any, node: Span | None = None, column: int | None = None) -> str:
        """A value on one line, in the quotes of the scalar that it replaces; in JSON laid out as the file is."""
        if self.is_json:
            if node is not None:
                line = self.text[self.text.rfind("\n", 0, node.start) + 1 : node.start]
                column = len(line) - len(line.lstrip(" "))
            indent = self.json_indent if column is not None else None
            lines = json.dumps(
                value,
                ensure_ascii=False,
                allow_nan=False,
                indent=indent,
                separators=None if indent else self.json_separators,
            )
            return lines.replace("\n", newline(self.text, 0) + " " * (column or 0))
        if isinstance(value, str) and node is not None and node.style in ("'", '"'):
            return quoted(value, True, node.style)
        return flow_text(value)

    def _block(self, value: dict[str, Any] | list[Any], column: int) -> list[str]:
        """The lines of a collection below a key at `column`."""
        lines = block_lines(value, self.step, self.list_step)
        return _padded(lines, column + (self.step if isinstance(value, dict) else self.list_step))

    def _colon(self, entry: Entry) -> int:
        """The offset behind the colon of an entry."""
        colon = self.text.index(":", entry.key_end)
        if self.text[entry.key_end : colon].strip():
            raise EditError("a key written with '?' is not edited")
        return colon + 1


def _finer(node: Span, old: Any, new: Any) -> Plan | None:
    """A new collection as changes of its members, if everything that is there stays; else None."""
    is_growing_map = isinstance(old, dict) and isinstance(new, dict) and old.keys() <= new.keys()
    if is_growing_map and node.kind in ("map", "alias"):
        return {key: Set(item) for key, item in new.items() if key not in old or not same_value(item, old[key])}
    if isinstance(old, list) and isinstance(new, list) and len(old) <= len(new) and node.kind == "list":
        return {i: Set(item) for i, item in enumerate(new) if i >= len(old) or not same_value(item, old[i])}
    return None


def _is_written_scalar(node: Span) -> bool:
    return node.kind == "scalar" and node.start < node.end


def _shared(node: Span, alias: Span) -> EditError:
    return EditError(
        f"line {node.line}: what the anchor &{node.anchor} names is also used at line {alias.line}, the change would"
        f" reach both: write the block out at line {alias.line}, or change both alike"
    )


def _padded(lines: list[str], count: int) -> list[str]:
    return [" " * count + line if line else line for line in lines]


def _indentation(root: Span) -> tuple[int, int]:
    """How far mappings and lists are indented below their keys, as most of the document does it."""
    maps: Counter[int] = Counter()
    lists: Counter[int] = Counter()
    for node in root.inside():
        for entry in node.entries:
            inner = entry.node
            if not node.flow and not inner.flow and inner.kind in ("map", "list"):
                (maps if inner.kind == "map" else lists)[inner.column - node.column] += 1
    step = maps.most_common(1)[0][0] if maps else 2
    list_step = lists.most_common(1)[0][0] if lists else 0
    return max(step, 1), max(list_step, 0)


def _json_style(text: str, root: Span) -> tuple[int | None, tuple[str, str]]:
    """Indentation (None = everything on one line) and separators of a document in flow style."""
    if not root.flow or not root.entries:
        return None, (", ", ": ")
    first = root.entries[0]
    colon = ":" if text[first.key_end : first.node.start] == ":" else ": "
    line_start = text.rfind("\n", 0, first.key_start)
    if line_start < root.start:
        return None, ("," if colon == ":" else ", ", colon)
    return first.key_start - line_start - 1, (", ", colon)
