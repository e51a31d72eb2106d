"""What to write instead, for each kind of in-place edit, and why the saver needs the value."""

from __future__ import annotations

from autograd_inspector.advice.copies import (
    copied,
    kept_apart,
    saves_its_result,
    spelled,
    stored_by,
    subscripted,
    without_data,
)
from autograd_inspector.advice.quoting import written_out
from autograd_inspector.advice.saved_tensors import around
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.op import Op, Trait
from autograd_inspector.model.torch_names import CHECKPOINT, FOR_EACH

_FACTORS = {"self", "other", "mat1", "mat2", "weight", "input", "tensor1", "tensor2", "batch1", "batch2"}


def needs_because(saved: str) -> str:
    """Why a node keeps a tensor, by the name that its derivative formula gives it."""
    base = saved.split("[", maxsplit=1)[0]
    if saves_its_result(saved):
        return "its derivative is computed from its result"
    if base in _FACTORS:
        return f"the derivative needs its operand `{base}`"
    if base == "tensors":
        return "it was passed to save_for_backward"
    return f"the derivative needs `{base}`"


def repair(analysis: Analysis, edits: list[Op], name: str, saver: Op | None = None) -> str:  # noqa: C901, PLR0911 - a line a kind
    """The fix for the first modifying op; ``saver`` saved what it read."""
    if not edits:
        return f"Pass a copy (`.clone()`) of {name} to the code that modifies it."
    op = stored_by(analysis, edits) or edits[0]
    code = subscripted(analysis, op) if op is not edits[0] else spelled(analysis, op, name)
    through_data, code = code, without_data(code)
    copy = copied(op, code)
    place = analysis.capture.place(op.site)
    instead = written_out(place.source) if place is not None and op is edits[0] else ""
    call = analysis.capture.call_of(op)
    if op.has(Trait.STEP):
        return "Call optimizer.step() only after the last backward() that uses these parameters."
    if call is not None and call.inplace:
        return f"Set inplace=False on {analysis.capture.display_names.layer(call)} (nn.{call.type})."
    outer = around(analysis, op)
    if op.has(Trait.INNER) and not (outer is not None and outer.name == CHECKPOINT):
        return "Compute out of place inside the custom Function."
    if is_a(op.name, OpKind.KEEPS_STATISTICS):
        return "Run backward() before the next forward in training mode, or put the norm layer into eval mode for that forward."
    if op.has(Trait.BACKWARD) or outer is not None:
        return f"Do not modify {name} inside the checkpointed function: work on {copy} there."
    apart = "" if instead else kept_apart(analysis, op, name, saver)
    if apart:
        return apart
    late = _only_afterwards(analysis, op, name)
    if late:
        return late
    if instead:
        return instead
    if op.name == "copy_":
        return f"Do not overwrite {name} before backward(): use a separate tensor for each forward, or call backward() first."
    if op.name == "__setitem__":
        into = f"`{code} = {code}.clone()`" if code else "call `.clone()`"
        return f"Assign into a copy: {into} before the assignment, or use torch.where."
    if op.name.endswith("_") and not op.name.startswith("_") and not is_a(op.name, OpKind.IN_PLACE_ONLY):
        where = f" of `{code}` itself" if through_data != code else ""
        on = f" on `{through_data}`" if where else ""
        return f"Use the out-of-place `{op.name.rstrip('_')}`{where} instead of `{op.name}`{on}, or modify {copy}."
    copies = code or op.name.startswith(FOR_EACH)
    return f"Modify a copy{f': {copy}' if copies else ' (`.clone()`)'}, or do it after backward()."


def _only_afterwards(analysis: Analysis, op: Op, name: str) -> str:
    """The advice for an edit of a parameter, or of another leaf whose gradient is asked for: no copy stands for it."""
    tensors = analysis.capture.tensors
    if any(tensors[w.tensor].kind == "parameter" or w.storage in analysis.capture.stored for w in op.writes):
        return "Modify parameters only after backward() (and after optimizer.step())."
    storages = {write.storage for write in op.writes} - {-1}
    if not storages.isdisjoint(analysis.capture.asked_memory):
        return f"Modify {name} only after backward(): its gradient does not reach a copy."
    return ""
