"""Losses that a library divides by the micro-batches of an accumulation, and that the program has divided by them too."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis, line_of
from autograd_inspector.analysis.gradients.micro_batches import accumulations
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.event import Step
from autograd_inspector.model.op import Op
from autograd_inspector.model.program_events import LossDivided

_SAME = OpKind.ALIASES | OpKind.RESHAPES | OpKind.COPIES | OpKind.CONVERTS
_DEEPEST = 12


class DividedTwice(Struct, frozen=True):
    """``own`` is the program's division, ``library`` the library's of its result, in a ``run`` before ``step``.

    ``sure``: the number is no literal, and is neither a size of what the loss was computed from nor how many terms
    it has: there is nothing else that it could count.
    """

    own: LossDivided
    library: LossDivided
    run: Backward
    step: Step
    sure: bool


def divided_twice(analysis: Analysis) -> Iterator[DividedTwice]:
    """One for each line of the program that divides so, where as many runs as the number says precede one step."""
    events = analysis.capture.events_of(LossDivided)
    divisions = {tensor: event for event in events for tensor in event.tensors}
    told: set[object] = set()
    for step, runs in accumulations(analysis) if divisions else ():
        for run in runs:
            library = next((divisions[root] for root in run.roots if root in divisions), None)
            if library is None or not library.by or library.number != len(runs):
                continue
            own = _above(analysis, library, divisions)
            if own is None or line_of(analysis, own.site) in told:
                continue
            told.add(line_of(analysis, own.site))
            sure = not own.written and not _counts_otherwise(analysis, own)
            yield DividedTwice(own, library, run, step, sure)


def _above(analysis: Analysis, library: LossDivided, divisions: dict[int, LossDivided]) -> LossDivided | None:
    """The program's division by the same number whose result, as it is, the library divides."""
    op: Op | None = analysis.capture.ops[library.at]
    for _ in range(_DEEPEST):
        if op is None or len(op.inputs) != 1:
            return None
        own = divisions.get(op.inputs[0])
        if own is not None:
            return own if not own.by and own.number == library.number else None
        op = analysis.flow.birth(op.inputs[0])
        if op is None or not is_a(op.name, _SAME):
            return None
    return None


def _counts_otherwise(analysis: Analysis, own: LossDivided) -> bool:
    """Whether that many terms were added up, or some tensor that was reduced to one number has a size of that number."""
    capture, number = analysis.capture, int(own.number)
    terms, todo, seen = 0, list(capture.ops[own.at].inputs), set[int]()
    while todo:
        tensor = todo.pop()
        op = analysis.flow.birth(tensor)
        if tensor in seen or op is None:
            continue
        seen.add(tensor)
        if number in capture.tensors[tensor].shape:
            return True
        if capture.tensors[tensor].shape == ():
            terms += is_a(op.name, OpKind.ADDS)
            todo += op.inputs
        elif any(number in capture.tensors[read].shape for read in op.inputs):
            return True
    return terms + 1 >= number
