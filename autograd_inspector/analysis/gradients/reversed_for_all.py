"""Hooks that reverse the gradient of a tensor for one branch, and do so for another one that had used it before."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.event import TensorHook
from autograd_inspector.model.op import Op, Trait


class ReversedForAll(Struct, frozen=True):
    """``hook`` reverses the gradient of its tensor, which ``before`` used before it was registered, and ``after`` afterwards.

    ``reverses`` is the op that does it. All lie on the way of one backward.
    """

    hook: TensorHook
    reverses: Op
    before: Op
    after: Op


def reversed_for_all(analysis: Analysis) -> Iterator[ReversedForAll]:
    """Each line that registers such hooks once."""
    told: set[int] = set()
    for hook in analysis.capture.tensor_hooks:
        leaf = analysis.capture.tensors[hook.tensor].leaf
        run = next(analysis.timeline.runs.since(hook.at), None) if not (hook.post or hook.older or leaf) else None
        if run is None or hook.site in told:
            continue
        used = _used(analysis, hook, run)
        if used is not None and (reverses := _reversing(analysis, hook, run)) is not None:
            told.add(hook.site)
            yield ReversedForAll(hook, reverses, *used)


def _used(analysis: Analysis, hook: TensorHook, run: Backward) -> tuple[Op, Op] | None:
    """The last op before the hook that computed with the tensor on the way of a run, and the first one after it."""
    readers = [analysis.capture.ops[at] for at in analysis.capture.readers.get(hook.tensor, ())]
    readers = [op for op in readers if op.recorded and not op.has(Trait.BACKWARD) and op.index < run.start]
    if not any(op.index < hook.at for op in readers) or not any(op.index >= hook.at for op in readers):
        return None
    passed = {node.op for node in analysis.nodes_of(run)}
    before = [op for op in readers if op.index in passed and op.index < hook.at]
    after = [op for op in readers if op.index in passed and op.index >= hook.at]
    return (before[-1], after[0]) if before and after else None


def _reversing(analysis: Analysis, hook: TensorHook, run: Backward) -> Op | None:
    """The op in the hook that changes the sign of the gradient, if what comes of it may be what the hook returns."""
    capture = analysis.capture
    for op in capture.ops[run.start : run.end]:
        place = capture.place(op.site) if op.has(Trait.BACKWARD) else None
        if place is None or not hook.name.endswith(place.scope) or len(op.inputs) != 1:
            continue
        numbers = capture.given.get(op.index, {}).values()
        negative = is_a(op.name, OpKind.MULTIPLIES | OpKind.DIVIDES) and any(number < 0 for number in numbers)
        if (negative or is_a(op.name, OpKind.NEGATES)) and _stays(
            analysis, op, run, capture.tensors[hook.tensor].shape
        ):
            return op
    return None


def _stays(analysis: Analysis, op: Op, run: Backward, shape: tuple[int, ...]) -> bool:
    """Whether a result of the gradient's shape comes of an op, which nothing else in the hook reads."""
    capture = analysis.capture
    todo = list(op.outputs)
    while todo:
        tensor = todo.pop()
        readers = [capture.ops[at] for at in capture.readers.get(tensor, ()) if op.index < at < run.end]
        if not readers and capture.tensors[tensor].shape == shape:
            return True
        todo += [each for reader in readers for each in reader.outputs if each > tensor]
    return False
