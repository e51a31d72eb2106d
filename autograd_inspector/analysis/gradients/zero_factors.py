"""Parameters that are zero, were frozen, and are factors of a product: what they multiply adds nothing, and never will.

An adapter begins with one factor at zero, so that it changes nothing until it has learnt something.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.memory import zeroed_in_place
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.op import Op, Trait

_PRODUCTS = OpKind.MATRIX_MULTIPLIES | OpKind.CONVOLVES


class ZeroFactor(Struct, frozen=True):
    """``product`` multiplies by ``tensor``, for good."""

    tensor: int
    product: Op


def zero_factors(analysis: Analysis) -> Iterator[ZeroFactor]:
    """Each parameter once, by the last product."""
    capture = analysis.capture
    frozen = dict.fromkeys(change.tensor for change in capture.requires_grad_changes if not change.requires_grad)
    for tensor in frozen if capture.steps else ():
        record = capture.tensors[tensor]
        if record.kind != "parameter" or record.requires_grad or len(record.shape) < 2:
            continue
        if zeroed_in_place(analysis, [tensor], 0, len(capture.ops)) is None:
            continue
        product = next(_products(analysis, tensor), None)
        if product is not None:
            yield ZeroFactor(tensor, product)


def _products(analysis: Analysis, tensor: int) -> Iterator[Op]:
    """The products that it, or a view of it, is a factor of, since it was frozen; the last first."""
    ops = analysis.capture.ops
    since = analysis.lifecycle.frozen([tensor])[-1].at
    shown, products = [tensor], list[Op]()
    for each in shown:
        for at in analysis.capture.readers.get(each, ()):
            if is_a(ops[at].name, OpKind.VIEWS):
                shown += [view for view in ops[at].outputs if view not in shown]
            elif at >= since and is_a(ops[at].name, _PRODUCTS) and each in ops[at].inputs[:2]:
                products.append(ops[at])
    return reversed([op for op in products if not op.has(Trait.BACKWARD | Trait.STEP)])
