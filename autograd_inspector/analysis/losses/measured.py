"""Differences that a loss measures: squared, made absolute, or weighed by their sign.

One that goes on linearly, as ``log p(z) - log |det|`` does, is no distance: its two ends are not to meet.
"""

from __future__ import annotations

from typing import Final

from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.op import Op, Trait

_KEEPS_ENDS: Final = (
    OpKind.VIEWS | OpKind.CONVERTS | OpKind.RESHAPES | OpKind.COPIES | OpKind.SELECTS | OpKind.STACKS
    | OpKind.CONCATENATES | OpKind.ADDS | OpKind.SUBTRACTS | OpKind.NEGATES | OpKind.MULTIPLIES | OpKind.DIVIDES
    | OpKind.CLAMPS
)  # fmt: skip
"""What is computed of a difference element by element, and still is one, scaled and moved perhaps."""
_MEASURES: Final = OpKind.EVEN | OpKind.MEASURES | OpKind.ORDERS


def measured(capture: Capture, difference: Op) -> bool:
    """Whether what is computed of a difference takes it for a distance: smallest where its ends are alike."""
    met, todo = {*difference.outputs}, [*difference.outputs]
    while todo:
        tensor = todo.pop()
        for index in capture.readers.get(tensor, ()):
            op = capture.ops[index]
            if index <= difference.index or op.has(Trait.BACKWARD | Trait.STEP):
                continue
            if is_a(op.name, _MEASURES) or op.inputs.count(tensor) > 1:
                return True
            if is_a(op.name, _KEEPS_ENDS):
                todo += [each for each in op.outputs if each not in met]
                met.update(op.outputs)
    return False
