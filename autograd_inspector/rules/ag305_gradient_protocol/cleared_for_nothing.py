"""AG305: gradients of some parameters that are cleared before backward() computes them."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.advice.remedies.protocol import in_order
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.cleared_in_vain import cleared_in_vain
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.wording import agree, summarize_names


def cleared_for_nothing(analysis: Analysis) -> Iterator[Problem]:
    """A warning where the line runs for some steps only; else a hint: it may clear once more what is clear."""
    for found in cleared_in_vain(analysis):
        names = names_of(analysis, found.tensors)
        they, them = agree(names, "it", "they"), agree(names, "it", "them")
        yield Problem(
            "warning" if found.in_turns else "info",
            f"`.grad = None` clears nothing: zero_grad() has cleared {summarize_names(names)} before, backward() computes "
            f"{agree(names, 'its gradient', 'their gradients')} afterwards, and step() updates {them}",
            f"Drop them between backward() and step() if step() should leave {them} as {they} {agree(names, 'is', 'are')}; "
            "otherwise remove that line.",
            analysis.places(
                (found.write, "nothing to clear here"),
                (found.run, "gradients computed here"),
                (found.step, "step() uses them here"),
            ),
            tuple(names),
            ops=(found.step.op,),
            cures=tuple(in_order(analysis, found.write.site, found.run.site)),
        )
