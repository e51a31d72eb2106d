"""Parameters that an optimizer stepped and that no model has any more: adapters merged away, layers taken out."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from autograd_inspector.advice.naming import name_of
from autograd_inspector.advice.optimizer_snippets import remade
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.optimizers.selections import collected_at
from autograd_inspector.analysis.parameters.turned_into_buffers import made_of
from autograd_inspector.analysis.parameters.unoptimized import copied_from, memory_of
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.location import Location, dedupe_locations
from autograd_inspector.model.op import Trait
from autograd_inspector.model.placement_rows import OptimizerRecord
from autograd_inspector.model.wording import agree, summarize_names


def vanished(analysis: Analysis, replaced_parameters: Collection[int]) -> Iterator[Problem]:
    """One finding an optimizer, about what it goes on stepping in vain; ``replaced_parameters`` are known to have been replaced.

    A layer that is taken out on purpose is worth seeing. Where its values went into what is left, or where nothing
    that the optimizer holds learns any more, training has stopped without a word.
    """
    for optimizer in analysis.capture.placement.optimizers:
        held = [t for t in optimizer.held if analysis.capture.tensors[t].requires_grad]
        gone = [t for t in held if t not in replaced_parameters and _gone(analysis, optimizer, t)]
        if gone:
            loud = (
                len(gone) == len(held)
                or _merged(analysis, gone)
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


def _gone(analysis: Analysis, optimizer: OptimizerRecord, tensor: int) -> bool:
    """Whether the optimizer stepped after a model had lost the parameter, to which no backward came any more."""
    lost = analysis.lifecycle.taken_out(tensor)
    if lost is None or not any(s.optimizer == optimizer.id and s.at >= lost.at for s in analysis.capture.steps):
        return False
    assignments = (write for write in analysis.capture.grad_writes if write.tensor == tensor and write.gradient >= 0)
    reached = any(run.start >= lost.at and tensor in run.reached for run in analysis.capture.backwards)
    return not reached and not any(write.at >= lost.at for write in assignments)


def _merged(analysis: Analysis, gone: Collection[int]) -> bool:
    """Whether the program put their values into a parameter that a model still has."""
    capture = analysis.capture
    left, memory = memory_of(capture, capture.owners), memory_of(capture, gone)
    return any(
        any(write.storage in left for write in op.writes) and copied_from(capture, op, memory, analysis.flow)
        for op in capture.ops
        if op.writes and not op.has(Trait.STEP | Trait.BACKWARD)
    )


def _finding(
    analysis: Analysis, optimizer: OptimizerRecord, gone: list[int], rest: list[int], *, loud: bool
) -> Problem:
    names = [name_of(analysis, t) for t in gone]
    buffers = [name_of(analysis, t) for t in made_of(analysis.capture, analysis.flow, gone)]
    some = [t for t in rest if t in analysis.capture.owners]
    statement = remade(analysis, optimizer, some or _left(analysis, gone))
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


def _left(analysis: Analysis, gone: list[int]) -> list[int]:
    """What the models that lost them have now."""
    models = {lost.model for t in gone if (lost := analysis.lifecycle.taken_out(t)) is not None}
    return [t for t, owner in analysis.capture.owners.items() if owner in models]
