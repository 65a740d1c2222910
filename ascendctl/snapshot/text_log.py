"""The data values of ConfigMaps that gave rows, in the order in which they are read."""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import sha256

from ascendctl.snapshot.collect import RawMap


@dataclass
class TextLog:
    """Title and place of the object, and SHA-256, by number of the text."""

    titles: list[str] = field(default_factory=list)
    places: list[int] = field(default_factory=list)
    digests: list[bytes] = field(default_factory=list)

    def add(self, one: RawMap, raw: str) -> int:
        """Note a text; returns its number."""
        self.titles.append(one.title)
        self.places.append(one.place)
        self.digests.append(sha256(raw.encode("utf-8", "surrogatepass")).digest())
        return len(self.places) - 1
