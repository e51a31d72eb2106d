"""AG202 inside a checkpoint: nobody compares the versions of what recomputation saves."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.inplace_fixes import needs_because, repair
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.autograd import Node
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.location import dedupe_locations
from autograd_inspector.model.op import Op, Trait
from autograd_inspector.rules.ag202_unseen_edit.recompute import Key, key_of

_PLACES = {"self": 0, "input": 0, "other": 1, "mat2": 1}


def packed_edits(analysis: Analysis) -> Iterator[Problem]:
    """Tensors that an op inside a checkpoint saved and that a later op inside it modified.

    Outside a checkpoint autograd would raise: the recomputed tensors are kept by a hook, which looks at no version.
    """
    capture = analysis.capture
    again: dict[Key, list[Op]] = {}
    for op in capture.ops:
        if op.has(Trait.BACKWARD):
            again.setdefault(key_of(analysis, op), []).append(op)
    told: set[int] = set()
    shared = analysis.shared
    holding = [node.index for node in shared.repeated() if _packed(node)] if again else []
    for place, run in enumerate(shared.runs) if again else ():
        for node in shared.with_some(place, holding):
            packed = _packed(node)
            twins = again.get(key_of(analysis, capture.ops[node.op]), ()) if packed and node.op >= 0 else ()
            for op in twins:
                for name in packed if run.start <= op.index < run.end else ():
                    for tensor, edit in _edited(analysis, op, name, run.end):
                        if edit.site not in told:
                            told.add(edit.site)
                            yield _finding(analysis, node, op, name, tensor, edit)


def _packed(node: Node) -> list[str]:
    return [saved.name for saved in node.saved if saved.status == "packed"]


def _edited(analysis: Analysis, op: Op, name: str, end: int) -> Iterator[tuple[int, Op]]:
    """(the tensor that a recomputed op saves under that name, each op of the recomputation that modified it).

    An in-place op saves a copy of what it modifies (``self``), but its other operands as they are: ``x *= x`` itself
    modifies what it saved.
    """
    place = _PLACES.get(name, len(op.inputs))
    tensors = analysis.capture.tensors
    written = {write.tensor for write in op.writes}
    for tensor in op.outputs[:1] if name == "result" else op.inputs[place : place + 1]:
        own = tensor in written and name != "result"
        if own and place == 0:
            continue
        for edit, write in analysis.writes_to(tensors[tensor].storage, tensor, op.index + (not own), end):
            if edit.has(Trait.BACKWARD) and tensors[write.tensor].overlaps(tensors[tensor]):
                yield tensor, edit


def _finding(analysis: Analysis, node: Node, op: Op, name: str, tensor: int, edit: Op) -> Problem:
    subject = analysis.display_name(tensor)
    short = node.name.rsplit("::", 1)[-1]
    return Problem(
        "error",
        f"{subject} was saved for backward by `{op.name}` ({short}) inside a checkpoint and then modified by "
        f"`{edit.name}` inside it: recomputation compares no versions, so the gradients are silently wrong",
        repair(analysis, [edit], subject),
        dedupe_locations(
            [*analysis.user_frames(edit.site, "modified here"), *analysis.user_frames(op.site, "saved here")]
        ),
        (subject,),
        (
            f"`{op.name}` ({short}) saved {subject}: {needs_because(name)}.",
            f"`{edit.name}` modified it afterwards, when the checkpoint recomputed it; outside a checkpoint autograd "
            "would have raised.",
        ),
        (edit.index,),
    )
