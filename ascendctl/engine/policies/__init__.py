"""One module a policy. Each has these functions; `engine.select` maps a policy name to its module.

    check(job, cluster, request) -> list[Violation]     the scheduler's job validation, shared with `validate`
    place(job, cluster, request) -> Placement | Unschedulable
    reschedule(job, cluster, request, fault) -> the same, only where the chapters describe a recovery

`request` is an `engine.request.Request`, made once per call by `engine.api`.
"""
