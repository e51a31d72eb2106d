"""Which op may have saved a tensor that no node shows, by what torch's error says of it."""

from __future__ import annotations

import math

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.op import Op, Trait, Write


def candidates(
    analysis: Analysis, run: Backward, shape: tuple[int, ...], then: int, history: str
) -> list[tuple[Op, int]]:
    """(op, tensor) that may have saved it: custom Functions, then what read it at that version, then what made it.

    First comes what ops read of which a hook holds a saved tensor, then the tensors whose grad_fn has the name that
    the error says. What an op itself modified it has hardly saved as it was before. Before all others, where the walk did
    not come to the end of the graph, come the ops whose records stand in for the rest, the last first: in this order the
    engine comes to them.
    """
    tensors = analysis.capture.tensors
    nodes = analysis.nodes_of(run)
    below = {node.op for node in nodes if node.told_by != "node"} - {-1}
    packing = {node.op for node in nodes if any(saved.status == "packed" for saved in node.saved)}
    read = {tensors[t].storage for op in packing - {-1} for t in analysis.capture.ops[op].inputs}
    ranked = []
    for op in analysis.capture.ops[: run.end]:
        met = [
            *((t, version, False) for t, version in zip(op.inputs, op.versions, strict=False)),
            *((write.tensor, write.after, False) for write in op.writes),
            *((t, 0, True) for t in op.outputs if tensors[t].birth == op.index),
        ]
        for tensor, version, made in met:
            tensor_shape = tensors[tensor].shape
            if version == then and (
                tensor_shape == shape or (op.index in below and math.prod(tensor_shape) == math.prod(shape))
            ):
                named = _grad_fn(analysis, tensor, run.start) == history.lower()
                inside = op.index in packing or tensors[tensor].storage in read
                edits = any(write.tensor == tensor and write.before == then for write in op.writes)
                kind: tuple[bool | int, ...] = (made, op.index not in packing, not named)
                if op.index in below:
                    # What an op saved may be a view that it made for itself: a vector as a matrix of one row.
                    kind = (tensor_shape != shape, not named, _keeps_nothing(op, made=made), -op.index)
                rank = (op.index not in below, edits, not op.has(Trait.FUNCTION), not inside, *kind)
                ranked.append((rank, (op, tensor)))
    return [pair for _, pair in sorted(ranked, key=lambda entry: entry[0])]


def _keeps_nothing(op: Op, *, made: bool) -> bool:
    """Whether the derivative of an op is known to need nothing of what it made, or of what it read."""
    if made:
        return not is_a(op.name, OpKind.SAVES_RESULT)
    return is_a(op.name, OpKind.SAVES_NOTHING | OpKind.SAVES_RESULT | OpKind.VIEWS)


def _grad_fn(analysis: Analysis, tensor: int, before: int) -> str:
    """The name that the tensor's grad_fn most likely has: its last recorded writer's, else its maker's."""
    record = analysis.capture.tensors[tensor]
    writers = [op for op, _ in analysis.writes_to(record.storage, tensor, 0, before) if op.first_seq != op.last_seq]
    makers = [analysis.capture.ops[record.birth]] if record.birth >= 0 and record.requires_grad else []
    likeliest = writers[-1:] or makers
    return likeliest[0].name.replace("_", "") if likeliest else ""


def edits_since(
    analysis: Analysis, saver: Op, tensor: int, run: Backward, then: int, now: int
) -> list[tuple[Op, Write]]:
    """What modified the tensor since, where that makes the version that the error says."""
    record = analysis.capture.tensors[tensor]
    writes = [
        (op, write)
        for op, write in analysis.writes_to(record.storage, tensor, saver.index, run.end)
        if then < write.after <= now and analysis.capture.tensors[write.tensor].counter == record.counter
    ]
    return writes if any(write.after == now for _, write in writes) else []
