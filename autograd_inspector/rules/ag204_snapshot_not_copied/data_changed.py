"""AG204: batches that are views of the data set, and what is computed in place with them."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import name_of
from autograd_inspector.advice.remedies.in_place import out_of_place
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.memory.rewritten_data import RewrittenData, rewritten_data
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.remedy import Operand, Remedies
from autograd_inspector.model.wording import agree, join_names


def data_changed(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each data set."""
    for found in rewritten_data(analysis):
        name, part = name_of(analysis, found.whole), name_of(analysis, found.part)
        batch = part if part != name else "the batch"
        calls = list(dict.fromkeys(op.name for op in found.ops))
        yield Problem(
            "warning",
            f"{join_names(f'`{call}`' for call in calls)} {agree(calls, 'changes', 'change')} a part of {name} in place in each iteration: {batch} is a view of it, not a copy. The same "
            f"part was changed {found.times} times, each time computed from the previous result",
            f"Compute a new tensor instead of changing {batch} in place, or copy it where it is taken: `.clone()`.",
            analysis.places((found.op, "changed in place here"), (found.taken, "taken without a copy here")),
            (name, *calls),
            ops=(found.op.index,),
            cures=tuple(_on_a_copy(analysis, found)),
        )


def _on_a_copy(analysis: Analysis, found: RewrittenData) -> Iterator[Remedies]:
    for place in analysis.user_frames(found.op.site, "")[:1]:
        yield (out_of_place(analysis, found.op, place),)
    for place in analysis.user_frames(found.taken.site, "")[:1]:
        yield (Operand(place, "whole", "{}.clone()"),)
