"""Sentences about a multi-level plan: trees, attempts, choices inside the tree, recoveries (chapter 22 §8.3, §8.5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ascendctl.engine.policies.multilevel_plan import Attempt, NoPlan, Plan, Trial, largest_job
from ascendctl.engine.policies.multilevel_recover import Move, Recovery
from ascendctl.engine.policies.multilevel_search import Choice, Field, full_capacity
from ascendctl.topology.tree import Tree

Step = tuple[str, Mapping[str, Any]]

MAX_CHOICES = 60
MAX_NAMES = 12


def plan_steps(plan: Plan | NoPlan, names: Sequence[str]) -> list[Step]:
    """What was tried on which tree, which tree won and why, and how its units were chosen."""
    steps = [_shallow_step(attempt, tree) for attempt, tree in plan.shallow]
    steps += [_trial_step(trial) for trial in plan.trials]
    if isinstance(plan, NoPlan):
        return steps
    best, solution = plan.best, plan.solution
    rivals = {
        trial.tree.name: trial.field.score
        for trial in plan.trials
        if trial.attempt is best.attempt and trial.solution is not None and trial.tree is not best.tree
    }
    why = "smallest fragment score, equal scores by name" if rivals else "the only tree that can host the job"
    steps.append(
        (
            f"tree {best.tree.name!r} with the {best.attempt.name} shape: {why}",
            {"tree": best.tree.name, "fragment_score": best.field.score, "other_trees": rivals},
        )
    )
    for choice in solution.choices[:MAX_CHOICES]:
        steps.append(_choice_step(best.tree, best.field, choice))
    if len(solution.choices) > MAX_CHOICES:
        steps.append((f"{len(solution.choices) - MAX_CHOICES} more choices inside the units above are left out", {}))
    if solution.phase == 2:
        spares = [names[i] for i in best.field.layout.nodes[solution.spares].tolist()]
        steps.append(
            (
                "the rest came from reserved nodes: units with most spares left gave one up first",
                {"reserved_nodes_used": spares},
            )
        )
    steps.append(
        (
            "groups are numbered in the order in which they were completed; inside a group ranks follow the node names",
            {"groups": len(plan.nodes) // plan.group_size, "pods_per_group": plan.group_size},
        )
    )
    return steps


def _shallow_step(attempt: Attempt, tree: str) -> Step:
    text = f"tree {tree!r} is not looked at for the {attempt.name} shape {list(attempt.sizes)}: it has fewer than "
    return f"{text}{attempt.levels} level(s)", {"tree": tree, "attempt": attempt.name, "levels_needed": attempt.levels}


def _trial_step(trial: Trial) -> Step:
    field, attempt = trial.field, trial.attempt
    data: dict[str, Any] = {
        "tree": trial.tree.name,
        "attempt": attempt.name,
        "vector": list(attempt.sizes),
        "candidates": len(field.layout.nodes),
        "reserved_nodes_per_unit": field.reserve,
        "root_capacity": int(field.capacity[0][0]),
        "fragment_score": field.score,
        "levels": _levels(trial),
    }
    head = f"tree {trial.tree.name!r}, {attempt.name} shape {list(attempt.sizes)}"
    if trial.solution is None:
        data["largest_job"] = largest_job(trial)
        return f"{head}: cannot host the job, {shortfall(trial)}", data
    phase = "without reserved nodes" if trial.solution.phase == 1 else "only with reserved nodes"
    return f"{head}: can host the job {phase}, fragment score {field.score}", data


def _levels(trial: Trial) -> list[dict[str, Any]]:
    """Groups that each level offers with all free nodes, and groups that the job needs, top down."""
    sizes, last = trial.attempt.sizes, len(trial.attempt.sizes) - 1
    capacity = full_capacity(trial.field.layout, sizes)
    return [
        {
            "level": f"level{last - depth}" if depth else "tree",
            "units": len(capacity[depth]),
            "pods_per_group": sizes[depth],
            "groups_available": int(capacity[depth].sum()),
            "groups_needed": sizes[0] // sizes[depth],
        }
        for depth in range(last)
    ]


def shortfall(trial: Trial) -> str:
    """Why a tree cannot host a job: the lowest level that offers too few groups."""
    nodes, pods = len(trial.field.layout.nodes), trial.attempt.sizes[0]
    if nodes < pods:
        return f"it has {nodes} free nodes for {pods} pods"
    for row in reversed(_levels(trial)):
        if row["groups_available"] < row["groups_needed"]:
            size, units = row["pods_per_group"], "the tree" if row["level"] == "tree" else f"its {row['level']} units"
            return f"{units} can hold {row['groups_available']} of {row['groups_needed']} groups of {size} pods"
    return "no combination of its units fits"


def no_plan_message(found: NoPlan) -> str:
    """Message of an ML-P03: the plain shape on every tree, and the largest job of the same groups."""
    plain = [trial for trial in found.trials if trial.attempt is found.trials[-1].attempt]
    parts = [f"tree {trial.tree.name!r}: {shortfall(trial)}" for trial in plain]
    largest = max(largest_job(trial) for trial in plain)
    return f"no valid task tree found: {'; '.join(parts)}; the largest job of this shape that fits has {largest} pods"


def _choice_step(tree: Tree, field: Field, choice: Choice) -> Step:
    layout, below = field.layout, choice.depth + 1
    first, end = layout.children[choice.depth][choice.vertex : choice.vertex + 2].tolist()
    size = field.sizes[below]

    def name(child: int) -> str:
        return layout.unit_name(tree, below, child)

    used = {child for child, _ in choice.taken} | {choice.opened[0]}
    left: dict[str, list[int]] = {}
    for child in range(first, end):
        if child not in used:
            left.setdefault(_why_left(field, choice, child), []).append(child)
    data: dict[str, Any] = {
        "unit": layout.unit_name(tree, choice.depth, choice.vertex),
        "groups_needed": choice.need,
        "pods_per_group": size,
        "taken": [{"unit": name(child), "groups": count} for child, count in choice.taken[:MAX_NAMES]],
        "left": {
            reason: {"count": len(children), "examples": [name(child) for child in children[:MAX_NAMES]]}
            for reason, children in sorted(left.items())
        },
    }
    text = f"{data['unit']}: {choice.need} group(s) of {size} pods needed"
    if choice.taken:
        some = ", ".join(f"{name(child)} ({count})" for child, count in choice.taken[:MAX_NAMES])
        more = f" and {len(choice.taken) - MAX_NAMES} more" if len(choice.taken) > MAX_NAMES else ""
        text += f"; used up as far as they go, cleanest and smallest first: {some}{more}"
    child, count = choice.opened
    if child >= 0:
        data["opened"] = {"unit": name(child), "groups": count, "capacity": int(field.capacity[below][child])}
        text += f"; {name(child)} is the smallest bigger one and gives {count} of {data['opened']['capacity']}"
    if choice.missing:
        data["missing"] = choice.missing
        text += f"; {choice.missing} still missing without reserved nodes"
    return text, data


def _why_left(field: Field, choice: Choice, child: int) -> str:
    depth = choice.depth + 1
    if depth == len(field.sizes) - 2 and field.short[child]:
        return "fewer free nodes than must stay reserved"
    capacity = int(field.capacity[depth][child])
    if capacity == 0:
        return "no complete group without reserved nodes"
    if choice.opened[0] >= 0 or choice.missing:
        return "bigger than what was still needed"
    last = choice.taken[-1][0]
    key = (int(field.fragments[depth][child]), capacity, child)
    if key < (int(field.fragments[depth][last]), int(field.capacity[depth][last]), last):
        return "bigger than what was still needed"
    return "not needed any more"


def recovery_steps(recovery: Recovery, former: Sequence[int], names: Sequence[str]) -> list[Step]:
    """What stays, what moves where and why, attempt by attempt."""
    steps: list[Step] = []
    for number, attempt in enumerate(recovery.rounds, 1):
        lost = {rank: names[former[rank]] if former[rank] >= 0 else "" for rank in attempt.lost}
        head = "lost" if number == 1 else "given up together"
        if number == 1 or attempt.lost != recovery.rounds[number - 2].lost:
            shown = {str(rank): node for rank, node in list(lost.items())[:MAX_NAMES]}
            stay = len(former) - len(lost)
            text = f"attempt {number}: {len(lost)} pod(s) {head}, {stay} keep node and rank"
            steps.append((text, {"ranks": len(lost), "nodes": shown}))
        steps += [(_move_text(move, names), _move_data(move, names)) for move in attempt.moves[:MAX_CHOICES]]
        if attempt.failure:
            steps.append((f"attempt {number} failed: {attempt.failure}", {}))
    if recovery.whole is not None:
        steps += plan_steps(recovery.whole, names)
    return steps


def _move_text(move: Move, names: Sequence[str]) -> str:
    who = f"rank {move.first}" if move.end == move.first + 1 else f"ranks {move.first} to {move.end - 1}"
    where = ", ".join(names[i] for i in move.nodes[:MAX_NAMES])
    more = f" and {len(move.nodes) - MAX_NAMES} more" if len(move.nodes) > MAX_NAMES else ""
    reserved = f", of which {len(move.spares)} kept in reserve until now" if move.spares else ""
    return f"{who} placed again inside {move.unit}: {where}{more}{reserved}"


def _move_data(move: Move, names: Sequence[str]) -> dict[str, Any]:
    return {
        "ranks": [move.first, move.end - 1],
        "unit": move.unit,
        "nodes": [names[i] for i in move.nodes],
        "phase": move.phase,
        "reserved_nodes_used": [names[i] for i in move.spares],
    }
