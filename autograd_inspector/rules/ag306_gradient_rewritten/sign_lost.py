"""AG306 where a call in place leaves a gradient without its sign, and a step uses what is left."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.advice.remedies.in_place import out_of_place
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.sign_lost import signs_lost
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.wording import agree, summarize_names


def without_sign(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each line."""
    for found in signs_lost(analysis):
        op, names = found.ops[0], names_of(analysis, found.tensors)
        plain = op.name.removesuffix("_")
        place = analysis.capture.place(op.site)
        yield Problem(
            "warning",
            f"`{op.name}` changes the .grad of {summarize_names(names)} in place, and no entry is negative afterwards: step() "
            f"moves {agree(names, 'it', 'them')} in one direction only",
            f"Use `{plain}`, which returns a new tensor and leaves the gradient as it is.",
            analysis.places((op, "gradient loses its sign here"), (found.step, "step() uses it here")),
            (*names, op.name),
            ops=tuple(each.index for each in found.ops[:16]),
            cures=((out_of_place(analysis, op, place),),) if place is not None else (),
        )
