"""AG303: a sum whose terms cancel, so that no gradient comes through it."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import name_of
from autograd_inspector.advice.remedies.cuts import detached
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.cancelling import Cancelling, cancelling
from autograd_inspector.analysis.memory.second_names import named_twice
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.op import Op
from autograd_inspector.model.remedy import Remedies, Rename
from autograd_inspector.model.wording import agree, join_names, summarize_names


def cancelled(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each line."""
    for found in cancelling(analysis):
        names = [name_of(analysis, tensor) for tensor in found.parameters]
        terms = list(dict.fromkeys(name_of(analysis, tensor) for tensor in found.terms))
        whole = join_names(terms)
        why = (
            f"{whole} are the same value, computed twice with the same parameters"
            if found.again is not None
            else f"{whole} {agree(terms, 'enters', 'enter')} this sum with both signs"
        )
        again = (
            () if found.again is None else analysis.user_frames(found.again.site, "the same value computed again here")
        )
        entered = [op for op in found.entered if op.index != found.op.index]
        yield Problem(
            "warning",
            f"gradients cancel in `{found.op.name}`: {why}, so the result does not depend on "
            f"{summarize_names(names)}, which {agree(names, 'gets', 'get')} "
            "no gradient from it",
            "Draw the sample without its gradient where its log-probability is differentiated: `sample()` instead of `rsample()`, "
            "or detach() it."
            if found.drawn
            else f"detach() the occurrence of {terms[0]} that must act as a constant, or compute it under torch.no_grad(): a "
            "target, an old log-probability, the soft value in `hard - soft.detach() + soft`.",
            (
                *again,
                *analysis.places(
                    *((op, "added to the sum here") for op in entered),
                    (found.op, "gradients cancel here"),
                    (named_twice(analysis, found.op), "second name assigned here, for the same tensor"),
                ),
            ),
            (*names, *terms),
            ops=(found.op.index,),
            cures=tuple(_cures(analysis, found, entered)),
        )


def _called_old(found: Cancelling) -> list[int]:
    """Of one value that is computed twice the one that is subtracted: an old one, to which the new one is compared."""
    negative = [] if is_a(found.op.name, OpKind.ADDS) else found.op.inputs[1:2]
    return [tensor for tensor in negative if tensor in found.terms]


def _cures(analysis: Analysis, found: Cancelling, entered: list[Op]) -> Iterator[Remedies]:
    """The sample, or what was taken into the sum before, is a constant."""
    place = analysis.capture.place(entered[0].site) if entered else None
    if found.again is not None:
        yield from (cure for term in _called_old(found) for cure in detached(analysis, found.op, term))
        return
    if place is None:
        return
    if found.drawn:
        yield (Rename(place, "sample"),)
    for term in found.terms:
        yield from detached(analysis, entered[0], term) if term in entered[0].inputs else ()
