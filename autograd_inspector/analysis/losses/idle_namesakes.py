"""Parameters of a model that nothing reads, while its call reads those of another model under the same names."""

from __future__ import annotations

from collections.abc import Collection

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.op import ModuleCall, Op


class IdleNamesakes(Struct, frozen=True):
    """``tensors`` are the model's own; ``copied`` made their values of the other model's, where that was observed."""

    tensors: tuple[int, ...]
    copied: Op | None


def idle_namesakes(analysis: Analysis, call: ModuleCall, read: Collection[int]) -> IdleNamesakes | None:
    """The own counterparts of all parameters that a model's call read of another model; None where one is missing.

    A layer that two models share on purpose takes the place of the model's own. A copied model has its own, and still
    uses the original's where a function that it keeps as an attribute is bound to the original.
    """
    capture = analysis.capture
    model = capture.models[call.root]
    by_model: dict[str, dict[str, int]] = {}
    for row in capture.placement.rows:
        if row.model:
            own = by_model.setdefault(row.model, {})
            own |= {name.removeprefix(f"{row.model}."): row.tensor for name in row.names}
    counterparts = by_model.pop(model, {})
    others = {tensor: name for names in by_model.values() for name, tensor in names.items()}
    found = [counterparts.get(others.get(tensor, ""), -1) for tensor in read]
    alike = all(
        own >= 0 and capture.tensors[own].shape == capture.tensors[tensor].shape and not _computed_with(analysis, own)
        for own, tensor in zip(found, read, strict=True)
    )
    if not found or not alike or not set(found).isdisjoint(read):
        return None
    return IdleNamesakes(tuple(found), _copied(analysis, found[0]))


def _computed_with(analysis: Analysis, tensor: int) -> bool:
    """Whether an op of a module's call reads it: initialisers, copies and optimizers are outside of all."""
    capture = analysis.capture
    return any(capture.ops[index].call >= 0 for index in capture.readers.get(tensor))


def _copied(analysis: Analysis, tensor: int) -> Op | None:
    """The op that first copied into its memory."""
    capture = analysis.capture
    storage = capture.tensors[tensor].storage
    ops = (op for op in capture.ops if any(capture.tensors[t].storage == storage for t in op.outputs))
    first = next(ops, None) if storage >= 0 else None
    return first if first is not None and is_a(first.name, OpKind.COPIES) else None
