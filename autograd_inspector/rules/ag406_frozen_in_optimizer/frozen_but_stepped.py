"""AG406: parameters that do not require grad and that a step moves all the same, by what is left in their ``.grad``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from autograd_inspector.advice.naming import name_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.clearing import clearings_of_others
from autograd_inspector.analysis.gradients.memory import scales, writes_into, zeroed_in_place
from autograd_inspector.analysis.modules.parameter_origins import frozen_here
from autograd_inspector.analysis.timeline import together
from autograd_inspector.model.event import ParameterStep, Step
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.location import Location
from autograd_inspector.model.op import Op
from autograd_inspector.model.remedy import SetArgument
from autograd_inspector.model.settings import Settings, is_off
from autograd_inspector.model.wording import agree, summarize_names

_KNOWN = "torch.optim"
"""Where optimizers come from of which it is known what a gradient of zeros does."""


class Moved(Struct, frozen=True):
    """A frozen parameter that a step wrote to; ``zeroed`` filled its gradient with zeros, ``drives`` go on with those."""

    tensor: int
    step: Step
    zeroed: Op | None
    drives: tuple[str, ...]


def still_moving(analysis: Analysis) -> Iterator[Problem]:
    """One finding about those with a gradient of zeros, one about those that kept an old gradient."""
    moved_parameters: dict[int, Moved] = {}
    ends: dict[int, list[int]] = {}
    for run in analysis.capture.backwards:
        for tensor in run.reached:
            ends.setdefault(tensor, []).append(run.end)
    groups = {
        (optimizer.id, tensor): number
        for optimizer in analysis.capture.placement.optimizers
        for number, held in enumerate(optimizer.parameters)
        for tensor in held
    }
    last: dict[int, int] = {}
    for step in analysis.capture.steps:
        for p in step.parameters:
            moved = (
                None
                if p.tensor in moved_parameters
                else _moved(analysis, step, p, groups.get((step.optimizer, p.tensor), -1), ends.get(p.tensor, ()))
            )
            if moved is not None and not _meant(analysis, moved, p.gradient, last.get(p.tensor, 0)):
                moved_parameters[p.tensor] = moved
            last[p.tensor] = step.at
    zeros = [moved for moved in moved_parameters.values() if moved.zeroed is not None]
    stale = [moved for moved in moved_parameters.values() if moved.zeroed is None]
    for alike in (zeros, stale):
        if alike:
            yield _finding(analysis, alike)


def _moved(analysis: Analysis, step: Step, p: ParameterStep, number: int, ends: Sequence[int]) -> Moved | None:
    if p.gradient < 0 or p.version_after <= p.version_before or not analysis.capture.tensors[p.tensor].leaf:
        return None
    if analysis.lifecycle.requires_grad_at(p.tensor, step.at):
        return None
    since = max((end for end in ends if end <= step.at), default=0)
    zeroed = zeroed_in_place(analysis, [p.gradient], since, step.at)
    optimizer = analysis.capture.placement.optimizers[step.optimizer]
    drives = _drives(optimizer.groups[number]) if 0 <= number < len(optimizer.groups) else ()
    still = 0 <= number < len(step.rates) and step.rates[number] == 0
    rests = still or (zeroed is not None and not drives and optimizer.module.startswith(_KNOWN))
    return None if rests else Moved(p.tensor, step, zeroed, drives)


def _meant(analysis: Analysis, moved: Moved, gradient: int, since: int) -> bool:
    """Whether the program made this gradient itself, or thaws the parameter for each backward and freezes it again.

    Evolution strategies, local rules and float32 masters of a model in half precision step what requires no grad.
    """
    if moved.zeroed is not None:
        return False
    end = moved.step.at
    gradient_assigned = any(
        w.tensor == moved.tensor and w.gradient >= 0 and since <= w.at <= end for w in analysis.capture.grad_writes
    )
    written = any(not scales(op) for op, _ in writes_into(analysis, gradient, since, end))
    return gradient_assigned or written or bool(analysis.lifecycle.unfrozen([moved.tensor]))


def _drives(group: Settings) -> tuple[str, ...]:
    """What moves a parameter whose gradient is zero."""
    momentum = not is_off(group.get("momentum")) or "betas" in group
    return ("momentum",) * momentum + ("weight decay",) * (not is_off(group.get("weight_decay")))


def _cleared_without(analysis: Analysis, moved_parameters: list[Moved]) -> tuple[Location, ...]:
    """Where the gradients of the other parameters were cleared, right before the step."""
    step, own = moved_parameters[0].step, {moved.tensor for moved in moved_parameters}
    others = {p.tensor for p in step.parameters} - own
    since = next((s.at for s in analysis.timeline.steps_of(step.optimizer).before(step.start)), 0)
    writes = together(map(analysis.timeline.writes_of, others), since, step.start)
    last = next((write for write in reversed(writes) if write.gradient < 0), None)
    calls = [call for call in clearings_of_others(analysis, own, step.start) if call.at >= since]
    return analysis.places(*((each, "cleared without them here") for each in (last, *calls) if each is not None))


def _finding(analysis: Analysis, moved_parameters: list[Moved]) -> Problem:
    names = [name_of(analysis, moved.tensor) for moved in moved_parameters]
    first = moved_parameters[0]
    drives = list(dict.fromkeys(drive for moved in moved_parameters for drive in moved.drives))
    applying = f"{' and '.join(drives)} {agree(drives, 'applies', 'apply')}" if drives else ""
    if first.zeroed is not None:
        why = (
            ".grad holds zeros, as zero_grad(set_to_none=False) leaves it, so step() does not skip "
            f"{agree(names, 'it', 'them')} and {applying or 'the optimizer keeps updating'}"
        )
        fix = "Clear gradients with zero_grad(), which sets .grad to None by default, or remove frozen parameters from the optimizer."
    else:
        why = ".grad still holds an earlier gradient, and step() applies it again"
        why += f"; {applying} too" if applying else ""
        fix = "Set the .grad of frozen parameters to None (module.zero_grad(set_to_none=True)), or remove them from the optimizer."
    clearing = () if first.zeroed is None else analysis.user_frames(first.zeroed.site, "filled with zeros here")
    passing = () if first.zeroed is not None else _cleared_without(analysis, moved_parameters)
    return Problem(
        "warning",
        f"{summarize_names(names)} {agree(names, 'does', 'do')} not require grad, but step() changed {agree(names, 'it', 'them')}: "
        f"{why}",
        fix,
        (
            *frozen_here(analysis, (moved.tensor for moved in moved_parameters)),
            *clearing,
            *passing,
            *analysis.user_frames(first.step.site, "step() changes it here"),
        ),
        tuple(names),
        cures=tuple((SetArgument(place, "zero_grad", "set_to_none", ""),) for place in clearing[:1]),
    )
