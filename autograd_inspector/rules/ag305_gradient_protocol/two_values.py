"""AG305 where gradients computed at several values of the same parameters are added up, and one step uses the sum.

A closure that a step evaluates at one value after the other has to clear them itself. A program that moves its
parameters up their gradients and computes the gradients again (sharpness-aware minimization) wants those of the second
place, as a rule. Who perturbs a part of them only, such as the embeddings, may want both; so may who goes down the first
gradients for a look ahead: methods of two places (Heun, extragradient) step by the mean of both slopes.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from msgspec import Struct

from autograd_inspector.advice.naming import names_of
from autograd_inspector.advice.remedies.meeting import meeting
from autograd_inspector.advice.remedies.protocol import added_between
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.batches import same_batch
from autograd_inspector.analysis.gradients.driven import Driven, driven_by
from autograd_inspector.analysis.gradients.sources import Consumed, Contribution, GradientSources
from autograd_inspector.analysis.gradients.turned import sign_of
from autograd_inspector.analysis.memory.assigned_data import assigns
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.event import Step
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.location import Location, with_role
from autograd_inspector.model.op import Op, Trait
from autograd_inspector.model.wording import agree, summarize_names
from autograd_inspector.rules.ag305_gradient_protocol.clearing_call import clearing_call


def several_evaluations(analysis: Analysis, sources: GradientSources) -> dict[int, Problem]:
    """Optimizer -> the finding about a closure of its that never clears what the evaluation before has left."""
    findings: dict[int, Problem] = {}
    for step in analysis.capture.steps:
        if step.computed and not step.error and step.optimizer not in findings:
            added = [each for each in sources.of(step) if _evaluated_twice(sources, each)]
            if added:
                findings[step.optimizer] = _evaluations(analysis, step, added)
    return findings


def _evaluated_twice(sources: GradientSources, consumed: Consumed) -> bool:
    """Whether contributions that the step itself asked for were computed at several values."""
    tensor, start = consumed.tensor, consumed.step.start
    values = [sources.value_at(each, tensor) for each in consumed.contributions if each.start >= start]
    return len({value.version for value in values if value is not None}) > 1


def _evaluations(analysis: Analysis, step: Step, added: list[Consumed]) -> Problem:
    names = names_of(analysis, (each.tensor for each in added))
    second = next(each for each in added[0].contributions[1:] if each.start >= step.start)
    clearing = clearing_call(analysis, step, step.start)
    return Problem(
        "warning",
        "the closure that step() runs never clears the gradients: step() evaluates it at several values of "
        f"{summarize_names(names)}, and each evaluation adds its gradients to the earlier ones",
        f"Call `{clearing}` at the beginning of the closure.",
        (
            *_loss_line(analysis, second, "computed again here, with the old gradients still there"),
            *analysis.places((second.run, "added to old gradients here"), (step, "step() evaluates the closure here")),
        ),
        tuple(names),
        ops=(step.op,),
        cures=tuple(added_between(analysis, clearing, second.run.site)),
    )


def _loss_line(analysis: Analysis, contribution: Contribution, role: str) -> tuple[Location, ...]:
    """The line that computed a loss, in the innermost function that its backward() was called from as well."""
    births = filter(None, map(analysis.flow.birth, contribution.run.roots))
    pairs = (meeting(analysis, made.site, contribution.run.site) for made in births)
    return tuple(with_role(pair[0], role) for pair in pairs if pair is not None)[:1]


def moved_between(analysis: Analysis, sources: GradientSources) -> Iterator[Problem]:
    """One finding for each line at which a second gradient is added to the one that has moved the parameters."""
    reported: set[int] = set()
    for step in analysis.capture.steps:
        met = [] if step.computed or step.error else list(sources.of(step))
        for pair in _pairs(analysis, met):
            site = pair.second.run.site
            moved = [] if site in reported else _moved(analysis, sources, pair)
            if moved:
                reported.add(site)
                yield _perturbed(analysis, sources, pair, moved, whole=len(moved) == len(met))


class Pair(Struct, frozen=True):
    """Two contributions that follow one another, to the gradients of ``tensors``."""

    step: Step
    first: Contribution
    second: Contribution
    tensors: tuple[int, ...]


def _pairs(analysis: Analysis, met: list[Consumed]) -> Iterator[Pair]:
    """Those between which something other than an optimizer wrote a parameter."""
    pairs: dict[tuple[int, int], Pair] = {}
    for each in met:
        for first, second in pairwise(each.contributions):
            key = first.run.index, second.run.index
            if key in pairs or _written(analysis, each.tensor, first.end, second.start):
                before = pairs[key].tensors if key in pairs else ()
                pairs[key] = Pair(each.step, first, second, (*before, each.tensor))
    yield from pairs.values()


def _written(analysis: Analysis, tensor: int, start: int, end: int) -> bool:
    storage = analysis.capture.tensors[tensor].storage
    return any(not op.has(Trait.STEP) for op, _ in analysis.writes_to(storage, tensor, start, end))


def _moved(analysis: Analysis, sources: GradientSources, pair: Pair) -> list[int]:
    """The parameters that were moved by gradients between the two, and not put back before they were read again."""
    driven = driven_by(analysis, pair.tensors, pair.first.end, pair.second.start)
    records = analysis.capture.tensors
    moved = []
    for tensor in pair.tensors:
        before, after = sources.value_at(pair.first, tensor), sources.value_at(pair.second, tensor)
        ops = driven.storages.get(records[tensor].storage, ())
        if before is not None and after is not None and _stands([op for op in ops if before.op < op.index < after.op]):
            moved.append(tensor)
    return moved


def _stands(ops: list[Op]) -> bool:
    """Whether what the first of some writes did is still there after the last: no later one takes it back."""
    taken_back = (assigns(op) or is_a(op.name, OpKind.COPIES_INTO) or _reads_alike(ops[0], op) for op in ops[1:])
    return bool(ops) and not any(taken_back)


def _reads_alike(one: Op, other: Op) -> bool:
    """Whether two writes read some tensor beside the one that they write: `p.add_(e)`, `p.sub_(e)`."""
    written = {write.tensor for write in (*one.writes, *other.writes)}
    return not {*one.inputs}.intersection(other.inputs) <= written


def _perturbed(analysis: Analysis, sources: GradientSources, pair: Pair, moved: list[int], *, whole: bool) -> Problem:
    step, first, second = pair.step, pair.first, pair.second
    names = names_of(analysis, moved)
    moving = driven_by(analysis, moved, first.end, second.start)
    writes = [op for tensor in moved for op in moving.storages.get(analysis.capture.tensors[tensor].storage, ())]
    again = same_batch(analysis, first.run, second.run, sources.since(step), step.at)
    wrong = whole and again and not _descends(analysis, moving, writes, pair)
    text = f"{summarize_names(names)} {agree(names, 'was', 'were')} moved by {agree(names, 'its', 'their')} gradients, and the gradients at the new point are added to those at the old one: nothing cleared them, and step() uses the sum"
    clearing = clearing_call(analysis, step, first.start)
    fix = f"Call `{clearing}` between the two backward() calls, after the gradients have moved the parameters."
    if not wrong:
        fix = f"If the step should use only the gradients at the new point: {fix[0].lower()}{fix[1:]}"
    return Problem(
        "warning" if wrong else "info",
        text,
        fix,
        analysis.places(
            (second.run, "added to the gradients of the old point here"),
            (writes[0], "moved by its gradients here"),
            (first.run, "gradients at the old point computed here"),
            (step, "step() uses the sum here"),
        ),
        tuple(names),
        ops=(step.op,),
        cures=tuple(added_between(analysis, clearing, second.run.site)) if wrong else (),
    )


def _descends(analysis: Analysis, moving: Driven, writes: list[Op], pair: Pair) -> bool:
    """Whether each write went down the first gradients, as a step of the training does."""
    return all(sign_of(analysis, op, moving.tensors, pair.first.end) < 0 for op in writes)
