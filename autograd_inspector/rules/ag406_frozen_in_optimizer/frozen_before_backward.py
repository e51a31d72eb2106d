"""AG406: parameters that take part in a forward, and are frozen before its backward comes to them."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.event import RequiresGradChanged
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.op import Op
from autograd_inspector.model.wording import agree, summarize_names


def frozen_before_backward(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each line that freezes: a switch of adapters, a model that is toggled too early.

    What some backward of the capture trains is toggled on purpose: a discriminator has a turn of its own.
    """
    found: dict[int, dict[int, tuple[Op, RequiresGradChanged, Backward]]] = {}
    for run in analysis.capture.completed_runs:
        missed = analysis.capture.optimized.intersection(run.empty) - analysis.received_gradient
        for tensor in sorted(missed.difference(run.taken)):
            pair = _frozen_between(analysis, tensor, run)
            if pair is not None and any(tensor in step.held for step in analysis.timeline.steps.since(run.end)):
                found.setdefault(pair[1].site, {}).setdefault(tensor, (*pair, run))
    for site, tensors in found.items():
        yield _problem(analysis, site, tensors)


def _frozen_between(analysis: Analysis, tensor: int, run: Backward) -> tuple[Op, RequiresGradChanged] | None:
    """The forward's op that autograd recorded, and what froze the parameter behind it."""
    lifecycle, ops = analysis.lifecycle, analysis.capture.ops
    changes = lifecycle.changes([tensor], until=run.start)
    if not changes or changes[-1].requires_grad:
        return None
    readers = analysis.capture.readers.get(tensor, ())
    used = (ops[at] for at in reversed(readers) if at < changes[-1].at and ops[at].recorded)
    op = next(used, None)
    return (op, changes[-1]) if op is not None and lifecycle.requires_grad_at(tensor, op.index) else None


def _problem(analysis: Analysis, site: int, tensors: dict[int, tuple[Op, RequiresGradChanged, Backward]]) -> Problem:
    names, (op, _, run) = names_of(analysis, tensors), next(iter(tensors.values()))
    was, they, them = agree(names, "was", "were"), agree(names, "it gets", "they get"), agree(names, "it", "them")
    return Problem(
        "warning",
        f"{summarize_names(names)} {was} frozen between the forward and backward(), so {they} no gradient: "
        "backward() skips a leaf whose requires_grad is False when it arrives there",
        f"Call requires_grad_(True) on {them} again before backward(), and freeze {them} only after it.",
        analysis.places((site, "frozen here, too early"), (op, "used here"), (run, "backward called here")),
        tuple(names),
    )
