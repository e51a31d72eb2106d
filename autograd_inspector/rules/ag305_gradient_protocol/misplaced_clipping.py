"""Clipping that clips nothing, too late, too early, of no parameters or of the wrong ones, or that leaves nothing."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import name_of
from autograd_inspector.advice.optimizer_snippets import model_of
from autograd_inspector.advice.remedies.at_line import at_line
from autograd_inspector.advice.remedies.protocol import brought_forward, in_order, optimizer_name
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.clipped_in_vain import clipped_in_vain
from autograd_inspector.model.event import GradRead
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.location import Location
from autograd_inspector.model.program_events import ClippedIterator
from autograd_inspector.model.remedy import Operand, Remedies, Remove
from autograd_inspector.model.rewrites import AsList, NotCopied
from autograd_inspector.model.wording import summarize_names


def misplaced_clipping(analysis: Analysis) -> Iterator[Problem]:
    """Clipping after step(), before backward(), of what no backward reaches, or of a generator that is used up."""
    for site, reads, verdict, raised in clipped_in_vain(analysis):
        yield _clip_finding(analysis, site, reads, verdict, raised=raised)


_TEXTS = {
    "late": "the gradients of {} are clipped after step() used them",
    "inside": "the gradients of {} are clipped after step() used them, in hooks that ran in backward()",
    "early": "the gradients of {} are clipped before backward() computed them",
    "other": "the gradients of {} are clipped, but no backward() computes them",
    "copied": "the gradients of {} are clipped after they were copied to the parameters that step() updates",
    "zero": "the gradients of {} are clipped to a limit of 0",
    "nothing": "clipping gets no parameters at all: a generator such as net.parameters() can be iterated only "
    "once, and something else (the optimizer) already exhausted it",
    "emptied": "clipping got the gradients of {} once, and gets no parameters since: a generator such as net.parameters() can "
    "be iterated only once, and the first clipping exhausted it",
}


_EXHAUSTED = ("nothing", "emptied")


_OTHERS = {"other", "copied"}
"""What is clipped is not what is stepped."""


_ROLES = {
    "early": "gradients cleared here",
    "other": "gradients cleared here",
    "copied": "gradients copied here",
}


_FIXES = {
    "inside": "Clip each gradient in the hook, before its step().",
    "other": "These parameters are not trained. Clip the parameters that the optimizer holds.",
    "copied": "Clip before the gradients are copied, or clip the parameters that the optimizer holds.",
    "zero": "Pass a limit above 0, or skip the call where clipping is switched off.",
    **dict.fromkeys(
        _EXHAUSTED, "Keep a list, `params = list(net.parameters())`, or call net.parameters() again for clipping."
    ),
}


def _clip_finding(
    analysis: Analysis, site: int, reads: list[GradRead], verdict: tuple[str, int], *, raised: bool
) -> Problem:
    what, other = verdict
    names = [name_of(analysis, read.tensor) for read in reads]
    role = _ROLES.get(what, "step() uses the gradients here")
    effect = "clip_grad has nothing to clip and raises" if raised else "clip_grad has no effect"
    if what == "zero":
        effect = "every gradient becomes zero, and step() learns nothing from them"
    return Problem(
        "error" if raised else "warning",
        f"{_TEXTS[what].format(summarize_names(names))}: {effect}",
        _FIXES.get(what, "Clip between backward() and step()."),
        (
            *analysis.user_frames(site, "clipped here"),
            *_made(analysis, site, what),
            *(analysis.user_frames(other, role) if other >= 0 else ()),
        ),
        tuple(dict.fromkeys(names)) or ("clip_grad",),
        cures=(
            *_moved(analysis, site, what, other),
            *(_of_the_stepped(analysis, site, reads) if what in _OTHERS else ()),
        ),
    )


def _made(analysis: Analysis, site: int, what: str) -> tuple[Location, ...]:
    """Where the iterator that was exhausted comes from."""
    events = analysis.capture.events_of(ClippedIterator) if what in _EXHAUSTED else ()
    return analysis.places(*((event.made, "generator made here") for event in events if event.site == site))


def _of_the_stepped(analysis: Analysis, site: int, reads: list[GradRead]) -> Iterator[Remedies]:
    """The call clips what the optimizer holds whose step follows: the model itself, where it was given a copy."""
    place = analysis.capture.place(site)
    step = next((step for step in analysis.capture.steps if reads and step.at >= reads[-1].at), None)
    if place is None:
        return
    yield (NotCopied(place),)
    if step is not None:
        model = model_of(analysis, [parameter.tensor for parameter in step.parameters])
        group = f'[p for group in {optimizer_name(analysis, step)}.param_groups for p in group["params"]]'
        yield from ((Operand(place, "argument", text),) for text in (model and f"{model}.parameters()", group) if text)


def _moved(analysis: Analysis, site: int, what: str, other: int) -> Iterator[Remedies]:
    if what in _EXHAUSTED:
        yield from at_line(analysis, site, AsList)
    if what == "zero":
        yield from at_line(analysis, site, Remove)
    if what in {"late", "copied"}:
        yield from brought_forward(analysis, site, other)
    if what == "early":
        line = analysis.capture.place(site)
        runs = analysis.capture.completed_runs
        for run in runs[-1:]:
            later = analysis.capture.place(run.site)
            if line is not None and later is not None:
                yield from in_order(analysis, site, run.site)
