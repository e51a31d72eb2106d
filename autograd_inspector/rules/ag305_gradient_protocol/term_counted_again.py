"""AG305 where a loss that grows is differentiated each time it has grown: its first terms count several times."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.sources import Consumed, GradientSources
from autograd_inspector.analysis.losses.summands import Value, summands_of
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.event import Step
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.remedy import Remedies, SetArgument, Substitute
from autograd_inspector.model.wording import summarize_names


def counted_again(analysis: Analysis, sources: GradientSources) -> Iterator[Problem]:
    """One finding for each line of backward() that goes through the terms of an earlier one once more."""
    losses = _Losses(analysis)
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


def _problem(analysis: Analysis, step: Step, runs: list[Backward], tensors: list[int], losses: _Losses) -> Problem:
    names, last = names_of(analysis, tensors), runs[-1]
    total = analysis.capture.tensors[last.roots[0]].variable
    new = losses.new_term(runs[-2], last)
    alone = f"`{new}.backward()`" if new else "backward() on the new term alone"
    return Problem(
        "warning",
        f"backward() ran {len(runs)} times before the step on {f'`{total}`' if total else 'a sum of losses'}, which grows by "
        f"a term each time: the first term is differentiated {len(runs)} times, and step() uses the sum of all these "
        f"gradients of {summarize_names(names)}",
        f"Call {alone}, or call backward() once, when the sum is complete.",
        analysis.places(
            (last, "differentiated again here"),
            (runs[0] if runs[0].site != last.site else None, "its first terms were differentiated here"),
            (step, "step() uses the sum here"),
        ),
        tuple(names),
        ops=(step.op,),
        cures=tuple(_new_term_alone(analysis, last, total, new)),
    )


def _new_term_alone(analysis: Analysis, run: Backward, total: str, new: str) -> Iterator[Remedies]:
    place = analysis.capture.place(run.site)
    if place is not None and total and new:
        without = (SetArgument(place, "backward", "retain_graph", ""),) if run.retain_graph else ()
        yield (Substitute(place, total, new), *without)
