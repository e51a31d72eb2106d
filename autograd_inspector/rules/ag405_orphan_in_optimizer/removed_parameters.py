"""Parameters that an optimizer stepped and that no model has any more: adapters merged away, layers taken out."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from autograd_inspector.advice.naming import name_of
from autograd_inspector.advice.optimizer_snippets import remade
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.modules.removed_parameters import is_gone, left_in_models, were_merged
from autograd_inspector.analysis.optimizers.selections import collected_at
from autograd_inspector.analysis.parameters.turned_into_buffers import made_of
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.location import Location, dedupe_locations
from autograd_inspector.model.placement_rows import OptimizerRecord
from autograd_inspector.model.wording import agree, summarize_names


def vanished(analysis: Analysis, replaced_parameters: Collection[int]) -> Iterator[Problem]:
    """One finding an optimizer, about what it goes on stepping in vain; ``replaced_parameters`` are known to have been replaced.

    A layer that is taken out on purpose is worth seeing. Where its values went into what is left, or where nothing
    that the optimizer holds learns any more, training has stopped without a word.
    """
    for optimizer in analysis.capture.placement.optimizers:
        held = [t for t in optimizer.held if analysis.capture.tensors[t].requires_grad]
        gone = [t for t in held if t not in replaced_parameters and is_gone(analysis, optimizer, t)]
        if gone:
            loud = (
                len(gone) == len(held)
                or were_merged(analysis, gone)
                or bool(made_of(analysis.capture, analysis.flow, gone))
            )
            yield _finding(analysis, optimizer, gone, [t for t in held if t not in gone], loud=loud)


def taken_out(analysis: Analysis, tensors: Collection[int]) -> tuple[Location, ...]:
    """The lines that took parameters out of their models."""
    lost = [analysis.lifecycle.taken_out(tensor) for tensor in tensors]
    sites = dict.fromkeys(e.site for e in lost if e is not None and e.site >= 0)
    return dedupe_locations(
        place for site in sites for place in analysis.user_frames(site, "taken out of the model here")
    )


def _finding(
    analysis: Analysis, optimizer: OptimizerRecord, gone: list[int], rest: list[int], *, loud: bool
) -> Problem:
    names = [name_of(analysis, t) for t in gone]
    buffers = [name_of(analysis, t) for t in made_of(analysis.capture, analysis.flow, gone)]
    some = [t for t in rest if t in analysis.capture.owners]
    statement = remade(analysis, optimizer, some or left_in_models(analysis, gone))
    instead = (
        f". {summarize_names(buffers)}, computed from {agree(names, 'it', 'them')}, {agree(buffers, 'is a buffer', 'are buffers')} "
        "and never trained"
        if buffers
        else ""
    )
    return Problem(
        "warning" if loud else "info",
        f"{optimizer.type} holds {summarize_names(names)}, which {agree(names, 'is', 'are')} no longer in any model: "
        f"{agree(names, 'it has', 'they have')} had no gradient since, and stepping {agree(names, 'it', 'them')} trains nothing{instead}",
        "Change the model after training, or change it with grad mode on, where its tensors remain parameters, and rebuild "
        "the optimizer afterwards."
        if buffers
        else f"Rebuild the optimizer once the model has changed{f': `{statement}`' if statement else ''}, or change "
        "the model after training.",
        dedupe_locations(
            [
                *taken_out(analysis, gone),
                *analysis.user_frames(optimizer.site, "optimizer created here"),
                *collected_at(analysis, optimizer.site),
            ]
        ),
        (*names, *buffers),
    )
