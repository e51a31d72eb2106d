"""Optimizers that hold nothing that requires grad: they step, and nothing moves."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import name_of
from autograd_inspector.advice.remedies.optimizers import given_instead
from autograd_inspector.advice.toggled import left_toggled, to_untoggle, untoggled
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.modules.parameter_origins import frozen_here
from autograd_inspector.analysis.optimizers.holders import are_bare, is_idle, served_alone
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.location import Location
from autograd_inspector.model.placement_rows import OptimizerRecord
from autograd_inspector.model.remedy import Remedies
from autograd_inspector.model.wording import agree, summarize_names


def idle_optimizers(analysis: Analysis) -> Iterator[Problem]:
    """Where backward did run, and no optimizer had anything to step, or one had not what backward ran for it alone.

    One that waits for its parameters to be unfrozen, and steps after the same backward as another that works, may be
    meant: a hint. Where a model's trainable parameters are in no optimizer, AG404 has more to say than that those of
    another part are frozen.
    """
    capture = analysis.capture
    stepped = [o for o in capture.placement.optimizers if analysis.timeline.steps_of(o.id).all]
    ran = any(run.reached and not run.error for run in capture.backwards)
    idle = [optimizer for optimizer in stepped if ran and is_idle(analysis, optimizer)]
    for optimizer in idle:
        held = tuple(dict.fromkeys(optimizer.held))
        if not are_bare(analysis, held) and analysis.unoptimized is not None:
            continue
        in_vain = len(idle) == len(stepped) or served_alone(analysis, optimizer)
        names = [name_of(analysis, t) for t in held]
        toggled = left_toggled(analysis, held, len(capture.ops))
        yield Problem(
            "warning" if in_vain else "info",
            f"{summarize_names(names)} {agree(names, 'does', 'do')} not require grad: backward gives "
            f"{agree(names, 'it', 'them')} no gradient, and {optimizer.type} has nothing to step",
            to_untoggle(toggled) if toggled else asked(analysis, held),
            (
                *why_frozen(analysis, held),
                *analysis.places(
                    (optimizer, "given to the optimizer here"),
                    *((step, "step() moves nothing") for step in analysis.timeline.steps_of(optimizer.id).all[-1:]),
                ),
            ),
            tuple(names),
            cures=(*untoggled(toggled), *_own_parameters(analysis, optimizer)),
        )


def asked(analysis: Analysis, held: tuple[int, ...]) -> str:
    """How to make them require grad."""
    if not are_bare(analysis, held):
        return "Unfreeze the parameters to train: module.requires_grad_(True)."
    name = name_of(analysis, held[0])
    call = f"`{name}.requires_grad_()`" if analysis.capture.tensors[held[0]].variable else "requires_grad_() on it"
    return f"Call {call} before the optimizer is built and the forward runs."


def why_frozen(analysis: Analysis, held: tuple[int, ...]) -> list[Location]:
    """Where they were frozen, or made without requires_grad."""
    made = [op for op in map(analysis.flow.birth, held[:3]) if op is not None]
    return list(frozen_here(analysis, held)) or [
        place for op in made for place in analysis.user_frames(op.site, "made here, without requires_grad")
    ]


def _own_parameters(analysis: Analysis, optimizer: OptimizerRecord) -> Iterator[Remedies]:
    """The parameters themselves, where it holds detached tensors on the memory of those of one model."""
    tensors, owners = analysis.capture.tensors, analysis.capture.owners
    stores = {tensors[tensor].storage for tensor in optimizer.held if tensor not in owners} - {-1}
    theirs = [tensor for tensor in owners if tensors[tensor].storage in stores]
    if stores and len(theirs) == len(optimizer.held):
        yield from given_instead(analysis, optimizer, tuple(theirs))
