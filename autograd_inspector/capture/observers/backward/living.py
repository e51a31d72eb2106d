"""Graphs that no run of the engine has gone through, walked while the program holds them."""

from __future__ import annotations

from torch import Tensor

from autograd_inspector.capture.graph_walk.walk import Walk
from autograd_inspector.capture.observers.backward.arguments import ends_of
from autograd_inspector.capture.recording.raw_records import OP_INPUTS, OP_OUTPUTS
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.capture.tensors.attributes import needs_grad, node_of
from autograd_inspector.model.autograd import Backward


def walk_alive(recording: Recording) -> None:
    """Graphs that the program still holds but never gave to backward: record them once, from their last tensors."""
    if recording.backwards:
        return
    used = {tensor for op in recording.ops for tensor in op[OP_INPUTS] if op[OP_OUTPUTS]}
    ends = [
        tensor
        for number, tensor in recording.registry.alive()
        if number not in used and needs_grad(tensor) and node_of(tensor) is not None
    ]
    if ends:
        walk_roots(recording, ends)


def walk_roots(recording: Recording, roots: list[Tensor]) -> None:
    """Record the graph behind some tensors as one that no backward has consumed."""
    walk = Walk(recording)
    head = walk.record(ends_of(roots))
    end = len(recording.ops)
    ids = tuple(recording.id_of(root) for root in roots)
    recording.backwards.append(Backward(len(recording.backwards), "alive", end, end, -1, ids, head, tuple(walk.leaves)))
