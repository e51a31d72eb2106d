"""AG202 under checkpointing: recomputation read something else than the forward did."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import name_of
from autograd_inspector.advice.remedies.in_place import kept_until
from autograd_inspector.advice.spelling import copy_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.unseen_edits.changed_for_recomputation import changed_before_recomputation
from autograd_inspector.analysis.unseen_edits.standing import Edits
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.op import Trait
from autograd_inspector.model.wording import agree, join_names


def recompute_edits(analysis: Analysis, standing: Edits) -> Iterator[Problem]:
    """Tensors that live outside the checkpoint and changed between its forward and its recomputation."""
    for members in changed_before_recomputation(analysis, standing):
        op, _, edits = members[0]
        names = list(dict.fromkeys(name_of(analysis, tensor) for _, tensor, _ in members))
        several, were = join_names(names), agree(names, "was", "were")
        edit = edits[0][0]
        copy, them = (copy_of(analysis, names[0]), "it") if len(names) == 1 else ("copies (`.clone()`)", "them")
        fix = f"Do not modify {several} between forward and backward: edit {them} afterwards"
        if edit.has(Trait.STEP):
            fix = "Call optimizer.step() only after the last backward()"
        elif not any(analysis.capture.tensors[tensor].kind == "parameter" for _, tensor, _ in members):
            # The function that runs again looks the name up again.
            fix += f", or edit {copy} under {agree(names, 'another name', 'other names')}"
        yield Problem(
            "error",
            f"{several} {were} modified by `{edit.name}` after the forward; the checkpoint recomputes `{op.name}` in backward "
            "with the new values, so the gradients are silently wrong",
            f"{fix}.",
            analysis.places((edit, "modified here"), (op, "read again in recomputation")),
            tuple(names),
            (
                f"The forward ran `{op.name}` inside a checkpoint, which saves its inputs by reference only.",
                f"`{edit.name}` then modified {several}.",
                "Backward ran the same code again and read the modified memory; certain, by the order of the calls.",
            ),
            (edit.index,),
            tuple(kept_until(analysis, [e for e, _ in edits], op)),
        )
