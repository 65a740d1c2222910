"""Rules as data, and what a check returns.

A family of rules is one module under `validate/rules/`: a tuple `RULES` with their documentation, and functions that
return violations. Functions that judge a `Job` are also the scheduler's job validation: policies call them, so that
`validate` and `place` cannot disagree.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ascendctl.yamlio.document import FieldPath


@dataclass(frozen=True)
class Rule:
    """One rule of chapter 40 §3.2. `when` says when it fires; `message` and `hint` are str.format templates over the
    values of a violation; `outcome` what happens on the cluster (API, PEND, ...); `kinds` and `products` what it
    applies to (empty = all); `wrong` and `right` are example snippets of YAML."""

    id: str
    severity: str
    when: str
    message: str
    hint: str = ""
    kinds: tuple[str, ...] = ()
    products: tuple[str, ...] = ()
    outcome: str = ""
    source: str = ""
    about: str = ""
    wrong: str = ""
    right: str = ""


@dataclass(frozen=True)
class Violation:
    """A rule that fired. `path` is the offending field, or where the absent field should stand. `values` fill the
    templates of the rule. `reason` is the reference's reason category ("InvalidResourceRequest") where the rule is
    part of the scheduler's job validation, else "". `severity`, `message`, `hint` and `outcome` replace the rule's own
    if given.
    """

    rule: str
    path: FieldPath = ()
    values: Mapping[str, Any] = field(default_factory=dict)
    reason: str = ""
    severity: str = ""
    message: str = ""
    hint: str = ""
    outcome: str = ""
