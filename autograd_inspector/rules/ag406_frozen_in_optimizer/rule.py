"""AG406: parameters that were to be frozen and move, or were frozen and should not be."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import name_of
from autograd_inspector.advice.remedies.at_line import at_line
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.modules.sharing import shared_by
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.analysis.optimizers.frozen_twins import frozen_with_their_twins
from autograd_inspector.model.event import RequiresGradChanged
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.program_events import PlainAttributeSet, ResultDiscarded
from autograd_inspector.model.remedy import Freeze, Insert
from autograd_inspector.model.wording import agree, summarize_names
from autograd_inspector.rules.ag406_frozen_in_optimizer.frozen_before_backward import frozen_before_backward
from autograd_inspector.rules.ag406_frozen_in_optimizer.frozen_but_stepped import still_moving
from autograd_inspector.rules.ag406_frozen_in_optimizer.frozen_for_a_look import frozen_past_the_look
from autograd_inspector.rules.ag406_frozen_in_optimizer.frozen_for_a_turn import frozen_past_the_turn
from autograd_inspector.rules.ag406_frozen_in_optimizer.frozen_for_good import frozen_for_good, frozen_in_its_turn
from autograd_inspector.rules.ag406_frozen_in_optimizer.frozen_groups import compared_only, frozen_groups
from autograd_inspector.rules.ag406_frozen_in_optimizer.masked_rows import masked_rows
from autograd_inspector.rules.ag406_frozen_in_optimizer.never_thawed import never_thawed
from autograd_inspector.rules.ag406_frozen_in_optimizer.pruned_weights import pruned_weights
from autograd_inspector.rules.ag406_frozen_in_optimizer.renormalised import renormalised
from autograd_inspector.rules.ag406_frozen_in_optimizer.thawed_with_others import thawed_too_far
from autograd_inspector.rules.ag406_frozen_in_optimizer.unmatched_names import nothing_frozen
from autograd_inspector.rules.ag406_frozen_in_optimizer.zeros_for_frozen import zeros_for_frozen


def check(analysis: Analysis) -> Iterator[Problem]:
    """A frozen parameter still changes, or a parameter is frozen by accident because it is tied to another one.

    Why it matters
        `requires_grad = False` stops the backward pass, not the optimizer: if `.grad` still holds an old gradient, momentum
        and weight decay keep changing the parameter. And freezing one module freezes every module that shares its
        parameters.

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
    yield from still_moving(analysis)
    yield from zeros_for_frozen(analysis)
    yield from masked_rows(analysis)
    yield from pruned_weights(analysis)
    yield from renormalised(analysis)
    early = list(frozen_before_backward(analysis))
    yield from early
    yield from _frozen_with_its_twin(analysis)
    yield from _unfrozen_again(analysis)
    yield from thawed_too_far(analysis)
    yield from _never_frozen(analysis)
    yield from nothing_frozen(analysis)
    yield from frozen_for_good(analysis)
    yield from frozen_in_its_turn(analysis)
    yield from frozen_past_the_turn(analysis)
    yield from frozen_past_the_look(analysis)
    compared = list(compared_only(analysis))
    yield from compared
    groups = list(frozen_groups(analysis, {name for finding in compared for name in finding.subjects}))
    yield from groups
    yield from never_thawed(analysis, {name for finding in (*early, *compared, *groups) for name in finding.subjects})


def _frozen_with_its_twin(analysis: Analysis) -> Iterator[Problem]:
    """Tied parameters frozen under one of their names while the module of the other name goes on learning."""
    for site, tensors in frozen_with_their_twins(analysis).items():
        yield _with_their_twins(analysis, site, tensors)


def _with_their_twins(analysis: Analysis, site: int, tensors: dict[int, tuple[list[str], list[str]]]) -> Problem:
    """All that one line froze under other names."""
    names = analysis.capture.display_names
    learning = [name for others, _ in tensors.values() for name in others]
    frozen = [own[0] for _, own in tensors.values()]
    first = learning[0]
    return Problem(
        "warning",
        f"freezing {summarize_names(frozen)} also froze {summarize_names(learning)}: "
        f"{agree(frozen, 'they are one parameter (tied)', 'each pair is one parameter (tied)')}, and the module of "
        f"{first} is still being trained",
        f"Untie them ({first} = nn.Parameter(weight.clone())), or do not freeze "
        f"{agree(frozen, 'the tied weight', 'the tied weights')}.",
        analysis.places((site, "frozen here"), (shared_by(analysis.capture, tensors), "shared here")),
        tuple(name for tensor in tensors for name in names.every_name_of(tensor)),
        cures=tuple(
            tuple(
                Insert(place, f"{others[0]}.requires_grad_(True)", "behind", outside_loops=True)
                for others, _ in tensors.values()
            )
            for place in analysis.user_frames(site, "")[:1]
        ),
    )


