"""What a loss function is given instead."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.remedies.at_line import at_line
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.losses.inputs import Swapped, WrongInput
from autograd_inspector.analysis.losses.paired import Paired
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.op import Op
from autograd_inspector.model.remedy import Operand, Remedies, SwapArguments, Unwrap

_MODULES = {"Softmax", "LogSoftmax", "Sigmoid", "LogSigmoid", "Softmax2d"}


def as_expected(analysis: Analysis, found: WrongInput) -> Iterator[Remedies]:
    """The loss function gets what it expects; where only the loss reads a probability, its logits stay."""
    capture = analysis.capture
    made, place = capture.place(found.made.site), capture.place(found.loss.site)
    readers = {reader for tensor in found.made.outputs for reader in capture.readers.get(tensor, ())}
    if found.expected != "log-probabilities":
        if made is not None and readers <= {found.loss.index}:
            call = capture.call_of(found.made)
            own = call is not None and call.type in _MODULES
            yield (Unwrap(made, call.path.rpartition(".")[2] if own and call is not None else found.made.name, own),)
        into_logits = "{}.logit()" if found.given == "probabilities" else "{}.log()"
        if place is not None and found.given != "scores":
            yield (Operand(place, "argument", into_logits),)
    elif place is not None and (
        found.given == "scores" or (found.given == "probabilities" and found.loss.name != "kl_div")
    ):
        # The logarithms of sigmoids are not normalised over the classes.
        logits = "{}" if found.given == "scores" else "{}.logit()"
        yield (Operand(place, "argument", f"{logits}.log_softmax({_classes(analysis, found.loss)})"),)
    elif place is not None:
        yield (Operand(place, "argument", "{}.log()"),)


def _classes(analysis: Analysis, loss: Op) -> int:
    """The dimension of the classes: the second one, where the target is their index, else the last one."""
    dimensions = len(analysis.capture.tensors[loss.inputs[0]].shape)
    return min(dimensions - 1, 1) if is_a(loss.name, OpKind.TAKES_CLASSES) else -1


def prediction_first(analysis: Analysis, found: Swapped) -> Iterator[Remedies]:
    """The arguments in their order."""
    yield from at_line(analysis, found.loss.site, SwapArguments)


def of_one_shape(analysis: Analysis, found: Paired) -> Iterator[Remedies]:
    """The column without its dimension of one."""
    place = analysis.capture.place(found.op.site)
    which = _side(found.op, found.column)
    if place is not None and which is not None:
        yield (Operand(place, "first" if which == 0 else "last", "{}.squeeze(1)"),)


def _side(op: Op, tensor: int) -> int | None:
    return op.inputs.index(tensor) if tensor in op.inputs and len(op.inputs) == len({*op.inputs}) else None
