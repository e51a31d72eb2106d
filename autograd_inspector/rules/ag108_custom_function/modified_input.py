"""AG108: custom autograd.Functions whose forward modifies an input in place, and autograd is not told."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import name_of
from autograd_inspector.advice.remedies.in_place import out_of_place
from autograd_inspector.analysis.analysis import Analysis, line_of
from autograd_inspector.analysis.gradients.modified_inputs import edits_of_inputs, is_users, tracked_inputs
from autograd_inspector.model.autograd import Node
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.op import Op, Trait
from autograd_inspector.model.remedy import OutOfPlace


def modifying_input(analysis: Analysis) -> Iterator[Problem]:
    """Each such line once: an error where another op reads what was written, else where the Function itself saved it.

    Where another node had saved the input before, autograd raises, and AG201 tells of it.
    """
    told: set[tuple[str, int] | None] = set()
    for _, new in analysis.run_graphs:
        for node in new:
            op = analysis.capture.op_of(node)
            for edit in edits_of_inputs(analysis, op) if op is not None and op.has(Trait.FUNCTION) else ():
                line = line_of(analysis, edit.site)
                if op is None or line in told or not is_users(analysis, op):
                    continue
                problem = _problem(analysis, node, op, edit)
                if problem is not None:
                    told.add(line)
                    yield problem


def _problem(analysis: Analysis, node: Node, function: Op, edit: Op) -> Problem | None:
    capture, name = analysis.capture, function.name.removesuffix(".apply")
    written = {write.storage for write in edit.writes}
    changed = next(record.id for record in tracked_inputs(analysis, function) if record.storage in written)
    readers = [
        reader
        for reader in map(capture.ops.__getitem__, capture.readers.get(changed, ()))
        if reader.index > function.index and reader.recorded
    ]
    saved = any(saved.tensor == changed for saved in node.saved)
    if not readers and not saved:
        return None
    made = name_of(analysis, changed)
    effect = (
        f"`{readers[0].name}` reads the new values, and its gradient for {made} is computed as if {name} had not been "
        "called"
        if readers
        else f"{name}.backward gets the new values from ctx.saved_tensors, not the values that were passed to forward"
    )
    fix = (
        f"Compute a new tensor in {name}.forward; if it is meant to work in place, call `ctx.mark_dirty` with the input "
        "and return the input itself."
        if readers
        else f"Modify a copy (`.clone()`) in {name}.forward, and save the unmodified input."
    )
    return Problem(
        "error" if readers else "warning",
        f"{name}.forward modifies its input {made} in place without ctx.mark_dirty: {effect}",
        fix,
        analysis.places(
            (edit, "input modified here"),
            (function, "applied here"),
            *((reader, "read here") for reader in readers[:1]),
        ),
        (name, made),
        ops=(function.index,),
        cures=tuple(
            (cure,)
            for place in analysis.user_frames(edit.site, "")[:1]
            for new in [out_of_place(analysis, edit, place)]
            for cure in (new, OutOfPlace(place, copied=True, views=new.views))
        ),
    )