def _unfrozen_again(analysis: Analysis) -> Iterator[Problem]:
    """Frozen, and all of it thawed by one line before any step: by a loop over everything, as a rule."""
    capture = analysis.capture
    first = min((step.at for step in capture.steps), default=-1)
    frozen: dict[int, RequiresGradChanged] = {}
    thawed: dict[int, set[int]] = {}
    for change in capture.requires_grad_changes:
        if change.at > first or change.folded:
            break
        if not change.requires_grad:
            frozen[change.tensor] = change
        elif change.tensor in frozen:
            thawed.setdefault(change.site, set()).add(change.tensor)
    for site, tensors in thawed.items():
        moved = sorted(tensors & capture.optimized & analysis.received_gradient)
        # Freeze all and thaw the head is how it is done; freeze all and thaw all changes nothing.
        if not moved or tensors < frozen.keys() or frozen.keys() >= capture.optimized:
            continue
        if all(_overruled(analysis, site, frozen[t]) or _toggled(analysis, site, t) for t in moved):
            continue
        names = [name_of(analysis, t) for t in moved]
        yield Problem(
            "warning",
            f"{summarize_names(names)} {agree(names, 'was', 'were')} frozen and then unfrozen again before the first step, so step() "
            f"updates {agree(names, 'it', 'them')}",
            "Freeze last, after the code that sets requires_grad of all parameters, or exclude the frozen parameters from that loop.",
            analysis.places((site, "unfrozen again here"), (frozen[moved[0]], "frozen here")),
            tuple(names),
        )


def _toggled(analysis: Analysis, site: int, tensor: int) -> bool:
    """A GAN freezes its discriminator for the generator's step, and thaws it for its own, again and again."""
    changes = analysis.lifecycle.changes([tensor])
    thawed = next(n for n, change in enumerate(changes) if change.site == site and change.requires_grad)
    return any(not change.requires_grad for change in changes[thawed:])


def _overruled(analysis: Analysis, site: int, change: RequiresGradChanged) -> bool:
    """A class thaws, in the method that called its base class's, what that one froze: it means to."""
    here = analysis.capture.place(site)
    return here is not None and here.function in change.extended_by


def _never_frozen(analysis: Analysis) -> Iterator[Problem]:
    """`module.requires_grad = False` sets an attribute that nobody reads, and what it was to freeze is stepped."""
    yield from _detached(analysis)
    for event in analysis.capture.events_of(PlainAttributeSet):
        moved = [t for t in event.tensors if t in analysis.optimized_trainable and t in analysis.received_gradient]
        if not moved:
            continue
        names = [name_of(analysis, t) for t in moved]
        yield Problem(
            "warning",
            f"{summarize_names(names)} {agree(names, 'is', 'are')} not frozen: `.{event.attribute} = False` set a plain attribute "
            "that torch does not read, and step() updates "
            f"{agree(names, 'it', 'them')}",
            "Call `.requires_grad_(False)` on the module (or set `.requires_grad` of each of its parameters).",
            analysis.user_frames(event.site, "nothing frozen here"),
            (*names, event.attribute),
            cures=at_line(analysis, event.site, Freeze),
        )


def _detached(analysis: Analysis) -> Iterator[Problem]:
    """`p.detach()` as a statement: it returns an alias that nobody keeps, and the parameter learns as before."""
    for event in analysis.capture.events_of(ResultDiscarded):
        moved = [t for t in event.tensors if t in analysis.optimized_trainable and t in analysis.received_gradient]
        if event.written or event.of != "parameters" or not is_a(event.name, OpKind.DETACHES) or not moved:
            continue
        names = [name_of(analysis, t) for t in moved]
        yield Problem(
            "warning",
            f"{summarize_names(names)} {agree(names, 'is', 'are')} not frozen: `detach()` returns another tensor, which "
            f"nothing uses here, and step() updates {agree(names, 'it', 'them')}",
            "Call `requires_grad_(False)` on the parameters, or on their module.",
            analysis.user_frames(event.site, "nothing frozen here"),
            tuple(names),
            cures=at_line(analysis, event.site, Freeze),
        )
