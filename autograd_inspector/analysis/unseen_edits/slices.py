"""What the op inside a ``CopySlices`` node saved: autograd shows no saved tensor of it.

An in-place op on a view replaces the base's history by one such node, which holds the op's own node out of sight. What
that saves follows from its derivative formula (tools/autograd/derivatives.yaml in PyTorch's source).
"""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.autograd import Node, SavedTensor


def inside_slices(analysis: Analysis, node: Node) -> Iterator[SavedTensor]:
    """The saved tensors of the op inside, as far as its formula tells."""
    if node.op < 0 or "CopySlices" not in node.name:
        return
    op = analysis.capture.ops[node.op]
    if is_a(op.name, OpKind.SAVES_RESULT) and op.writes:
        yield _saved(analysis, "result", op.writes[0].tensor, op.writes[0].after)
    elif (
        is_a(op.name, OpKind.MULTIPLIES | OpKind.DIVIDES)
        and len(op.inputs) > 1
        and len(op.versions) > 1
        and _had_history(analysis, op.inputs[0])
    ):
        yield _saved(analysis, "other", op.inputs[1], op.versions[1])


def _had_history(analysis: Analysis, view: int) -> bool:
    """Whether the view required grad before it was modified: taking it made a node then."""
    born = analysis.flow.birth(view)
    return born is not None and born.recorded


def _saved(analysis: Analysis, name: str, tensor: int, version: int) -> SavedTensor:
    record = analysis.capture.tensors[tensor]
    return SavedTensor(
        name,
        tensor,
        record.shape,
        record.dtype,
        record.device,
        record.nbytes,
        record.storage,
        record.offset,
        record.extent,
        "valid",
        version,
        version,
    )
