"""Text that was never filled in: `{{ .Values.x }}`, `${NAME}`, `<image>`, xxx, TODO (chapter 40, DOC-13)."""

from __future__ import annotations

import re

_MARKER = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\$\{[A-Za-z_][A-Za-z0-9_.-]*\}", re.DOTALL)
_SEGMENT = re.compile(r"^<[^<>]+>$|(?:^|[/:])<[^<>/]+>(?=$|[/:])")
_FILLER = re.compile(r"[xX]{2,}|TODO|CHANGEME|CHANGE_ME|REPLACE_ME", re.IGNORECASE)


def is_placeholder(text: str) -> bool:
    """True for a text that holds a template marker, is or has a segment in angle brackets, or is mere filling."""
    if "{" not in text and "<" not in text and len(text) > 10 and text[:2] not in ("xx", "XX"):
        return False
    return bool(_MARKER.search(text) or _SEGMENT.search(text) or _FILLER.fullmatch(text))


def shorten(text: str, limit: int = 80) -> str:
    """A text for a message, cut where it is long."""
    return text if len(text) <= limit else text[: limit - 1] + "…"
