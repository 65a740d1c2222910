"""The wording of what can be wrong with a text, as a person who looks at the line would put it."""

from __future__ import annotations

import re

from ascendctl.wording import counted
from ascendctl.yamlio.document import Problem
from ascendctl.yamlio.scalars import shown

ENCODING_HINT = "save the file as UTF-8"
DUPLICATE_HINT = "remove one of the two"
_MARKER = re.compile(r"\{\{|\{%|\{#")
LOOKALIKES = {
    "\u00a0": "non-breaking space",
    "\u3000": "full-width space",
    "\uff1a": "full-width colon",
    "\uff0c": "full-width comma",
    "\u200b": "zero-width space",
    "\u201c": "typographic quote",
    "\u201d": "typographic quote",
}
"""Characters that look like YAML and are none."""


def position(text: str, offset: int, first_line: int = 1) -> tuple[int, int]:
    """Line and column, both from 1, of an offset into a text that starts on `first_line`."""
    start = text.rfind("\n", 0, offset) + 1
    return text.count("\n", 0, offset) + first_line, offset - start + 1


def separator_problem(text: str, line: int) -> Problem | None:
    """DOC-01 for a line that begins with `---` and goes on with more than a comment."""
    rest = text[3:].strip()
    if not rest or rest.startswith("#"):
        return None
    if "\r" in rest:
        message, hint = "not readable: the lines end in a bare CR, kubectl sees one long line", "save with LF line ends"
    else:
        message = "not readable: text after ---; kubectl refuses the file"
        hint = "start the document on the next line"
    return Problem("DOC-01", message, hint, line, len(text[3:]) - len(text[3:].lstrip()) + 4)


def control_problem(character: str, line: int, column: int) -> Problem:
    """DOC-01 for a character that YAML forbids, which is never printed raw."""
    code = ord(character)
    shown = f"U+{code:04X}" if code > 0xFF else f"\\x{code:02x}"
    hint = ENCODING_HINT if code == 0 else "remove it, or write it as an escape in double quotes"
    return Problem("DOC-01", f"not readable: control character {shown}", hint, line, column)


def template_problem(text: str, first_line: int) -> Problem | None:
    """DOC-12 for a chunk that could not be read, if it holds a marker of a template language."""
    marker = _MARKER.search(text)
    if not marker:
        return None
    line, column = position(text, marker.start(), first_line)
    message = f"unrendered template: found `{marker.group()}` at {line}:{column}"
    return Problem("DOC-12", message, "render it first (helm template, jinja2)", line, column)


def ignored_problem(text: str, first_line: int, offset: int, count: int, explicit_end: bool) -> Problem:
    """DOC-17 for `count` lines behind `offset`, where the document ends for kubectl."""
    line, column = position(text, offset, first_line)
    if explicit_end:
        hint = "start the next document with a --- line"
    elif "\r" in text:
        hint = "the lines end in a bare CR: save the file with LF line ends"
    else:
        hint = "remove it, or start a new document with a --- line"
    verb = "is" if count == 1 else "are"
    message = f"{counted(count, 'line')} after line {line} {verb} ignored by kubectl"
    return Problem("DOC-17", message, hint, line, column, fatal=False)


def duplicate_message(key: str, first: int, last: int) -> str:
    """What DOC-01 says of a key that stands twice in one mapping."""
    return f"duplicate key {shown(key)}: also at line {first}; kubectl silently keeps the last one, line {last}"


def explain(message: str, text: str, offset: int) -> tuple[str, str]:
    """What libyaml says, in the words of a person who looks at the line."""
    start = text.rfind("\n", 0, offset) + 1
    above = text[:start].rstrip("\n").rpartition("\n")[2]
    line = text[start : (text + "\n").find("\n", start)]
    character = text[offset : offset + 1]
    if character == "\t" or (message.startswith("found character") and line[: offset - start].strip(" ") == "\t"):
        return "a tab where only spaces may stand", "indent with spaces"
    lookalike = _lookalike(line) or _lookalike(above, " of the line above")
    if lookalike:
        return message, lookalike
    if character == "%" or text.lstrip().startswith("%"):
        return "a directive (%YAML, %TAG) or a text that begins with %", "remove the directive, or quote the text"
    if character in ("@", "`"):
        return f"no unquoted text may begin with {character}", "quote the text"
    if message.startswith("mapping values are not allowed"):
        return "a second ': ' on the line, or wrong indentation", "quote the text behind the first colon"
    if message.startswith(("could not find expected ':'", "found unexpected ':'")):
        return message, "missing space after ':', or wrong indentation?"
    if offset >= len(text.rstrip()):
        hint = "close the quote or bracket; a line that begins with --- ends the document everywhere"
        return f"{message}: the text ends here", hint
    return message, ""


def _lookalike(line: str, where: str = "") -> str:
    """Says where a line, comments apart, holds a character that looks like YAML and is none."""
    code = line.partition(" #")[0]
    for character, name in LOOKALIKES.items():
        if character in code:
            return f"{name} at column {code.index(character) + 1}{where}"
    return ""
