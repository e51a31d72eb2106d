"""AG406: parameters that do not require grad and that a step moves all the same, by what is left in their ``.grad``."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import name_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.clearing import clearings_of_others
from autograd_inspector.analysis.modules.parameter_origins import frozen_here
from autograd_inspector.analysis.optimizers.moved_while_frozen import Moved, moved_while_frozen
from autograd_inspector.analysis.timeline import together
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.location import Location
from autograd_inspector.model.remedy import SetArgument
from autograd_inspector.model.wording import agree, summarize_names


def still_moving(analysis: Analysis) -> Iterator[Problem]:
    """One finding about those with a gradient of zeros, one about those that kept an old gradient."""
    yield from (_finding(analysis, alike) for alike in moved_while_frozen(analysis) if alike)


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
