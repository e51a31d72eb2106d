"""Which ops computed with memory that nothing had written to: what they returned says nothing about the program.

``torch.empty`` hands out whatever the memory held before. torch itself runs a stage of a pipeline on such a tensor to
learn the shapes of its results.
"""

from __future__ import annotations

from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.op import Trait

_NO_VALUES = OpKind.TAKES_SHAPE_ONLY | OpKind.TAKES_NO_VALUES


def unset_values(capture: Capture) -> frozenset[int]:
    """The indices of those ops. One write is enough to set a memory, for buffers are filled piece by piece."""
    tensors = capture.tensors
    unset, found = set[int](), set[int]()
    for op in capture.ops:
        outputs = {tensors[t].storage for t in op.outputs if tensors[t].birth == op.index} - {-1}
        given = {tensors[t].storage for t in op.inputs} - {-1}
        written = {write.storage for write in op.writes}
        if op.has(Trait.COLLECTIVE) or op.has(Trait.EXPORT):
            unset -= given | outputs | written  # Another rank may write to it, or NumPy.
            continue
        values = set[int]() if is_a(op.name, _NO_VALUES) else unset & (given - written)
        if values or (outputs and is_a(op.name, OpKind.LEAVES_UNSET)):
            unset |= outputs | written
            found.add(op.index)
        else:
            unset -= written | (outputs - given)
    return frozenset(found)


def starts_unset(capture: Capture, unset: frozenset[int], roots: tuple[int, ...]) -> bool:
    """Whether a backward starts from what such ops computed."""
    return any(capture.tensors[root].birth in unset for root in roots)
