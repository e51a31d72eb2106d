"""Losses that grow by a term, and are differentiated each time: their first terms count several times."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.sources import Consumed, GradientSources
from autograd_inspector.analysis.losses.summands import Value, summands_of
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.event import Step


def growing_losses(
    analysis: Analysis, sources: GradientSources, losses: LossTerms
) -> Iterator[tuple[Step, list[Backward], list[int]]]:
    """(step, backwards of a loss that grows, the parameters) for each line that goes through earlier terms once more."""
    told: set[int] = set()
    for step in analysis.capture.steps:
        repeated: dict[tuple[int, ...], list[int]] = {}
        for consumed in () if step.error else sources.of(step):
            chain = losses.growing(consumed)
            if len(chain) > 1:
                repeated.setdefault(chain, []).append(consumed.tensor)
        for chain, tensors in repeated.items():
            runs = [analysis.capture.backwards[number] for number in chain]
            if runs[-1].site not in told:
                told.add(runs[-1].site)
                yield step, runs, tensors


class LossTerms:
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

    def growing(self, consumed: Consumed) -> tuple[int, ...]:
        """Backwards in one gradient, each of which has all terms of the one before, and more; one if there are none."""
        runs = [each.run for each in consumed.contributions]
        chain = runs[:1]
        for run in runs[1:]:
            before = self.terms(chain[-1])
            if before and before < self.terms(run):
                chain.append(run)
            elif len(chain) > 1:
                break
            else:
                chain = [run]
        return tuple(run.index for run in chain)

    def new_term(self, before: Backward, run: Backward) -> str:
        """What the program calls what the later backward has more, as it was added; "" where that has no name."""
        flow, capture = self._analysis.flow, self._analysis.capture
        new = self.terms(run) - self.terms(before)
        for index in flow.producers(run.roots[0], run.start)[:1]:
            for operand in capture.ops[index].inputs:
                if summands_of(self._analysis, operand, index) == new:
                    return capture.tensors[operand].variable
        return ""
