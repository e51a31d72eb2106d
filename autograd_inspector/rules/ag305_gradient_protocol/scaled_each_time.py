"""AG305: gradients that are divided after each of the backwards that one step uses together."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.advice.remedies.meeting import meeting
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.clipping_sites import clipping_sites
from autograd_inspector.analysis.gradients.sources import Consumed, GradientSources
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.event import Step
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.op import Op
from autograd_inspector.model.remedy import Again, Remedies, Remove
from autograd_inspector.model.wording import summarize_names


def scaled_each_time(analysis: Analysis, sources: GradientSources) -> Iterator[Problem]:
    """One finding for each line: what it scales is the sum so far, and the next backward adds to that."""
    clipping = clipping_sites(analysis)
    told: set[int] = set()
    for step in analysis.capture.steps:
        found: dict[int, tuple[list[Op], list[int]]] = {}
        for consumed in () if step.error else sources.of(step):
            for site, ops in _repeated(consumed).items():
                if site not in clipping:
                    found.setdefault(site, (ops, []))[1].append(consumed.tensor)
        for site, (ops, tensors) in found.items():
            if site not in told:
                told.add(site)
                yield _problem(analysis, step, ops, tensors)


def _repeated(consumed: Consumed) -> dict[int, list[Op]]:
    """Site -> its ops that scaled the sum, each after another backward."""
    scaled: dict[int, list[Op]] = {}
    for contribution in consumed.contributions:
        for site, op in {op.site: op for op in contribution.rewrites if _scales(op)}.items():
            scaled.setdefault(site, []).append(op)
    return {site: ops for site, ops in scaled.items() if len(ops) > 1}


def _scales(op: Op) -> bool:
    """Whether it does so by a number: a mask may be laid over a gradient any number of times."""
    return is_a(op.name, OpKind.MULTIPLIES | OpKind.DIVIDES) and len(op.inputs) == len(op.writes)


def _problem(analysis: Analysis, step: Step, ops: list[Op], tensors: list[int]) -> Problem:
    names = names_of(analysis, tensors)
    again = next(run for run in analysis.capture.backwards if run.start > ops[0].index)
    return Problem(
        "warning",
        f"`{ops[0].name}` scales the gradients of {summarize_names(names)} after each of {len(ops)} backward() calls "
        f"that belong to one step(): what the first one added is scaled {len(ops)} times, what the last one added once",
        "Scale them once, after the last backward() and before step(), or scale each loss instead.",
        analysis.places(
            (ops[-1], "scaled each time here"),
            (again, "next backward() adds to it here"),
            (step, "step() uses the sum here"),
        ),
        tuple(names),
        ops=(step.op,),
        cures=tuple(_once(analysis, ops[-1], step)),
    )


def _once(analysis: Analysis, last: Op, step: Step) -> Iterator[Remedies]:
    """The statement that scales stands before the step, in no loop of its own any more."""
    pair = meeting(analysis, last.site, step.site)
    if pair is not None:
        yield Again(*pair), Remove(pair[0])
