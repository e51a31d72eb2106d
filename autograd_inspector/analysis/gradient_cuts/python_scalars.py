"""Values that left torch as Python numbers and took part in a loss."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec.structs import replace

from autograd_inspector.analysis.callers import called_on
from autograd_inspector.analysis.dataflow import DataFlow
from autograd_inspector.analysis.gradient_cuts.classifier import GradientCut, learning
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.autograd import Backward, GraphHead
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.location import Location
from autograd_inspector.model.op import Op, Trait

NOT_A_TENSOR = "object has no attribute 'backward'"
_NUMBER = re.compile(rf"'(?:float|int|numpy\.\w+)' {NOT_A_TENSOR}")


def called_on_number(capture: Capture, flow: DataFlow) -> Iterator[GradientCut]:
    """``loss.backward()`` of a float: the values that left on the line that assigned it, else those that left last."""
    if _NUMBER.search(capture.error) is None:
        return
    end = len(capture.ops)
    since = max((run.end for run in capture.backwards), default=0)
    receiver = called_on(capture.place(capture.error_site), "backward")
    exports = [op for op in capture.ops[since:] if op.has(Trait.EXPORT) and _alive(capture, flow, op)]
    named = [op for op in exports if receiver and _name_at(capture, op) == receiver]
    last = [op for op in exports if op.site == exports[-1].site]
    culprits = named or last
    above = flow.upstream([(tensor, op.index) for op in culprits for tensor in op.inputs])
    lost = tuple(dict.fromkeys(t for op, _ in above for t in learning(capture, op)))
    if lost:
        run = Backward(
            len(capture.backwards), "backward", end, end, capture.error_site, (), GraphHead(), error=capture.error
        )
        yield GradientCut("left autograd", tuple(culprits), culprits[0].inputs[:1], lost, run, fatal=True)


def as_numbers(capture: Capture, flow: DataFlow, run: Backward, starved: frozenset[int]) -> Iterator[GradientCut]:
    """A part of the loss that was added as a Python number: ``main + 0.5 * auxiliary.item()``."""
    since = max((earlier.end for earlier in capture.backwards[: run.index]), default=0)
    exports = [op for op in capture.ops[since : run.start] if op.has(Trait.EXPORT)] if starved else []
    loss = [op for op, _ in flow.upstream([(root, run.start) for root in run.roots])] if exports else []
    for cut in numbers_in(capture, flow, exports, loss, run, starved):
        yield replace(cut, added=-1)


def numbers_in(
    capture: Capture, flow: DataFlow, exports: list[Op], ops: list[Op], run: Backward, learners: frozenset[int]
) -> Iterator[GradientCut]:
    """Lines that took out a value of the learners, which one of the ops was given; ``added`` is that op."""
    groups: dict[int, tuple[list[Op], Op]] = {}
    for op in sorted(ops, key=lambda op: op.index):
        back = flow.exports.get(op.index, ())
        for export in exports:
            if export.index in back:
                groups.setdefault(export.site, ([], op))[0].append(export)
    for left, op in groups.values():
        above = flow.upstream([(tensor, export.index) for export in left for tensor in export.inputs])
        read = (t for o in (*left, *(o for o, _ in above)) for t in learning(capture, o))
        lost = tuple(dict.fromkeys(t for t in read if t in learners))
        if lost:
            yield GradientCut("left autograd", tuple(left), left[0].inputs[:1], lost, run, fatal=False, added=op.index)


def _alive(capture: Capture, flow: DataFlow, export: Op) -> bool:
    """Whether the value had a history when it left, or when it was detached to leave: an accuracy has none."""
    for tensor in export.inputs:
        made = flow.birth(tensor)
        detached = made.inputs if made is not None and is_a(made.name, OpKind.DETACHES) else ()
        if any(capture.tensors[t].requires_grad for t in (tensor, *detached)):
            return True
    return False


def _name_at(capture: Capture, op: Op) -> str:
    place = capture.place(op.site)
    return "" if place is None else assigned(place)


def assigned(place: Location) -> str:
    """The variable that the statement assigns, "" where it assigns none."""
    return place.target or place.assigned
