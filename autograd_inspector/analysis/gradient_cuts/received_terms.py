"""Terms of a loss that are made of what another rank has sent: a message brings the numbers, and no graph."""

from __future__ import annotations

from msgspec import Struct

from autograd_inspector.analysis.dataflow import DataFlow
from autograd_inspector.analysis.gradient_cuts.classifier import differentiable
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.analysis.ops_of import any_of
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.op import Op


class Received(Struct, frozen=True):
    """``call`` received ``tensor``, or what it is a part of, which ``reader`` computes a constant term with."""

    call: Op
    tensor: int
    reader: Op


def receives(capture: Capture) -> bool:
    """Whether this rank receives anything at all."""
    return any_of(capture, OpKind.RECEIVES)


def received_in(capture: Capture, flow: DataFlow, term: int, before: int) -> Received | None:
    """What of a term without a graph came from another rank; None where nothing did.

    What it weighs does not matter: a target or a mask may be received as well, where the other factor has a graph. That
    has none here, or the term would.
    """
    for op, _ in flow.upstream([(term, before)]):
        for tensor in op.inputs:
            if differentiable(capture.tensors[tensor].dtype) and not is_a(op.name, OpKind.VIEWS):
                call = _message(capture, flow, tensor, op.index)
                if call is not None:
                    return Received(call, tensor, op)
    return None


def _message(capture: Capture, flow: DataFlow, tensor: int, before: int) -> Op | None:
    """The call that received what a tensor shows, through views of it."""
    while True:
        producers = [capture.ops[index] for index in flow.producers(tensor, before)]
        received = next((op for op in producers if is_a(op.name, OpKind.RECEIVES)), None)
        made = flow.birth(tensor)
        if received is not None or made is None or not is_a(made.name, OpKind.VIEWS) or not made.inputs:
            return received
        if made.index >= before:
            return None
        tensor, before = made.inputs[0], made.index
