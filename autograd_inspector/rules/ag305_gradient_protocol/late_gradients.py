"""AG305: a step that applies an old gradient once more, and gradients that are dropped after the step has used them."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import name_of
from autograd_inspector.advice.remedies.at_line import at_line
from autograd_inspector.advice.remedies.protocol import added_between, brought_forward, optimizer_name
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.late import (
    AppliedAgain,
    ChangedLate,
    DroppedLate,
    SteppedTwice,
    applied_again,
    changed_late,
    dropped_late,
    stepped_twice,
)
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.remedy import Remove
from autograd_inspector.model.wording import agree, summarize_names


def too_late(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each optimizer, and for each line that drops gradients."""
    for again in applied_again(analysis):
        yield _again(analysis, again)
    for twice in stepped_twice(analysis):
        yield _twice(analysis, twice)
    for dropped in dropped_late(analysis):
        yield _dropped(analysis, dropped)
    for changed in changed_late(analysis):
        yield _changed(analysis, changed)


def _again(analysis: Analysis, found: AppliedAgain) -> Problem:
    names = [name_of(analysis, tensor) for tensor in found.tensors]
    others = [name_of(analysis, tensor) for tensor in found.run.reached]
    them = agree(names, "it", "them")
    writes = [w for t in found.tensors for w in analysis.timeline.writes_of(t).before(found.step.at + 1)]
    assigned = next((write for write in writes if write.gradient >= 0), None)
    return Problem(
        "warning",
        f"step() applies to {summarize_names(names)} the same gradient as the previous step did: the backward() in between "
        f"gives gradients to {summarize_names(others)}, and nothing clears or assigns {agree(names, 'its', 'their')} .grad",
        f"Assign the new gradients in every iteration, or clear them with zero_grad() where no loss reaches {them}.",
        analysis.places(
            (assigned, "gradient assigned here, once"),
            (found.step, "step() applies it again here"),
            (found.run, "backward() reaches others here"),
        ),
        tuple(names),
        ops=(found.step.op,),
        cures=tuple(added_between(analysis, f"{optimizer_name(analysis, found.step)}.zero_grad()", found.run.site)),
    )


def _twice(analysis: Analysis, found: SteppedTwice) -> Problem:
    names = [name_of(analysis, tensor) for tensor in found.tensors]
    optimizer = analysis.capture.placement.optimizers[found.second.optimizer].type
    return Problem(
        "warning",
        f"{optimizer}.step() runs twice with no backward() in between: the second step moves {summarize_names(names)} by the "
        f"same {agree(names, 'gradient', 'gradients')} once more",
        "Call step() once after each backward(); remove the second call.",
        analysis.places((found.second, "second step() called here"), (found.first, "first step() called here")),
        tuple(names),
        ops=(found.second.op,),
        cures=at_line(analysis, found.second.site, Remove),
    )


def _dropped(analysis: Analysis, found: DroppedLate) -> Problem:
    names = [name_of(analysis, tensor) for tensor in found.tensors]
    they, them = agree(names, "it", "they"), agree(names, "it", "them")
    return Problem(
        "warning",
        f"the gradients of {summarize_names(names)} are dropped after step() has used them, and "
        f"{found.call.api} clears them before the next backward() in any case: dropping them changes nothing",
        f"Drop them between backward() and step() if step() should leave {them} as {they} {agree(names, 'is', 'are')}; "
        "otherwise remove that line.",
        analysis.places(
            (found.step, f"step() moves {them} here"),
            (found, "gradients dropped here, too late"),
            (found.call, "cleared here in any case"),
        ),
        tuple(names),
        ops=(found.step.op,),
        cures=tuple(brought_forward(analysis, found.site, found.step.site)),
    )


def _changed(analysis: Analysis, found: ChangedLate) -> Problem:
    names = [name_of(analysis, tensor) for tensor in found.tensors]
    return Problem(
        "warning",
        f"`{found.op.name}` changes the gradients of {summarize_names(names)} after step() has used them, and "
        f"{found.call.api} clears them before anything reads them: the change has no effect",
        "Change gradients between backward() and step().",
        analysis.places(
            (found.op, "gradients changed here, too late"),
            (found.step, "step() uses them here"),
            (found.call, "cleared here"),
        ),
        tuple(names),
        ops=(found.op.index,),
        cures=tuple(brought_forward(analysis, found.op.site, found.step.site)),
    )
