"""AG305 where a loss that grows is differentiated each time it has grown: its first terms count several times."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from autograd_inspector.advice.naming import names_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.sources import Consumed, GradientSources
from autograd_inspector.analysis.losses.summands import Value, summands_of
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.event import Step
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.remedy import Remedies, SetArgument, Substitute
from autograd_inspector.model.wording import agree, summarize_names


def counted_again(analysis: Analysis, sources: GradientSources) -> Iterator[Problem]:
    """One finding for each line of backward() that goes through the terms of an earlier one once more."""
    losses = _Losses(analysis)
    told: set[int] = set()
    for step in analysis.capture.steps:
        repeated: dict[tuple[int, int], list[int]] = {}
        for consumed in () if step.error else sources.of(step):
            pair = losses.repeated(consumed)
            if pair is not None:
                repeated.setdefault(pair, []).append(consumed.tensor)
        for (first, second), tensors in repeated.items():
            runs = analysis.capture.backwards[first], analysis.capture.backwards[second]
            if runs[1].site not in told:
                told.add(runs[1].site)
                yield _problem(analysis, step, runs, tensors, losses)


class _Losses:
    """The terms of what each backward began at."""

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        self._terms: dict[int, frozenset[Value]] = {}

    def terms(self, run: Backward) -> frozenset[Value]:
        """The losses that its only root adds up."""
        if run.index not in self._terms:
            root = run.roots[0] if len(run.roots) == 1 else -1
            self._terms[run.index] = summands_of(self._analysis, root, run.start) if root >= 0 else frozenset()
        return self._terms[run.index]

    def repeated(self, consumed: Consumed) -> tuple[int, int] | None:
        """Two backwards in one gradient of which the later has all terms of the earlier, and more."""
        runs = [each.run for each in consumed.contributions]
        for first, second in pairwise(runs):
            terms = self.terms(first)
            if terms and terms < self.terms(second):
                return first.index, second.index
        return None

    def new_term(self, runs: tuple[Backward, Backward]) -> str:
        """What the program calls what the later backward has more, as it was added; "" where that has no name."""
        flow, capture = self._analysis.flow, self._analysis.capture
        new = self.terms(runs[1]) - self.terms(runs[0])
        for index in flow.producers(runs[1].roots[0], runs[1].start)[:1]:
            for operand in capture.ops[index].inputs:
                if summands_of(self._analysis, operand, index) == new:
                    return capture.tensors[operand].variable
        return ""


def _problem(
    analysis: Analysis, step: Step, runs: tuple[Backward, Backward], tensors: list[int], losses: _Losses
) -> Problem:
    names = names_of(analysis, tensors)
    total = analysis.capture.tensors[runs[1].roots[0]].variable
    new = losses.new_term(runs)
    alone = f"`{new}.backward()`" if new else "backward() on the new term alone"
    return Problem(
        "warning",
        f"{f'`{total}`' if total else 'the loss'} contains the terms of an earlier backward() whose gradients were not "
        f"cleared: step() uses the gradients of {summarize_names(names)} with {agree(names, 'its', 'their')} first terms "
        "added several times",
        f"Call {alone}, or call backward() once, when the sum is complete.",
        analysis.places(
            (runs[1], "terms of an earlier backward() again here"),
            (runs[0] if runs[0].site != runs[1].site else None, "the earlier backward()"),
            (step, "step() uses the sum here"),
        ),
        tuple(names),
        ops=(step.op,),
        cures=tuple(_new_term_alone(analysis, runs[1], total, new)),
    )


def _new_term_alone(analysis: Analysis, run: Backward, total: str, new: str) -> Iterator[Remedies]:
    place = analysis.capture.place(run.site)
    if place is not None and total and new:
        without = (SetArgument(place, "backward", "retain_graph", ""),) if run.retain_graph else ()
        yield (Substitute(place, total, new), *without)
