"""From violations to findings: positions, one cause one finding, severities, comments (chapter 40 §3.1)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from ascendctl.validate.catalogue import find_rule, hint_of, message_of, outcome_of
from ascendctl.validate.entry import HALF, Entry
from ascendctl.validate.finding import Finding
from ascendctl.validate.nearest import nearest
from ascendctl.validate.options import Options
from ascendctl.validate.placeholders import is_placeholder
from ascendctl.validate.rule import Rule, Violation
from ascendctl.validate.rules.comment import Disable
from ascendctl.yamlio.document import Document, FieldPath, Mark, format_path, json_pointer
from ascendctl.yamlio.problems import LOOKALIKES

READING = frozenset(("DOC-07", "DOC-08", "DOC-09", "DOC-11", "DOC-14"))
ONCE = frozenset(("K8S-18", "K8S-20", "ENV-01", "ENV-04", "ENV-07", "RSC-06", "RSC-18"))
"""Rules that would say the same of every pod template: the first one speaks for the document."""
HALF_RULES = frozenset(
    ["DOC-07", "DOC-08", "DOC-11", "DOC-14", "ENV-02", "ENV-05", "K8S-19", "K8S-22", "K8S-25", "RES-13"]
    + [f"K8S-{number:02}" for number in range(5, 15)]
)
"""Pod-level rules: all that is said of templates inside unknown kinds (chapter 40 §1.12 c)."""
_NEEDS_COUNTS = frozenset(("RES-01", "ENV-01"))
"""Rules that ask whether a pod has NPUs at all."""
_OWN_HINT = frozenset(("DOC-06", "DOC-13", "DOC-16"))
"""Rules about the key; what the value looks like does not matter to them."""
_TYPING_RULES = frozenset(
    ("DOC-06", "DOC-07", "DOC-09", "DOC-11", "DOC-14", "DOC-16", "K8S-01", "K8S-04", "K8S-05", "K8S-08")
)
PLACEHOLDER_HINT = "looks like a placeholder that was never filled in"


@dataclass(frozen=True)
class Found:
    """A violation and whose it is. `at` is its position where no field has it (problems of the text)."""

    document: Document
    violation: Violation
    entry: Entry | None = None
    at: tuple[int, int] | None = None

    @property
    def place(self) -> tuple[int, FieldPath, FieldPath]:
        """Identifies the field inside the file."""
        root = self.entry.root if self.entry is not None else ()
        return self.document.index, root, self.violation.path


def findings(
    file: str, found: Sequence[Found], options: Options, comments: Sequence[Disable], documents: int
) -> list[Finding]:
    """The findings of one file; those that comments or options switch off are left out."""
    made = [_finding(one, options, documents) for one in _one_cause(found)]
    kept = [finding for finding in _aliases(made) if finding is not None]
    result, used = [], set()
    for finding in kept:
        hits = [c for c in comments if c.rule == finding.rule and c.first <= finding.line <= c.last]
        used.update(hits)
        if not hits and (finding.severity != "info" or options.verbose):
            result.append(finding)
    result += _comment_findings(file, comments, used, options)
    return result


def _one_cause(found: Iterable[Found]) -> list[Found]:
    """Drop what other findings say already (chapter 40 §3.1 no. 3)."""
    kept = _unique(found)
    judged = {f.place for f in kept if f.violation.rule != "DOC-13" and _own_severity(f.violation) != "info"}
    result, said = [], set()
    for one in _without_refused(kept):
        rule = one.violation.rule
        if rule == "DOC-13" and one.place in judged:
            continue
        if rule in ONCE:
            owner = (rule, one.document.index, one.entry.root if one.entry else ())
            if owner in said:
                continue
            said.add(owner)
        result.append(one)
    return result


def _unique(found: Iterable[Found]) -> list[Found]:
    """One finding a rule and field; the one with a message of its own where there are several."""
    unique: dict[tuple[object, ...], Found] = {}
    for one in found:
        key = (one.violation.rule, one.place, one.at)
        known = unique.get(key)
        if known is None or (known.violation.message and not one.violation.message):
            unique[key] = one
    return list(unique.values())


def _without_refused(found: Sequence[Found]) -> Iterator[Found]:
    """Without what is said of fields that cannot be read, or of what seems to be missing in them."""
    refused = {f.place for f in found if f.violation.rule in READING and _own_severity(f.violation) == "error"}
    closed = {place for f in found if f.violation.rule == "DOC-14" for place in _closed(f)}
    counted = not any("resources" in path for _, _, path in closed)
    for one in found:
        rule = one.violation.rule
        if rule not in READING and one.at is None and (one.place in refused or (closed and _is_below(one, closed))):
            continue
        if counted or rule not in _NEEDS_COUNTS:
            yield one


def _closed(one: Found) -> Iterator[tuple[int, FieldPath, FieldPath]]:
    """Fields that DOC-14 refuses as a whole. In flow style the slip makes a key of both: {huawei.com/npu:4}."""
    document, root, path = one.place
    yield one.place
    if path and isinstance(path[-1], str) and ":" in path[-1]:
        yield document, root, (*path[:-1], path[-1].partition(":")[0])


def _is_below(one: Found, closed: Collection[tuple[int, FieldPath, FieldPath]]) -> bool:
    """True for a field in a closed one: what it lacks may well be written there."""
    document, root, path = one.place
    return any((document, root, path[:length]) in closed for length in range(1, len(path) + 1))


def _own_severity(violation: Violation) -> str:
    rule = find_rule(violation.rule)
    return violation.severity or (rule.severity if rule else "error")


def _finding(one: Found, options: Options, documents: int) -> tuple[Finding, int] | None:
    """The finding and the line of the alias that brought its field (0 = none)."""
    violation, entry = one.violation, one.entry
    rule = find_rule(violation.rule)
    if rule is None:
        raise LookupError(f"no rule {violation.rule}")
    severity = _severity(one, options)
    if severity == "off":
        return None
    root = entry.root if entry is not None else ()
    path = (*root, *violation.path)
    mark = _mark(one)
    line, column, alias = (*one.at, 0) if one.at else _position(one, mark)
    prefix = f"doc[{one.document.index}]:" if documents > 1 else ""
    message = message_of(rule, violation)
    said = _says_outcome(rule.message) or "silently" in message  # what goes on in silence is refused by nobody
    rule = replace(rule, outcome=violation.outcome or rule.outcome)
    outcome = outcome_of(rule) if severity == "error" and not said else ""
    return Finding(
        file=one.document.file,
        line=line,
        column=column,
        rule=violation.rule,
        severity=severity,
        message=encodable(f"{message}; {outcome}" if outcome else message),
        hint=encodable(_hint(one, rule, mark)),
        document=one.document.index,
        path=encodable(prefix + format_path(path)),
        pointer=encodable(json_pointer(path)),
        object=encodable(entry.object) if entry is not None else "",
        outcome=rule.outcome,
        source=rule.source,
    ), alias


def _severity(one: Found, options: Options) -> str:
    """The severity that options and the kind of the object leave; "off" = it is not told."""
    rule, severity = one.violation.rule, _own_severity(one.violation)
    if one.entry is not None and one.entry.case == HALF and rule != "DOC-03":
        if rule not in HALF_RULES:
            return "off"
        severity = "warning" if severity == "error" else severity
    if rule == "DOC-06" and options.strict:
        severity = "error"
    return options.severity(rule, severity)


def _hint(one: Found, rule: Rule, mark: Mark | None) -> str:
    if lookalike := _lookalike(one, mark):
        return lookalike
    value = _value(one)
    unfilled = isinstance(value, str) and (is_placeholder(value) or value in ("x", "X"))
    return PLACEHOLDER_HINT if unfilled and rule.id not in _OWN_HINT else hint_of(rule, one.violation)


def encodable(text: str) -> str:
    """The text with lone surrogates, which no output encoding knows, written as escapes."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def _lookalike(one: Found, mark: Mark | None) -> str:
    """Names a character that looks like another: a non-breaking space, a full-width colon (chapter 40 §8.1)."""
    if mark is None or one.violation.rule not in _TYPING_RULES:
        return ""
    key = str(one.violation.path[-1]) if one.violation.path else ""
    for text, column in ((mark.text or "", mark.column), (key, mark.key_column)):
        for character in "" if text.isascii() else text:
            if character in LOOKALIKES:
                return f"{LOOKALIKES[character]} at column {column + text.index(character)}"
    return ""


