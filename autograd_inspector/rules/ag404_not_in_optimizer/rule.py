"""AG404: parameters that no optimizer knows."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.names import as_code
from autograd_inspector.advice.naming import name_of
from autograd_inspector.advice.optimizer_snippets import group_added, remade
from autograd_inspector.advice.remedies.optimizers import added_to, given_instead, made_later
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.counted_in_norm import CountedInNorm, counted_in_norm
from autograd_inspector.analysis.idle_statements import idle_here
from autograd_inspector.analysis.modules.parameter_origins import (
    birthplace,
    first_use,
    made_here,
    thawed,
    were_replaced,
)
from autograd_inspector.analysis.optimizers.exchanged import exchanged_in_groups
from autograd_inspector.analysis.optimizers.holders import are_bare, is_idle, nearest, stepped_in_vain
from autograd_inspector.analysis.optimizers.selections import collected_at, selected_at
from autograd_inspector.analysis.parameters.probed_copies import looked_into
from autograd_inspector.analysis.parameters.unoptimized import Unoptimized
from autograd_inspector.model.display_names import COMPILED
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.location import Location, dedupe_locations
from autograd_inspector.model.placement_rows import OptimizerRecord
from autograd_inspector.model.rewrites import EnterHere, NotCopied
from autograd_inspector.model.wording import agree, join_names, summarize_names
from autograd_inspector.rules.ag404_not_in_optimizer.beside_copies import beside_copies
from autograd_inspector.rules.ag404_not_in_optimizer.empty_parameter_list import given_nothing
from autograd_inspector.rules.ag404_not_in_optimizer.exchanged import problem
from autograd_inspector.rules.ag404_not_in_optimizer.undelivered import copies_alone_move


def check(analysis: Analysis) -> Iterator[Problem]:
    """A live trainable parameter gets gradients but is not in any optimizer.

    Why it matters
        It is never updated, and its gradient grows from step to step because zero_grad() does not clear it either.

    Example
        ::

            optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
            net.append(nn.Linear(2, 2))
            net(x).pow(2).mean().backward()
            optimizer.step()

    Fix
        ::

            net.append(nn.Linear(2, 2))
            optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
            net(x).pow(2).mean().backward()
            optimizer.step()

    References
        torch.optim.Optimizer.add_param_group.
    """
    yield from given_nothing(analysis)
    yield from copies_alone_move(analysis)
    loose = analysis.unoptimized
    replaced = loose is not None and were_replaced(analysis, loose)  # AG405
    copied = [] if replaced else list(beside_copies(analysis))
    yield from copied
    if copied or loose is None or replaced or set(loose.parameters) <= analysis.unregistered:
        return
    if analysis.copies and (analysis.copies_used or looked_into(analysis.capture, analysis.copies)):
        return
    if _cut_off(analysis, loose.optimizer) or _wants_grad(analysis, loose.optimizer):
        return
    exchanged = list(exchanged_in_groups(analysis, loose))
    if {each.old for each in exchanged} >= set(loose.parameters):
        yield problem(analysis, loose.optimizer, exchanged)
        return
    in_vain = stepped_in_vain(analysis, loose.parameters)
    optimizer = in_vain or nearest(analysis, loose.parameters) or loose.optimizer
    late = [t for t in loose.parameters if analysis.lifecycle.began_after(t, optimizer)]
    early = [t for t in loose.parameters if t not in late]
    names = [name_of(analysis, t) for t in loose.parameters]
    made = analysis.user_frames(optimizer.site, "optimizer created without them here")
    born = [place for t in late for place in birthplace(analysis, t, optimizer, "created after the optimizer here")]
    unfrozen = thawed(analysis, loose.parameters, optimizer)
    empty = [i for i, group in enumerate(optimizer.parameters) if not group] if early else []
    foreign = bool(optimizer.held) and not set(analysis.optimized_trainable) & analysis.received_gradient
    of = " (it holds other parameters, which no backward() reached)" if foreign else _OTHERS if in_vain else ""
    not_entered = list(_not_entered(analysis, loose))
    selected = (*selected_at(analysis, optimizer.site), *collected_at(analysis, optimizer.site)) if early else ()
    counted = counted_in_norm(analysis, loose.parameters)
    compiled = all(_under_compiled(analysis, t) for t in loose.parameters)
    yield Problem(
        "info" if _given_inputs(analysis, optimizer) or analysis.passed_through else "warning",
        f"{summarize_names(names)} {agree(names, 'gets', 'get')} gradients but {agree(names, 'is', 'are')} not in any "
        f"optimizer: {optimizer.type} does not hold {agree(names, 'it', 'them')}{of}{_without(empty, compiled)}"
        f"{_COUNTED if counted is not None else ''}",
        _ENTER
        if not_entered
        else _instead(analysis, optimizer, loose)
        if in_vain
        else _added(analysis, optimizer, loose, empty),
        dedupe_locations(
            [
                *not_entered,
                *unfrozen,
                *(born if not early else ()),
                *made,
                *selected,
                *born,
                *made_here(analysis, early),
                *(() if counted is None else _counted(analysis, counted)),
            ]
        )
        or first_use(analysis, loose.parameters[0]),
        tuple(names),
        cures=tuple((EnterHere(place),) for place in not_entered)
        if not_entered
        else tuple(
            (
                *((NotCopied(place, called=True),) for place in born[:1]),
                *given_instead(analysis, optimizer, loose.parameters),
                *made_later(analysis, optimizer, born, loose.parameters),
            )
            if in_vain
            else added_to(analysis, optimizer, [*unfrozen, *born], loose.parameters)
        ),
    )


def _not_entered(analysis: Analysis, loose: Unoptimized) -> Iterator[Location]:
    """Where a `torch.no_grad()` stands that was to keep gradients away from the parameters, and that nothing entered."""
    ops = analysis.capture.ops
    sites = dict.fromkeys(
        ops[at].site for tensor in loose.parameters for at in analysis.capture.readers.get(tensor, ())
    )
    for event in idle_here(analysis, sites, "no_grad", "inference_mode"):
        yield from analysis.user_frames(event.site, f"{event.name}() switches nothing off here: write `with`")


def _counted(analysis: Analysis, found: CountedInNorm) -> tuple[Location, ...]:
    return analysis.places(
        (found.clip, "gradients of all iterations counted in the norm here"),
        (found.cleared, "gradients of the optimizer's own parameters cleared here, no others"),
    )


_COUNTED = (
    ". No zero_grad() clears these gradients, so they add up over the iterations, and the clipping norm, by which all gradients are "
    "scaled, grows with them"
)


def _instead(analysis: Analysis, optimizer: OptimizerRecord, loose: Unoptimized) -> str:
    """What to do where the optimizer was given the parameters of another model."""
    made = as_code(remade(analysis, optimizer, loose.parameters))
    return f"Build this optimizer from the parameters that its loss trains, instead of the parameters it holds{made}."


def _added(analysis: Analysis, optimizer: OptimizerRecord, loose: Unoptimized, empty: list[int]) -> str:
    """What to do where parameters are missing in an optimizer."""
    return (
        f"{_WALKED if empty else ''}Build the optimizer from the parameters of the trained model once it has all its "
        "layers, or call add_param_group for the new parameters"
        f"{as_code(group_added(analysis, optimizer, loose.parameters))}. Freeze parameters that must not change with "
        "requires_grad_(False)."
    )


_ENTER = "Write `with torch.no_grad():` around what must not be trained: a context that is made and not entered does nothing."
_OTHERS = " (it holds other parameters, which have no gradient when it steps)"
_WALKED = "parameters() is a generator and can be iterated only once: keep a list, or call it again. "


def _under_compiled(analysis: Analysis, tensor: int) -> bool:
    """Whether a parameter's name goes through the wrapper that torch.compile puts around a module."""
    return any(COMPILED in name.split(".") for name in analysis.capture.tensors[tensor].names)


