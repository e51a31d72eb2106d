"""Cuts inside a custom backward whose result is differentiated again: the second derivative misses what was cut off."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.op import Op, Trait

_FLAT = OpKind.COMPARES | OpKind.ORDERS | OpKind.PIECEWISE_CONSTANT
"""The derivative of these is zero anyway."""


class CutWithin(Struct, frozen=True):
    """``cut`` takes away the history of a tensor in the backward of ``function``, in a run with ``create_graph=True``.

    ``run`` is that one, ``again`` a later one through what it computed.
    """

    cut: Op
    function: str
    run: Backward
    again: Backward


def cuts_within(analysis: Analysis) -> Iterator[CutWithin]:
    """Each line once, where the values that were cut go into a gradient that is differentiated."""
    capture = analysis.capture
    sites = {p.scope: name for name, at in capture.function_sites.items() if (p := capture.place(at))}
    told: set[int] = set()
    for run in capture.backwards:
        if not run.create_graph or run.error or run.nested_in >= 0 or not sites:
            continue
        for op in capture.ops[run.start : run.end]:
            place = capture.place(op.site)
            if not (op.has(Trait.BACKWARD) and op.has(Trait.CUT)) or place is None or op.site in told:
                continue
            function = sites.get(place.scope)
            if function is None or not is_a(op.name, OpKind.DETACHES):
                continue
            again = _differentiated(analysis, run) if _used(analysis, op, run) else None
            if again is not None:
                told.add(op.site)
                yield CutWithin(op, function, run, again)


def _used(analysis: Analysis, cut: Op, run: Backward) -> bool:
    """Whether something was computed of its values, other than of their signs, that the backward may return."""
    capture = analysis.capture
    todo, seen = [*cut.outputs], set(cut.outputs)
    while todo:
        tensor = todo.pop()
        readers = [capture.ops[index] for index in capture.readers.get(tensor, ()) if index < run.end]
        if not readers and tensor not in cut.outputs:
            return True
        for reader in readers:
            flat = is_a(reader.name, _FLAT)
            todo += [each for each in reader.outputs if each not in seen and not flat and not reader.has(Trait.EXPORT)]
            seen.update(reader.outputs)
    return False


def _differentiated(analysis: Analysis, run: Backward) -> Backward | None:
    """The next run of the program's whose graph has nodes that this one made."""
    for later in analysis.timeline.backwards.since(run.end):
        if any(run.start <= node.op <= run.end for node in analysis.nodes_of(later)):
            return later
    return None
