"""AG406: what an optimizer holds and never moves, because it is frozen although the program seems to mean otherwise."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from autograd_inspector.advice.naming import name_of
from autograd_inspector.advice.remedies.at_line import at_line
from autograd_inspector.advice.remedies.optimizers import required
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.grouping import grouped
from autograd_inspector.analysis.modules.parameter_origins import frozen_here, made_here
from autograd_inspector.analysis.optimizers.selections import collected_at
from autograd_inspector.analysis.optimizers.set_aside import rests
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.program_events import RequiresGradCompared
from autograd_inspector.model.remedy import SetArgument
from autograd_inspector.model.rewrites import AssignCompared
from autograd_inspector.model.wording import agree, summarize_names


def compared_only(analysis: Analysis) -> Iterator[Problem]:
    """`p.requires_grad == True` is a comparison whose result is dropped: frozen or not, the parameter stays what it was."""
    for (site, wanted), events in grouped(
        analysis.capture.events_of(RequiresGradCompared) if analysis.capture.steps else (),
        lambda event: (event.site, event.wanted),
    ).items():
        left = [event.tensor for event in events if _left(analysis, event.tensor, event.at, thaw=wanted)]
        if left:
            yield _finding_of(analysis, site, left, wanted=wanted)


def _left(analysis: Analysis, tensor: int, at: int, *, thaw: bool) -> bool:
    """Whether it was not as the statement would have it, and never became so."""
    lifecycle = analysis.lifecycle
    changed = (lifecycle.unfrozen if thaw else lifecycle.frozen)([tensor], since=at)
    return lifecycle.requires_grad_at(tensor, at) != thaw and not changed


def _finding_of(analysis: Analysis, site: int, tensors: list[int], *, wanted: bool) -> Problem:
    names = [name_of(analysis, t) for t in tensors]
    stays = "still frozen" if wanted else "not frozen"
    return Problem(
        "warning",
        f"{summarize_names(names)} {agree(names, 'is', 'are')} {stays}: `.requires_grad == {wanted}` is a comparison, and its "
        "result is not used",
        f"Assign with one equals sign: `.requires_grad = {wanted}`.",
        (*analysis.user_frames(site, "compared here, nothing set"), *frozen_here(analysis, tensors)),
        tuple(names),
        cures=at_line(analysis, site, AssignCompared),
    )


def frozen_groups(analysis: Analysis, reported_names: Collection[str]) -> Iterator[Problem]:
    """A parameter group of its own that is frozen at every step: a hint, for it may be thawed later.

    A parameter that was frozen under one of its names, and given to the optimizer under another one, was hardly meant to be.
    """
    capture = analysis.capture
    for optimizer in capture.placement.optimizers:
        steps = analysis.timeline.steps_of(optimizer.id).all
        groups = [held for held in optimizer.parameters if held]
        idle = [held for held in groups if all(rests(analysis, t, [step.at for step in steps]) for t in held)]
        tensors = [t for held in idle for t in held if name_of(analysis, t) not in reported_names]
        if not steps or not tensors or len(idle) == len(groups):
            continue
        names = [name_of(analysis, t) for t in tensors]
        ties = [analysis.capture.display_names.every_name_of(t) for t in tensors]
        tied = all(len(each) > 1 for each in ties) and bool(frozen_here(analysis, tensors))
        others = [name for each in ties for name in each[1:]] if tied else []
        also = f", which {agree(names, 'is', 'are')} {summarize_names(others)} as well," if tied else ""
        yield Problem(
            "warning" if tied else "info",
            f"{summarize_names(names)}{also} {agree(names, 'is', 'are')} in a parameter group of {optimizer.type} but "
            f"{agree(names, 'does', 'do')} not require grad at any step: step() never updates "
            f"{agree(names, 'it', 'them')}",
            "To train it, call requires_grad_(True) (Embedding.from_pretrained(..., freeze=False)); otherwise "
            "remove it from the optimizer.",
            (
                *frozen_here(analysis, tensors),
                *analysis.user_frames(optimizer.site, "passed to the optimizer here"),
                *collected_at(analysis, optimizer.site),
                *made_here(analysis, tensors),
            ),
            (*names, *others),
            cures=(
                *(
                    (SetArgument(place, "from_pretrained", "freeze", "False"),)
                    for place in made_here(analysis, tensors)
                ),
                *required(analysis, tensors, grad=True),
            ),
        )
