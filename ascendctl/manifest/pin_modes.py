"""How a placement can be pinned in a manifest (chapter 50 §6.3, §6.4). Apart from the code that does it, so that the
command line starts without that."""

from __future__ import annotations

from typing import Final

PIN_MODES: Final = ("auto", "hostname", "nodename", "set", "annotate")
"""auto: what fits kind and policy; hostname: one node where a template has one, some kinds split by rank; nodename:
bare Pods past the scheduler; set: a set of nodes a template; annotate: only the plan record."""