def _says_outcome(message: str) -> bool:
    return "Pending" in message or "kubectl" in message


def _value(one: Found) -> object:
    value: object = one.entry.value if one.entry is not None else None
    for part in one.violation.path:
        if isinstance(value, dict):
            value = value.get(part)
        elif isinstance(value, list) and isinstance(part, int) and part < len(value):
            value = value[part]
        else:
            return None
    return value


def _mark(one: Found) -> Mark | None:
    document = one.entry.document if one.entry is not None else one.document
    return document.marks.get(one.violation.path)


def _position(one: Found, mark: Mark | None) -> tuple[int, int, int]:
    """(line, column, line of the alias that brought it or 0): of a scalar its own position; of a mapping or list its
    key's; for an absent field its nearest parent's."""
    if mark is not None:
        unknown = one.violation.rule in ("DOC-06", "DOC-16")
        own = mark.text is not None and not unknown
        return (mark.line, mark.column, mark.alias_line) if own else (mark.key_line, mark.key_column, mark.alias_line)
    document = one.entry.document if one.entry is not None else one.document
    path = one.violation.path
    while path:
        path = path[:-1]
        mark = document.marks.get(path)
        if mark is not None:
            return mark.key_line, mark.key_column, mark.alias_line
    return one.entry.line if one.entry is not None else one.document.line, 1, 0


