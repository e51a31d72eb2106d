"""AG204: samples that are kept, and changed in place whenever they are used."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import name_of
from autograd_inspector.advice.remedies.in_place import out_of_place
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.memory.augmented_again import augmented_again
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.op import Op
from autograd_inspector.model.remedy import Remedies


def augmented_data(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each function that changes them."""
    for found in augmented_again(analysis):
        name, call = name_of(analysis, found.tensor), found.op.name
        kept = "parts of one tensor" if found.parts else "tensors"
        yield Problem(
            "warning",
            f"`{call}` changes {name} in place in each iteration, and the program uses the same {found.count} {kept} again "
            f"in later iterations: {name} was changed in {found.times} iterations, each time in addition to the previous "
            "changes",
            f"Change a copy: `{name}.clone()` before the change, or where the samples are taken from what keeps them.",
            analysis.places((found.op, "changed in place here")),
            (name, call),
            ops=(found.op.index,),
            cures=tuple(_on_a_copy(analysis, found.op)),
        )


def _on_a_copy(analysis: Analysis, op: Op) -> Iterator[Remedies]:
    for place in analysis.user_frames(op.site, "")[:1]:
        yield (out_of_place(analysis, op, place),)
