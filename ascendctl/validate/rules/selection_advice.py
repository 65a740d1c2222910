"""What the rules on selection say and advise: which policy runs, which one belongs to the hardware."""

from __future__ import annotations

from collections.abc import Sequence

from ascendctl.engine.select import BY_ACCELERATOR, select_policy
from ascendctl.manifest.job import Job
from ascendctl.products.catalogue import CATALOGUE, Product
from ascendctl.validate.keys import POLICIES
from ascendctl.validate.nearest import nearest
from ascendctl.wellknown import NPU


def in_words(policy: str) -> str:
    """A policy that takes a job, with the hardware that it is made for: "the policy module (Atlas 800 ...)"."""
    if not policy:
        return "no policy"
    made_for = next((p.title for p in CATALOGUE if policy in p.policies), "")
    kind = next((kind for kind, selected in BY_ACCELERATOR.items() if selected == policy), None)
    made_for = next((p.title for p in CATALOGUE if kind in p.accelerator_types), made_for)
    return f"the policy {policy} ({made_for})" if made_for else f"the policy {policy}"


def handled_by(job: Job) -> str:
    """What handles a job of a resource that no schedule_policy applies to."""
    policy = select_policy(job).policy
    static = "the device plugin hands out vNPUs, no policy looks at chips"
    return static if policy == "vnpu-static" else f"{f'the policy {policy}' if policy else 'no policy'} handles the job"


def policies_of(resource: str) -> list[str]:
    """The policies of products that offer a resource, in the order of `POLICIES`."""
    offering = [p for p in CATALOGUE if resource in (p.resource, *p.other_resources)]
    return [policy for policy in POLICIES if policy == "multilevel" or any(policy in p.policies for p in offering)]


def npu_policies(accelerator: str | None) -> str:
    """The policies of huawei.com/npu products by product, of the one that the selector names where it does."""
    offering = [p for p in CATALOGUE if p.resource == NPU and p.policies]
    named = [p for p in offering if accelerator in p.accelerator_types]
    return ", ".join(f"{p.policies[0]} ({p.title})" for p in named or offering)


def type_advice(accelerator: str) -> str:
    """What to write instead of an accelerator-type that selects no policy."""
    product = next((p for p in CATALOGUE if accelerator in p.accelerator_types and p.policies), None)
    if product is not None:
        return f"add the annotation huawei.com/schedule_policy: {product.policies[0]}, and ask for {product.resource}"
    near = nearest(accelerator, BY_ACCELERATOR)
    return f"did you mean {near}?" if near else "use one of " + ", ".join(BY_ACCELERATOR)


def same_hardware(policy: str, resource: str, owners: Sequence[Product]) -> str:
    """How policy and selector come to name one product; `owners` are the products of the selector."""
    policies = list(dict.fromkeys(p.policies[0] for p in owners if p.policies))
    offering = [p for p in CATALOGUE if policy in p.policies and resource in (p.resource, *p.other_resources)]
    types = list(dict.fromkeys(kind for p in offering for kind in p.accelerator_types))
    ways = [f"write schedule_policy {' or '.join(policies)}"] if policies else []
    if any("module" in p.accelerator_types for p in owners):
        ways = ["remove schedule_policy"]
    ways += [f"select accelerator-type {' or '.join(types)}"] if types else []
    return ", or ".join(ways) or "make both name the same hardware"
