"""Operands that an op can be computed from: away from where it, or its derivative, is not finite, or is zero."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Final, Literal

from autograd_inspector.advice.operands import operand
from autograd_inspector.advice.remedies.at_line import at_line
from autograd_inspector.advice.spelling import is_path
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.location import Location
from autograd_inspector.model.op import Op
from autograd_inspector.model.remedy import (
    Operand,
    OtherModule,
    Remedies,
    Rename,
    SetArgument,
    StraightThrough,
    Substitute,
    Unwrap,
)
from autograd_inspector.model.rewrites import (
    AsFunction,
    BoundBase,
    FiniteMask,
    MadeWith,
    RootOfVariance,
    SampleThrough,
    SoftLookup,
)
from autograd_inspector.model.values import ValueFault

_LARGEST: Final = {"float16": 65504.0, "bfloat16": 3e38, "float32": 3e38, "float64": 1e308}
_GUARDS: Final[tuple[tuple[OpKind, Literal["first", "last"], str], ...]] = (
    (OpKind.TAKES_ROOT | OpKind.TAKES_LOG | OpKind.POWERS, "first", "{}.clamp(min=1e-12)"),
    (OpKind.TAKES_LOG_BESIDE_ONE, "first", "{}.clamp(min=-1 + 1e-6)"),
    (OpKind.EXPONENTIATES, "first", "{}.clamp(max=50.0)"),
    (OpKind.ARC, "first", "{}.clamp(-1, 1) * (1 - 1e-6)"),
    (OpKind.DIVIDES, "last", "torch.where({} == 0, 1, {})"),
    (OpKind.INVERTS, "first", "torch.where({} == 0, 1, {})"),
)
"""What an op does -> which operand, and what to compute with instead of it."""


def kept_finite(analysis: Analysis, op: Op | None, *, forward: bool) -> Iterator[Remedies]:
    """The op with an operand that is kept away from where it (``forward``), or its derivative alone, is not finite."""
    place = analysis.capture.place(op.site) if op is not None else None
    if op is None or place is None:
        return
    if forward and is_a(op.name, OpKind.REDUCES) and not _elements(analysis, op):
        yield (Operand(place, "whole", "{}.nan_to_num()"),)
        return
    if is_a(op.name, OpKind.SPREADS):
        # Its derivative is not finite there either, where it has one.
        stable, told = (RootOfVariance(place, biased=forward),), "unbiased" in place.expression
        biased = (SetArgument(place, op.name, "correction", "0"),)
        yield from ((stable, biased) if op.recorded else (biased, stable)) if forward and not told else (stable,)
        return
    yield from _with_option(analysis, op, place)
    for kinds, which, instead in _GUARDS:
        if is_a(op.name, kinds):
            root = is_a(op.name, OpKind.TAKES_ROOT) and not forward
            side = "last" if is_a(op.name, OpKind.REVERSED) else which
            yield (Operand(place, side, "{} + 1e-12" if root else instead),)
            return


def _with_option(analysis: Analysis, op: Op, place: Location) -> Iterator[Remedies]:
    """Ops that have an option against it themselves."""
    aligns = is_a(op.name, OpKind.ALIGNS)
    if aligns or op.name == _LOGIT:
        name, value = _SKIPS_INF if aligns else _BOUNDED
        call = analysis.capture.call_of(op)
        if call is not None and call.type in _MODULES:
            yield from ((MadeWith(frame, call.type, name, value),) for frame in analysis.user_frames(op.site, ""))
        yield (SetArgument(place, op.name, name, value),)


_LOGIT: Final = "logit"
_SKIPS_INF: Final = ("zero_infinity", "True")
_BOUNDED: Final = ("eps", "1e-6")
_MODULES: Final = {"CTCLoss"}


def within_range(analysis: Analysis, op: Op) -> Iterator[Remedies]:
    """An op that made Inf of finite numbers: in a wider dtype, or of smaller ones."""
    place = analysis.capture.place(op.site)
    dtypes = {analysis.capture.tensors[t].dtype for t in op.outputs}
    if place is None:
        return
    if dtypes == {"float16"}:
        if not is_a(op.name, OpKind.MATRIX_MULTIPLIES):
            yield (Operand(place, "first", "{}.float()"),)
    elif is_a(op.name, OpKind.POWERS) or op.name == "__pow__":
        yield from ((BoundBase(place, _LARGEST[dtype]),) for dtype in dtypes if dtype in _LARGEST)


def _elements(analysis: Analysis, op: Op) -> int:
    return prod(analysis.capture.tensors[op.inputs[0]].shape) if op.inputs else 1


def masked_finitely(analysis: Analysis, op: Op) -> Iterator[Remedies]:
    """What was set to -inf is a large negative number: a row of nothing else still has a softmax."""
    place = analysis.capture.place(op.site)
    dtypes = {analysis.capture.tensors[t].dtype for t in op.outputs}
    number = "-1e4" if dtypes == {"float16"} else "-1e9"
    if place is not None:
        yield (FiniteMask(place, number),)
    if place is not None and is_a(op.name, OpKind.CHOOSES):
        yield (Operand(place, "last", number),)


def filled(analysis: Analysis, fault: ValueFault, run: Backward) -> Iterator[Remedies]:
    """NaN of the data, which the loss leaves out at its end, is replaced where the computation first reads it."""
    capture = analysis.capture
    holding = {
        values.tensor for values in fault.outputs if values.nan and not capture.tensors[values.tensor].requires_grad
    }
    above = {op.index for op, _ in analysis.flow.upstream([(root, run.start) for root in run.roots])}
    stores = {capture.tensors[tensor].storage for tensor in holding} - {-1}
    for op in capture.ops[max(fault.op, 0) : run.start]:
        read = [t for t in op.inputs if t in holding or capture.tensors[t].storage in stores]
        if op.index in above and op.recorded and read:
            for name in (operand(analysis, op, read[0]), capture.tensors[read[0]].variable):
                if is_path(name):
                    frames = analysis.user_frames(op.site, "")
                    yield from ((Substitute(frame, name, "{}.nan_to_num()"),) for frame in frames)
            return


def sampled_smoothly(analysis: Analysis, op: Op) -> Iterator[Remedies]:
    """What picked the nearest element interpolates instead."""
    place = analysis.capture.place(op.site)
    if place is not None:
        yield (SetArgument(place, op.name, "mode", '"bilinear"'),)


def straight_through(analysis: Analysis, op: Op) -> Iterator[Remedies]:
    """The hard value forward, and the gradient of what it was computed from."""
    place, tensors = analysis.capture.place(op.site), analysis.capture.tensors
    if _is_an_index(analysis, op):
        return
    if is_a(op.name, OpKind.ORDERS) and len(op.inputs) == len({*op.inputs}) == _SIDES:
        yield from at_line(analysis, op.site, lambda place: StraightThrough(place, between=True))
    soft = [tensors[t].shape for t in op.inputs[:1]]
    if place is not None and soft and [tensors[t].shape for t in op.outputs] == soft:
        yield (StraightThrough(place),)
    readers = (analysis.capture.ops[at] for t in op.outputs for at in analysis.capture.readers.get(t, ()))
    for hard in readers:
        where = analysis.capture.place(hard.site)
        alike = [tensors[t].shape for t in hard.outputs] == soft and is_a(hard.name, OpKind.DRAWS_DISCRETE)
        if alike and place is not None and where is not None and place.scope == where.scope:
            made = analysis.flow.birth(op.inputs[0])
            scores = made is None or not is_a(made.name, OpKind.SOFTMAX) or is_a(made.name, OpKind.LIKELIHOOD)
            yield (StraightThrough(where, place, ".softmax(-1)" if scores else ""),)


_SIDES = 2


def sampled_through(analysis: Analysis, draw: Op) -> Iterator[Remedies]:
    """What is made of a discrete sample has the gradient of the probabilities: the sample itself, or its one-hot vector."""
    place, capture = analysis.capture.place(draw.site), analysis.capture
    if place is None or not is_a(draw.name, OpKind.DRAWS_DISCRETE):
        return
    todo, met = list(draw.outputs), set(draw.outputs)
    for tensor in todo:  # It grows on the way.
        for reader in (capture.ops[index] for index in capture.readers.get(tensor, ())):
            hard = capture.place(reader.site)
            if is_a(reader.name, OpKind.DRAWS_DISCRETE) and hard is not None and hard.scope == place.scope:
                yield (SampleThrough(hard, place),)
                return
            if is_a(reader.name, OpKind.VIEWS):
                todo += [made for made in reader.outputs if made not in met]
                met.update(reader.outputs)
    if draw.inputs and not _integers(analysis, draw):
        yield (SampleThrough(place, place),)


def looked_up_softly(analysis: Analysis, op: Op) -> Iterator[Remedies]:
    """The rows of an embedding that an index picks are weighted by the scores that the index is the largest of."""
    capture = analysis.capture
    place, scores = capture.place(op.site), [capture.tensors[t].shape for t in op.inputs[:1]]
    if place is None or not is_a(op.name, OpKind.LARGEST) or not scores or not scores[0]:
        return
    # Of a square matrix of scores it is not seen which of its dimensions went.
    shapes = [scores[0][:at] + scores[0][at + 1 :] for at in range(len(scores[0]))]
    for index in _integers(analysis, op):
        if capture.tensors[index].shape != shapes[-1] or shapes.count(shapes[-1]) > 1:
            continue
        for reader in (capture.ops[at] for at in capture.readers.get(index, ())):
            rows = [capture.tensors[t].shape for t in reader.inputs if t != index]
            where = analysis.user_frames(reader.site, "")[:1]
            if reader.name == _LOOKUP and rows and rows[0][:1] == scores[0][-1:]:
                made = analysis.flow.birth(op.inputs[0])
                already = (
                    made is not None and is_a(made.name, OpKind.SOFTMAX) and not is_a(made.name, OpKind.LIKELIHOOD)
                )
                call = "" if already else ".softmax(-1)"
                yield from ((SoftLookup(at, place, call),) for at in where if at.scope == place.scope)


_LOOKUP: Final = "embedding"


def _is_an_index(analysis: Analysis, op: Op) -> bool:
    """Whether integers that it returns, or that are computed from them, say which elements of another tensor are taken."""
    todo = _integers(analysis, op)
    met = set(todo)
    while todo:
        tensor = todo.pop()
        for reader in (analysis.capture.ops[at] for at in analysis.capture.readers.get(tensor, ())):
            whole = is_a(reader.name, OpKind.VIEWS) and reader.inputs[:1] == (tensor,)
            if not whole and is_a(reader.name, OpKind.SELECTS | OpKind.RENORMALISES) and len(set(reader.inputs)) > 1:
                return True
            fresh = [made for made in _integers(analysis, reader) if made not in met]
            met.update(fresh)
            todo += fresh
    return False


def _integers(analysis: Analysis, op: Op) -> list[int]:
    return [tensor for tensor in op.outputs if analysis.capture.tensors[tensor].dtype.startswith("int")]


def sloped(analysis: Analysis, op: Op) -> Iterator[Remedies]:
    """A ReLU whose inputs are all negative gets a slope there as well."""
    call = analysis.capture.call_of(op)
    if op.name.strip("_") != "relu":
        return
    if call is not None and call.type == "ReLU":
        yield from ((OtherModule(place, "ReLU", "LeakyReLU"),) for place in analysis.user_frames(op.site, ""))
        return
    place = analysis.capture.place(op.site)
    owner, _, _ = ("" if place is None else place.expression).partition(".relu(")
    new = {"F": "leaky_relu", "torch.nn.functional": "leaky_relu", "torch": "nn.functional.leaky_relu"}.get(owner, "")
    if place is not None and new:
        yield (Rename(place, new),)
    elif place is not None and not op.writes:
        yield (AsFunction(place, "torch.nn.functional.leaky_relu"),)


def smooth(analysis: Analysis, op: Op) -> Iterator[Remedies]:
    """A hyperbolic tangent in the place of a ReLU, which has no second derivative."""
    call = analysis.capture.call_of(op)
    if op.name.strip("_") != "relu":
        return
    if call is not None and call.type == "ReLU":
        yield from ((OtherModule(place, "ReLU", "Tanh"),) for place in analysis.user_frames(op.site, ""))
    else:
        yield from at_line(analysis, op.site, lambda place: Rename(place, "tanh"))


def of_one_score(analysis: Analysis, op: Op) -> Iterator[Remedies]:
    """A sigmoid of the one score that a softmax was taken of."""
    place = analysis.capture.place(op.site)
    if place is not None and is_a(op.name, OpKind.SOFTMAX):
        logarithm = is_a(op.name, OpKind.LIKELIHOOD)
        yield (AsFunction(place, "torch.nn.functional.logsigmoid" if logarithm else "torch.sigmoid"),)


def from_logits(analysis: Analysis, op: Op) -> Iterator[Remedies]:
    """The loss of a saturated sigmoid is that of what the sigmoid was taken of, where nothing else reads it."""
    readers = [analysis.capture.ops[at] for t in op.outputs for at in analysis.capture.readers.get(t, ())]
    place = analysis.capture.place(op.site)
    if place is None or op.name != "sigmoid" or {reader.name for reader in readers} != {"binary_cross_entropy"}:
        return
    call, loss = analysis.capture.call_of(op), analysis.capture.call_of(readers[0])
    own = call is not None and call.type == "Sigmoid"
    taken = Unwrap(place, call.path.rpartition(".")[2] if own and call is not None else op.name, own)
    for frame in analysis.user_frames(readers[0].site, ""):
        if loss is not None and loss.type == "BCELoss":
            yield taken, OtherModule(frame, "BCELoss", "BCEWithLogitsLoss")
        else:
            yield taken, Rename(frame, "binary_cross_entropy_with_logits")
