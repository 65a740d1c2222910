"""The scheduler's job validation (chapter 10 §2.4): the first failing check, with the reference's reason category."""

from __future__ import annotations

from importlib import import_module

from ascendctl.engine.request import Request
from ascendctl.manifest.job import parse_go_int
from ascendctl.validate.rule import Violation
from ascendctl.validate.rules import vnpu
from ascendctl.wellknown import MIN_AVAILABLE

Reason = tuple[str, str, tuple[tuple[str, str], ...]]


def invalid_reason(request: Request) -> Reason | None:
    """(reason category, message, rules behind it), or None for a job that passes."""
    job, selection = request.job, request.selection
    if len(job.pods) < job.min_available:
        return "NotEnoughPod", f"{len(job.pods)} pods are fewer than minAvailable {job.min_available}", ()
    if static := vnpu.check_static(job):
        return _reason(static[0])
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
    return None if failed is None else _reason(failed)


def _reason(violation: Violation) -> Reason:
    from ascendctl.validate.catalogue import find_rule, message_of

    rule = find_rule(violation.rule)
    message = violation.message if rule is None else message_of(rule, violation)
    return violation.reason, message, ((violation.rule, message),)


def _checks(request: Request, module: str) -> list[Violation]:
    policy = import_module(f"ascendctl.engine.policies.{module}")
    violations: list[Violation] = policy.check(request.job, request.cluster, request)
    return violations
