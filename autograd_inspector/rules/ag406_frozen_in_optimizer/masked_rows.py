"""AG406: rows whose gradients are set to zero, so that they stay, and that weight decay moves."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.analysis.analysis import Analysis, line_of
from autograd_inspector.analysis.gradients.masked import MaskedGradient, decayed_all_the_same
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.wording import agree, summarize_names


def masked_rows(analysis: Analysis) -> Iterator[Problem]:
    """The old tokens of an embedding of which only a new one is to learn: one finding for each optimizer's line."""
    by_line: dict[object, list[MaskedGradient]] = {}
    for found in decayed_all_the_same(analysis):
        made = analysis.capture.placement.optimizers[found.step.optimizer].site
        key = line_of(analysis, made), line_of(analysis, found.zeroed.site)
        by_line.setdefault(key if made >= 0 else found, []).append(found)
    for group in by_line.values():
        yield _problem(analysis, group)


def _problem(analysis: Analysis, group: list[MaskedGradient]) -> Problem:
    last = group[-1]
    names = list(dict.fromkeys(names_of(analysis, [found.tensor for found in group])))
    optimizer = analysis.capture.placement.optimizers[last.step.optimizer]
    them = agree(names, "all of the parameter", "all of these parameters")
    return Problem(
        "warning",
        f"the program sets a part of the {agree(names, 'gradient', 'gradients')} of {summarize_names(names)} to zero before each "
        f"step(), and {optimizer.type} shrinks that part all the same: weight_decay applies to {them}",
        f"Put {summarize_names(names)} into a parameter group with weight_decay=0.",
        analysis.places(
            (optimizer, "optimizer with weight_decay created here"),
            (last.zeroed, "gradient set to zero here"),
            (last.step, "step() called here"),
        ),
        (*names, "weight_decay"),
        ops=(last.step.op,),
    )
