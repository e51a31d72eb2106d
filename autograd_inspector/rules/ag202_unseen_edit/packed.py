"""AG202 inside a checkpoint: nobody compares the versions of what recomputation saves."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.inplace_fixes import needs_because, repair
from autograd_inspector.advice.naming import name_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.unseen_edits.in_recomputation import PackedEdit, edited_in_recomputation
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.op import Op
from autograd_inspector.rules.ag202_unseen_edit.arrays import written_through_numpy


def packed_edits(analysis: Analysis, seen: set[int]) -> Iterator[Problem]:
    """One finding for each line that modifies such tensors; ``seen``: the sites that were told.

    Outside a checkpoint autograd would raise: the recomputed tensors are kept by a hook, which looks at no version.
    """
    for found in edited_in_recomputation(analysis):
        if found.by.site in seen:
            continue
        seen.add(found.by.site)
        if isinstance(found.by, Op):
            yield _finding(analysis, found, found.by)
        else:
            kept = f"saved for backward by `{found.op.name}` inside a checkpoint"
            yield written_through_numpy(analysis, found.run, found.by, name_of(analysis, found.tensor), kept)


def _finding(analysis: Analysis, found: PackedEdit, edit: Op) -> Problem:
    op, subject = found.op, name_of(analysis, found.tensor)
    short = found.node.rsplit("::", 1)[-1]
    return Problem(
        "error",
        f"{subject} was saved for backward by `{op.name}` ({short}) inside a checkpoint and then modified by "
        f"`{edit.name}` inside it: recomputation compares no versions, so the gradients are silently wrong",
        repair(analysis, [edit], subject),
        analysis.places((edit, "modified here"), (op, "saved here")),
        (subject,),
        (
            f"`{op.name}` ({short}) saved {subject}: {needs_because(found.name)}.",
            f"`{edit.name}` modified it afterwards, when the checkpoint recomputed it; outside a checkpoint autograd "
            "would have raised.",
        ),
        (edit.index,),
    )
