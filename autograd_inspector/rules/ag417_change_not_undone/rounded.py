"""AG417: a conversion to fewer bits that the conversion back does not undo."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.memory.rounded_for_a_while import rounded_for_a_while
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.wording import agree, summarize_names


def left_rounded(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each line that converts."""
    for found in rounded_for_a_while(analysis):
        names = names_of(analysis, found.tensors)
        optimizer = analysis.capture.placement.optimizers[found.step.optimizer].type
        yield Problem(
            "warning",
            f"{summarize_names(names)} {agree(names, 'is', 'are')} converted to {found.dtype} between two steps, and back: both "
            f"work in place, and {optimizer}.step() continues with the rounded values",
            "Convert a copy: `copy.deepcopy(model).half()`; or convert the tensors of the state_dict: "
            "`{name: t.half() for name, t in model.state_dict().items()}`.",
            analysis.places(
                (found.lowered, f"rounded to {found.dtype} here"),
                (found.raised, "converted back here"),
                (found.step, "step() continues with the rounded values"),
            ),
            tuple(names),
            ops=(found.lowered.index,),
        )
