"""What a sentence calls tensors and layers. One tensor has one name, whichever finding speaks of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from autograd_inspector.advice.operands import operand
from autograd_inspector.advice.receivers import read_of, receiver
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.op import Op

NAMELESS = "the result of"
_READERS = 8
"""As many of the ops that read a tensor are asked what the program writes for it."""


def name_of(analysis: Analysis, tensor: int) -> str:
    """``net.0.weight`` or a variable; else what the program writes for it (``p["w"]``); else what made it, in words."""
    return analysis.capture.display_names.of(tensor) or _written(analysis, tensor) or _described(analysis, tensor)


def names_of(analysis: Analysis, tensors: Iterable[int]) -> list[str]:
    """The names of several, each once."""
    return list(dict.fromkeys(name_of(analysis, tensor) for tensor in tensors))


def is_named(analysis: Analysis, tensor: int) -> bool:
    """Whether the program has a name for it, in a model or a variable."""
    return bool(analysis.capture.display_names.of(tensor))


def layer_of(analysis: Analysis, op: Op) -> str:
    """The layer that an op ran in: ``net.head``; "" for one that ran in no module, or in the model's own forward."""
    call = analysis.capture.call_of(op)
    return analysis.capture.display_names.layer(call) if call is not None and call.path else ""


def where_made(analysis: Analysis, made: Op) -> str:
    """An op and the layer that it ran in: "`linear` in net.head"."""
    layer = layer_of(analysis, made)
    return f"`{made.name}` in {layer}" if layer else f"`{made.name}`"


def output_of_layer(analysis: Analysis, op: Op) -> str:
    """The outermost module whose call the op ended, so that it gave the module's output; "" where it ended none."""
    calls, ops, best = analysis.capture.calls, analysis.capture.ops, None
    call = calls[op.call] if op.call >= 0 and not is_a(op.name, OpKind.DETACHES) else None
    later = ops[op.index + 1].call if op.index + 1 < len(ops) else -1
    around = set()
    while later >= 0:
        around.add(later)
        later = calls[later].parent
    while call is not None and call.id not in around:
        best = call
        call = calls[call.parent] if call.parent >= 0 else None
    return f"the output of {analysis.capture.display_names.layer(best)}" if best is not None else ""


def _written(analysis: Analysis, tensor: int) -> str:
    """The expression by which the program reads its gradient, modifies it, or hands it to an op."""
    return next(filter(None, _expressions(analysis, tensor)), "")


def _expressions(analysis: Analysis, tensor: int) -> Iterator[str]:
    capture = analysis.capture
    reads = (read_of(capture.place(read.site)) for read in capture.grad_reads if read.tensor == tensor)
    yield max(reads, key=len, default="")  # Of several the most telling.
    readers = [capture.ops[index] for index in islice(capture.readers.get(tensor, ()), _READERS)]
    yield from (receiver(capture.place(op.site), op.name) for op in readers if op.inputs[0] == tensor and op.writes)
    yield from (operand(analysis, op, tensor) for op in readers)


def _described(analysis: Analysis, tensor: int) -> str:
    made = analysis.flow.birth(tensor)
    if made is None:
        record = analysis.capture.tensors[tensor]
        return f"a {record.dtype} tensor of shape {list(record.shape)}"
    return output_of_layer(analysis, made) or f"{NAMELESS} {where_made(analysis, made)}"
