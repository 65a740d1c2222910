"""Spelling: how far two words are apart, and which known word was meant (chapter 40, DOC-16)."""

from __future__ import annotations

from collections.abc import Iterable

_DROPPED = str.maketrans("", "", "-_.")


def distance(left: str, right: str, limit: int) -> int:
    """Damerau-Levenshtein distance (optimal string alignment); anything above `limit` comes back as limit + 1."""
    if left == right:
        return 0
    if abs(len(left) - len(right)) > limit:
        return limit + 1
    before: list[int] = []
    last = list(range(len(right) + 1))
    for i, a in enumerate(left, 1):
        row = [i]
        for j, b in enumerate(right, 1):
            cost = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (a != b))
            if i > 1 and j > 1 and a == right[j - 2] and left[i - 2] == b:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        if min(row) > limit and (not last or min(last) > limit):
            return limit + 1
        before, last = last, row
    return min(last[-1], limit + 1)


def bare(key: str) -> str:
    """What two spellings of one key have in common: the part after the last "/", lower case, without - _ and dots."""
    return key.rpartition("/")[2].lower().translate(_DROPPED)


def is_near(left: str, right: str) -> bool:
    """True if two bare keys are nearly the same: equal, two edits apart if both have 8 characters, one from 5 on."""
    shorter = min(len(left), len(right))
    if left == right:
        return True
    if shorter < 5:
        return False
    return distance(left, right, 2) <= (2 if shorter >= 8 else 1)


def nearest(word: str, known: Iterable[str], limit: int = 2) -> str:
    """The known word that is closest to a word, "" if none is near. Case counts least."""
    best = ("", limit + 1)
    for candidate in known:
        apart = distance(word.lower(), candidate.lower(), limit)
        if apart < best[1]:
            best = (candidate, apart)
    if best[0]:
        return best[0]
    plain = bare(word)
    return next((candidate for candidate in known if bare(candidate) == plain), "")
