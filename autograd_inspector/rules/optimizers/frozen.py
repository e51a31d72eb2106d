"""AG406: parameters that were to be frozen and move, or were frozen and should not be."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.model.event import LeafChange
from autograd_inspector.model.finding import Finding
from autograd_inspector.rules.catalogue import rule
from autograd_inspector.rules.facts import Facts
from autograd_inspector.rules.optimizers.set_aside import compared_only, frozen_groups
from autograd_inspector.rules.optimizers.still_moving import still_moving
from autograd_inspector.rules.wording.names import folded, joined
from autograd_inspector.rules.wording.places import unique

_IN_TWO_GROUPS = "appear in more than one parameter group"


@rule("AG406", "frozen-in-optimizer")
def frozen_in_optimizer(facts: Facts) -> Iterator[Finding]:
    """A frozen parameter that still moves, or one frozen by accident because it is tied to another.

    Why it matters
        `requires_grad = False` stops backward, not the optimizer: with a gradient left over from before, momentum and
        weight decay go on moving the parameter. And freezing one module freezes whatever shares its parameters.

    Example
        ::

            net(x).pow(2).mean().backward()
            net[0].requires_grad_(False)
            optimizer.step()

    Fix
        ::

            net[0].requires_grad_(False)
            net[0].zero_grad(set_to_none=True)
            net(x).pow(2).mean().backward()
            optimizer.step()

    References
        torch.nn.Module.requires_grad_; torch.optim.Optimizer.zero_grad (set_to_none).
    """
    yield from still_moving(facts)
    yield from _frozen_with_its_twin(facts)
    yield from _unfrozen_again(facts)
    yield from _never_frozen(facts)
    compared = list(compared_only(facts))
    yield from compared
    yield from frozen_groups(facts, {name for finding in compared for name in finding.subjects})


def _frozen_with_its_twin(facts: Facts) -> Iterator[Finding]:
    """A tied parameter frozen under one of its names while the module of its other name goes on learning."""
    capture = facts.capture
    told: set[int] = set()
    for change in capture.leaf_changes:
        names = capture.tensors[change.tensor].names
        if (
            change.requires_grad
            or len(names) < 2
            or change.tensor in told
            or capture.tensors[change.tensor].requires_grad
        ):
            continue
        learning = [name for name in names if _siblings_learn(facts, name, change)]
        frozen = [name for name in names if name not in learning]
        if learning and frozen and capture.steps:
            told.add(change.tensor)
            yield Finding(
                "AG406",
                "frozen-in-optimizer",
                "warning",
                f"freezing {frozen[0]} also froze {joined(learning)}: they are one parameter (tied), and the module of "
                f"{learning[0]} is still meant to learn",
                f"Untie them ({learning[0]} = nn.Parameter(weight.clone())), or leave the tied weight out of the freezing.",
                facts.chain(change.site, "frozen here"),
                names,
            )


def _siblings_learn(facts: Facts, name: str, change: LeafChange) -> bool:
    """Whether parameters of the same outer module still require grad and are optimized."""
    outer = name.split(".", maxsplit=1)[0] + "."
    return any(
        record.requires_grad and record.id != change.tensor and record.id in facts.capture.optimized
        for record in facts.capture.tensors
        for other in record.names
        if other.startswith(outer)
    )


def _unfrozen_again(facts: Facts) -> Iterator[Finding]:
    """Frozen, and all of it thawed by one line before any step: by a loop over everything, as a rule."""
    capture = facts.capture
    first = min((step.at for step in capture.steps), default=-1)
    frozen: dict[int, LeafChange] = {}
    thawed: dict[int, set[int]] = {}
    for change in capture.leaf_changes:
        if change.at > first or change.folded:
            break
        if not change.requires_grad:
            frozen[change.tensor] = change
        elif change.tensor in frozen:
            thawed.setdefault(change.site, set()).add(change.tensor)
    for site, tensors in thawed.items():
        moved = sorted(tensors & capture.optimized & facts.reached)
        # Freeze all and thaw the head is how it is done; freeze all and thaw all changes nothing.
        if not moved or tensors < frozen.keys() or frozen.keys() >= capture.optimized:
            continue
        if all(_overruled(facts, site, frozen[t]) or _toggled(facts, site, t) for t in moved):
            continue
        names = [facts.name(t) for t in moved]
        many = len(names) > 1
        yield Finding(
            "AG406",
            "frozen-in-optimizer",
            "warning",
            f"{folded(names)} {'were' if many else 'was'} frozen and then unfrozen again before the first step, so step() "
            f"moves {'them' if many else 'it'}",
            "Freeze last, after whatever sets requires_grad of all parameters, or leave the frozen ones out of that loop.",
            unique([*facts.chain(site, "unfrozen again here"), *facts.chain(frozen[moved[0]].site, "frozen here")]),
            tuple(dict.fromkeys(names)),
        )


def _toggled(facts: Facts, site: int, tensor: int) -> bool:
    """A GAN freezes its discriminator for the generator's step, and thaws it for its own, again and again."""
    changes = facts.leaf_changes_of(tensor)
    thawed = next(n for n, change in enumerate(changes) if change.site == site and change.requires_grad)
    return any(not change.requires_grad for change in changes[thawed:])


def _overruled(facts: Facts, site: int, change: LeafChange) -> bool:
    """A class thaws, in the method that called its base class's, what that one froze: it means to."""
    here = facts.capture.place(site)
    calls = facts.capture.site(change.site)
    return here is not None and any(
        "super(" in call.source and (call.filename, call.function) == (here.filename, here.function) for call in calls
    )


def _never_frozen(facts: Facts) -> Iterator[Finding]:
    """`module.requires_grad = False` sets an attribute that nobody reads, and what it was to freeze is stepped."""
    for change in facts.capture.changes:
        moved = [t for t in change.tensors if t in facts.meant and t in facts.reached]
        if change.kind != "plain_attribute" or not moved:
            continue
        names = [facts.name(t) for t in moved]
        yield Finding(
            "AG406",
            "frozen-in-optimizer",
            "warning",
            f"{folded(names)} {'are' if len(names) > 1 else 'is'} not frozen: `.{change.api} = False` set a plain attribute "
            "that torch does not read, and step() moves "
            f"{'them' if len(names) > 1 else 'it'}",
            "Call `.requires_grad_(False)` on the module (or set `.requires_grad` of each of its parameters).",
            facts.chain(change.site, "freezes nothing here"),
            tuple(dict.fromkeys([*names, change.api])),
        )