def _aliases(made: Iterable[tuple[Finding, int] | None]) -> Iterator[Finding]:
    """A field that aliases repeat is reported once, where it is written, with the lines of its other uses."""
    groups: dict[tuple[str, int, int], list[tuple[Finding, int]]] = {}
    for pair in made:
        if pair is not None:
            finding = pair[0]
            groups.setdefault((finding.rule, finding.line, finding.column), []).append(pair)
    for pairs in groups.values():
        uses = sorted({line for _, line in pairs if line})
        if not uses:
            yield from (finding for finding, _ in pairs)
            continue
        written = [finding for finding, line in pairs if not line]
        first = written[0] if written else pairs[0][0]
        lines = ", ".join(str(line) for line in uses)
        yield replace(first, message=f"{first.message} (used again at line {lines})")
        yield from written[1:]


def _comment_findings(
    file: str, comments: Sequence[Disable], used: set[Disable], options: Options
) -> Iterator[Finding]:
    from ascendctl.validate.catalogue import FAMILIES, family

    for comment in comments:
        known = find_rule(comment.rule) is not None
        rule_id = "CMT-02" if known else "CMT-01"
        if comment in used or (known and options.severity(comment.rule, "error") == "off"):
            continue
        rule = find_rule(rule_id)
        severity = options.severity(rule_id, rule.severity) if rule else "off"
        if rule is None or severity == "off":
            continue
        near = "" if known else nearest(comment.rule, [r for name in FAMILIES for r in family(name)])
        values = {"id": comment.rule, "hint": f"did you mean {near}?" if near else "ascendctl explain lists the rules"}
        violation = Violation(rule_id, (), values)
        yield Finding(
            file, comment.line, comment.column, rule_id, severity, message_of(rule, violation), hint_of(rule, violation)
        )
