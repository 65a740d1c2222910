"""The scheduler's job validation (chapter 10 §2.4): the first failing check, with the reference's reason category."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from ascendctl.engine.request import Request
from ascendctl.engine.select import STATIC_VNPU
from ascendctl.manifest.job import parse_go_int
from ascendctl.validate import rules
from ascendctl.validate.rule import Violation

MIN_AVAILABLE = "huawei.com/schedule_minAvailable"
Reason = tuple[str, str, tuple[tuple[str, str], ...]]


def invalid_reason(request: Request) -> Reason | None:
    """(reason category, message, rules behind it), or None for a job that passes."""
    job, selection = request.job, request.selection
    if len(job.pods) < job.min_available:
        return "NotEnoughPod", f"{len(job.pods)} pods are fewer than minAvailable {job.min_available}", ()
    for role in job.roles:
        if role.npus > 1 and STATIC_VNPU.search(role.resource):
            return "InvalidResourceRequest", f"{role.npus} of {role.resource}: a pod may ask for one vNPU", ()
    if not selection.registered:
        return None
    minimum = job.annotations.get(MIN_AVAILABLE)
    if minimum is not None and parse_go_int(minimum) is None:
        return "InvalidArgument", f"annotation {MIN_AVAILABLE} is {minimum!r}, not an integer", ()
    if selection.static_vnpu or not job.resource:
        return None
    if not selection.policy:
        return "NotSupportPolicy", f"no policy handles {job.resource} with the job's annotations and labels", ()
    violations = _checks(request, selection.module)
    if selection.switch:
        violations = [*violations, *_checks(request, "switch")]
    failed = next((v for v in violations if v.reason), None)
    if failed is None:
        return None
    message = message_of(failed)
    return failed.reason, message, ((failed.rule, message),)


def message_of(violation: Violation) -> str:
    """The sentence of a violation: its own, or its rule's with the values filled in."""
    template = violation.message
    for module in iter_modules(rules.__path__) if not template else ():
        known = getattr(import_module(f"{rules.__name__}.{module.name}"), "RULES", ())
        template = next((rule.message for rule in known if rule.id == violation.rule), template)
    return template.format(**violation.values)


def _checks(request: Request, module: str) -> list[Violation]:
    policy = import_module(f"ascendctl.engine.policies.{module}")
    violations: list[Violation] = policy.check(request.job, request.cluster, request)
    return violations