def _without(empty: list[int], compiled: bool) -> str:  # noqa: FBT001 - a fact about the model
    """What an empty group tells: torch accepts it without a word."""
    if not empty:
        return ""
    which = f"{agree(empty, 'group', 'groups')} {join_names(map(str, empty))} {agree(empty, 'is', 'are')}"
    prefixed = f": each name that the compiled model gives begins with `{COMPILED}.`" if compiled else ""
    return f"; its {which} empty: the generator was already exhausted, or a filter matched nothing{prefixed}"


def _given_inputs(analysis: Analysis, optimizer: OptimizerRecord) -> bool:
    """Whether it steps bare tensors alone, and backward reaches them: an image, a prompt, a perturbation is learnt.

    Nothing is said of one whose groups are not known: an interrupt may have struck while they were looked at.
    """
    held = set(optimizer.held)
    if not optimizer.parameters:
        return True
    return (
        bool(held) and held <= analysis.received_gradient and not any(analysis.capture.tensors[t].names for t in held)
    )


def _cut_off(analysis: Analysis, optimizer: OptimizerRecord) -> bool:
    """Whether a cut explains why nothing that it holds gets a gradient: it holds the right parameters, then."""
    cut_parameters = {tensor for cut in analysis.harmful_cuts for tensor in cut.parameters}
    held = {t for t in optimizer.held if analysis.capture.tensors[t].requires_grad}
    return bool(held) and held <= cut_parameters


def _wants_grad(analysis: Analysis, optimizer: OptimizerRecord) -> bool:
    """Whether it was given an image, a prompt, that does not require grad: AG106 says so."""
    return are_bare(analysis, optimizer.held) and is_idle(analysis, optimizer)
