"""AG407: parameters that are stepped twice."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, pairwise

from autograd_inspector.model.event import Change
from autograd_inspector.model.finding import Finding
from autograd_inspector.rules.catalogue import rule
from autograd_inspector.rules.facts import Facts
from autograd_inspector.rules.optimizers.pasted import collected
from autograd_inspector.rules.wording.names import folded
from autograd_inspector.rules.wording.places import unique

_IN_TWO_GROUPS = "appear in more than one parameter group"


@rule("AG407", "duplicate-parameter")
def duplicate_parameter(facts: Facts) -> Iterator[Finding]:
    """One parameter twice in an optimizer, or in two optimizers that step with one gradient.

    Why it matters
        It is stepped twice per step, with two momenta. Concatenating `parameters()` of modules that share a weight
        does it.

    Example
        ::

            head.weight = embedding.weight
            optimizer = torch.optim.SGD([*embedding.parameters(), *head.parameters()], lr=0.1)
            head(embedding(i)).pow(2).mean().backward()
            optimizer.step()

    Fix
        ::

            head.weight = embedding.weight
            optimizer = torch.optim.SGD(nn.ModuleList([embedding, head]).parameters(), lr=0.1)
            head(embedding(i)).pow(2).mean().backward()
            optimizer.step()

    References
        torch.nn.Module.parameters (it yields a shared parameter once).
    """
    for optimizer in facts.capture.placement.optimizers:
        flat = list(optimizer.held)
        twice = [t for t in dict.fromkeys(flat) if flat.count(t) > 1] if len(flat) != len(set(flat)) else []
        if twice:
            names = [facts.name(t) for t in twice]
            aliases = [name for t in twice for name in facts.capture.tensors[t].names]
            yield Finding(
                "AG407",
                "duplicate-parameter",
                "warning",
                f"{optimizer.type} holds duplicate parameters: {folded(names)} "
                f"{'are' if len(names) > 1 else 'is'} listed twice and stepped twice per step()",
                "Collect parameters from one parent module (its parameters() yields a shared one once), or deduplicate: "
                "list(dict.fromkeys(params)).",
                facts.chain(optimizer.site, "given to the optimizer twice here"),
                tuple(dict.fromkeys([*names, *aliases])),
            )
    yield from _refused(facts)
    yield from _two_optimizers(facts)


def _refused(facts: Facts) -> Iterator[Finding]:
    """An optimizer raised: another of its groups has the parameter already."""
    for change in facts.capture.changes:
        if change.kind != "optimizer_refused" or _IN_TWO_GROUPS not in facts.capture.error or not change.tensors:
            continue
        names = [facts.name(t) for t in change.tensors]
        yield Finding(
            "AG407",
            "duplicate-parameter",
            "error",
            f"{change.api} refused duplicate parameters: {folded(names)} {'are' if len(names) > 1 else 'is'} in another of its "
            "groups already",
            _left_out_once(facts, change),
            facts.chain(change.site, "given to the optimizer a second time here"),
            tuple(dict.fromkeys(names)),
        )


def _left_out_once(facts: Facts, change: Change) -> str:
    """What to do with parameters that a second group may not have, in the program's own names."""
    place = facts.capture.place(change.site)
    if place is not None and "add_param_group" in place.source:
        return (
            "The optimizer has them already: set that group's lr (`optimizer.param_groups[i]['lr'] = ...`), or leave them "
            "out when it is made and add them here."
        )
    own, model = collected(facts, change.tensors)
    general = (
        f": `own = set(map(id, {own})); rest = [p for p in {model}.parameters() if id(p) not in own]`" if own else ""
    )
    return f"Leave them out of the general group{general}."


def _two_optimizers(facts: Facts) -> Iterator[Finding]:
    """Shared between optimizers that step with one and the same gradient.

    An optimizer that steps after a backward of its own is meant: one loss and then another, or training in phases.
    """
    optimizers = facts.capture.placement.optimizers
    shared: dict[tuple[int, int], list[int]] = {}
    for tensor, holders in facts.timeline.shared.items():
        for pair in combinations(holders, 2):
            shared.setdefault(pair, []).append(tensor)
    for pair in sorted(shared):
        one, other = (optimizers[number] for number in pair)
        twice = sorted(t for t in shared[pair] if _same_gradient(facts, t, (one.id, other.id)))
        if twice:
            names = [facts.name(t) for t in twice]
            yield Finding(
                "AG407",
                "duplicate-parameter",
                "warning",
                f"{folded(names)} {'are' if len(names) > 1 else 'is'} a duplicate: in {one.type} and in {other.type}, "
                "which both step with one gradient",
                "Give each parameter to one optimizer only.",
                unique(
                    [
                        *facts.chain(one.site, "first optimizer made here"),
                        *facts.chain(other.site, "second optimizer made here"),
                    ]
                ),
                tuple(names),
            )


def _same_gradient(facts: Facts, tensor: int, pair: tuple[int, int]) -> bool:
    """Whether steps of both met the tensor's gradient with no backward to it in between."""
    capture = facts.capture
    steps = [
        (step.at, step.optimizer)
        for step in capture.steps
        if step.optimizer in pair and any(p.tensor == tensor and p.gradient >= 0 for p in step.parameters)
    ]
    starts = [run.start for run in capture.backwards if run.api == "backward" and tensor in run.reached]
    return any(
        one != other and not any(before < start <= after for start in starts)
        for (before, one), (after, other) in pairwise(steps)
    )
